// The engine's one budget for bytes: what requests may make the process hold (bodies, decoded
// tensors, answers that nobody took yet). Counted where memory is allocated, which a small request
// on kept memory never does. Hot path; any thread. It allocates nothing itself.
#pragma once

#include <atomic>
#include <cstdint>

namespace serval {

class MemoryBudget {
 public:
  // Allocations up to here are counted and never refused: when large requests have taken the whole
  // budget, small ones are still answered.
  static constexpr uint64_t kAlwaysBytes = 64 * 1024;
  // What is given back at once from here on counts as the end of something large (see large_gives).
  static constexpr uint64_t kLargeBytes = 1u << 20;

  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Counts `bytes` that are about to be allocated; false (and nothing is counted) where they are
  // more than kAlwaysBytes and do not fit.
  [[nodiscard]] bool take(uint64_t bytes) {
    const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= limit_ || bytes <= kAlwaysBytes) return true;
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  // Counts what is there already, whatever the limit.
  void add(uint64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
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
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> large_gives_{0};
};

}  // namespace serval
