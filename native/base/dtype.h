// Data types: sizes and names. Hot and control plane, any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"

namespace serval {

using DType = fb::DType;

// Bytes of one element; 0 for Bytes and Invalid.
constexpr size_t dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::Bool:
    case DType::Uint8:
    case DType::Int8: return 1;
    case DType::Uint16:
    case DType::Int16:
    case DType::Fp16:
    case DType::Bf16: return 2;
    case DType::Uint32:
    case DType::Int32:
    case DType::Fp32: return 4;
    case DType::Uint64:
    case DType::Int64:
    case DType::Fp64: return 8;
    case DType::Bytes:
    case DType::Invalid: return 0;
  }
  return 0;
}

// The V2 protocol's name ("FP32"); "INVALID" for Invalid.
std::string_view dtype_name(DType dtype);

// The reverse; Invalid when unknown. Case-sensitive, as the protocol says.
DType dtype_from_name(std::string_view name);

// TensorFlow's lower-case name as TensorFlow Serving's texts use it ("float", "int32", "half").
std::string_view dtype_tf_name(DType dtype);

}  // namespace serval
