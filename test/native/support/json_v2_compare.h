// V2 REST bodies for tests and fuzz targets: signatures, and the comparison of the fast decoder
// with the plain one. Test code, any thread.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/classification.h"
#include "codec/serving/json_body.h"
#include "codec/v2/json.h"

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

// A body followed by exactly the readable bytes that the engine promises, so that a sanitizer
// detects a read past them. They are brackets, the worst possible content.
class PaddedBody {
 public:
  explicit PaddedBody(std::string_view bytes)
      : size_(bytes.size()), memory_(new uint8_t[bytes.size() + kBodyPadding]) {
    std::memset(memory_.get() + size_, ']', kBodyPadding);
    if (size_ != 0) std::memcpy(memory_.get(), bytes.data(), size_);
  }
  std::span<const uint8_t> bytes() const { return {memory_.get(), size_}; }

 private:
  size_t size_;
  std::unique_ptr<uint8_t[]> memory_;
};

// Returns the difference between two decoded requests; empty = none.
inline std::string difference(const DecodedRequest& a, const DecodedRequest& b) {
  if (a.has_id != b.has_id || a.id != b.id) return "id";
  const SequenceParameters &left = a.sequence, &right = b.sequence;
  if (left.id != right.id || left.text != right.text || left.number != right.number ||
      left.start != right.start || left.end != right.end) {
    return "sequence";
  }
  if (a.outputs.size() != b.outputs.size()) return "output count";
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i].index != b.outputs[i].index) return "output " + std::to_string(i);
    if (a.outputs[i].binary != b.outputs[i].binary) return "output form " + std::to_string(i);
    if (a.outputs[i].shared + b.outputs[i].shared != 0) return "the fast one takes shared memory";
    if (a.outputs[i].classes != b.outputs[i].classes) return "classes " + std::to_string(i);
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

// Returns the whole number of a request's parameter, read by parse_json(); 0 if it is not given.
inline uint64_t parameter_of(const JsonDocument& document, std::string_view name) {
  const JsonNode* parameters = document.member(document.root(), "parameters");
  const JsonNode* value = parameters == nullptr ? nullptr : document.member(*parameters, name);
  if (value == nullptr) return 0;
  const bool wide = value->number.form == JsonNumber::Form::Uint64;
  return wide ? value->number.u64 : static_cast<uint64_t>(value->number.i64);
}

// Returns what is wrong with peek_v2_schedule()'s result for a body that the decoder accepted or
// refused.
inline std::string check_peek(std::span<const uint8_t> body, int64_t json_bytes, bool accepted) {
  SchedulePolicy found{7, 7};
  Status status = peek_v2_schedule(body, json_bytes, found);
  if (!status.ok()) {
    if (accepted) return "peek refuses: " + status.error().message;
    return found.priority + found.timeout_us == 0 ? "" : "a failed peek is not empty";
  }
  if (!accepted) return "";
  if (json_bytes == 0) return found.priority + found.timeout_us == 0 ? "" : "a raw body's schedule";
  const size_t size = json_bytes < 0 ? body.size() : static_cast<size_t>(json_bytes);
  JsonDocument document;
  Arena arena;
  const std::string_view text(reinterpret_cast<const char*>(body.data()), size);
  status = parse_json(text, arena, kTfJsonRules, &document);
  if (!status.ok()) return "accepted, but no JSON: " + status.error().message;
  if (found.priority != parameter_of(document, "priority")) return "peeked priority";
  return found.timeout_us == parameter_of(document, "timeout") ? "" : "peeked timeout";
}

struct Comparison {
  bool fast = false;   // accepted
  bool plain = false;  // accepted
  std::string fault;   // empty: the two agree
};

// Decodes `body` with both. It is a fault if the fast one accepts what the plain one refuses, if
// the two decode different requests, or if peek_v2_schedule() finds other values.
inline Comparison compare_decoders(std::string_view body, int64_t json_bytes,
                                   const Signature& signature, const Limits& limits = {}) {
  const PaddedBody padded(body);
  Arena fast_arena;
  Arena plain_arena;
  DecodedRequest fast;
  DecodedRequest plain;
  Comparison out;
  out.fast = decode_v2_infer_fast(padded.bytes(), json_bytes, signature, limits, fast_arena, fast);
  Status status =
      decode_v2_infer_plain(padded.bytes(), json_bytes, signature, limits, plain_arena, plain);
  out.plain = status.ok();
  out.fault = check_peek(padded.bytes(), json_bytes, out.plain);
  if (!out.plain && status.error().message.empty()) out.fault = "an error without a text";
  if (!out.fast || !out.fault.empty()) return out;
  out.fault = out.plain ? difference(fast, plain) : "refused: " + status.error().message;
  return out;
}

// Classifies a numeric tensor, with the number of classes that the request asks of its first
// output, at most 99. It is a fault if the text has another shape, or if it is refused.
inline std::string take_classes(const DecodedRequest& request, Arena& arena, TensorView& tensor) {
  const uint32_t wanted = std::min(request.outputs[0].classes, 99u);
  if (wanted == 0 || tensor.dtype == DType::Bytes || tensor.dtype == DType::Bool) return "";
  const bool batched = tensor.shape.rank() > 1;
  const Status status = classify_output("y", wanted, batched, {}, arena, tensor);
  if (!status.ok()) return status.error().message;
  const bool fits = tensor.dtype == DType::Bytes && tensor.bytes == 0 &&
                    tensor.shape.rank() == 1u + batched &&
                    tensor.shape.elements() == tensor.strings.size();
  return fits ? "" : "classes that do not fit their shape";
}

// Decodes as the engine does and answers with the inputs as outputs, or with their classes if the
// first output is requested as such. It is a fault if a tensor does not have the size of its shape,
// or if a refused response left bytes.
inline std::string answer_with_inputs(std::string_view body, int64_t json_bytes,
                                      const Signature& signature, bool binary) {
  const PaddedBody padded(body);
  Arena arena;
  DecodedRequest request;
  Limits limits;
  limits.response_bytes_max = 1 << 20;
  if (!decode_v2_infer(padded.bytes(), json_bytes, &signature, limits, arena, request).ok()) {
    return {};
  }
  for (const SharedTensor& place : request.shared) {
    const bool is_output = place.input == SharedTensor::kOutput;
    if (!is_output && place.input >= request.inputs.size()) return "an input that is none";
    if (!is_output) return {};  // the engine finds its elements
  }
  Signature echo = signature;
  echo.outputs = echo.inputs;
  DecodedRequest answer = request;
  answer.outputs.clear();
  for (uint32_t i = 0; i < echo.inputs.size(); ++i) {
    answer.outputs.push_back({i, binary});
    if (i == 0) answer.outputs[0].shared = request.outputs[0].shared;
    const TensorView& tensor = request.inputs[i];
    const uint64_t count = tensor.dtype == DType::Bytes ? tensor.strings.size()
                                                        : tensor.bytes / dtype_bytes(tensor.dtype);
    if (tensor.shape.elements() != count) return "a tensor that does not fit its shape";
    if (std::string fault = take_classes(request, arena, answer.inputs[i]); !fault.empty()) {
      return fault;
    }
  }
  ByteBuffer out;
  size_t json = 0;
  const Status status = encode_v2_infer({"m", "1"}, echo, answer, answer.inputs, limits, out, json);
  if (!status.ok() && out.size() != 0) return "a refused answer left bytes";
  return status.ok() && json > out.size() ? "JSON longer than the answer" : "";
}

}  // namespace serval::test
