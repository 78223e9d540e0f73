// The outputs of one run, copied. Immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/memory_budget.h"
#include "base/tensor.h"

namespace serval {

class CachedOutputs {
 public:
  // Charges the copy to `budget`, which outlives it. Returns null if there is no memory.
  static std::shared_ptr<const CachedOutputs> copy(std::span<const TensorView> outputs,
                                                   MemoryBudget& budget);
  // Made by copy().
  CachedOutputs(MemoryBudget& budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}
  ~CachedOutputs();
  CachedOutputs(const CachedOutputs&) = delete;
  CachedOutputs& operator=(const CachedOutputs&) = delete;

  // The outputs that the model returned, in the order in which they were requested.
  std::span<const TensorView> outputs() const { return outputs_; }
  // The memory of an entry of the cache with them.
  uint64_t bytes() const { return bytes_; }

 private:
  MemoryBudget& budget_;
  const uint64_t bytes_;
  uint8_t* block_ = nullptr;
  std::vector<TensorView> outputs_;
};

// The memory of such an entry, before it is copied.
uint64_t cached_bytes(std::span<const TensorView> outputs);

}  // namespace serval
