// Errors of requests that do not run, or do not run to completion. Any thread.
#include "engine/model/refusals.h"

#include <string>

#include "engine/model/model.h"

namespace serval {

Error client_left() { return make_error(ErrorCode::Cancelled, "the client went away"); }

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

Error no_instance(const Model& model, const std::string& problem) {
  return make_error(
      ErrorCode::QueueFull,
      "model '" + model.spec().name + "': no thread could be started to run it: " + problem);
}

Error unloaded_waiting(const Model& model) {
  return make_error(ErrorCode::ModelNotReady, "model '" + model.spec().name + "' version " +
                                                  model.version_text() +
                                                  " was unloaded while the request waited");
}

Error late_error(Model& model, const Request& request) {
  if (request.late == Request::Late::Down) return model.outage();
  const std::string name = "model '" + model.spec().name + "': ";
  if (request.late == Request::Late::Deadline) {
    return make_error(ErrorCode::DeadlineExceeded,
                      name + "the request's deadline passed while it waited in the queue");
  }
  return make_error(ErrorCode::QueueFull,
                    name + "Request timeout expired while it waited in the queue");
}

Status check_retry(const ModelSpec& spec, const BackendModelInfo& info) {
  if (!spec.retry || !info.stateful) return {};
  return make_error(ErrorCode::ModelInvalid,
                    "model '" + spec.name +
                        "': parameter serval.retry: expected a model without state, got one that "
                        "keeps state between requests, which a request that runs twice would "
                        "change twice");
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
  return client_left();
}

}  // namespace serval
