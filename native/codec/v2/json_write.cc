// Encodes V2 infer responses: JSON, then the binary tensors. Hot path; pure, any thread.
// Source: v2-protocol.md 1.2, 1.3, the published V2 protocol's "Inference Response JSON Object".
#include <cstring>

#include "base/bytes/utf8.h"
#include "codec/bytes_tensor.h"
#include "codec/json/echo.h"
#include "codec/json/reader.h"
#include "codec/json/text.h"
#include "codec/v2/json.h"

namespace serval {

namespace {

Status no_memory(const ByteBuffer& out) {
  return make_error(ErrorCode::MemoryFull,
                    "no memory for the response after byte " + std::to_string(out.size()));
}

Status too_large(uint64_t bytes, const Limits& limits) {
  return make_error(ErrorCode::BodyTooLarge, "the response takes " + std::to_string(bytes) +
                                                 " bytes or more, the limit is " +
                                                 std::to_string(limits.response_bytes_max));
}

bool append_number(ByteBuffer& out, uint64_t value) {
  auto* place = reinterpret_cast<char*>(out.room(kIntegerTextMax));
  if (place == nullptr) return false;
  out.set_end(reinterpret_cast<uint8_t*>(write_uint64(place, value)));
  return true;
}

bool append_shape(ByteBuffer& out, const Shape& shape) {
  auto* place = reinterpret_cast<char*>(out.room(kRankMax * (kIntegerTextMax + 1) + 2));
  if (place == nullptr) return false;
  *place++ = '[';
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i != 0) *place++ = ',';
    place = write_int64(place, shape[i]);
  }
  *place++ = ']';
  out.set_end(reinterpret_cast<uint8_t*>(place));
  return true;
}

// Appends the members before an output's data, from its bracket on.
bool append_front(ByteBuffer& out, std::string_view name, const TensorView& tensor) {
  return out.append("{\"name\":") && append_json_string(out, name) &&
         out.append(",\"datatype\":\"") && out.append(dtype_name(tensor.dtype)) &&
         out.append("\",\"shape\":") && append_shape(out, tensor.shape);
}

Status append_strings(ByteBuffer& out, std::string_view name, const TensorView& tensor,
                      const Limits& limits) {
  for (size_t i = 0; i < tensor.strings.size(); ++i) {
    const std::string_view element = tensor.strings[i];
    if (!is_valid_utf8(element)) {
      return invalid_argument("output '" + echo_text(name) + "', element " + std::to_string(i) +
                              ": not valid UTF-8, so it cannot be written as JSON; ask for binary "
                              "data (parameter binary_data: true)");
    }
    if (out.size() + element.size() > limits.response_bytes_max) {
      return too_large(out.size() + element.size(), limits);
    }
    if (i != 0 && !out.append(",")) return no_memory(out);
    if (!append_json_string(out, element)) return no_memory(out);
  }
  return {};
}

Status append_data(ByteBuffer& out, std::string_view name, const TensorView& tensor,
                   const Limits& limits) {
  if (!out.append(",\"data\":[")) return no_memory(out);
  if (dtype_is_text(tensor.dtype)) {
    Status status = append_strings(out, name, tensor, limits);
    if (!status.ok()) return status;
    return out.append("]}") ? Status() : no_memory(out);
  }
  // An element takes at least a digit and a comma: output that cannot fit is refused before it is
  // written.
  const uint64_t count = tensor.bytes / dtype_bytes(tensor.dtype);
  if (out.size() + 2 * count > limits.response_bytes_max) {
    return too_large(out.size() + 2 * count, limits);
  }
  if (!append_elements(out, tensor, 0, count) || !out.append("]}")) return no_memory(out);
  return {};
}

bool append_binary_size(ByteBuffer& out, uint64_t bytes) {
  return out.append(",\"parameters\":{\"binary_data_size\":") && append_number(out, bytes) &&
         out.append("}}");
}

Status append_binaries(ByteBuffer& out, const DecodedRequest& request,
                       std::span<const TensorView> outputs, uint64_t total) {
  auto* place = out.grow(static_cast<size_t>(total));
  if (place == nullptr) return no_memory(out);
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    const RequestedOutput& asked = request.outputs[i];
    if (asked.binary && asked.shared == 0) place = write_raw_tensor(place, outputs[i]);
  }
  return {};
}

// The raw form's length prefix has 32 bits.
Status check_elements(std::string_view name, const TensorView& tensor) {
  for (size_t i = 0; i < tensor.strings.size(); ++i) {
    if (tensor.strings[i].size() <= UINT32_MAX) continue;
    return make_error(ErrorCode::BodyTooLarge, "output '" + echo_text(name) + "', element " +
                                                   std::to_string(i) +
                                                   ": expected at most 4294967295 bytes, got " +
                                                   std::to_string(tensor.strings[i].size()));
  }
  return {};
}

// Writes the JSON; `binary_bytes`: size of the data after it.
Status write_json(const AnswerModel& model, const Signature& signature,
                  const DecodedRequest& request, std::span<const TensorView> outputs,
                  const Limits& limits, ByteBuffer& out, uint64_t& binary_bytes) {
  if (!append_answer_front(out, model, request)) return no_memory(out);
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    const std::string_view name = signature.outputs[request.outputs[i].index].name;
    if (i != 0 && !out.append(",")) return no_memory(out);
    if (!append_front(out, name, outputs[i])) return no_memory(out);
    Status status;
    if (request.outputs[i].shared != 0) {
      // The client knows the region that it requested. Writes no parameters: Triton's C++ client
      // would read an output's parameters as those of the binary extension.
      if (!out.append("}")) return no_memory(out);
    } else if (request.outputs[i].binary) {
      const uint64_t bytes = raw_tensor_size(outputs[i]);
      binary_bytes += bytes;
      status = check_elements(name, outputs[i]);
      if (status.ok() && !append_binary_size(out, bytes)) return no_memory(out);
    } else {
      status = append_data(out, name, outputs[i], limits);
    }
    if (!status.ok()) return status;
    const uint64_t total = out.size() + binary_bytes;
    if (total > limits.response_bytes_max) return too_large(total, limits);
  }
  return out.append("]}") ? Status() : no_memory(out);
}

}  // namespace

bool append_answer_front(ByteBuffer& out, const AnswerModel& model, const DecodedRequest& request) {
  if (!out.append("{\"model_name\":") || !append_json_string(out, model.name) ||
      !out.append(",\"model_version\":") || !append_json_string(out, model.version)) {
    return false;
  }
  if (request.has_id && (!out.append(",\"id\":") || !append_json_string(out, request.id))) {
    return false;
  }
  return out.append(",\"outputs\":[");
}

Status encode_v2_infer(const AnswerModel& model, const Signature& signature,
                       const DecodedRequest& request, std::span<const TensorView> outputs,
                       const Limits& limits, ByteBuffer& out, size_t& json_bytes_out) {
  json_bytes_out = 0;
  out.truncate(0);
  uint64_t binary_bytes = 0;
  Status status = write_json(model, signature, request, outputs, limits, out, binary_bytes);
  const size_t json_bytes = out.size();
  const uint64_t total = json_bytes + binary_bytes;
  if (status.ok() && total > limits.response_bytes_max) status = too_large(total, limits);
  if (status.ok() && binary_bytes != 0) {
    json_bytes_out = json_bytes;
    status = append_binaries(out, request, outputs, binary_bytes);
  }
  if (!status.ok()) out.truncate(0);
  return status;
}

}  // namespace serval
