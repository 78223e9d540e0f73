// Watches the runs on listeners' threads. Such a thread handles nothing else while a model runs: no
// disconnect, no signal, no deadline. A run that takes too long there is ended, and its request is
// queued and runs again where it can be cancelled. One thread (`sv-inline`) that polls every 20 ms
// while there are inline runs and sleeps otherwise; the runs read no clock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cancel.h"

namespace serval {

class InlineWatch;

// The inline runs of one listener, one at a time. Hot path; the listener's thread.
class InlineRuns {
 public:
  // `limit_ns`: the time after which a run must leave this thread.
  void begin(InlineWatch& watch, uint64_t limit_ns);
  void end(InlineWatch& watch);
  CancelFlag* flag() { return &flag_; }

 private:
  friend class InlineWatch;

  CancelFlag flag_;  // odd uses: a run is in progress
  std::atomic<uint64_t> limit_ns_{0};
};

class InlineWatch {
 public:
  InlineWatch() = default;
  ~InlineWatch();
  InlineWatch(const InlineWatch&) = delete;
  InlineWatch& operator=(const InlineWatch&) = delete;

  // Registers the runs of a listener. Control plane. Borrows until remove().
  void add(InlineRuns& runs);
  void remove(InlineRuns& runs);

 private:
  friend class InlineRuns;

  struct Watched {
    InlineRuns* runs;
    uint64_t state = 0;     // state of its flag, as last seen
    uint64_t since_ns = 0;  // when that was first seen
  };
  void wake();
  void run();
  bool look();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> watched_;  // guarded by mutex_
  bool stopping_ = false;         // guarded by mutex_
  std::thread thread_;            // guarded by mutex_
  std::atomic<bool> awake_{false};
};

inline void InlineRuns::begin(InlineWatch& watch, uint64_t limit_ns) {
  limit_ns_.store(limit_ns, std::memory_order_relaxed);
  flag_.reset();
  // Must follow the store above: before it sleeps, the watch scans once more.
  if (!watch.awake_.load()) watch.wake();
}

inline void InlineRuns::end(InlineWatch& watch) {
  if (flag_.reset() == EndCause::None) return;
  // Waits for a watch that is about to end this run, so that it does not end the next one.
  const std::lock_guard lock(watch.mutex_);
}

}  // namespace serval
