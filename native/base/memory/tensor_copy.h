// Copies of tensors in one block of memory. Hot path; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/tensor.h"

namespace serval {

// Returns the bytes that copy_tensor() writes for this view, a multiple of 64.
size_t copy_bytes(const TensorView& view);
// Copies what the view points to into `to`, which is 64-byte aligned, and makes it a view of the
// copy. Not for tensors in GPU memory.
void copy_tensor(TensorView& view, uint8_t* to);

}  // namespace serval
