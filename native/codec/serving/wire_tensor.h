// Reads and writes TensorFlow's TensorProto as wire bytes. Hot path, any thread. Views of the
// message. Source: tfserving.md 2 "TensorProto", "TensorProto reading rules".
#pragma once

#include <array>
#include <string>

#include "base/buffer.h"
#include "base/bytes/generated/map_entry.h"
#include "base/bytes/generated/tensorflow.h"
#include "base/bytes/wire_writer.h"
#include "base/error.h"
#include "base/tensor.h"
#include "codec/serving/wire.h"

namespace serval {

namespace TensorProto = proto::tensorflow::TensorProto;
namespace TensorShapeProto = proto::tensorflow::TensorShapeProto;
namespace MapEntry = proto::MapEntry;

// The fields of a TensorProto that hold values of one type each have consecutive numbers.
inline constexpr uint32_t kTypedFirst = TensorProto::kFloatVal;
inline constexpr uint32_t kTypedLast = TensorProto::kFloat8Val;

// A DataType of TensorFlow. `dtype` is Invalid if the engine does not have it; `field`: the typed
// field of TensorProto that carries it.
struct TfType {
  std::string_view name;
  DType dtype = DType::Invalid;
  uint32_t field = 0;
};

// Null for DT_INVALID, reference types and numbers unknown to TensorFlow.
const TfType* tf_type(uint32_t number);
// The DataType's number; 0 for Invalid.
uint32_t tf_type_number(DType dtype);

// A TensorProto in wire form: fields found, counted and validated.
struct WireTensor {
  // The values of one typed field.
  struct Values {
    uint64_t count = 0;
    uint64_t pieces = 0;                  // packed runs and single values
    std::span<const uint8_t> packed_run;  // the latest run; holds all values if pieces == 1
  };

  std::span<const uint8_t> message;  // a TensorProto, or a map entry that holds it
  bool in_entry = false;
  uint32_t dtype = 0;  // DataType
  Shape shape;         // the first kRankMax dims
  uint64_t rank = 0;   // dims on the wire
  bool unknown_rank = false;
  std::span<const uint8_t> content;  // tensor_content
  std::array<Values, kTypedLast - kTypedFirst + 1> typed{};

  const Values& values(uint32_t field) const { return typed[field - kTypedFirst]; }
};

// Reads the TensorProto `bytes` and merges it into `out`, as protobuf does. False: a fault was
// found. `origin`: first byte of the outermost message. Sets neither message nor in_entry.
bool read_wire_tensor(std::span<const uint8_t> bytes, const uint8_t* origin, WireFault& fault,
                      WireTensor& out);

// Finds the type of its elements. Errors: invalid_argument, unimplemented, as decode_wire_tensor().
Status wire_tensor_type(const WireTensor& wire, std::string_view name, const TfType*& out);

// Makes a tensor: a view of the message if possible, otherwise in memory from `arena`. `name`: the
// alias for errors. `fill_left`: bytes that values may still take beyond those in the message (the
// last value repeats, or zeros); reduced by the amount used.
// Errors: invalid_argument `tensor parsing error: <name>` (the log's detail has the reason), an 8-
// or 16-bit integer or a bool out of range; unimplemented (a dtype that the engine does not have);
// body_too_large (fill_left); internal (memory).
Status decode_wire_tensor(const WireTensor& wire, std::string_view name, uint64_t& fill_left,
                          Arena& arena, TensorView& out);

// Sizes of a tensor as TensorProto, computed once and used for its head and its values.
struct WireTensorBytes {
  uint64_t dims = 0;    // the TensorShapeProto
  uint64_t values = 0;  // the packed run or tensor_content, without its head; not for strings
  uint64_t proto = 0;   // the whole TensorProto
};
WireTensorBytes wire_tensor_bytes(const TensorView& tensor, TfTensorForm form);
void write_wire_tensor(WireWriter& writer, const TensorView& tensor, TfTensorForm form,
                       const WireTensorBytes& bytes);

}  // namespace serval
