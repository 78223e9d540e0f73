// Memory that its owners keep for their next use and that can be freed at any time between two
// uses, such as an idle channel's shared memory. Counts the bytes; frees them when nobody used them
// for a while, or when their space is needed. Hot path (uses with large memory only); any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace serval {

class IdleMemory {
 public:
  class Owner {
   public:
    // Frees the kept memory, unless the owner uses it again. Any thread; IdleMemory holds no lock.
    virtual void free_idle() = 0;

   protected:
    ~Owner() = default;
  };

  // Keeps at most `bytes_max` bytes in all.
  explicit IdleMemory(uint64_t bytes_max) : bytes_max_(bytes_max) {}
  IdleMemory(const IdleMemory&) = delete;
  IdleMemory& operator=(const IdleMemory&) = delete;

  // Counts `bytes` of an owner that is idle from now on; free_idle() may be called until reuse()
  // returns. False if too much is kept: the owner frees its memory. `key` identifies the owner.
  [[nodiscard]] bool keep(const void* key, std::weak_ptr<Owner> owner, uint64_t bytes);
  // Ends the count for this owner, if there is one. A call of free_idle() may still be in progress.
  void reuse(const void* key);
  // Frees the memory of owners that were idle for `ns` nanoseconds (0: all).
  void drop_unused(uint64_t ns) { drop(ns, UINT64_MAX); }
  // Frees memory, the longest unused first, until at least `bytes` are free, or none is kept.
  void make_space(uint64_t bytes) { drop(0, bytes); }
  uint64_t kept_bytes() const { return kept_bytes_.load(std::memory_order_relaxed); }

  // Calls `hook` whenever something is kept and nothing was before, under a lock: it must not use
  // this object. Empty: none. No call runs on return.
  void on_first(std::function<void()> hook);

 private:
  struct Kept {
    std::weak_ptr<Owner> owner;
    uint64_t bytes;
    uint64_t since_ns;
  };
  void drop(uint64_t ns, uint64_t enough);

  const uint64_t bytes_max_;
  std::atomic<uint64_t> kept_bytes_{0};  // changed under mutex_
  std::mutex mutex_;
  std::map<const void*, Kept> kept_;  // guarded by mutex_
  std::function<void()> hook_;        // guarded by mutex_
};

}  // namespace serval
