// Parts shared by the V1 codec's tests and its fuzz target: signatures, padded bodies, bitwise
// comparison of tensors.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "codec/serving/json.h"

namespace serval::testing {

inline TensorSpec tensor_spec(std::string name, DType dtype) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.dtype = dtype;
  return spec;
}

inline Signature make_signature(std::vector<TensorSpec> inputs,
                                std::vector<TensorSpec> outputs = {},
                                std::string name = "serving_default") {
  Signature signature;
  signature.name = std::move(name);
  signature.inputs = std::move(inputs);
  signature.outputs = std::move(outputs);
  return signature;
}

inline Signature one_input(DType dtype) {
  return make_signature({tensor_spec("x", dtype)}, {tensor_spec("y", dtype)});
}

// Signatures of every kind that matters to the decoders; `which` is taken modulo their number.
inline std::vector<Signature> sample_signatures(size_t which) {
  using D = DType;
  switch (which % 12) {
    case 0: return {one_input(D::Fp32)};
    case 1: return {one_input(D::Fp64)};
    case 2: return {one_input(D::Int32)};
    case 3:
      return {one_input(D::Int64), make_signature({tensor_spec("u", D::Uint64)}, {}, "other")};
    case 4: return {one_input(D::Uint8)};
    case 5: return {one_input(D::Bytes)};
    case 6: return {one_input(D::Bool)};
    case 7: return {one_input(D::Fp16), make_signature({tensor_spec("h", D::Bf16)}, {}, "other")};
    case 8: return {make_signature({tensor_spec("x", D::Fp32), tensor_spec("s", D::Bytes)})};
    case 9:
      return {make_signature(
          {tensor_spec("x", D::Int8), tensor_spec("b64", D::Bytes), tensor_spec("y", D::Uint16)})};
    case 10: return {make_signature({}), make_signature({tensor_spec("x", D::Int16)}, {}, "other")};
    default:
      return {make_signature({tensor_spec("b64", D::Bytes)}),
              make_signature({tensor_spec("x", D::Uint32)}, {}, "other")};
  }
}

// Bytes that may follow a body.
inline std::string_view sample_padding(size_t which) {
  constexpr std::string_view kPaddings[] = {
      std::string_view("\0", 1), "]", "}", "]}", "1", "\"", " "};
  return kPaddings[which % std::size(kPaddings)];
}

// A body followed by exactly kBodyPadding bytes, so that a sanitizer detects a read past them. They
// repeat `padding`: a decoder must not rely on their values.
class PaddedBody {
 public:
  explicit PaddedBody(std::string_view text, std::string_view padding = std::string_view("\0", 1))
      : size_(text.size()), bytes_(text.size() + kBodyPadding) {
    if (!text.empty()) std::memcpy(bytes_.data(), text.data(), text.size());
    for (size_t i = 0; i < kBodyPadding; ++i) {
      bytes_[size_ + i] = static_cast<uint8_t>(padding[i % padding.size()]);
    }
  }
  std::span<const uint8_t> span() const { return {bytes_.data(), size_}; }

 private:
  size_t size_;
  std::vector<uint8_t> bytes_;
};

// Returns "" if the tensors are the same, else the difference.
inline std::string tensor_difference(const TensorView& a, const TensorView& b) {
  if (a.dtype != b.dtype) return "dtype";
  if (!(a.shape == b.shape)) return "shape " + a.shape.to_string() + " " + b.shape.to_string();
  if (a.bytes != b.bytes || a.strings.size() != b.strings.size()) return "size";
  if (a.bytes != 0 && std::memcmp(a.data, b.data, a.bytes) != 0) return "bytes";
  for (size_t i = 0; i < a.strings.size(); ++i) {
    if (a.strings[i] != b.strings[i]) return "string " + std::to_string(i);
  }
  return "";
}

inline std::string request_difference(const DecodedRequest& a, const DecodedRequest& b) {
  if (a.signature_index != b.signature_index) return "signature_index";
  if (a.row_format != b.row_format) return "row_format";
  if (a.has_id != b.has_id) return "has_id";
  if (a.inputs.size() != b.inputs.size()) return "inputs";
  if (a.outputs.size() != b.outputs.size()) return "outputs";
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i].index != b.outputs[i].index) return "output " + std::to_string(i);
  }
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const std::string difference = tensor_difference(a.inputs[i], b.inputs[i]);
    if (!difference.empty()) return "input " + std::to_string(i) + ": " + difference;
  }
  return "";
}

// Returns "" if the tensor's memory has the size that its shape implies.
inline std::string tensor_fault(const TensorView& tensor) {
  const std::optional<uint64_t> elements = tensor.shape.elements();
  if (!elements) return "shape overflows";
  if (tensor.dtype == DType::Bytes) {
    return *elements == tensor.strings.size() ? "" : "strings for shape";
  }
  return *elements * dtype_bytes(tensor.dtype) == tensor.bytes ? "" : "bytes for shape";
}

struct FastAgainstPlain {
  bool fast_accepts = false;
  bool plain_accepts = false;
  std::string difference;  // "" = they agree
};

// Decodes `text` both ways. The decoders agree if the fast one leaves it to the plain one, or if
// both accept it with the same, well-formed tensors.
inline FastAgainstPlain compare_decoders(std::string_view text,
                                         std::span<const Signature> signatures,
                                         std::string_view padding = std::string_view("\0", 1)) {
  const PaddedBody body(text, padding);
  const Limits limits;
  Arena fast_arena;
  Arena plain_arena;
  DecodedRequest fast;
  DecodedRequest plain;
  FastAgainstPlain result;
  result.fast_accepts = decode_v1_predict_fast(body.span(), signatures, limits, fast_arena, fast);
  const Status status =
      decode_v1_predict_plain(body.span(), signatures, limits, plain_arena, plain);
  result.plain_accepts = status.ok();
  if (result.plain_accepts) {
    for (const TensorView& tensor : plain.inputs) {
      if (result.difference.empty()) result.difference = tensor_fault(tensor);
    }
  }
  if (!result.fast_accepts || !result.difference.empty()) return result;
  result.difference = result.plain_accepts ? request_difference(fast, plain)
                                           : "plain refuses: " + status.error().message;
  return result;
}

}  // namespace serval::testing
