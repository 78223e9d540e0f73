// Schedules the requests of a measurement. The load's thread.
#include "load/measure/loop.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace serval::load {
namespace {

constexpr size_t kWaitingMax = 1u << 20;  // requests of an open loop waiting for a connection
constexpr uint64_t kWaitStepNs = 100'000'000;

std::string seconds_text(uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(ns) / 1e9);
  return text;
}

}  // namespace

Loop::Loop(const Schedule& schedule, uint64_t begins_ns, Sender& sender)
    : schedule_(schedule),
      sender_(sender),
      begins_ns_(begins_ns),
      measured_ns_(begins_ns + schedule.warmup_ns),
      ends_ns_(schedule.requests > 0 ? UINT64_MAX : measured_ns_ + schedule.measure_ns),
      pacing_(schedule.open_loop ? schedule.rate : 1, schedule.poisson, schedule.seed, begins_ns),
      last_ns_(measured_ns_) {}

void Loop::pump(uint64_t now_ns) {
  if (now_ns < begins_ns_) return;
  if (!schedule_.open_loop) {
    while (in_flight_ < schedule_.concurrency && goes_on(now_ns) && sender_.free()) {
      ++in_flight_;
      ++begun_;
      sender_.send(now_ns);
    }
    return;
  }
  take_due(now_ns);
  while (!waiting_.empty() && sender_.free()) {
    const uint64_t due_ns = waiting_.front();
    waiting_.pop_front();
    if (due_ns >= measured_ns_) result_.late.add(now_ns - due_ns);
    ++in_flight_;
    ++begun_;
    sender_.send(due_ns);
  }
}

void Loop::take_due(uint64_t now_ns) {
  for (; pacing_.due_ns() <= now_ns && pacing_.due_ns() < ends_ns_; pacing_.advance()) {
    const uint64_t due_ns = pacing_.due_ns();
    const bool is_counted = due_ns >= measured_ns_;
    if (waiting_.size() < kWaitingMax) {
      waiting_.push_back(due_ns);
      owed_ += is_counted ? 1 : 0;
    } else if (is_counted) {
      count_failure(Failure::Late,
                    "more than " + std::to_string(kWaitingMax) + " requests wait to be sent", 1);
    }
  }
}

bool Loop::counts(uint64_t due_ns, uint64_t now_ns) const {
  if (schedule_.open_loop) return due_ns >= measured_ns_;
  return now_ns >= measured_ns_ && (now_ns < ends_ns_ || schedule_.counts_late);
}

void Loop::answered(uint64_t due_ns, uint64_t now_ns, uint64_t response_bytes) {
  --in_flight_;
  const bool is_counted = counts(due_ns, now_ns);
  if (schedule_.open_loop && is_counted) --owed_;
  const bool in_time = now_ns >= measured_ns_ && now_ns < ends_ns_;
  if (schedule_.counts_late ? is_counted : in_time) ++result_.answered;
  if (!is_counted) return;
  result_.latencies.add(now_ns - due_ns);
  result_.response_bytes = response_bytes;
  last_ns_ = now_ns;
}

void Loop::failed(uint64_t due_ns, uint64_t now_ns, Failure kind, std::string_view error) {
  --in_flight_;
  if (!counts(due_ns, now_ns)) return;
  if (schedule_.open_loop) --owed_;
  count_failure(kind, error, 1);
}

void Loop::count_failure(Failure kind, std::string_view error, uint64_t count) {
  result_.failed += count;
  result_.failures[static_cast<size_t>(kind)] += count;
  if (result_.first_error.empty()) result_.first_error = error;
}

uint64_t Loop::next_ns(uint64_t now_ns) const {
  if (now_ns < begins_ns_) return begins_ns_;
  if (schedule_.requests > 0) return UINT64_MAX;
  if (now_ns >= ends_ns_) {
    const uint64_t left_ns = schedule_.grace_ns - std::min(waited_ns_, schedule_.grace_ns);
    return now_ns + std::min(left_ns, kWaitStepNs);
  }
  const uint64_t phase_ns = now_ns < measured_ns_ ? measured_ns_ : ends_ns_;
  return schedule_.open_loop ? std::min(phase_ns, pacing_.due_ns()) : phase_ns;
}

bool Loop::over(uint64_t now_ns) {
  const bool all_came = in_flight_ == 0 && waiting_.empty();
  if (schedule_.requests > 0) return all_came && begun_ >= schedule_.requests;
  if (now_ns < ends_ns_) return false;
  const bool has_begun = schedule_.open_loop || !schedule_.counts_late || begun_ > 0;
  if (all_came && has_begun) return true;
  if (asked_ns_ != 0) waited_ns_ += std::min(now_ns - asked_ns_, kWaitStepNs);
  asked_ns_ = now_ns;
  return waited_ns_ >= schedule_.grace_ns;
}

// Counts the requests without a response.
void Loop::count_missing() {
  const std::string after = " " + seconds_text(schedule_.grace_ns) + " s after the end";
  const auto is_counted = [&](uint64_t due_ns) { return due_ns >= measured_ns_; };
  const auto unsent =
      static_cast<uint64_t>(std::count_if(waiting_.begin(), waiting_.end(), is_counted));
  const uint64_t missing = (schedule_.open_loop ? owed_ : in_flight_) - unsent;
  if (missing > 0) count_failure(Failure::Late, "no answer" + after, missing);
  if (unsent > 0) {
    count_failure(Failure::Late, "not sent" + after + ": the server is slower than the rate",
                  unsent);
  }
}

Measured Loop::finish() {
  count_missing();
  const bool to_last = schedule_.requests > 0 || (schedule_.counts_late && !schedule_.open_loop);
  result_.elapsed_ns = to_last ? last_ns_ - measured_ns_ : schedule_.measure_ns;
  return std::move(result_);
}

}  // namespace serval::load
