// Lines of the access log about gRPC calls that came to no model's queue: refused ones, and those
// that are no inference. What the engine is asked it writes by itself. Any thread.
#pragma once

#include <string_view>

#include "engine/control/engine.h"

namespace serval {

// `code`: gRPC's. One relaxed load where the log is off.
void log_call(AccessLog& log, std::string_view path, int code, std::string_view message);

}  // namespace serval
