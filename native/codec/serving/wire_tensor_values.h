// Converts the values of a validated TensorProto to a tensor. Internal to wire_tensor.cc. Hot path,
// any thread.
#pragma once

#include <algorithm>

#include "codec/serving/wire_tensor.h"

namespace serval {

// The wire type of a typed field's value when it is not packed.
constexpr WireType typed_type(uint32_t field) {
  switch (field) {
    case TensorProto::kFloatVal:
    case TensorProto::kScomplexVal: return WireType::Fixed32;
    case TensorProto::kDoubleVal:
    case TensorProto::kDcomplexVal: return WireType::Fixed64;
    case TensorProto::kStringVal:
    case TensorProto::kResourceHandleVal:
    case TensorProto::kVariantVal:
    case TensorProto::kFloat8Val: return WireType::Bytes;
    default: return WireType::Varint;
  }
}

// The state of one decode_wire_tensor() call. Borrows everything. The type is one that the engine
// has.
struct TensorDecode {
  const WireTensor& wire;
  const TfType& type;
  std::string_view name;
  uint64_t elements;  // 1 or more
  Arena& arena;
  TensorView& out;

  const WireTensor::Values& values() const { return wire.values(type.field); }
  // The number of values to read. The last of them repeats up to `elements`.
  uint64_t given() const { return std::min(values().count, elements); }
};

// `tensor parsing error: <name>` is TensorFlow's whole text, for the client; the reason is for the
// log.
Error tensor_parsing_error(std::string_view name, std::string reason);
Error tensor_memory_out(std::string_view name);

// Makes the tensor from decode.wire.content, or from the typed field of its dtype. Errors: as
// decode_wire_tensor().
Status take_tensor_content(const TensorDecode& decode);
Status take_tensor_values(const TensorDecode& decode, uint64_t& fill_left);

}  // namespace serval
