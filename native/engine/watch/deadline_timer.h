// Answers requests whose time limit passes while they wait and no instance is free to say so, and
// ends the runs of those whose deadline passes while they run. One thread, started with the first
// limit. Control of the hot path's queue; any thread may watch().
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

namespace serval {

class Model;

class DeadlineTimer {
 public:
  DeadlineTimer() = default;
  ~DeadlineTimer();
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  // Looks at what waits and runs at `at_ns` (of now_ns()) unless an earlier look is due anyway.
  void watch(const std::shared_ptr<Model>& model, uint64_t at_ns);

 private:
  struct Due {
    uint64_t at_ns;
    std::weak_ptr<Model> model;
    bool operator>(const Due& other) const { return at_ns > other.at_ns; }
  };
  void run();
  void look(const std::shared_ptr<Model>& model);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // guarded by mutex_
  bool stopping_ = false;                                           // guarded by mutex_
  std::thread thread_;                                              // guarded by mutex_
};

}  // namespace serval
