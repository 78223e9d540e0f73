// Entry of requests into their model's queue, and the end of those that leave it without a run.
// Hot path (queued requests); any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/cancel.h"
#include "base/error.h"
#include "engine/model/request_queue.h"
#include "engine/request/request.h"

namespace serval {

class Model;

// The way a request enters its model's queue. First: it is counted, and an instance is woken or
// started for it. Unflushed: it is counted; the listener wakes instances at the end of its
// event-loop iteration. Again: it was in the queue before, so it is not counted.
enum class Entry : uint8_t { First, Unflushed, Again };
// Puts `request` into the queue of `model` and has its time limit watched. Unless the result is
// Taken, the request is still the caller's. Once taken, it may already be finished and recycled:
// don't touch it.
RequestQueue::Push push_request(const std::shared_ptr<Model>& model, Request& request, Entry entry);

// Whether a request whose run failed with `loss` returns to its queue, because its model's
// process is down: it did not run; or it ran when the process ended, the model's configuration
// allows a second run, and this was the first. Marks it then. `cancel`: the flag of its run.
bool returns_to_queue(Model& model, Request& request, Loss loss, const CancelFlag* cancel);
// Puts such requests back; answers them if the queue is closed. Thread: instance.
void put_back(Model& model, std::span<Request* const> requests);

// Separates the second runs of requests that were in flight when their model's process ended: one
// of them may be the reason, and then ends no other one. Hot path; the thread that runs the
// request.
class RetryTurn {
 public:
  // Waits until no other second run is in progress, if the request `died`: at most a second, since
  // a run of that length is not the likely reason, and until it is cancelled.
  RetryTurn(BackendModel& backend, bool died, const CancelFlag* cancel);
  ~RetryTurn() {
    if (held_ != nullptr) held_->unlock();
  }
  RetryTurn(const RetryTurn&) = delete;
  RetryTurn& operator=(const RetryTurn&) = delete;

 private:
  std::timed_mutex* held_ = nullptr;
};

// Counts a request that is not run, stores the error and hands it back. Any thread.
void finish_refused(Model& model, Request& request, Error error);
// Answers requests that the queue handed back as late. Any thread but a listener's.
void finish_late(Model& model, const std::vector<Request*>& late);

}  // namespace serval
