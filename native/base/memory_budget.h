// The engine's single memory budget: limits the memory that requests make the process hold (bodies,
// decoded tensors, unread responses). Charged at allocation, which a small request on reused memory
// never does. Owns the large blocks that are kept for later requests: they count in the limit, and
// are freed when a request needs their space. Hot path; any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/memory/block_cache.h"

namespace serval {

class MemoryBudget {
 public:
  // Allocations up to this size may use a reserve in addition to the limit, so that small requests
  // are still served when large ones have used the whole budget.
  static constexpr uint64_t kAlwaysBytes = 64 * 1024;
  // Releases of at least this size count as the end of something large (see large_gives).
  static constexpr uint64_t kLargeBytes = 1u << 20;

  // The reserve is a sixteenth of the limit. Memory that threads hold for clients (see add())
  // should leave half of it free.
  explicit MemoryBudget(uint64_t limit)
      : limit_(limit),
        full_(limit + std::min(limit / 32, UINT64_MAX - limit)),
        ceiling_(limit + std::min(limit / 16, UINT64_MAX - limit)),
        blocks_(limit / kKeptPart) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Charges `bytes` that are about to be allocated; false (and nothing is charged) if they do not
  // fit the limit or, up to kAlwaysBytes, the limit plus the reserve.
  [[nodiscard]] bool take(uint64_t bytes) {
    const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    const uint64_t kept = blocks_.kept_bytes();
    if (before + bytes + kept <= limit_) return true;
    if (before + bytes <= limit_) {
      blocks_.make_space(before + bytes + kept - limit_);
      return true;
    }
    if (bytes <= kAlwaysBytes && before + bytes <= ceiling_) return true;
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  // Charges memory that is already allocated, even over the limit. False: stop keeping small things
  // for clients that do not read them.
  bool add(uint64_t bytes) {
    return used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= full_;
  }
  void give(uint64_t bytes) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    if (bytes >= kLargeBytes) large_gives_.fetch_add(1, std::memory_order_relaxed);
  }

  // Blocks that were released and not returned to the system yet.
  BlockCache& blocks() { return blocks_; }

  uint64_t limit() const { return limit_; }
  // The bytes that are charged now, without those of blocks().
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  // The number of large releases: the allocator may have kept memory since.
  uint64_t large_gives() const { return large_gives_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kKeptPart = 8;  // blocks() keeps at most an eighth of the limit

  const uint64_t limit_;
  const uint64_t full_;
  const uint64_t ceiling_;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> large_gives_{0};
  BlockCache blocks_;
};

}  // namespace serval
