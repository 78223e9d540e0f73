// Hot path. Writes tensors as TensorProto: sizes first, so that every byte is written once into
// reserved space. Any thread. Source: tfserving.md 2 (typed fields, or tensor_content).
#include "codec/serving/wire_tensor.h"

namespace serval {

namespace {

// An element as protobuf encodes it: negative numbers are sign-extended to 64 bits; a half as its
// bits.
template <typename T>
uint64_t load_varint(const uint8_t* data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  if constexpr (IsHalf<T>) return value.bits;
  else return static_cast<uint64_t>(value);
}

// Calls take(varint) for the elements of a dtype that a varint field carries.
template <typename Take>
void each_varint(const TensorView& tensor, Take take) {
  visit(tensor.dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (IsInteger<T> || IsHalf<T>) {
      for (size_t i = 0; i < tensor.bytes / sizeof(T); ++i) take(load_varint<T>(tensor.data, i));
    }
  });
}

uint64_t varint_run_bytes(const TensorView& tensor) {
  uint64_t bytes = 0;
  each_varint(tensor, [&bytes](uint64_t value) { bytes += varint_bytes(value); });
  return bytes;
}

uint64_t dim_bytes(int64_t dim) {
  return dim == 0 ? 0 : 1 + varint_bytes(static_cast<uint64_t>(dim));
}

// Whether the elements are written as they are in memory.
bool is_raw(const TensorView& tensor, TfTensorForm form) {
  return form == TfTensorForm::Content || tensor.dtype == DType::Fp32 ||
         tensor.dtype == DType::Fp64 || tensor.dtype == DType::Bool;
}

// The typed field of the elements. Its tag has two bytes from field 16 on.
uint32_t values_field(const TensorView& tensor, TfTensorForm form) {
  if (form == TfTensorForm::Content && tensor.dtype != DType::Bytes)
    return TensorProto::kTensorContent;
  const TfType* type = tf_type(tf_type_number(tensor.dtype));
  return type == nullptr ? 0 : type->field;
}

}  // namespace

WireTensorBytes wire_tensor_bytes(const TensorView& tensor, TfTensorForm form) {
  WireTensorBytes bytes;
  for (int64_t dim : tensor.shape.dims()) bytes.dims += wire_field_bytes(dim_bytes(dim));
  bytes.proto = 1 + varint_bytes(tf_type_number(tensor.dtype)) + wire_field_bytes(bytes.dims);
  for (std::string_view text : tensor.strings) bytes.proto += wire_field_bytes(text.size());
  if (tensor.bytes == 0) return bytes;
  bytes.values = is_raw(tensor, form) ? tensor.bytes : varint_run_bytes(tensor);
  const uint64_t long_tag = values_field(tensor, form) >= 16;
  bytes.proto += wire_field_bytes(bytes.values) + long_tag;
  return bytes;
}

void write_wire_tensor(WireWriter& writer, const TensorView& tensor, TfTensorForm form,
                       const WireTensorBytes& bytes) {
  writer.tag(TensorProto::kDtype, WireType::Varint);
  writer.varint(tf_type_number(tensor.dtype));
  writer.head(TensorProto::kTensorShape, bytes.dims);
  for (int64_t dim : tensor.shape.dims()) {
    writer.head(TensorShapeProto::kDim, dim_bytes(dim));
    if (dim == 0) continue;
    writer.tag(TensorShapeProto::Dim::kSize, WireType::Varint);
    writer.varint(static_cast<uint64_t>(dim));
  }
  const uint32_t field = values_field(tensor, form);
  for (std::string_view text : tensor.strings) writer.bytes(field, text);
  if (tensor.bytes == 0) return;
  writer.head(field, bytes.values);
  if (is_raw(tensor, form)) {
    writer.raw(tensor.data, tensor.bytes);
  } else {
    each_varint(tensor, [&writer](uint64_t value) { writer.varint(value); });
  }
}

}  // namespace serval
