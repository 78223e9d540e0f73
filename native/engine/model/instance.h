// An instance: a named native thread that answers its model's queued requests, one at a time or in
// batches. And what all who answer queued requests share.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "engine/model/request_queue.h"
#include "engine/request/request.h"

namespace serval {

class Model;

// Runs until the model's queue is closed, or needs one instance less. Thread: the instance's own.
void run_instance(Model& model, int index);

// What a late request is answered.
Error late_error(const Model& model, const Request& request);

// What a request is answered whose run was ended.
Error ended_error(const Model& model, EndCause cause);

// Counts, answers and hands back a request that is not run. Any thread.
void finish_refused(Model& model, Request& request, Error error);

// The model that had the handle was unloaded.
Error gone(uint32_t handle);

// Why a model's queue did not take a request: it is `closed`, or full.
Error not_taken(Model& model, const Request& request, bool closed);

// How a request comes into its model's queue. First: it is counted, and somebody is there to take
// it. Unflushed: the same, but the listener tells of it at the end of its turn. Again: it was there
// before.
enum class Entry : uint8_t { First, Unflushed, Again };
// Puts `request` into the queue of `model`, whose time limit is watched from now on. Where that is
// not Taken, it is still the caller's; otherwise it may be done and gone on return.
RequestQueue::Push push_request(const std::shared_ptr<Model>& model, Request& request, Entry entry);

// Answers what the queue handed back as late. Any thread but a listener's.
void finish_late(Model& model, const std::vector<Request*>& late);

// Nothing here throws but the allocator, and foreign code that a backend did not fence in: that
// ends one request or one load, not the process. `work` answers a Status or a Result.
template <typename Work>
auto guarded(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& problem) {
    return make_error(ErrorCode::Internal, std::string("exception: ") + problem.what());
  } catch (...) {
    return make_error(ErrorCode::Internal, "unknown exception");
  }
}

}  // namespace serval
