// Hot path. Writes a model's outputs as ModelInferResponse, and errors of its stream. Any thread.
#include "base/bytes/utf8.h"
#include "codec/v2/wire.h"
#include "codec/v2/wire_answer.h"

namespace serval {

namespace {

// Replaces the bytes that are not ASCII in a text that is not UTF-8: proto3 strings are UTF-8, and
// clients refuse a message that holds another.
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
  const auto tensor = [&](size_t i) {
    const RequestedOutput& asked = request.outputs[i];
    const std::string_view name = signature.outputs[asked.index].name;
    const SharedTensor* shared = asked.shared == 0 ? nullptr : &request.shared[asked.shared - 1];
    return WireAnswerTensor{name, dtype_name(outputs[i].dtype), {}, outputs[i], shared};
  };
  return write_wire_answer(model, request.id, outputs.size(), tensor, stream, limits, out);
}

bool encode_wire_v2_stream_error(std::string_view id, std::string_view message, ByteBuffer& out) {
  using namespace wire_answer;
  std::string id_storage, message_storage;
  const std::string_view id_text = valid_text(id, id_storage);
  const std::string_view message_text = valid_text(message, message_storage);
  const std::string_view mark = kFinalResponse;
  const uint64_t response = wire_text_bytes(id_text) + mark.size();
  uint8_t* place = out.grow(wire_text_bytes(message_text) + wire_field_bytes(response));
  if (place == nullptr) return false;
  WireWriter writer{place};
  writer.text(ModelStreamInferResponse::kErrorMessage, message_text);
  writer.head(ModelStreamInferResponse::kInferResponse, response);
  writer.text(ModelInferResponse::kId, id_text);
  writer.raw(mark.data(), mark.size());
  return true;
}

}  // namespace serval
