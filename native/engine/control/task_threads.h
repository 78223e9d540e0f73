// A few threads that run control tasks (loads, unloads, metrics), started as they are needed.
// Control plane; any thread may start a task.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace serval {

class TaskThreads {
 public:
  // `name`: at most 15 bytes. `trims`: memory that tasks left over, and after the first of them the
  // pages of code that only start-up needed, goes back to the system when none has come for a
  // while.
  TaskThreads(std::string name, int threads_max, bool trims);
  // Waits for all tasks.
  ~TaskThreads();
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  // False: no thread is to be had, and none of these is there; the task is not run then.
  bool start(std::function<void()> task);
  // The same as the destructor; later tasks are not run.
  void finish();

 private:
  void run();

  const std::string name_;
  const size_t threads_max_;
  const bool trims_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  std::vector<std::thread> threads_;         // guarded by mutex_
  size_t idle_ = 0;                          // guarded by mutex_
  bool stopping_ = false;                    // guarded by mutex_
};

}  // namespace serval
