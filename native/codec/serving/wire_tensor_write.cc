// Hot path. Tensors as TensorProto: sizes first, so that every byte is written once into room that
// is there. Any thread. Source: tfserving.md 2 (typed fields, or tensor_content).
#include <type_traits>

#include "codec/serving/wire_tensor.h"

namespace serval {

namespace {

using namespace wire_tf;

// Calls work(T{}) with the type that the elements of a varint field have in memory. FP16 and BF16
// are their bits.
template <typename Work>
auto with_varint_type(DType dtype, Work work) {
  switch (dtype) {
    case DType::Int8: return work(int8_t{});
    case DType::Int16: return work(int16_t{});
    case DType::Int32: return work(int32_t{});
    case DType::Int64: return work(int64_t{});
    case DType::Uint8: return work(uint8_t{});
    case DType::Uint32: return work(uint32_t{});
    case DType::Uint64: return work(uint64_t{});
    default: return work(uint16_t{});
  }
}

// An element as protobuf writes it: negative numbers are sign-extended to 64 bits.
template <typename T>
uint64_t load_varint(const uint8_t* data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  if constexpr (std::is_signed_v<T>) return static_cast<uint64_t>(static_cast<int64_t>(value));
  return static_cast<uint64_t>(value);
}

uint64_t varint_run_bytes(const TensorView& tensor) {
  return with_varint_type(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    uint64_t bytes = 0;
    for (size_t i = 0; i < tensor.bytes / sizeof(T); ++i) {
      bytes += varint_bytes(load_varint<T>(tensor.data, i));
    }
    return bytes;
  });
}

void write_varint_run(WireWriter& writer, const TensorView& tensor) {
  with_varint_type(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < tensor.bytes / sizeof(T); ++i) {
      writer.varint(load_varint<T>(tensor.data, i));
    }
  });
}

uint64_t dim_bytes(int64_t dim) {
  return dim == 0 ? 0 : 1 + varint_bytes(static_cast<uint64_t>(dim));
}

// Whether the elements go out as they are in memory.
bool is_raw(const TensorView& tensor, TfTensorForm form) {
  return form == TfTensorForm::Content || tensor.dtype == DType::Fp32 ||
         tensor.dtype == DType::Fp64 || tensor.dtype == DType::Bool;
}

// Typed field of the elements. Its tag has two bytes from field 16 on.
uint32_t values_field(const TensorView& tensor, TfTensorForm form) {
  if (form == TfTensorForm::Content && tensor.dtype != DType::Bytes) return kTensorContent;
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
  writer.tag(kTensorDtype, WireType::Varint);
  writer.varint(tf_type_number(tensor.dtype));
  writer.head(kTensorShape, bytes.dims);
  for (int64_t dim : tensor.shape.dims()) {
    writer.head(kShapeDim, dim_bytes(dim));
    if (dim == 0) continue;
    writer.tag(kDimSize, WireType::Varint);
    writer.varint(static_cast<uint64_t>(dim));
  }
  const uint32_t field = values_field(tensor, form);
  for (std::string_view text : tensor.strings) writer.bytes(field, text);
  if (tensor.bytes == 0) return;
  writer.head(field, bytes.values);
  if (is_raw(tensor, form)) {
    writer.raw(tensor.data, tensor.bytes);
  } else {
    write_varint_run(writer, tensor);
  }
}

}  // namespace serval
