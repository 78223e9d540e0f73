// The engine's one budget for bytes: what requests may make the process hold (bodies, decoded
// tensors, answers that nobody took yet). Counted where memory is allocated, which a small request
// on kept memory never does. Hot path; any thread. It allocates nothing itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace serval {

class MemoryBudget {
 public:
  // Allocations up to here may use a reserve beside the limit: when large requests have taken the
  // whole budget, small ones are still answered.
  static constexpr uint64_t kAlwaysBytes = 64 * 1024;
  // What is given back at once from here on counts as the end of something large (see large_gives).
  static constexpr uint64_t kLargeBytes = 1u << 20;

  // The reserve is a sixteenth of the limit. What threads hold for clients (see add()) is to leave
  // half of it to others.
  explicit MemoryBudget(uint64_t limit)
      : limit_(limit),
        full_(limit + std::min(limit / 32, UINT64_MAX - limit)),
        ceiling_(limit + std::min(limit / 16, UINT64_MAX - limit)) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Counts `bytes` that are about to be allocated; false (and nothing is counted) where they do
  // not fit: into the limit or, up to kAlwaysBytes, into limit and reserve.
  [[nodiscard]] bool take(uint64_t bytes) {
    const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= limit_) return true;
    if (bytes <= kAlwaysBytes && before + bytes <= ceiling_) return true;
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  // Counts what is there already, whatever the limit. False: no more small things are to be kept
  // for clients that do not take them.
  bool add(uint64_t bytes) {
    return used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= full_;
  }
  void give(uint64_t bytes) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    if (bytes >= kLargeBytes) large_gives_.fetch_add(1, std::memory_order_relaxed);
  }

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  // How often something large was given back: what the allocator may keep since.
  uint64_t large_gives() const { return large_gives_.load(std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  const uint64_t full_;
  const uint64_t ceiling_;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> large_gives_{0};
};

}  // namespace serval
