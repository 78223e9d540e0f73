// Threads for control tasks. Control plane; any thread.
#include "engine/control/task_threads.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "base/threads.h"

namespace serval {

namespace {

// Releasing memory to the system holds the allocator's locks for milliseconds: don't do it between
// two tasks.
constexpr std::chrono::milliseconds kTrimAfter(300);

}  // namespace

TaskThreads::TaskThreads(std::string name, int threads_max, bool trims)
    : name_(std::move(name)),
      threads_max_(static_cast<size_t>(std::max(1, threads_max))),
      trims_(trims) {}

TaskThreads::~TaskThreads() { finish(); }

void TaskThreads::finish() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  ready_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

bool TaskThreads::start(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  if (idle_ < tasks_.size() + 1 && threads_.size() < threads_max_) {
    std::thread thread;
    if (start_thread_in(thread, [this] { run(); })) threads_.push_back(std::move(thread));
    else if (threads_.empty()) return false;
  }
  tasks_.push_back(std::move(task));
  ready_.notify_one();
  return true;
}

void TaskThreads::run() {
  pthread_setname_np(pthread_self(), name_.c_str());
  bool trim_due = false;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    const auto some = [this] { return stopping_ || !tasks_.empty(); };
    if (trim_due && !ready_.wait_for(lock, kTrimAfter, some)) {
      trim_due = false;
      lock.unlock();
      malloc_trim(0);
      lock.lock();
    }
    ready_.wait(lock, some);
    --idle_;
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    trim_due = trims_;
    lock.lock();
  }
}

}  // namespace serval
