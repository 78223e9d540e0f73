// The engine's single memory budget: limits the memory that requests make the process hold (bodies,
// decoded tensors, unread responses). Charged at allocation, which a small request on reused memory
// never does. Owns the large blocks, and counts the shared memory, that are kept for later
// requests: they count in the limit, and are freed when a request needs their space. Hot path; any
// thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "base/memory/block_cache.h"
#include "base/memory/idle_memory.h"

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
        blocks_(limit / kKeptPart),
        idle_(limit / kKeptPart) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Charges `bytes` that are about to be allocated; false (and nothing is charged) if they do not
  // fit the limit or, up to kAlwaysBytes, the limit plus the reserve.
  [[nodiscard]] bool take(uint64_t bytes) {
    const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    const uint64_t kept = kept_bytes();
    if (before + bytes + kept <= limit_) return true;
    if (before + bytes <= limit_) {
      make_space(before + bytes + kept - limit_);
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
  // Memory of idle owners, such as channels to models' processes.
  IdleMemory& idle() { return idle_; }
  // The bytes of both.
  uint64_t kept_bytes() const { return blocks_.kept_bytes() + idle_.kept_bytes(); }
  // Frees what nobody used in the last `ns` nanoseconds (0: everything kept).
  void drop_unused(uint64_t ns) {
    blocks_.drop_unused(ns);
    idle_.drop_unused(ns);
  }
  // Calls `hook` when blocks() or idle() stops being empty; see there.
  void on_first_kept(const std::function<void()>& hook) {
    blocks_.on_first_block(hook);
    idle_.on_first(hook);
  }

  uint64_t limit() const { return limit_; }
  // The bytes that are charged now, without kept_bytes().
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  // The number of large releases: the allocator may have kept memory since.
  uint64_t large_gives() const { return large_gives_.load(std::memory_order_relaxed); }

 private:
  // Blocks() and idle() each keep at most an eighth of the limit.
  static constexpr uint64_t kKeptPart = 8;

  void make_space(uint64_t bytes) {
    const uint64_t in_blocks = blocks_.kept_bytes();
    blocks_.make_space(bytes);
    if (bytes > in_blocks) idle_.make_space(bytes - in_blocks);
  }

  const uint64_t limit_;
  const uint64_t full_;
  const uint64_t ceiling_;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> large_gives_{0};
  BlockCache blocks_;
  IdleMemory idle_;
};

}  // namespace serval
