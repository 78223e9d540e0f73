// Charges bytes of an owner other than a buffer or arena to the budget until it is destroyed. One
// thread at a time.
#pragma once

#include <cstdint>

#include "base/memory_budget.h"

namespace serval {

class CountedBytes {
 public:
  CountedBytes() = default;
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;
  ~CountedBytes() { less(bytes_); }

  // Charges more to `budget` (nullptr: nothing), which has to be the same each time; false if the
  // budget refuses.
  [[nodiscard]] bool more(MemoryBudget* budget, uint64_t bytes) {
    if (budget == nullptr) return true;
    if (!budget->take(bytes)) return false;
    budget_ = budget;
    bytes_ += bytes;
    return true;
  }
  void less(uint64_t bytes) {
    if (budget_ == nullptr) return;
    budget_->give(bytes);
    bytes_ -= bytes;
  }

 private:
  MemoryBudget* budget_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace serval
