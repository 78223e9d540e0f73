// The rules of a ModelInferRequest against a signature, one by one, on wire_plain.h's objects; and
// the comparison of the real codec with them. Used by unit tests and by the fuzz target.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/v2/wire.h"
#include "support/wire_plain.h"

namespace serval::test {

struct PlainDecoded {
  struct Tensor {
    DType dtype = DType::Invalid;
    std::vector<int64_t> shape;
    std::string data;                  // fixed-size dtypes
    std::vector<std::string> strings;  // Bytes
  };
  struct Shared {
    std::string region;
    uint64_t bytes = 0, offset = 0;
    uint32_t input = SharedTensor::kOutput;
  };
  ErrorCode code = ErrorCode::Ok;
  std::string id;
  std::vector<Shared> shared;
  std::vector<Tensor> inputs;
  std::vector<uint32_t> outputs;
  std::vector<uint32_t> classes;  // per output
  // for each output: its place in `shared`, counted from 1; 0 = in the response
  std::vector<uint32_t> places;
  bool has_schedule = true;  // priority and timeout are valid or absent
  uint64_t priority = 0;
  uint64_t timeout_us = 0;
};

// Returns the product of the dimensions; unset past 2^62.
inline std::optional<uint64_t> plain_elements(const std::vector<int64_t>& shape) {
  if (std::count(shape.begin(), shape.end(), 0) > 0) return 0;
  long double count = 1;
  for (int64_t dim : shape) count *= static_cast<long double>(dim);
  if (count > 0x1p62L) return std::nullopt;
  return static_cast<uint64_t>(count);
}

struct PlainRange {
  DType dtype;
  uint32_t field;
  long double low, high;
};

inline constexpr std::array<PlainRange, 11> kPlainRanges = {{
    {DType::Bool, 1, 0, 1},
    {DType::Int8, 2, -128, 127},
    {DType::Int16, 2, -32768, 32767},
    {DType::Int32, 2, -2147483648.0L, 2147483647.0L},
    {DType::Int64, 3, -0x1p63L, 0x1p63L - 1},
    {DType::Uint8, 4, 0, 255},
    {DType::Uint16, 4, 0, 65535},
    {DType::Uint32, 4, 0, 4294967295.0L},
    {DType::Uint64, 5, 0, 0x1p64L - 1},
    {DType::Fp32, 6, 0, 0},
    {DType::Fp64, 7, 0, 0},
}};

inline bool plain_typed(const PlainTensor& input, DType dtype, uint64_t elements,
                        PlainDecoded::Tensor& out) {
  const auto range = std::find_if(kPlainRanges.begin(), kPlainRanges.end(),
                                  [&](const PlainRange& r) { return r.dtype == dtype; });
  const bool is_bytes = dtype == DType::Bytes;
  if (range == kPlainRanges.end() && !is_bytes) return false;  // FP16, BF16: raw only
  if (!is_bytes && !input.strings.empty()) return false;
  for (const auto& [field, values] : input.numbers) {
    if (!values.empty() && (is_bytes || field != range->field)) return false;
  }
  if (is_bytes) {
    out.strings = input.strings;
    return input.strings.size() == elements;
  }
  const auto values = input.numbers.find(range->field);
  if (values == input.numbers.end()) return elements == 0;
  if (values->second.size() != elements) return false;
  const bool is_signed = range->low < 0;
  for (uint64_t value : values->second) {
    const long double number = is_signed ? static_cast<long double>(static_cast<int64_t>(value))
                                         : static_cast<long double>(value);
    if (range->field < 6 && (number < range->low || number > range->high)) return false;
    out.data.append(reinterpret_cast<const char*>(&value), dtype_bytes(dtype));
  }
  return true;
}

inline bool plain_raw(const std::string& raw, DType dtype, uint64_t elements,
                      PlainDecoded::Tensor& out) {
  const std::string bools("\0\1", 2);
  if (dtype == DType::Bool && raw.find_first_not_of(bools) != raw.npos) return false;
  if (dtype != DType::Bytes) {
    out.data = raw;
    return static_cast<long double>(elements) * dtype_bytes(dtype) == raw.size();
  }
  size_t at = 0;
  while (at < raw.size()) {
    if (out.strings.size() == elements || raw.size() - at < 4) return false;
    uint32_t length = 0;
    std::memcpy(&length, raw.data() + at, 4);
    at += 4;
    if (length > raw.size() - at) return false;
    out.strings.push_back(raw.substr(at, length));
    at += length;
  }
  return out.strings.size() == elements;
}

inline bool plain_is_shared(const PlainTensor& tensor) {
  return std::any_of(tensor.parameters.begin(), tensor.parameters.end(), [](const auto& one) {
    return one.first == "shared_memory_region" || one.first == "shared_memory_byte_size" ||
           one.first == "shared_memory_offset";
  });
}

// Reads a tensor's place in shared memory, if it has one; false if its parameters are wrong.
inline bool plain_shared(const PlainTensor& tensor, PlainDecoded& out) {
  PlainDecoded::Shared shared;
  const auto find = [&](const char* key) { return tensor.parameters.find(key); };
  const auto region = find("shared_memory_region"), bytes = find("shared_memory_byte_size"),
             offset = find("shared_memory_offset"), none = tensor.parameters.end();
  if (region == none || bytes == none || region->second.member != 3) return false;
  const auto size = bytes->second.whole();
  const auto at = offset == none ? std::optional<uint64_t>(0) : offset->second.whole();
  if (!size || !at || tensor.has_contents) return false;
  out.shared.push_back({region->second.text, *size, *at, SharedTensor::kOutput});
  return true;
}

inline bool plain_input(const PlainMessage& message, size_t i, const Signature& signature,
                        PlainDecoded& out) {
  const PlainTensor& input = message.inputs[i];
  const int index = signature.find_input(input.name);
  if (index < 0) return false;
  PlainDecoded::Tensor& tensor = out.inputs[index];
  if (tensor.dtype != DType::Invalid) return false;
  tensor.dtype = signature.inputs[index].dtype;
  tensor.shape = input.shape;
  if (input.datatype != dtype_name(tensor.dtype)) return false;
  if (input.shape.size() > kRankMax) return false;
  for (int64_t dim : input.shape) {
    if (dim < 0) return false;
  }
  const auto elements = plain_elements(input.shape);
  if (!elements) return false;
  if (plain_is_shared(input)) {
    if (!plain_shared(input, out)) return false;
    out.shared.back().input = static_cast<uint32_t>(index);
    return true;
  }
  if (message.raw.empty()) return plain_typed(input, tensor.dtype, *elements, tensor);
  if (input.has_contents) return false;
  const auto shared_before = std::count_if(
      message.inputs.begin(), message.inputs.begin() + static_cast<ptrdiff_t>(i), plain_is_shared);
  return plain_raw(message.raw[i - static_cast<size_t>(shared_before)], tensor.dtype, *elements,
                   tensor);
}

// Checks all rules whose breach is InvalidArgument.
inline bool plain_check(const PlainMessage& message, const Signature& signature,
                        PlainDecoded& out) {
  const auto shared_inputs =
      std::count_if(message.inputs.begin(), message.inputs.end(), plain_is_shared);
  const size_t raw_count = message.inputs.size() - static_cast<size_t>(shared_inputs);
  if (!message.raw.empty() && message.raw.size() != raw_count) return false;
  if (message.inputs.size() != signature.inputs.size()) return false;
  out.inputs.resize(signature.inputs.size());
  for (size_t i = 0; i < message.inputs.size(); ++i) {
    if (!plain_input(message, i, signature, out)) return false;
  }
  for (const PlainTensor& wanted : message.outputs) {
    const int index = signature.find_output(wanted.name);
    if (index < 0) return false;
    // A repeated output is returned once, as the first one requests it.
    if (std::count(out.outputs.begin(), out.outputs.end(), static_cast<uint32_t>(index)) > 0) {
      continue;
    }
    out.outputs.push_back(static_cast<uint32_t>(index));
    out.classes.push_back(0);
    out.places.push_back(0);
    if (plain_is_shared(wanted)) {
      if (wanted.parameters.count("classification") > 0 || !plain_shared(wanted, out)) return false;
      out.places.back() = static_cast<uint32_t>(out.shared.size());
    }
    const auto asked = wanted.parameters.find("classification");
    if (asked == wanted.parameters.end()) continue;
    const uint64_t classes = asked->second.whole().value_or(0);
    if (classes == 0) return false;
    out.classes.back() = static_cast<uint32_t>(std::min<uint64_t>(classes, 0xffffffffu));
  }
  for (uint32_t i = 0; message.outputs.empty() && i < signature.outputs.size(); ++i) {
    out.outputs.push_back(i);
    out.classes.push_back(0);
    out.places.push_back(0);
  }
  return true;
}

// Returns the number of a request's parameter `name`; 0 if it is not given.
inline uint64_t plain_number(const PlainParameters& parameters, const std::string& name,
                             PlainDecoded& out) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return 0;
  const auto whole = found->second.whole();
  out.has_schedule = out.has_schedule && whole.has_value();
  return whole.value_or(0);
}

