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
// Large blocks and shared memory that no request used for this time are freed.
constexpr uint64_t kUnusedNs = 1'000'000'000;

}  // namespace

MemoryTrimmer::MemoryTrimmer(std::shared_ptr<MemoryBudget> budget, std::function<void()> drop_kept)
    : budget_(std::move(budget)), drop_kept_(std::move(drop_kept)) {}

void MemoryTrimmer::begin() {
  std::lock_guard lock(mutex_);
  if (stopping_ || due_.exchange(true)) return;
  if (!thread_.joinable() && !start_thread_in(thread_, [this] { run(); })) {
    due_.store(false);  // the next burst tries again
    return;
  }
  changed_.notify_one();
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
      changed_.wait(lock, [this] { return stopping_ || due_.load(); });
      if (stopping_) return;
    }
    if (!trim_burst()) return;
    if (!drop_unused()) return;
  }
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
