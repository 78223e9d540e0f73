// Hot path. Converts TensorProto to tensors: validates and counts in one walk, then
// wire_tensor_values.cc reads the values. Any thread.
#include "codec/serving/wire_tensor.h"

#include "base/bytes/wire_lists.h"
#include "codec/serving/wire_tensor_values.h"
#include "codec/v2/wire_read.h"

namespace serval {

namespace {

using Bytes = std::span<const uint8_t>;

namespace dt = proto::tensorflow::DataType;

// Types by their DataType.
constexpr std::array<TfType, dt::kDtUint2 + 1> kTypes = [] {
  std::array<TfType, dt::kDtUint2 + 1> types{};
  types[dt::kDtInvalid].name = "invalid";
  types[dt::kDtFloat] = {"float", DType::Fp32, TensorProto::kFloatVal};
  types[dt::kDtDouble] = {"double", DType::Fp64, TensorProto::kDoubleVal};
  types[dt::kDtInt32] = {"int32", DType::Int32, TensorProto::kIntVal};
  types[dt::kDtUint8] = {"uint8", DType::Uint8, TensorProto::kIntVal};
  types[dt::kDtInt16] = {"int16", DType::Int16, TensorProto::kIntVal};
  types[dt::kDtInt8] = {"int8", DType::Int8, TensorProto::kIntVal};
  types[dt::kDtString] = {"string", DType::Bytes, TensorProto::kStringVal};
  types[dt::kDtComplex64] = {"complex64", DType::Invalid, TensorProto::kScomplexVal};
  types[dt::kDtInt64] = {"int64", DType::Int64, TensorProto::kInt64Val};
  types[dt::kDtBool] = {"bool", DType::Bool, TensorProto::kBoolVal};
  types[dt::kDtQint8] = {"qint8", DType::Invalid, TensorProto::kIntVal};
  types[dt::kDtQuint8] = {"quint8", DType::Invalid, TensorProto::kIntVal};
  types[dt::kDtQint32] = {"qint32", DType::Invalid, TensorProto::kIntVal};
  types[dt::kDtBfloat16] = {"bfloat16", DType::Bf16, TensorProto::kHalfVal};
  types[dt::kDtQint16] = {"qint16", DType::Invalid, TensorProto::kIntVal};
  types[dt::kDtQuint16] = {"quint16", DType::Invalid, TensorProto::kIntVal};
  types[dt::kDtUint16] = {"uint16", DType::Uint16, TensorProto::kIntVal};
  types[dt::kDtComplex128] = {"complex128", DType::Invalid, TensorProto::kDcomplexVal};
  types[dt::kDtHalf] = {"half", DType::Fp16, TensorProto::kHalfVal};
  types[dt::kDtResource] = {"resource", DType::Invalid, TensorProto::kResourceHandleVal};
  types[dt::kDtVariant] = {"variant", DType::Invalid, TensorProto::kVariantVal};
  types[dt::kDtUint32] = {"uint32", DType::Uint32, TensorProto::kUint32Val};
  types[dt::kDtUint64] = {"uint64", DType::Uint64, TensorProto::kUint64Val};
  types[dt::kDtFloat8E5m2] = {"float8_e5m2", DType::Invalid, TensorProto::kFloat8Val};
  types[dt::kDtFloat8E4m3fn] = {"float8_e4m3fn", DType::Invalid, TensorProto::kFloat8Val};
  types[dt::kDtFloat8E4m3fnuz] = {"float8_e4m3fnuz", DType::Invalid, TensorProto::kFloat8Val};
  types[dt::kDtFloat8E4m3b11fnuz] = {"float8_e4m3b11fnuz", DType::Invalid, TensorProto::kFloat8Val};
  types[dt::kDtFloat8E5m2fnuz] = {"float8_e5m2fnuz", DType::Invalid, TensorProto::kFloat8Val};
  types[dt::kDtInt4] = {"int4", DType::Invalid, TensorProto::kIntVal};
  types[dt::kDtUint4] = {"uint4", DType::Invalid, TensorProto::kIntVal};
  types[dt::kDtInt2] = {"int2", DType::Invalid, TensorProto::kIntVal};
  types[dt::kDtUint2] = {"uint2", DType::Invalid, TensorProto::kIntVal};
  return types;
}();

bool read_values(WireReader& reader, const WireField& field, WireTensor& out) {
  const WireType type = typed_type(field.number());
  WireTensor::Values& values = out.typed[field.number() - kTypedFirst];
  if (field.type() == type) {
    ++values.count;
    ++values.pieces;
    return true;
  }
  if (field.type() != WireType::Bytes || field.bytes.empty()) return true;
  ++values.pieces;
  values.packed_run = field.bytes;
  return count_packed(reader, type, field.bytes, values.count);
}

bool read_dim(Bytes bytes, const uint8_t* origin, WireFault& fault, WireTensor& out) {
  WireReader reader(bytes, origin, fault);
  WireField field;
  std::string_view ignored;
  int64_t size = 0;
  while (reader.next(field)) {
    if (field.tag == wire_tag(TensorShapeProto::Dim::kSize, WireType::Varint)) {
      size = static_cast<int64_t>(field.value);
    } else if (field.tag == bytes_tag(TensorShapeProto::Dim::kName) &&
               !reader.text(field, ignored)) {
      return false;
    }
  }
  ++out.rank;
  if (out.rank <= kRankMax) (void)out.shape.push_back(size);
  return fault.reason == nullptr;
}

bool read_shape(Bytes bytes, const uint8_t* origin, WireFault& fault, WireTensor& out) {
  WireReader reader(bytes, origin, fault);
  WireField field;
  while (reader.next(field)) {
    if (field.tag == bytes_tag(TensorShapeProto::kDim)) {
      if (!read_dim(field.bytes, origin, fault, out)) return false;
    } else if (field.tag == wire_tag(TensorShapeProto::kUnknownRank, WireType::Varint)) {
      out.unknown_rank = field.value != 0;
    }
  }
  return fault.reason == nullptr;
}

Status check_dims(const WireTensor& wire, std::string_view name, uint64_t& elements) {
  if (wire.unknown_rank) return tensor_parsing_error(name, "shape of unknown rank");
  if (wire.rank > kRankMax) {
    return tensor_parsing_error(name, "shape has " + std::to_string(wire.rank) +
                                          " dimensions; the limit is " + std::to_string(kRankMax));
  }
  const std::optional<uint64_t> count = wire.shape.elements();
  if (!count) {
    return tensor_parsing_error(name, "shape " + wire.shape.to_string() +
                                          " has a negative dimension or over 2^62 elements");
  }
  elements = *count;
  return {};
}

}  // namespace

const TfType* tf_type(uint32_t number) {
  return number == 0 || number >= kTypes.size() ? nullptr : &kTypes[number];
}

uint32_t tf_type_number(DType dtype) {
  for (uint32_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].dtype == dtype) return dtype == DType::Invalid ? 0 : i;
  }
  return 0;
}

