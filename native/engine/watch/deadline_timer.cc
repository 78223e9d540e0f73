// See deadline_timer.h. Thread: its own, but watch().
#include "engine/watch/deadline_timer.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/threads.h"
#include "engine/model/instance.h"
#include "engine/model/model.h"

namespace serval {

DeadlineTimer::~DeadlineTimer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DeadlineTimer::watch(const std::shared_ptr<Model>& model, uint64_t at_ns) {
  std::atomic<uint64_t>& looks_at = model->looks_at_ns();
  uint64_t due = looks_at.load(std::memory_order_relaxed);
  do {
    if (due <= at_ns) return;
  } while (!looks_at.compare_exchange_weak(due, at_ns, std::memory_order_relaxed));
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  due_.push({at_ns, model});
  // Without a thread the next request tries again.
  if (!thread_.joinable() && !start_thread_in(thread_, [this] { run(); })) return;
  changed_.notify_one();
}

void DeadlineTimer::look(const std::shared_ptr<Model>& model) {
  model->looks_at_ns().store(kNever, std::memory_order_relaxed);
  std::vector<Request*> late;
  model->queue().expire(late);
  finish_late(*model, late);
  const uint64_t next = std::min(model->queue().next_expiry_ns(), model->running().expire());
  if (next != kNever) watch(model, next);
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
    if (const std::shared_ptr<Model> model = next.model.lock()) look(model);
    lock.lock();
  }
}

}  // namespace serval
