// Copies outputs for the response cache. Hot path (models with a response cache).
#include "engine/cache/cached_outputs.h"

#include <algorithm>

#include "base/memory/tensor_copy.h"

namespace serval {

namespace {

// An entry's own objects: in the table, in the two lists, the allocator's share.
constexpr uint64_t kEntryBytes = 384;

}  // namespace

uint64_t cached_bytes(std::span<const TensorView> outputs) {
  uint64_t bytes = kEntryBytes + outputs.size() * sizeof(TensorView);
  for (const TensorView& output : outputs) bytes += copy_bytes(output);
  return bytes;
}

std::shared_ptr<const CachedOutputs> CachedOutputs::copy(std::span<const TensorView> outputs,
                                                         MemoryBudget& budget) {
  const uint64_t bytes = cached_bytes(outputs);
  if (!budget.take(bytes)) return nullptr;
  auto made = std::make_shared<CachedOutputs>(budget, bytes);
  size_t block_bytes = 0;
  for (const TensorView& output : outputs) block_bytes += copy_bytes(output);
  made->block_ = allocate_aligned(std::max<size_t>(1, block_bytes));
  if (made->block_ == nullptr) return nullptr;
  made->outputs_.assign(outputs.begin(), outputs.end());
  uint8_t* at = made->block_;
  for (TensorView& output : made->outputs_) {
    const size_t size = copy_bytes(output);
    copy_tensor(output, at);
    at += size;
  }
  return made;
}

CachedOutputs::~CachedOutputs() {
  free_aligned(block_);
  budget_.give(bytes_);
}

}  // namespace serval
