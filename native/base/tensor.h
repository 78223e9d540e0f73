// The view of a tensor that all code uses. Hot path, any thread. Owns nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/shape.h"

namespace serval {

namespace gpu {
class SharedMemory;
}

// Fixed-size dtypes: `data`, `bytes` (row-major, little-endian, shape.elements() * dtype_bytes).
// Bytes, String: `strings`, one view per element; data and bytes are unused. The memory belongs to
// the body, the arena or the backend's scratch; the view does not own it. With `device`, `data` is
// an address within that GPU memory, which the host cannot read: only for inputs of a model that
// accepts it (BackendModelInfo), and outputs that were requested there.
//
// A tabular model's fields and outputs, R rows each: scalars have shape [R]; vectors (Vector) and
// lists (the dtype of their elements) have [R,D] or, for rows of different lengths, [R,-1] with
// `lengths`. A missing row has an element (of any value) in [R] and D in [R,D]; in [R,-1] its
// length is 0. A time of the day is Int64, in seconds.
struct TensorView {
  DType dtype = DType::Invalid;
  Shape shape;
  const uint8_t* data = nullptr;
  size_t bytes = 0;
  std::span<const std::string_view> strings;
  const uint8_t* states = nullptr;    // tabular: per row, 0 valid, 1 missing; null = all valid
  const uint32_t* lengths = nullptr;  // tabular, [R,-1]: elements of each row
  uint8_t precision = 0, scale = 0;   // for Decimal
  const gpu::SharedMemory* device = nullptr;
};

// The requested place of an output: `memory` null = anywhere on the host.
struct OutputPlace {
  const gpu::SharedMemory* memory = nullptr;
  uint64_t offset = 0, bytes = 0;  // within it; space for the output
};

// Whether rows of it differ in length.
inline bool is_ragged(const TensorView& tensor) { return tensor.lengths != nullptr; }

}  // namespace serval
