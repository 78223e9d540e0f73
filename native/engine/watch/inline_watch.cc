// Watches inline runs. Thread: its own, except add(), remove() and wake().
#include "engine/watch/inline_watch.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/threads.h"

namespace serval {

namespace {

constexpr std::chrono::milliseconds kLookEvery(20);
constexpr int kIdleLooksMax = 10;

}  // namespace

InlineWatch::~InlineWatch() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void InlineWatch::add(InlineRuns& runs) {
  std::lock_guard lock(mutex_);
  watched_.push_back({&runs, runs.flag_.state(), now_ns()});
}

void InlineWatch::remove(InlineRuns& runs) {
  std::lock_guard lock(mutex_);
  std::erase_if(watched_, [&](const Watched& one) { return one.runs == &runs; });
}

void InlineWatch::wake() {
  std::lock_guard lock(mutex_);
  if (stopping_ || awake_.exchange(true)) return;
  if (!thread_.joinable() && !start_thread_in(thread_, [this] { run(); })) {
    awake_.store(false);  // the next run tries again
    return;
  }
  changed_.notify_one();
}

// Scans the runs. Caller holds mutex_. Returns false if there was no run since the last scan.
bool InlineWatch::look() {
  bool some = false;
  for (Watched& one : watched_) {
    const uint64_t state = one.runs->flag_.state();
    const bool runs = CancelFlag::uses(state) % 2 == 1;
    const bool same = state == one.state;
    some |= runs || !same;
    if (!runs && same) continue;
    const uint64_t now = now_ns();
    if (!same) {
      one.state = state;
      one.since_ns = now;
    } else if (now - one.since_ns >= one.runs->limit_ns_.load(std::memory_order_relaxed)) {
      one.runs->flag_.cancel_if(state, EndCause::Displaced);
    }
  }
  return some;
}

void InlineWatch::run() {
  pthread_setname_np(pthread_self(), "sv-inline");
  std::unique_lock lock(mutex_);
  int idle_looks = 0;
  while (!stopping_) {
    changed_.wait_for(lock, kLookEvery, [this] { return stopping_; });
    idle_looks = look() ? 0 : idle_looks + 1;
    if (idle_looks < kIdleLooksMax) continue;
    awake_.store(false);
    // A run that began before that store woke nobody, and is seen here.
    if (look()) awake_.store(true);
    else changed_.wait(lock, [this] { return stopping_ || awake_.load(); });
    idle_looks = 0;
  }
}

}  // namespace serval
