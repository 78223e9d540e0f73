// A model's bounded queue of requests. Any thread. Never blocks a producer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

#include "engine/request.h"

namespace serval {

class RequestQueue {
 public:
  explicit RequestQueue(size_t requests_max) : requests_max_(requests_max) {}

  enum class Push : uint8_t { Taken, Full, Closed };
  // Does not own the request.
  Push push(Request* request);
  // Waits for a request; nullptr once closed (what is left inside comes back from close()).
  Request* pop();
  // Wakes everyone; returns what was waiting.
  std::deque<Request*> close();
  // Takes a waiting request out (its client went away). False when it is not waiting any more.
  bool remove(Request* request);

 private:
  const size_t requests_max_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Request*> waiting_;  // guarded by mutex_
  bool closed_ = false;           // guarded by mutex_
};

}  // namespace serval
