// The memory that one thread's JavaScript holds for requests, charged to the engine's budget.
// Control plane; the listener's thread.
#pragma once

#include <cstdint>

#include "engine/lane/state.h"

namespace serval {

class HeldBytes {
 public:
  explicit HeldBytes(LaneState& state) : state_(state) {}

  // Adds `change` bytes; a negative change releases bytes. Returns false if the bytes are
  // `refusable` and do not fit, then they are not counted; or if they are counted and the budget is
  // full.
  bool count(int64_t change, bool refusable);
  void release_all();

 private:
  LaneState& state_;
  int64_t bytes_ = 0;
};

}  // namespace serval
