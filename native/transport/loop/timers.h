// Timers: a heap of nodes that store their own position, so that a call's deadline costs no
// allocation and can be removed directly. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace serval {

// The time `ms` after `now_ns`; UINT64_MAX (never) on overflow.
constexpr uint64_t after_ms(uint64_t now_ns, uint64_t ms) {
  return ms >= (UINT64_MAX - now_ns) / kNsPerMs ? UINT64_MAX : now_ns + ms * kNsPerMs;
}

// Base of everything that waits for a time.
struct TimerNode {
  static constexpr size_t kOut = SIZE_MAX;
  uint64_t due_ns = 0;
  size_t place = kOut;  // set by Timers
};

class Timers {
 public:
  // Adds or moves the node. Borrows it until clear() or until take() returns it.
  void set(TimerNode& node, uint64_t due_ns);
  void clear(TimerNode& node);
  // When the first is due; UINT64_MAX = none.
  uint64_t next_ns() const { return heap_.empty() ? UINT64_MAX : heap_.front()->due_ns; }
  // Removes and returns one that is due; null = none.
  TimerNode* take(uint64_t now_ns);

 private:
  void rise(size_t place);
  void sink(size_t place);
  void put(size_t place, TimerNode* node);

  std::vector<TimerNode*> heap_;
};

}  // namespace serval
