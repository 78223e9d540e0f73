// The way of finished requests back to the thread of their lane. Hot path (queued requests); any
// thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

#include "base/error.h"
#include "engine/request/hooks.h"
#include "engine/request/request.h"

namespace serval {

// The requests of one lane that others work on, and those of them that are done.
class CompletionQueue {
 public:
  explicit CompletionQueue(LaneHooks& hooks) : hooks_(hooks) {}

  // Counts requests that are handed to others, or taken back. Lane's thread.
  void add_working(int change);
  // Any thread: hands finished requests back to the listener's thread. Not empty.
  void complete(std::span<Request* const> requests);
  // The same for one that the listener's thread finished, which it takes without being woken.
  void complete_here(Request& request);
  // Up to `out.size()` finished requests for one wake-up. Lane's thread.
  size_t take(std::span<Request*> out);
  bool empty();
  // Any thread: the listener's is to look at what changed.
  void wake();

  // From now on nobody is woken.
  void close();
  // After close(): blocks until nobody works on a request of this lane. What was not taken.
  const std::deque<Request*>& wait_for_all();

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  LaneHooks& hooks_;                // not used after close()
  std::deque<Request*> completed_;  // guarded by mutex_
  int64_t working_ = 0;             // guarded by mutex_: queued, running, loading
  bool closed_ = false;             // guarded by mutex_
};

// Hands requests whose outcome is stored back to their lanes, those of one at once.
void complete_all(std::span<Request* const> requests);
void complete_one(Request& request);
// Both for one request.
void finish_request(Request& request);
void finish_request(Request& request, const Error& error);

}  // namespace serval
