// TensorFlow Serving messages as written by its own Python API (tensorflow-serving-api 2.21,
// SerializeToString(deterministic=True)), in hex, and helpers for our codec's tests.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "codec/serving/wire.h"
#include "support/wire_builder.h"

namespace serval::test {

inline std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return bytes;
}

inline std::string to_hex(std::string_view bytes) {
  std::string hex;
  for (char c : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    hex += "0123456789abcdef"[c & 15];
  }
  return hex;
}

inline std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Returns the elements of a fixed-size tensor, in hex.
inline std::string data_hex(const TensorView& tensor) {
  return to_hex({reinterpret_cast<const char*>(tensor.data), tensor.bytes});
}

template <typename T>
std::vector<T> values_of(const TensorView& tensor) {
  std::vector<T> values(tensor.bytes / sizeof(T));
  if (tensor.bytes != 0) std::memcpy(values.data(), tensor.data, tensor.bytes);
  return values;
}

inline TensorSpec tf_spec(std::string name, DType dtype) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.dtype = dtype;
  spec.unknown_rank = true;
  return spec;
}

inline Signature tf_signature(std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs,
                              std::string name = "serving_default", std::string method = "") {
  return {std::move(name), std::move(inputs), std::move(outputs), std::move(method)};
}

// TensorProto{dtype, tensor_shape} without values.
inline WireBuilder tensor_proto(int64_t dtype, std::initializer_list<int64_t> dims) {
  WireBuilder shape;
  for (int64_t dim : dims) shape.message(2, WireBuilder().varint(1, dim));
  return WireBuilder().varint(1, dtype).message(2, shape);
}

// ModelSpec{name "m", signature_name}, as field 1.
inline WireBuilder model_spec(std::string_view signature = "") {
  WireBuilder model;
  model.bytes(1, "m");
  if (!signature.empty()) model.bytes(3, signature);
  return WireBuilder().message(1, model);
}

// An entry of PredictRequest.inputs.
inline WireBuilder input_entry(std::string_view alias, const WireBuilder& proto) {
  return WireBuilder().message(2, WireBuilder().bytes(1, alias).message(2, proto));
}

// An output tensor that owns its memory.
struct OwnedTensor {
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  std::string bytes;
  std::vector<std::string_view> strings;

  TensorView view() const {
    TensorView view;
    view.dtype = dtype;
    view.shape = Shape(dims);
    if (dtype == DType::Bytes) {
      view.strings = strings;
    } else {
      view.data = reinterpret_cast<const uint8_t*>(bytes.data());
      view.bytes = bytes.size();
    }
    return view;
  }
};

inline OwnedTensor floats(std::vector<int64_t> dims, std::initializer_list<float> values) {
  return {DType::Fp32, std::move(dims), raw_of(values), {}};
}

inline OwnedTensor texts(std::vector<int64_t> dims, std::vector<std::string_view> values) {
  return {DType::Bytes, std::move(dims), {}, std::move(values)};
}

// An array of three elements of every dtype.
struct TensorFixture {
  DType dtype;
  std::string_view elements;  // in memory
  std::string_view typed;     // TensorProto with the dtype's typed field
  std::string_view content;   // TensorProto with tensor_content
};

