// Runs work that may throw. Hot and control plane, any thread.
#pragma once

#include <exception>
#include <string>

#include "base/error.h"

namespace serval {

// Our own code does not throw. The allocator does, and so does foreign code that a backend does not
// guard: such an exception fails one request or one load, not the process. `work` returns a Status
// or a Result.
template <typename Work>
auto catch_exceptions(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& problem) {
    return make_error(ErrorCode::Internal, std::string("exception: ") + problem.what());
  } catch (...) {
    return make_error(ErrorCode::Internal, "unknown exception");
  }
}

}  // namespace serval
