// The error of a request that a limit refuses. Hot path (errors); any thread.
#pragma once

#include "base/error.h"
#include "engine/limits/request_limits.h"

namespace serval {

// limit_reached: names the model or the key, the limit and what to raise; its missing part has the
// time after which to try again.
Error limit_error(const LimitHit& hit);

}  // namespace serval
