// The errors of requests that are not run, or not to their end. Any thread.
#pragma once

#include <cstdint>
#include <string>

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
// No instance is there to run what waits, and none could be started: `problem` says why.
Error no_instance(const Model& model, const std::string& problem);
// The model was unloaded while the request waited in its queue.
Error unloaded_waiting(const Model& model);
// The queue handed the request back as late.
Error late_error(const Model& model, const Request& request);
// A run was ended before it was complete.
Error ended_error(const Model& model, EndCause cause);

}  // namespace serval
