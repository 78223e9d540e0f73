// Answers requests whose time limit passes while they wait and no instance is free to do so, and
// ends the runs of those whose deadline passes while they run. One thread, started with the first
// limit. Control of the hot path's queue; any thread may watch().
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "engine/request/time_limit.h"

namespace serval {

// A source of requests with time limits, for the timer: a model.
class Timed {
 public:
  // Answers requests whose limit has passed while they waited, and ends runs whose deadline has.
  // Returns now_ns() at which to check again; kNever = not. Thread: the timer's.
  virtual uint64_t expire() = 0;

 protected:
  ~Timed() = default;

 private:
  friend class DeadlineTimer;
  std::atomic<uint64_t> checked_at_ns_{kNever};  // when the timer checks next; kNever = not
};

class DeadlineTimer {
 public:
  DeadlineTimer() = default;
  ~DeadlineTimer();
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  // Checks `timed` at `at_ns` (of now_ns()), unless an earlier check is scheduled. Hot path (queued
  // requests with a limit). Any thread.
  template <typename T>
  void watch(const std::shared_ptr<T>& timed, uint64_t at_ns) {
    if (is_earlier(*timed, at_ns)) add(timed, at_ns);
  }

 private:
  struct Due {
    uint64_t at_ns;
    std::weak_ptr<Timed> timed;
    bool operator>(const Due& other) const { return at_ns > other.at_ns; }
  };
  static bool is_earlier(Timed& timed, uint64_t at_ns);
  void add(const std::shared_ptr<Timed>& timed, uint64_t at_ns);
  void run();
  void check(const std::shared_ptr<Timed>& timed);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // guarded by mutex_
  bool stopping_ = false;                                           // guarded by mutex_
  std::thread thread_;                                              // guarded by mutex_
};

}  // namespace serval
