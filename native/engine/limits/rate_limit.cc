// Implements the bucket. Hot path (limited requests); any thread.
#include "engine/limits/rate_limit.h"

#include <algorithm>
#include <cmath>

namespace serval {

namespace {

// Times are in sixteenths of a nanosecond: a token of the highest rate (1e9 per second) has 16.
constexpr uint64_t kUnitsPerNs = 16;
constexpr double kUnitsPerSecond = 1e9 * kUnitsPerNs;

}  // namespace

void RateLimit::set(double per_second) {
  const auto interval =
      per_second > 0 ? static_cast<uint64_t>(std::llround(kUnitsPerSecond / per_second)) : 0;
  if (interval_.load() == interval) return;
  window_.store(std::max(interval, static_cast<uint64_t>(kUnitsPerSecond)));
  full_at_.store(0);
  interval_.store(interval);
}

uint64_t RateLimit::take(uint64_t now_ns) {
  const uint64_t interval = interval_.load(std::memory_order_relaxed);
  if (interval == 0) return 0;
  const uint64_t now = now_ns * kUnitsPerNs;
  const uint64_t last = now + window_.load(std::memory_order_relaxed);
  uint64_t full_at = full_at_.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t next = std::max(full_at, now) + interval;
    if (next > last) return (next - last) / kUnitsPerNs + 1;
    if (full_at_.compare_exchange_weak(full_at, next, std::memory_order_relaxed)) return 0;
  }
}

void RateLimit::charge(uint64_t now_ns, uint64_t tokens) {
  const uint64_t interval = interval_.load(std::memory_order_relaxed);
  if (interval == 0 || tokens == 0) return;
  const uint64_t now = now_ns * kUnitsPerNs;
  const uint64_t most = now + kDebtNsMax * kUnitsPerNs;
  const uint64_t spent =
      tokens > kDebtNsMax * kUnitsPerNs / interval ? kDebtNsMax * kUnitsPerNs : tokens * interval;
  uint64_t full_at = full_at_.load(std::memory_order_relaxed);
  while (!full_at_.compare_exchange_weak(full_at, std::min(std::max(full_at, now) + spent, most),
                                         std::memory_order_relaxed)) {
  }
}

// A bucket that is full again, or was reset meanwhile, has no use for the token.
void RateLimit::give_back() {
  const uint64_t interval = interval_.load(std::memory_order_relaxed);
  uint64_t full_at = full_at_.load(std::memory_order_relaxed);
  while (!full_at_.compare_exchange_weak(full_at, full_at > interval ? full_at - interval : 0,
                                         std::memory_order_relaxed)) {
  }
}

}  // namespace serval
