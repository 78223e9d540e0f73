// Implements the limits. Hot path (limited requests); any thread.
#include "engine/limits/request_limits.h"

#include <charconv>

namespace serval {

namespace {

constexpr std::string_view kLimitNames[kLimitKinds] = {"max_in_flight", "requests_per_second",
                                                       "rows_per_second"};

std::string shortest(double value) {
  char text[32];
  const auto done = std::to_chars(text, text + sizeof text, value);
  return {text, done.ptr};
}

}  // namespace

std::string_view name_of(LimitKind kind) { return kLimitNames[static_cast<size_t>(kind)]; }

void RequestLimits::set(const LimitSpec& spec) {
  in_flight_max_.store(spec.max_in_flight);
  requests_per_second_.store(spec.requests_per_second);
  rows_per_second_.store(spec.rows_per_second);
  requests_.set(spec.requests_per_second);
  rows_.set(spec.rows_per_second);
}

std::string RequestLimits::value_of(LimitKind kind) const {
  switch (kind) {
    case LimitKind::InFlight: return std::to_string(in_flight_max_.load());
    case LimitKind::Requests: return shortest(requests_per_second_.load());
    case LimitKind::Rows: return shortest(rows_per_second_.load());
  }
  return {};
}

bool RequestLimits::enter() {
  const int64_t most = in_flight_max_.load(std::memory_order_relaxed);
  if (most == 0) {
    in_flight_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  int64_t now = in_flight_.load(std::memory_order_relaxed);
  while (now < most) {
    if (in_flight_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

LimitHit RequestLimits::refuse(LimitKind kind, uint64_t wait_ns) {
  refused_[static_cast<size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
  return {this, kind, wait_ns};
}

std::optional<LimitHit> RequestLimits::admit(uint64_t now_ns) {
  if (!enter()) return refuse(LimitKind::InFlight, 0);
  if (const uint64_t wait_ns = requests_.take(now_ns); wait_ns != 0) {
    end();
    return refuse(LimitKind::Requests, wait_ns);
  }
  if (const uint64_t wait_ns = rows_.take(now_ns); wait_ns != 0) {
    requests_.give_back();
    end();
    return refuse(LimitKind::Rows, wait_ns);
  }
  return std::nullopt;
}

void RequestLimits::take_back() {
  requests_.give_back();
  rows_.give_back();
  end();
}

}  // namespace serval
