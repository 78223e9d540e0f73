// Hot path. Writes ModelInferResponse: exact sizes first, one growth of the buffer, then every byte
// once, straight into it. Any thread.
#include <algorithm>

#include "base/bytes/utf8.h"
#include "base/bytes/wire_writer.h"
#include "codec/bytes_tensor.h"
#include "codec/v2/wire.h"

namespace serval {

namespace {

// Field numbers. Source: seed 001 "ModelInferResponse"; Triton's ModelStreamInferResponse.
constexpr uint32_t kModelName = 1, kModelVersion = 2, kId = 3, kOutputs = 5, kRawOutputs = 6;
constexpr uint32_t kTensorName = 1, kTensorDatatype = 2, kTensorShape = 3;
constexpr uint32_t kStreamError = 1, kStreamResponse = 2;
uint64_t dims_bytes(const Shape& shape) {
  uint64_t bytes = 0;
  for (int64_t dim : shape.dims()) bytes += varint_bytes(static_cast<uint64_t>(dim));
  return bytes;
}

uint64_t tensor_bytes(const TensorSpec& spec, const TensorView& tensor) {
  const uint64_t dims = dims_bytes(tensor.shape);
  return wire_text_bytes(spec.name) + wire_text_bytes(dtype_name(tensor.dtype)) +
         (dims == 0 ? 0 : wire_field_bytes(dims));
}

void write_tensor(WireWriter& writer, const TensorSpec& spec, const TensorView& view) {
  writer.head(kOutputs, tensor_bytes(spec, view));
  writer.text(kTensorName, spec.name);
  writer.text(kTensorDatatype, dtype_name(view.dtype));
  const uint64_t dims = dims_bytes(view.shape);
  if (dims == 0) return;
  writer.head(kTensorShape, dims);
  for (int64_t dim : view.shape.dims()) writer.varint(static_cast<uint64_t>(dim));
}

// Bytes of the ModelInferResponse; false when they are over `bytes_max`.
bool response_bytes(const AnswerModel& model, const Signature& signature,
                    const DecodedRequest& request, std::span<const TensorView> outputs,
                    uint64_t bytes_max, uint64_t& total) {
  total =
      wire_text_bytes(model.name) + wire_text_bytes(model.version) + wire_text_bytes(request.id);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint64_t raw = raw_tensor_size(outputs[i]);
    total +=
        wire_field_bytes(tensor_bytes(signature.outputs[request.outputs[i].index], outputs[i]));
    if (raw > bytes_max || total > bytes_max) return false;  // before the sum can overflow
    total += wire_field_bytes(raw);
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
  const uint64_t bytes_max = std::min(limits.response_bytes_max, kWireMessageBytesMax);
  uint64_t response = 0;
  bool fits = response_bytes(model, signature, request, outputs, bytes_max, response);
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
  if (stream) writer.head(kStreamResponse, response);
  writer.text(kModelName, model.name);
  writer.text(kModelVersion, model.version);
  writer.text(kId, request.id);
  for (size_t i = 0; i < outputs.size(); ++i) {
    write_tensor(writer, signature.outputs[request.outputs[i].index], outputs[i]);
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
  const uint64_t response = wire_text_bytes(id_text);
  uint8_t* place = out.grow(wire_text_bytes(message_text) + wire_field_bytes(response));
  if (place == nullptr) return false;
  WireWriter writer{place};
  writer.text(kStreamError, message_text);
  writer.head(kStreamResponse, response);
  writer.text(kId, id_text);
  return true;
}

}  // namespace serval
