// Monotonic time in nanoseconds. Hot path, any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace serval {

inline uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace serval
