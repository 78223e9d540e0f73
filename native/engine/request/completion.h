// Returns finished requests to the thread of their lane. Hot path (queued requests); any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/request/hooks.h"
#include "engine/request/request.h"

namespace serval {

// The number of a lane's requests that other threads work on, and those that are finished.
class CompletionQueue {
 public:
  explicit CompletionQueue(LaneHooks& hooks) : hooks_(hooks) {}

  // Counts requests that are handed to other threads, or withdrawn. Lane's thread.
  void add_working(int change);
  // Hands finished requests back to the listener's thread; at least one. Any thread.
  void complete(std::span<Request* const> requests);
  // Does the same for one that the listener's thread finished, without waking that thread.
  void complete_here(Request& request);
  // Takes up to `out.size()` finished requests for one wake-up. Lane's thread.
  size_t take(std::span<Request*> out);
  bool empty();
  // Wakes the listener's thread, so that it checks what changed. Any thread.
  void wake();

  // Stops all wake-ups.
  void close();
  // After close(): blocks until no thread works on a request of this lane. Returns the requests
  // that were not taken.
  const std::deque<Request*>& wait_for_all();

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  LaneHooks& hooks_;                // not used after close()
  std::deque<Request*> completed_;  // guarded by mutex_
  int64_t working_ = 0;             // guarded by mutex_: queued, running, loading
  bool closed_ = false;             // guarded by mutex_
};

// Hands requests whose outcome is stored back to their lanes, with one call per lane.
void complete_all(std::span<Request* const> requests);

// Hands the requests of batches back, in the order of the batches' numbers if that is preserved.
// Any thread.
class BatchDelivery {
 public:
  explicit BatchDelivery(bool in_order) : in_order_(in_order) {}
  // `number`: counts batches from 0; each is delivered once. Empties `requests`.
  void deliver(uint64_t number, std::vector<Request*>& requests);

 private:
  const bool in_order_;
  std::mutex mutex_;
  uint64_t next_ = 0;                                    // guarded by mutex_
  std::map<uint64_t, std::vector<Request*>> too_early_;  // guarded by mutex_
};

void complete_one(Request& request);
// Stores the outcome and hands the request back.
void finish_request(Request& request);
void finish_request(Request& request, const Error& error);

}  // namespace serval
