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
  // `name`: at most 15 bytes. `trims`: memory that tasks freed is released to the system after a
  // while without tasks.
  TaskThreads(std::string name, int threads_max, bool trims);
  // Waits for all tasks.
  ~TaskThreads();
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  // Runs the task on a thread. Returns false if no thread can be started and none exists; then the
  // task is not run.
  bool start(std::function<void()> task);
  // Does the same as the destructor; later tasks are not run.
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
