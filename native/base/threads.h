// Starts threads where that may fail: pids.max of a control group and ulimit -u limit them. Any
// thread.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace serval {

// Runs `run` on `out`, which has no thread yet. False: the system cannot start a thread.
template <typename Run>
[[nodiscard]] bool start_thread_in(std::thread& out, Run run) {
  try {
    out = std::thread(std::move(run));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

inline Error no_thread(const char* what) {
  return make_error(ErrorCode::Internal,
                    std::string(what) +
                        ": no thread could be started: the limit of processes and threads is "
                        "reached (pids.max of the control group, ulimit -u)");
}

}  // namespace serval
