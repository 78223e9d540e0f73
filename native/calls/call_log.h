// Access log lines of gRPC calls that reached no model's queue: refused calls, and those that are
// not an inference. The engine logs its own requests. Any thread.
#pragma once

#include <string_view>

#include "engine/control/engine.h"

namespace serval {

// `code`: a gRPC status number. Costs one relaxed load if the log is off.
void log_call(AccessLog& log, std::string_view path, int code, std::string_view message);

}  // namespace serval