inline constexpr TensorFixture kTensorFixtures[] = {
    {DType::Bool, "010001", "080a1204120208035a03010001", "080a1204120208032203010001"},
    {DType::Uint8, "0007ff", "08041204120208033a040007ff01", "080412041202080322030007ff"},
    {DType::Uint16, "00000700ffff", "08111204120208033a050007ffff03",
     "0811120412020803220600000700ffff"},
    {DType::Uint32, "0000000007000000ffffffff", "08161204120208038201070007ffffffff0f",
     "0816120412020803220c0000000007000000ffffffff"},
    {DType::Uint64, "00000000000000000700000000000000ffffffffffffffff",
     "08171204120208038a010c0007ffffffffffffffffff01",
     "0817120412020803221800000000000000000700000000000000ffffffffffffffff"},
    {DType::Int8, "80007f", "08061204120208033a0c80ffffffffffffffff01007f",
     "0806120412020803220380007f"},
    {DType::Int16, "00800000ff7f", "08051204120208033a0e8080feffffffffffff0100ffff01",
     "0805120412020803220600800000ff7f"},
    {DType::Int32, "0000008000000000ffffff7f",
     "08031204120208033a1080808080f8ffffffff0100ffffffff07",
     "0803120412020803220c0000008000000000ffffff7f"},
    {DType::Int64, "00000000000000800000000000000000ffffffffffffff7f",
     "080912041202080352148080808080808080800100ffffffffffffffff7f",
     "0809120412020803221800000000000000800000000000000000ffffffffffffff7f"},
    {DType::Fp16, "003c00c00038", "08131204120208036a0780788080038070",
     "08131204120208032206003c00c00038"},
    {DType::Bf16, "803f00c0003f", "080e1204120208036a07807f808003807e",
     "080e1204120208032206803f00c0003f"},
    {DType::Fp32, "0000803f000000c00000003f", "08011204120208032a0c0000803f000000c00000003f",
     "0801120412020803220c0000803f000000c00000003f"},
    {DType::Fp64, "000000000000f03f00000000000000c0000000000000e03f",
     "08021204120208033218000000000000f03f00000000000000c0000000000000e03f",
     "08021204120208032218000000000000f03f00000000000000c0000000000000e03f"},
};

inline constexpr std::string_view kPredictTyped =
    "0a0c0a016d120208031a0373696712140a0173120f08071204120208024201614202ff0012230a01"
    "78121e0801120812020802120208022a100000c03f000000c000000000000040401a017a1a0179";
inline constexpr std::string_view kPredictContent =
    "0a0b0a016d220663616e61727912230a0178121e08011208120208021202080222100000803f0000"
    "00400000404000008040";
inline constexpr std::string_view kPredictAnswer =
    "0a170a0179121208011204120208022a08000020400000404012180a016d1202087b1a0f73657276"
    "696e675f64656661756c74";
inline constexpr std::string_view kPredictAnswerContent =
    "0a170a0179121208011204120208022208000020400000404012180a016d1202087b1a0f73657276"
    "696e675f64656661756c74";
inline constexpr std::string_view kPredictAnswerScalar =
    "0a0b0a0179120608071200420012160a016d12001a0f73657276696e675f64656661756c74";
inline constexpr std::string_view kClassifyAnswer =
    "0a290a0e0a0a0a03636174150000003f0a000a170a0b0a0464c3b66715000000800a080a01781528"
    "6b6e4e12180a016d120208051a0f73657276696e675f64656661756c74";
inline constexpr std::string_view kRegressAnswer =
    "0a100a050d000020400a000a050d000080bf12180a016d120208051a0f73657276696e675f646566"
    "61756c74";
inline constexpr std::string_view kClassifyRequest =
    "0a060a016d1a016312280a260a110a0f0a0d0a0178120812060a040000803f0a110a0f0a0d0a0178"
    "120812060a0400000040";
inline constexpr std::string_view kRegressRequest =
    "0a030a016d123812360a110a0f0a0d0a0178120812060a040000803f0a110a0f0a0d0a0178120812"
    "060a0400000040120e0a0c0a0a0a016312051a030a0107";
inline constexpr std::string_view kExampleX1 = "0a0f0a0d0a0178120812060a040000803f";
inline constexpr std::string_view kExampleX2 = "0a0f0a0d0a0178120812060a0400000040";
inline constexpr std::string_view kExampleC7 = "0a0c0a0a0a016312051a030a0107";
inline constexpr std::string_view kExampleInts =
    "0a220a200a016e121b1a190a17007f8001ffffffffffffffffff01ffffffffffffffff7f";
inline constexpr std::string_view kExampleFloats =
    "0a1b0a190a016e121412120a100000803f0000003f0000807f000080ff";
inline constexpr std::string_view kExampleBytes = "0a130a110a016e120c0a0a0a000a0261620a0200ff";
inline constexpr std::string_view kExampleEmptyList = "0a070a050a016e1200";

}  // namespace serval::test
