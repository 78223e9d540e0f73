// Keeps large blocks of memory for the next request: the system would take each one back, and fault
// its pages in again one by one. Hot path; any thread. Whoever owns it drops what was not used for
// a while.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace serval {

class BlockCache {
 public:
  // Smaller and larger blocks are the allocator's.
  static constexpr size_t kBytesMin = 128 * 1024, kBytesMax = 128u << 20;

  // Keeps at most `bytes_max` bytes in all.
  explicit BlockCache(uint64_t bytes_max) : bytes_max_(bytes_max) {}
  ~BlockCache() { drop_unused(0); }
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Returns whether blocks of `bytes` bytes are kept here.
  static bool covers(size_t bytes) { return bytes >= kBytesMin && bytes <= kBytesMax; }
  // The bytes to allocate for a block that `bytes` need: at most an eighth more. Blocks of nearly
  // equal needs are interchangeable. `bytes` must be covered.
  static size_t block_bytes(size_t bytes);

  // Returns a kept block of block_bytes(bytes) bytes, which the caller then owns; nullptr if there
  // is none.
  uint8_t* reuse(size_t bytes);
  // Takes ownership of a block that was allocated by allocate_aligned(block_bytes(bytes)). False if
  // the cache is full: the caller frees the block.
  [[nodiscard]] bool keep(uint8_t* block, size_t bytes);
  // Returns whether keep() would have space for such a block now.
  bool has_space(size_t bytes) const {
    return covers(bytes) && kept_bytes() + block_bytes(bytes) <= bytes_max_;
  }
  // Frees the blocks that nobody used in the last `ns` nanoseconds (0: all).
  void drop_unused(uint64_t ns) { drop(ns, UINT64_MAX); }
  // Frees blocks until at least `bytes` bytes are free, or none is kept.
  void make_space(uint64_t bytes) { drop(0, bytes); }
  uint64_t kept_bytes() const { return kept_bytes_.load(std::memory_order_relaxed); }

  // Calls `hook` whenever the cache stops being empty, on the thread that freed the block and under
  // the cache's lock: it must not use the cache. Empty: none. No call runs on return.
  void on_first_block(std::function<void()> hook);

 private:
  struct Kept {
    uint8_t* block;
    uint64_t since_ns;
  };
  // Eight classes for each power of two.
  static constexpr size_t kClasses = 81;
  static size_t class_of(size_t bytes);
  // Frees blocks unused for `ns`, the oldest of each class first, until `enough` bytes are free.
  void drop(uint64_t ns, uint64_t enough);

  const uint64_t bytes_max_;
  std::atomic<uint64_t> kept_bytes_{0};
  std::mutex mutex_;
  std::array<std::vector<Kept>, kClasses> classes_;  // guarded by mutex_; the latest one is last
  std::function<void()> hook_;                       // guarded by mutex_
};

// Memory for tensors, aligned to kTensorAlignment; nullptr if the system has none.
uint8_t* allocate_aligned(size_t bytes);
void free_aligned(uint8_t* block);
// Returns the pages of a block to the system; its content is lost. Unmapping holds the lock of the
// process's memory map throughout, and every thread that maps memory or touches a new page waits
// for it: a large block loses its pages in pieces before it is freed. Takes about 0.1 ms per MB.
void release_pages(uint8_t* block, size_t bytes);

}  // namespace serval
