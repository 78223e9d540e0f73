// Runs the timer of time limits. Thread: its own; is_earlier() and add(): any thread.
#include "engine/watch/deadline_timer.h"

#include <pthread.h>

#include <chrono>

#include "base/clock.h"
#include "base/threads.h"

namespace serval {

DeadlineTimer::~DeadlineTimer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool DeadlineTimer::is_earlier(Timed& timed, uint64_t at_ns) {
  uint64_t due = timed.checked_at_ns_.load(std::memory_order_relaxed);
  do {
    if (due <= at_ns) return false;
  } while (!timed.checked_at_ns_.compare_exchange_weak(due, at_ns, std::memory_order_relaxed));
  return true;
}

void DeadlineTimer::add(const std::shared_ptr<Timed>& timed, uint64_t at_ns) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  due_.push({at_ns, timed});
  // If no thread can be started, the next request tries again.
  if (!thread_.joinable() && !start_thread_in(thread_, [this] { run(); })) return;
  changed_.notify_one();
}

void DeadlineTimer::check(const std::shared_ptr<Timed>& timed) {
  timed->checked_at_ns_.store(kNever, std::memory_order_relaxed);
  const uint64_t next = timed->expire();
  if (next != kNever) watch(timed, next);
}

void DeadlineTimer::run() {
  pthread_setname_np(pthread_self(), "sv-deadlines");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (due_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const uint64_t now = now_ns();
    const Due next = due_.top();
    if (next.at_ns > now) {
      changed_.wait_for(lock, std::chrono::nanoseconds(next.at_ns - now));
      continue;
    }
    due_.pop();
    lock.unlock();
    if (const std::shared_ptr<Timed> timed = next.timed.lock()) check(timed);
    lock.lock();
  }
}

}  // namespace serval