bool read_wire_tensor(Bytes bytes, const uint8_t* origin, WireFault& fault, WireTensor& out) {
  WireReader reader(bytes, origin, fault);
  WireField field;
  while (reader.next(field)) {
    switch (field.tag) {
      case wire_tag(TensorProto::kDtype, WireType::Varint):
        out.dtype = static_cast<uint32_t>(field.value);
        break;
      case bytes_tag(TensorProto::kTensorShape):
        if (!read_shape(field.bytes, origin, fault, out)) return false;
        break;
      case bytes_tag(TensorProto::kTensorContent): out.content = field.bytes; break;
      default:
        if (field.number() < kTypedFirst || field.number() > kTypedLast) break;
        if (!read_values(reader, field, out)) return false;
    }
  }
  return fault.reason == nullptr;
}

Status wire_tensor_type(const WireTensor& wire, std::string_view name, const TfType*& out) {
  out = tf_type(wire.dtype);
  if (out == nullptr) {
    return tensor_parsing_error(name, "dtype " + std::to_string(static_cast<int32_t>(wire.dtype)) +
                                          " is not a TensorFlow type");
  }
  if (out->dtype != DType::Invalid) return {};
  return make_error(ErrorCode::Unimplemented, "input " + wire_quoted(name) + ": dtype " +
                                                  std::string(out->name) +
                                                  " is not implemented by this server");
}

Status decode_wire_tensor(const WireTensor& wire, std::string_view name, uint64_t& fill_left,
                          Arena& arena, TensorView& out) {
  uint64_t elements = 0;
  if (Status status = check_dims(wire, name, elements); !status.ok()) return status;
  const TfType* type = nullptr;
  if (Status status = wire_tensor_type(wire, name, type); !status.ok()) return status;
  out = {};
  out.dtype = type->dtype;
  out.shape = wire.shape;
  const TensorDecode decode{wire, *type, name, elements, arena, out};
  if (elements == 0) {
    out.data = static_cast<const uint8_t*>(arena.allocate(0));
    return out.data == nullptr ? Status(tensor_memory_out(name)) : Status();
  }
  if (!wire.content.empty()) return take_tensor_content(decode);
  return take_tensor_values(decode, fill_left);
}

Status decode_tensor_proto(Bytes proto, std::string_view name, Arena& arena, TensorView& out) {
  WireTensor wire;
  WireFault fault;
  wire.message = proto;
  if (!read_wire_tensor(proto, proto.data(), fault, wire)) {
    return tensor_parsing_error(
        name, std::string(fault.reason) + " at byte " + std::to_string(fault.offset));
  }
  uint64_t fill_left = Limits().body_bytes_max;
  return decode_wire_tensor(wire, name, fill_left, arena, out);
}

}  // namespace serval
