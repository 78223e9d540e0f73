// A small number for each thread that records statistics, which selects its own shard in every
// model. Hot path, any thread.
#pragma once

#include <cstdint>

namespace serval {

inline constexpr uint32_t kThreadIndexes = 256;
// Shared by all threads beyond the first 255, and by threads that are ending.
inline constexpr uint32_t kSharedThreadIndex = 255;

namespace thread_index_detail {
// 0 = none yet, else the index + 1. Constant-initialised: reading it costs no guard.
extern constinit thread_local uint32_t held_plus_one;
uint32_t take();
}  // namespace thread_index_detail

// The calling thread's index: assigned at the first call, released when the thread ends. Writes of
// an index's previous owner are visible to the next one.
inline uint32_t thread_index() {
  const uint32_t held = thread_index_detail::held_plus_one;
  return held != 0 ? held - 1 : thread_index_detail::take();
}

}  // namespace serval
