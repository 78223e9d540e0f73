// Releases memory to the system when a burst of large requests is over: listeners drop what their
// idle slots keep, then the allocator its free pages, then the budget its unused memory. Control
// plane; its own thread (`sv-trim`) starts with the first large request and sleeps except at the
// end of a burst.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/memory_budget.h"

namespace serval {

class MemoryTrimmer {
 public:
  // `drop_kept` makes all holders of memory for later requests drop it. Thread: sv-trim.
  MemoryTrimmer(std::shared_ptr<MemoryBudget> budget, std::function<void()> drop_kept);
  ~MemoryTrimmer() { finish(); }
  MemoryTrimmer(const MemoryTrimmer&) = delete;
  MemoryTrimmer& operator=(const MemoryTrimmer&) = delete;

  // Notes that a large request or buffer was released. Any thread; costs one load during a burst.
  void note() {
    if (!due_.load(std::memory_order_relaxed)) begin();
  }
  // Ends the thread; later notes do nothing.
  void finish();

 private:
  void begin();
  void run();
  // The next three return false if the thread must end.
  bool pause();
  // Waits for the end of the burst, at most for a limited time, and releases its memory.
  bool trim_burst();
  // Frees unused memory until none is kept, or the next burst has begun.
  bool drop_unused();

  const std::shared_ptr<MemoryBudget> budget_;
  const std::function<void()> drop_kept_;
  std::atomic<bool> due_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;     // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
};

}  // namespace serval
