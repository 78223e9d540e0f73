// See instance.h. Thread: instance.
#include "engine/model/instance.h"

#include <pthread.h>

#include "base/clock.h"
#include "engine/lane/lane.h"
#include "engine/model/batcher.h"
#include "engine/model/serve.h"
#include "engine/watch/deadline_timer.h"

namespace serval {

namespace {

// Hot path: queue. A queued request, from here on as on the listener's thread.
void answer(Model& model, size_t replica, ServeMemory& memory, Request& request) {
  if (request.cancel.cancelled()) {
    finish_refused(model, request, make_error(ErrorCode::Cancelled, "the client went away"));
    return;
  }
  const uint64_t queue_ns = request.queued.elapsed_ns();
  const ServeInput input = input_of(request, &request.cancel);
  {
    Request* const one = &request;
    const RunningScope running(model, {&one, 1});
    const ReplicaUse use(model, replica);
    serve(input, model, use.index(), queue_ns, request.lane->settings(), memory, request);
  }
  complete_one(request);
}

}  // namespace

void finish_refused(Model& model, Request& request, Error error) {
  end_request(model, request, std::move(error));
  complete_one(request);
}

Error gone(uint32_t handle) {
  return make_error(ErrorCode::ModelNotReady, "the model was unloaded",
                    "handle " + std::to_string(handle));
}

Error not_taken(Model& model, const Request& request, bool closed) {
  if (closed) return gone(model.handle());
  return make_error(ErrorCode::QueueFull,
                    "model '" + model.spec().name + "': the request queue is full (limit " +
                        std::to_string(model.queue().limit_of(request.schedule.priority)) +
                        " requests)");
}

RequestQueue::Push push_request(const std::shared_ptr<Model>& model, Request& request,
                                Entry entry) {
  uint64_t limit_ns = kNever;
  const bool told = entry != Entry::Unflushed;
  const RequestQueue::Push pushed = model->queue().push(&request, told, limit_ns);
  if (pushed != RequestQueue::Push::Taken) return pushed;
  if (limit_ns != kNever) model->services().timer->watch(model, limit_ns);
  if (entry != Entry::Again) {
    model->counters().requests_queued.fetch_add(1, std::memory_order_relaxed);
  }
  if (told) model->attend();
  return pushed;
}

Error late_error(const Model& model, const Request& request) {
  const std::string name = "model '" + model.spec().name + "': ";
  if (request.late == Request::Late::Deadline) {
    return make_error(ErrorCode::DeadlineExceeded,
                      name + "the request's deadline passed while it waited in the queue");
  }
  return make_error(ErrorCode::QueueFull,
                    name + "Request timeout expired while it waited in the queue");
}

Error ended_error(const Model& model, EndCause cause) {
  const std::string name = "model '" + model.spec().name + "'";
  switch (cause) {
    case EndCause::Deadline:
      return make_error(ErrorCode::DeadlineExceeded,
                        name + ": the request's deadline passed while the model ran");
    case EndCause::Unloaded:
      return make_error(ErrorCode::ModelNotReady, name + " version " + model.version_text() +
                                                      " was unloaded while the request ran");
    case EndCause::None:
    case EndCause::ClientLeft:
    case EndCause::Displaced: break;
  }
  return make_error(ErrorCode::Cancelled, "the client went away");
}

void finish_late(Model& model, const std::vector<Request*>& late) {
  for (Request* request : late) finish_refused(model, *request, late_error(model, *request));
}

void run_instance(Model& model, int index) {
  const std::string name = "sv-" + model.spec().name.substr(0, 9) + "-" + std::to_string(index);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  const auto replica = static_cast<size_t>(index);
  if (model.batcher() != nullptr) {
    model.batcher()->run_instance(replica);
    return;
  }
  ServeMemory memory(model.services().budget);
  std::vector<Request*> late;
  for (;;) {
    late.clear();
    Request* request = model.queue().pop(late);
    finish_late(model, late);
    if (request != nullptr) answer(model, replica, memory, *request);
    else if (late.empty()) return;
  }
}

}  // namespace serval
