// Releases memory to the system when a burst of large requests is over: listeners drop what their
// idle slots keep, then the allocator its free pages, then the budget its unused memory; and some
// time after the last long run, the memory that runtimes keep for runs. Control plane; its own
// thread (`sv-trim`) starts with the first large request or long run and sleeps except after these.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/memory_budget.h"

namespace serval {

// A run of this length may have allocated much: 1 GB takes 100 ms to allocate.
inline constexpr uint64_t kLongRunNs = 5'000'000;

class MemoryTrimmer {
 public:
  // `drop_kept` makes all holders of memory for later requests drop it, `release_runs` the runtimes
  // release what no run uses. Thread: sv-trim.
  MemoryTrimmer(std::shared_ptr<MemoryBudget> budget, std::function<void()> drop_kept,
                std::function<void()> release_runs = {});
  ~MemoryTrimmer() { finish(); }
  MemoryTrimmer(const MemoryTrimmer&) = delete;
  MemoryTrimmer& operator=(const MemoryTrimmer&) = delete;

  // Notes that a large request or buffer was released. Any thread; costs one load during a burst.
  void note() {
    if (!due_.load(std::memory_order_relaxed)) begin();
  }
  // Notes the end of a run of that length. Any thread; costs one store while long runs go on.
  void note_run(uint64_t ns) {
    if (ns < kLongRunNs) return;
    if (!ran_.exchange(true, std::memory_order_relaxed)) begin_watch();
  }
  // Ends the thread; later notes do nothing.
  void finish();

 private:
  void begin();
  void begin_watch();
  bool have_thread();  // caller holds mutex_
  void run();
  // The next four return false if the thread must end.
  bool pause();
  // Waits for the end of the burst, at most for a limited time, and releases its memory.
  bool trim_burst();
  // Frees unused memory until none is kept, or the next burst has begun.
  bool drop_unused();
  // Waits until no long run ended for a while, then releases their memory. Gives up for a burst.
  bool watch_runs();

  const std::shared_ptr<MemoryBudget> budget_;
  const std::function<void()> drop_kept_;
  const std::function<void()> release_runs_;
  std::atomic<bool> due_{false};
  std::atomic<bool> ran_{false};  // a long run ended since the latest poll
  bool watching_ = false;         // guarded by mutex_: memory of long runs is to be released
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;     // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
};

}  // namespace serval
