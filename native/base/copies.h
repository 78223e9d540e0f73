// Hot path, any thread. Counts request tensor bytes between the body and the backend as copied or
// viewed. docs/explanation/threads-and-copies.md budgets the copies; test/boundary compares.
// Relaxed atomics: one add per tensor.
#pragma once

#include <atomic>
#include <cstdint>

namespace serval {

struct CopyCount {
  std::atomic<uint64_t> copied_bytes{0};
  std::atomic<uint64_t> viewed_bytes{0};
};

// The process's counters.
inline CopyCount& copy_count() {
  static CopyCount count;
  return count;
}

inline void count_copied(uint64_t bytes) {
  copy_count().copied_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

inline void count_viewed(uint64_t bytes) {
  copy_count().viewed_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace serval
