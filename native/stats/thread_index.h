// A small number for each thread that records statistics, so that it has a shard of its own in
// every model. Hot path, any thread.
#pragma once

#include <cstdint>

namespace serval {

inline constexpr uint32_t kThreadIndexes = 256;
// Of all threads that found the other 255 taken, and of threads that are ending.
inline constexpr uint32_t kSharedThreadIndex = 255;

namespace thread_index_detail {
// 0 = none yet, else the index + 1. Constant-initialised: reading it costs no guard.
extern constinit thread_local uint32_t held_plus_one;
uint32_t take();
}  // namespace thread_index_detail

// The calling thread's index: taken at the first call, given back when the thread ends. What the
// earlier holder of an index wrote is visible to the next one.
inline uint32_t thread_index() {
  const uint32_t held = thread_index_detail::held_plus_one;
  return held != 0 ? held - 1 : thread_index_detail::take();
}

}  // namespace serval
