// Entry of requests into their model's queue, and the end of those that leave it without a run.
// Hot path (queued requests); any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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

// Counts a request that is not run, stores the error and hands it back. Any thread.
void finish_refused(Model& model, Request& request, Error error);
// Answers requests that the queue handed back as late. Any thread but a listener's.
void finish_late(Model& model, const std::vector<Request*>& late);

}  // namespace serval