inline PlainDecoded plain_decode_wire_v2(std::string_view bytes, const Signature& signature) {
  PlainDecoded out;
  const auto message = plain_message(bytes, false);
  if (!message) {
    out.code = ErrorCode::MalformedBody;
    return out;
  }
  out.id = message->id;
  out.priority = plain_number(message->parameters, "priority", out);
  out.timeout_us = plain_number(message->parameters, "timeout", out);
  if (out.id.size() > kIdBytesMax || !out.has_schedule || !plain_check(*message, signature, out)) {
    out.code = ErrorCode::InvalidArgument;
  }
  return out;
}

inline bool same_tensor(const TensorView& got, const PlainDecoded::Tensor& expected) {
  const std::vector<int64_t> dims(got.shape.dims().begin(), got.shape.dims().end());
  if (got.dtype != expected.dtype || dims != expected.shape) return false;
  if (got.dtype == DType::Bytes) {
    return std::equal(got.strings.begin(), got.strings.end(), expected.strings.begin(),
                      expected.strings.end());
  }
  return std::string_view(reinterpret_cast<const char*>(got.data), got.bytes) == expected.data;
}

// Returns what is wrong with the response that echoes `decoded`'s inputs; empty if nothing is.
inline std::string check_echo(const Signature& signature, const DecodedRequest& decoded) {
  std::vector<TensorView> outputs;
  for (const RequestedOutput& output : decoded.outputs) {
    outputs.push_back(decoded.inputs[output.index]);
  }
  ByteBuffer buffer;
  const AnswerModel model{"model", "7"};
  const Status status = encode_wire_v2(model, signature, decoded, outputs, false, Limits(), buffer);
  if (!status.ok()) return "encode failed: " + status.error().message;
  const auto text = std::string_view(reinterpret_cast<const char*>(buffer.data()), buffer.size());
  const auto message = plain_message(text, true);
  if (!message) return "the response is malformed";
  if (message->model_name != "model" || message->model_version != "7") return "wrong model";
  if (message->id != decoded.id) return "wrong id";
  if (message->outputs.size() != outputs.size()) return "wrong number of outputs";
  if (message->raw.size() != outputs.size()) return "wrong number of raw contents";
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec& spec = signature.outputs[decoded.outputs[i].index];
    const PlainTensor& got = message->outputs[i];
    PlainDecoded::Tensor tensor{spec.dtype, got.shape, {}, {}};
    if (got.name != spec.name || got.datatype != dtype_name(spec.dtype)) return "wrong output";
    const auto elements = plain_elements(got.shape);
    if (decoded.outputs[i].shared != 0) {
      if (!message->raw[i].empty()) return "data beside a place in shared memory";
      const auto region = got.parameters.find("shared_memory_region");
      const SharedTensor& place = decoded.shared[decoded.outputs[i].shared - 1];
      const bool named = region != got.parameters.end() && region->second.text == place.region;
      if (!named) return "wrong place in shared memory";
      continue;
    }
    if (!elements || !plain_raw(message->raw[i], spec.dtype, *elements, tensor)) return "bad raw";
    if (!same_tensor(outputs[i], tensor)) return "the tensor changed";
  }
  return "";
}

