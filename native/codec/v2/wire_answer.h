// Writes the ModelInferResponse of all kinds of models: exact sizes first, one growth of the
// buffer, then every byte once, directly into it. Hot path; any thread. Source: the published V2
// protocol's ModelInferResponse.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/bytes/wire_writer.h"
#include "codec/bytes_tensor.h"
#include "codec/request.h"
#include "codec/v2/wire_read.h"

namespace serval {

// A string_param of an output tensor.
struct AnswerParameter {
  std::string_view key, text;
};

// One tensor of the response. Borrowed.
struct WireAnswerTensor {
  std::string_view name, datatype;
  std::span<const AnswerParameter> parameters;
  const TensorView& view;  // its shape, and the elements, which are written to raw_output_contents
  // or the region that holds them; then raw_output_contents is empty
  const SharedTensor* shared = nullptr;
};

namespace wire_answer {

namespace ModelInferResponse = proto::inference::ModelInferResponse;
namespace InferOutputTensor = ModelInferResponse::InferOutputTensor;
namespace ModelStreamInferResponse = proto::inference::ModelStreamInferResponse;

inline constexpr std::string_view kFinalKey = "triton_final_response";
inline constexpr auto kFinalBytes = [] {
  std::array<char, 2 + 2 + kFinalKey.size() + 2 + 2> bytes{};
  size_t at = 0;
  const auto put = [&](uint64_t byte) { bytes[at++] = static_cast<char>(byte); };
  put(bytes_tag(ModelInferResponse::kParameters));
  put(bytes.size() - 2);
  put(bytes_tag(MapEntry::kKey));
  put(kFinalKey.size());
  for (const char c : kFinalKey) bytes[at++] = c;
  put(bytes_tag(MapEntry::kValue));
  put(2);
  put(wire_tag(InferParameter::kBoolParam, WireType::Varint));
  put(1);
  return bytes;
}();
// ModelInferResponse.parameters["triton_final_response"] = {bool_param: true}, tag and length
// included. Triton sets it on the last response of each request of a stream; a request has one.
// Source: Triton's decoupled_models.md, "Knowing When a Decoupled Inference Request is Complete".
inline constexpr std::string_view kFinalResponse{kFinalBytes.data(), kFinalBytes.size()};

inline uint64_t parameter_bytes(const AnswerParameter& parameter) {
  return wire_text_bytes(parameter.key) + wire_field_bytes(wire_text_bytes(parameter.text));
}

inline uint64_t number_bytes(std::string_view key, uint64_t value) {
  return wire_field_bytes(wire_text_bytes(key) + wire_field_bytes(1 + varint_bytes(value)));
}

inline void write_number(WireWriter& writer, std::string_view key, uint64_t value) {
  const uint64_t choice = 1 + varint_bytes(value);
  writer.head(InferOutputTensor::kParameters, wire_text_bytes(key) + wire_field_bytes(choice));
  writer.text(MapEntry::kKey, key);
  writer.head(MapEntry::kValue, choice);
  writer.tag(InferParameter::kInt64Param, WireType::Varint);
  writer.varint(value);
}

constexpr std::string_view kRegionKey = "shared_memory_region";
constexpr std::string_view kSizeKey = "shared_memory_byte_size";
constexpr std::string_view kOffsetKey = "shared_memory_offset";

inline uint64_t raw_bytes(const WireAnswerTensor& tensor) {
  return tensor.shared != nullptr ? 0 : raw_tensor_size(tensor.view);
}

inline uint64_t dims_bytes(const Shape& shape) {
  uint64_t bytes = 0;
  for (const int64_t dim : shape.dims()) bytes += varint_bytes(static_cast<uint64_t>(dim));
  return bytes;
}

inline uint64_t head_bytes(const WireAnswerTensor& tensor) {
  const uint64_t dims = dims_bytes(tensor.view.shape);
  uint64_t bytes = wire_text_bytes(tensor.name) + wire_text_bytes(tensor.datatype) +
                   (dims == 0 ? 0 : wire_field_bytes(dims));
  for (const AnswerParameter& one : tensor.parameters) {
    bytes += wire_field_bytes(parameter_bytes(one));
  }
  if (tensor.shared == nullptr) return bytes;
  const SharedTensor& place = *tensor.shared;
  bytes += wire_field_bytes(parameter_bytes({kRegionKey, place.region}));
  bytes += number_bytes(kSizeKey, raw_tensor_size(tensor.view));
  return bytes + (place.offset == 0 ? 0 : number_bytes(kOffsetKey, place.offset));
}

inline void write_parameter(WireWriter& writer, const AnswerParameter& one) {
  writer.head(InferOutputTensor::kParameters, parameter_bytes(one));
  writer.text(MapEntry::kKey, one.key);
  writer.head(MapEntry::kValue, wire_text_bytes(one.text));
  writer.text(InferParameter::kStringParam, one.text);
}

inline void write_head(WireWriter& writer, const WireAnswerTensor& tensor) {
  writer.head(ModelInferResponse::kOutputs, head_bytes(tensor));
  writer.text(InferOutputTensor::kName, tensor.name);
  writer.text(InferOutputTensor::kDatatype, tensor.datatype);
  if (const uint64_t dims = dims_bytes(tensor.view.shape); dims != 0) {
    writer.head(InferOutputTensor::kShape, dims);
    for (const int64_t dim : tensor.view.shape.dims()) writer.varint(static_cast<uint64_t>(dim));
  }
  for (const AnswerParameter& one : tensor.parameters) write_parameter(writer, one);
  if (tensor.shared == nullptr) return;
  write_parameter(writer, {kRegionKey, tensor.shared->region});
  write_number(writer, kSizeKey, raw_tensor_size(tensor.view));
  if (tensor.shared->offset != 0) write_number(writer, kOffsetKey, tensor.shared->offset);
}

}  // namespace wire_answer

// Appends the message of `count` tensors, tensor(i) each; with `stream`, in a
// ModelStreamInferResponse and marked as the final response. Errors: body_too_large, memory_full;
// `out` is then unchanged.
template <typename TensorAt>
Status write_wire_answer(const AnswerModel& model, std::string_view id, size_t count,
                         TensorAt tensor, bool stream, const Limits& limits, ByteBuffer& out) {
  using namespace wire_answer;
  const uint64_t bytes_max = std::min(limits.response_bytes_max, kWireMessageBytesMax);
  uint64_t response =
      wire_text_bytes(model.name) + wire_text_bytes(model.version) + wire_text_bytes(id);
  if (stream) response += kFinalResponse.size();
  bool fits = true;
  for (size_t i = 0; i < count && fits; ++i) {
    const WireAnswerTensor one = tensor(i);
    const uint64_t raw = raw_bytes(one);
    response += wire_field_bytes(head_bytes(one));
    fits = raw <= bytes_max && response <= bytes_max;  // before the sum can overflow
    if (fits) response += wire_field_bytes(raw);
  }
  fits = fits && response <= bytes_max;
  const uint64_t total = fits && stream ? wire_field_bytes(response) : response;
  if (!fits || total > bytes_max) {
    return make_error(ErrorCode::BodyTooLarge,
                      "the ModelInferResponse would be over the limit of " +
                          std::to_string(bytes_max) + " bytes");
  }
  uint8_t* place = out.grow(total);
  if (place == nullptr) {
    return make_error(ErrorCode::MemoryFull,
                      "out of memory for a response of " + std::to_string(total) + " bytes");
  }
  WireWriter writer{place};
  if (stream) writer.head(ModelStreamInferResponse::kInferResponse, response);
  writer.text(ModelInferResponse::kModelName, model.name);
  writer.text(ModelInferResponse::kModelVersion, model.version);
  writer.text(ModelInferResponse::kId, id);
  if (stream) writer.raw(kFinalResponse.data(), kFinalResponse.size());
  for (size_t i = 0; i < count; ++i) write_head(writer, tensor(i));
  for (size_t i = 0; i < count; ++i) {
    const WireAnswerTensor one = tensor(i);
    writer.head(ModelInferResponse::kRawOutputContents, raw_bytes(one));
    if (one.shared == nullptr) writer.at = write_raw_tensor(writer.at, one.view);
  }
  return {};
}

}  // namespace serval
