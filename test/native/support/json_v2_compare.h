// V2 REST bodies for tests and fuzz targets: signatures, and the comparison of the fast decoder with
// the plain one. Test code, any thread.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json_v2.h"

namespace serval::test {

inline TensorSpec spec(std::string name, DType dtype, std::vector<int64_t> dims) {
  TensorSpec out;
  out.name = std::move(name);
  out.dtype = dtype;
  out.symbols.resize(dims.size());
  out.dims = std::move(dims);
  return out;
}

// One input "x" of a dtype, outputs "y" and "z".
inline Signature one_input(DType dtype) {
  Signature signature;
  signature.name = "serving_default";
  signature.inputs = {spec("x", dtype, {-1})};
  signature.outputs = {spec("y", DType::Fp32, {-1}), spec("z", DType::Bytes, {-1})};
  return signature;
}

// A body with readable bytes behind it, as the engine hands it over.
class PaddedBody {
 public:
  explicit PaddedBody(std::string_view bytes) {
    buffer_.clear();
    (void)buffer_.append(bytes);
    std::memset(buffer_.room(kBodyPadding), ']', kBodyPadding);  // the worst that may stand there
  }
  std::span<const uint8_t> bytes() const { return buffer_.bytes(); }

 private:
  ByteBuffer buffer_;
};

// What differs between two decoded requests; empty = nothing.
inline std::string difference(const DecodedRequest& a, const DecodedRequest& b) {
  if (a.has_id != b.has_id || a.id != b.id) return "id";
  if (a.outputs.size() != b.outputs.size()) return "output count";
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i].index != b.outputs[i].index) return "output " + std::to_string(i);
    if (a.outputs[i].binary != b.outputs[i].binary) return "output form " + std::to_string(i);
  }
  if (a.inputs.size() != b.inputs.size()) return "input count";
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const TensorView& one = a.inputs[i];
    const TensorView& other = b.inputs[i];
    if (one.dtype != other.dtype) return "dtype of input " + std::to_string(i);
    if (!(one.shape == other.shape)) return "shape of input " + std::to_string(i);
    if (one.strings.size() != other.strings.size()) return "elements of input " + std::to_string(i);
    for (size_t k = 0; k < one.strings.size(); ++k) {
      if (one.strings[k] != other.strings[k]) return "string " + std::to_string(k);
    }
    if (one.bytes != other.bytes) return "bytes of input " + std::to_string(i);
    if (one.bytes != 0 && std::memcmp(one.data, other.data, one.bytes) != 0) {
      return "data of input " + std::to_string(i);
    }
  }
  return {};
}

struct Comparison {
  bool fast = false;   // accepted
  bool plain = false;  // accepted
  std::string fault;   // empty: the two agree
};

// Decodes `body` with both. A fault: the fast one accepts what the plain one refuses, or the two
// decode different requests.
inline Comparison compare_decoders(std::string_view body, int64_t json_bytes,
                                   const Signature& signature, const Limits& limits = {}) {
  const PaddedBody padded(body);
  Arena fast_arena;
  Arena plain_arena;
  DecodedRequest fast;
  DecodedRequest plain;
  Comparison out;
  out.fast =
      decode_v2_infer_fast(padded.bytes(), json_bytes, signature, limits, fast_arena, fast);
  Status status =
      decode_v2_infer_plain(padded.bytes(), json_bytes, signature, limits, plain_arena, plain);
  out.plain = status.ok();
  if (!out.plain && status.error().message.empty()) out.fault = "an error without a text";
  if (!out.fast) return out;
  out.fault = out.plain ? difference(fast, plain) : "refused: " + status.error().message;
  return out;
}

}  // namespace serval::test
