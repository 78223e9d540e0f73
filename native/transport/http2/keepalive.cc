// Implements keepalive.h. received(), sent_data() and calls_changed() are on the hot path.
#include "transport/http2/keepalive.h"

#include <algorithm>

namespace serval {

namespace {

constexpr uint64_t kNever = UINT64_MAX;
// The minimum interval of pings on a connection without calls if pings without calls are not
// permitted: the same as TCP's own keepalive.
// Source: gRPC Core, ping_abuse_policy.cc.
constexpr uint64_t kIdlePingIntervalMs = 7'200'000;
constexpr double kAgeJitter = 0.1;

uint64_t ns_of_ms(uint64_t ms) { return ms > kNever / 1'000'000 ? kNever : ms * 1'000'000; }

uint64_t later(uint64_t at_ns, uint64_t by_ns) {
  return by_ns > kNever - at_ns ? kNever : at_ns + by_ns;
}

// Adds a jitter of plus or minus a tenth.
uint64_t aged(uint64_t now_ns, uint64_t age_ms, double random) {
  const uint64_t age_ns = ns_of_ms(age_ms);
  if (age_ns == kNever) return kNever;
  const double factor = 1 - kAgeJitter + 2 * kAgeJitter * std::clamp(random, 0.0, 1.0);
  const double jittered_ns = static_cast<double>(age_ns) * factor;
  // A larger value does not fit a double, and no server runs that long (146 years).
  return jittered_ns >= 0x1p62 ? kNever : later(now_ns, static_cast<uint64_t>(jittered_ns));
}

}  // namespace

Keepalive::Keepalive(const TransportSettings& settings, uint64_t now_ns, double random)
    : settings_(settings),
      last_received_ns_(now_ns),
      retire_ns_(aged(now_ns, settings.connection_age_ms_max, random)),
      idle_since_ns_(now_ns) {}

// Any received bytes show that the peer is alive, not only the answer to a ping.
void Keepalive::received(uint64_t now_ns) {
  last_received_ns_ = now_ns;
  ping_sent_ns_ = kNever;
}

void Keepalive::ping_answered(uint64_t now_ns) { received(now_ns); }

void Keepalive::sent_data() {
  pings_without_data_ = 0;
  strikes_ = 0;
  last_peer_ping_ns_ = kNever;
}

void Keepalive::calls_changed(uint32_t calls, uint64_t now_ns) {
  if (calls != 0) idle_since_ns_ = kNever;
  else if (calls_ != 0) idle_since_ns_ = now_ns;
  calls_ = calls;
}

bool Keepalive::ping_received(uint64_t now_ns) {
  const bool idle = calls_ == 0 && !settings_.keepalive_permit_without_calls;
  const uint64_t interval_ns =
      ns_of_ms(idle ? kIdlePingIntervalMs : settings_.ping_interval_without_data_ms_min);
  const bool too_soon =
      last_peer_ping_ns_ != kNever && now_ns < later(last_peer_ping_ns_, interval_ns);
  last_peer_ping_ns_ = now_ns;
  if (!too_soon || settings_.ping_strikes_max == 0) return true;
  return ++strikes_ <= settings_.ping_strikes_max;
}

uint64_t Keepalive::dead_ns() const {
  return ping_sent_ns_ == kNever ? kNever
                                 : later(ping_sent_ns_, ns_of_ms(settings_.keepalive_timeout_ms));
}

uint64_t Keepalive::ping_ns() const {
  if (ping_sent_ns_ != kNever) return kNever;
  if (calls_ == 0 && !settings_.keepalive_permit_without_calls) return kNever;
  const uint32_t pings_max = settings_.pings_without_data_max;
  if (pings_max != 0 && pings_without_data_ >= pings_max) return kNever;
  return later(last_received_ns_, ns_of_ms(settings_.keepalive_time_ms));
}

uint64_t Keepalive::retirement_ns() const {
  if (retired_) return kNever;
  const uint64_t idle_ns = ns_of_ms(settings_.connection_idle_ms_max);
  return std::min(retire_ns_, later(idle_since_ns_, idle_ns));
}

Keepalive::Due Keepalive::due(uint64_t now_ns) {
  const auto passed = [&](uint64_t at_ns) { return at_ns != kNever && now_ns >= at_ns; };
  if (passed(cut_ns_)) return Due::Cut;
  if (passed(dead_ns())) return Due::Dead;
  if (passed(retirement_ns())) {
    retired_ = true;
    cut_ns_ = later(now_ns, ns_of_ms(settings_.connection_age_grace_ms));
    return Due::Retire;
  }
  if (passed(ping_ns())) {
    ping_sent_ns_ = now_ns;
    ++pings_without_data_;
    return Due::Ping;
  }
  return Due::Nothing;
}

uint64_t Keepalive::next_ns() const {
  return std::min({cut_ns_, dead_ns(), retirement_ns(), ping_ns()});
}

}  // namespace serval
