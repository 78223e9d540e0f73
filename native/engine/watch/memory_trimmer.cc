// Releases memory after a burst. Thread: sv-trim, except note() and finish().
#include "engine/watch/memory_trimmer.h"

#include <malloc.h>
#include <pthread.h>

#include <chrono>

#include "base/threads.h"

namespace serval {

namespace {

constexpr std::chrono::milliseconds kLook(500);
// Releasing memory to the system holds the allocator's locks for milliseconds: don't do it during a
// burst. A burst without a pause is trimmed anyway after this number of polls; at once if half of
// the budget is in use, since the memory that the allocator keeps is in addition to that.
constexpr int kLooksMax = 8;
// The number of polls without a long run after which the memory of runs is released: 8 s. A run
// after that allocates it again, which takes up to 0.1 ms for each MB.
constexpr int kQuietPolls = 16;
// Large blocks and shared memory that no request used for this time are freed.
constexpr uint64_t kUnusedNs = 1'000'000'000;

}  // namespace

MemoryTrimmer::MemoryTrimmer(std::shared_ptr<MemoryBudget> budget, std::function<void()> drop_kept,
                             std::function<void()> release_runs)
    : budget_(std::move(budget)),
      drop_kept_(std::move(drop_kept)),
      release_runs_(std::move(release_runs)) {}

bool MemoryTrimmer::have_thread() {
  return thread_.joinable() || start_thread_in(thread_, [this] { run(); });
}

void MemoryTrimmer::begin() {
  std::lock_guard lock(mutex_);
  if (stopping_ || due_.exchange(true)) return;
  if (have_thread()) changed_.notify_one();
  else due_.store(false);  // the next burst tries again
}

void MemoryTrimmer::begin_watch() {
  std::lock_guard lock(mutex_);
  if (stopping_ || watching_ || !release_runs_) return;
  watching_ = have_thread();
  if (watching_) changed_.notify_one();
  else ran_.store(false);  // the next long run tries again
}

void MemoryTrimmer::finish() {
  std::thread thread;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    thread.swap(thread_);
  }
  changed_.notify_one();
  if (thread.joinable()) thread.join();
}

bool MemoryTrimmer::pause() {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, kLook, [this] { return stopping_; });
}

void MemoryTrimmer::run() {
  pthread_setname_np(pthread_self(), "sv-trim");
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || watching_ || due_.load(); });
      if (stopping_) return;
    }
    if (due_.load() && !(trim_burst() && drop_unused())) return;
    if (!watch_runs()) return;
  }
}

bool MemoryTrimmer::watch_runs() {
  for (int quiet = 0;;) {
    {
      std::lock_guard lock(mutex_);
      if (!watching_) return true;
      if (ran_.exchange(false, std::memory_order_relaxed)) quiet = 0;
      if (quiet == kQuietPolls) {
        watching_ = false;
        break;
      }
    }
    if (!pause()) return false;
    if (due_.load()) return true;  // watches on after the burst
    ++quiet;
  }
  release_runs_();
  return true;
}

bool MemoryTrimmer::trim_burst() {
  uint64_t before = budget_->large_gives() + 1;
  for (int look = 0; look < kLooksMax && before != budget_->large_gives(); ++look) {
    if (look > 0 && budget_->used() > budget_->limit() / 2) break;
    before = budget_->large_gives();
    if (!pause()) return false;
    budget_->drop_unused(kUnusedNs);
  }
  due_.store(false);
  drop_kept_();
  if (!pause()) return false;  // listeners drop their memory on their own threads
  malloc_trim(0);
  return true;
}

bool MemoryTrimmer::drop_unused() {
  if (budget_->kept_bytes() == 0) return true;
  do {
    if (!pause()) return false;
    budget_->drop_unused(kUnusedNs);
  } while (budget_->kept_bytes() != 0 && !due_.load());
  // Blocks below the allocator's threshold for mapped memory were freed into its heaps.
  malloc_trim(0);
  return true;
}

}  // namespace serval