// Returns what is wrong with peek_wire_v2()'s result for the message of `expected`.
inline std::string check_peek(std::span<const uint8_t> message, const PlainDecoded& expected) {
  WireModelRef ref;
  const Status status = peek_wire_v2(message, ref);
  // The peek reads only the top level, and has its own limits on names.
  if (expected.code == ErrorCode::MalformedBody || message.size() > kNameBytesMax) return "";
  if (status.ok() != expected.has_schedule) return "peek judges the schedule differently";
  if (ref.id != expected.id) return "peeked id";
  if (!status.ok()) return ref.schedule.priority + ref.schedule.timeout_us == 0 ? "" : "not empty";
  if (ref.schedule.priority != expected.priority) return "peeked priority";
  return ref.schedule.timeout_us == expected.timeout_us ? "" : "peeked timeout";
}

// Decodes `message` both ways, and echoes it if it is valid. Empty if they agree.
inline std::string compare_wire_v2(std::span<const uint8_t> message, const Signature& signature) {
  const auto text = std::string_view(reinterpret_cast<const char*>(message.data()), message.size());
  const PlainDecoded expected = plain_decode_wire_v2(text, signature);
  Arena arena;
  DecodedRequest decoded;
  const Status status = decode_wire_v2(message, signature, Limits(), arena, decoded);
  const ErrorCode code = status.ok() ? ErrorCode::Ok : status.error().code;
  if (code != expected.code) {
    return "expected code " + std::to_string(static_cast<int>(expected.code)) + ", got " +
           std::to_string(static_cast<int>(code)) + " " +
           (status.ok() ? "" : status.error().message);
  }
  const std::string peeked = check_peek(message, expected);
  if (!peeked.empty()) return peeked;
  if (!status.ok()) return status.error().message.empty() ? "an error without a text" : "";
  if (decoded.id != expected.id || decoded.has_id == expected.id.empty()) return "wrong id";
  for (size_t i = 0; i < expected.inputs.size(); ++i) {
    if (!same_tensor(decoded.inputs[i], expected.inputs[i])) return "wrong input";
  }
  std::vector<uint32_t> outputs, classes, places;
  for (const RequestedOutput& output : decoded.outputs) {
    outputs.push_back(output.index);
    classes.push_back(output.classes);
    places.push_back(output.shared);
  }
  if (places != expected.places) return "wrong places";
  if (decoded.shared.size() != expected.shared.size()) return "wrong number of places";
  bool has_shared_input = false;
  for (size_t i = 0; i < expected.shared.size(); ++i) {
    const SharedTensor& got = decoded.shared[i];
    const PlainDecoded::Shared& place = expected.shared[i];
    has_shared_input |= place.input != SharedTensor::kOutput;
    if (got.region != place.region || got.bytes != place.bytes || got.offset != place.offset ||
        got.input != place.input) {
      return "wrong place";
    }
  }
  if (outputs != expected.outputs) return "wrong outputs";
  if (classes != expected.classes) return "wrong classes";
  // shared inputs have no elements yet
  return has_shared_input ? "" : check_echo(signature, decoded);
}

}  // namespace serval::test
