// Hot path. Writes ModelInferResponse: exact sizes first, one growth of the buffer, then every byte
// once, straight into it. Any thread.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes/utf8.h"
#include "base/bytes/wire_reader.h"
#include "codec/bytes_tensor.h"
#include "codec/v2/wire.h"

namespace serval {

namespace {

// protobuf's own bound on a message.
constexpr uint64_t kMessageBytesMax = 2147483647;

// Field numbers. Source: seed 001 "ModelInferResponse"; Triton's ModelStreamInferResponse.
constexpr uint32_t kModelName = 1, kModelVersion = 2, kId = 3, kOutputs = 5, kRawOutputs = 6;
constexpr uint32_t kTensorName = 1, kTensorDatatype = 2, kTensorShape = 3;
constexpr uint32_t kStreamError = 1, kStreamResponse = 2;
// Every field here has a number below 16: its tag is one byte.
constexpr uint64_t kTagBytes = 1;

constexpr uint64_t varint_bytes(uint64_t value) {
  return (static_cast<uint64_t>(std::bit_width(value | 1)) + 6) / 7;
}

// A length-delimited field of `length` bytes, tag and length included.
constexpr uint64_t field_bytes(uint64_t length) {
  return kTagBytes + varint_bytes(length) + length;
}

// A string field; proto3 leaves out empty ones.
constexpr uint64_t text_bytes(std::string_view text) {
  return text.empty() ? 0 : field_bytes(text.size());
}

uint64_t dims_bytes(const Shape& shape) {
  uint64_t bytes = 0;
  for (int64_t dim : shape.dims()) bytes += varint_bytes(static_cast<uint64_t>(dim));
  return bytes;
}

uint64_t tensor_bytes(const TensorSpec& spec, const TensorView& tensor) {
  const uint64_t dims = dims_bytes(tensor.shape);
  return text_bytes(spec.name) + text_bytes(dtype_name(tensor.dtype)) +
         (dims == 0 ? 0 : field_bytes(dims));
}

// Writes at `at`, in room that has been sized.
struct Writer {
  uint8_t* at;

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at++ = static_cast<uint8_t>(value | 0x80u);
    *at++ = static_cast<uint8_t>(value);
  }
  void head(uint32_t number, uint64_t length) {
    varint(wire_tag(number, WireType::Bytes));
    varint(length);
  }
  void text(uint32_t number, std::string_view text) {
    if (text.empty()) return;
    head(number, text.size());
    std::memcpy(at, text.data(), text.size());
    at += text.size();
  }
  void tensor(const TensorSpec& spec, const TensorView& view) {
    head(kOutputs, tensor_bytes(spec, view));
    text(kTensorName, spec.name);
    text(kTensorDatatype, dtype_name(view.dtype));
    const uint64_t dims = dims_bytes(view.shape);
    if (dims == 0) return;
    head(kTensorShape, dims);
    for (int64_t dim : view.shape.dims()) varint(static_cast<uint64_t>(dim));
  }
};

// Bytes of the ModelInferResponse; false when they are over `bytes_max`.
bool response_bytes(const AnswerModel& model, const Signature& signature,
                    const DecodedRequest& request, std::span<const TensorView> outputs,
                    uint64_t bytes_max, uint64_t& total) {
  total = text_bytes(model.name) + text_bytes(model.version) + text_bytes(request.id);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint64_t raw = raw_tensor_size(outputs[i]);
    total += field_bytes(tensor_bytes(signature.outputs[request.outputs[i].index], outputs[i]));
    if (raw > bytes_max || total > bytes_max) return false;  // before the sum can overflow
    total += field_bytes(raw);
  }
  return total <= bytes_max;
}

// `text` with every byte of an invalid UTF-8 text that is not ASCII replaced: proto3 strings are
// UTF-8, and clients refuse a message that holds another.
std::string_view valid_text(std::string_view text, std::string& storage) {
  if (is_valid_utf8(text)) return text;
  storage.assign(text);
  for (char& c : storage) c = static_cast<uint8_t>(c) < 0x80 ? c : '?';
  return storage;
}

}  // namespace

Status encode_wire_v2(const AnswerModel& model, const Signature& signature,
                      const DecodedRequest& request, std::span<const TensorView> outputs,
                      bool stream, const Limits& limits, ByteBuffer& out) {
  const uint64_t bytes_max = std::min(limits.response_bytes_max, kMessageBytesMax);
  uint64_t response = 0;
  bool fits = response_bytes(model, signature, request, outputs, bytes_max, response);
  const uint64_t total = fits && stream ? field_bytes(response) : response;
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
  Writer writer{place};
  if (stream) writer.head(kStreamResponse, response);
  writer.text(kModelName, model.name);
  writer.text(kModelVersion, model.version);
  writer.text(kId, request.id);
  for (size_t i = 0; i < outputs.size(); ++i) {
    writer.tensor(signature.outputs[request.outputs[i].index], outputs[i]);
  }
  for (const TensorView& output : outputs) {
    writer.head(kRawOutputs, raw_tensor_size(output));
    writer.at = write_raw_tensor(writer.at, output);
  }
  return {};
}

bool encode_wire_v2_stream_error(std::string_view id, std::string_view message, ByteBuffer& out) {
  std::string id_storage, message_storage;
  const std::string_view id_text = valid_text(id, id_storage);
  const std::string_view message_text = valid_text(message, message_storage);
  const uint64_t response = text_bytes(id_text);
  uint8_t* place = out.grow(text_bytes(message_text) + field_bytes(response));
  if (place == nullptr) return false;
  Writer writer{place};
  writer.text(kStreamError, message_text);
  writer.head(kStreamResponse, response);
  writer.text(kId, id_text);
  return true;
}

}  // namespace serval
