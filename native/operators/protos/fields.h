// The fields of a protobuf message that a graph reads or writes, from a node's attributes:
// `numbers`, `types` (FieldDescriptorProto.Type), `repeated`, `packed`, `dtypes` (ONNX element
// types), `defaults` (strings and bytes unchanged, numbers as the bytes of their output element).
// Control plane: read once.
#pragma once

#include <string>
#include <vector>

#include "operators/kernel_io.h"

namespace serval::operators::protos {

// descriptor.proto's numbers.
enum class Type : uint8_t {
  Double = 1,
  Float,
  Int64,
  Uint64,
  Int32,
  Fixed64,
  Fixed32,
  Bool,
  String,
  Group,
  Message,
  Bytes,
  Uint32,
  Enum,
  Sfixed32,
  Sfixed64,
  Sint32,
  Sint64,
};

enum class Wire : uint8_t {
  Varint = 0,
  Bits64 = 1,
  Bytes = 2,
  Group = 3,
  GroupEnd = 4,
  Bits32 = 5
};

struct Field {
  uint32_t number = 0;
  Type type = Type::Bytes;
  bool repeated = false;
  bool packed = false;
  DType dtype = DType::Bytes;
  std::string fallback;
};

Wire wire_of(Type type);

// Errors: model_invalid.
Result<std::vector<Field>> read_fields(const KernelAttributes& attributes);

}  // namespace serval::operators::protos
