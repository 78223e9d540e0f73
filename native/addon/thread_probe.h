// Counts how many more threads the process may start. Control plane; any thread.
#pragma once

#include <cstdint>

namespace serval {

inline constexpr uint32_t kProbedThreadsMax = 65'536;

// Starts up to `wanted` threads at once, and ends them all. Returns how many started.
uint32_t startable_threads(uint32_t wanted);

}  // namespace serval
