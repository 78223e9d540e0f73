// A tensor as everyone sees it: a view. Hot path, any thread. Owns nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/shape.h"

namespace serval {

// Fixed-size dtypes: `data`, `bytes` (row-major, little-endian, shape.elements() * dtype_bytes).
// Bytes: `strings`, one view per element; data and bytes are unused.
// The memory belongs to the body, the arena or the backend's scratch; the view says nothing of it.
struct TensorView {
  DType dtype = DType::Invalid;
  Shape shape;
  const uint8_t* data = nullptr;
  size_t bytes = 0;
  std::span<const std::string_view> strings;
};

}  // namespace serval
