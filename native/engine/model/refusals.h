// Errors of requests that do not run, or do not run to completion. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "backend/backend.h"
#include "base/cancel.h"
#include "base/error.h"
#include "engine/request/request.h"

namespace serval {

class Model;

// The client closed its connection or cancelled its call.
Error client_left();
// The model that had the handle was unloaded.
Error gone(uint32_t handle);
// A model's queue did not accept a request: it is `closed`, or full.
Error not_taken(Model& model, const Request& request, bool closed);
// There is no instance for the waiting requests and none could be started: `problem` is the reason.
Error no_instance(const Model& model, const std::string& problem);
// The model was unloaded while the request waited in its queue.
Error unloaded_waiting(const Model& model);
// The queue handed the request back as late.
Error late_error(Model& model, const Request& request);
// Refuses second runs (ModelSpec::retry) for a model with state. Errors: model_invalid.
Status check_retry(const ModelSpec& spec, const BackendModelInfo& info);
// A run was ended before it was complete.
Error ended_error(const Model& model, EndCause cause);

}  // namespace serval
