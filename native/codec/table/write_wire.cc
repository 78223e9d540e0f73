// ModelInferResponse and PredictResponse of a tabular model: exact sizes first, one growth of the
// buffer, then every byte once. Hot path; any thread. Source: tabular.md 2.4; seed 001
// "ModelInferResponse".
#include <algorithm>

#include "base/bytes/wire_writer.h"
#include "codec/bytes_tensor.h"
#include "codec/table/answer.h"
#include "codec/table/table.h"
#include "codec/table/tensor.h"
#include "codec/v2/wire_read.h"

namespace serval {

namespace {

using namespace table;

constexpr uint32_t kModelName = 1, kModelVersion = 2, kId = 3, kOutputs = 5, kRawOutputs = 6;
constexpr uint32_t kStreamResponse = 2;

uint64_t parameter_bytes(const AnswerParameter& parameter) {
  return wire_text_bytes(parameter.key) + wire_field_bytes(wire_text_bytes(parameter.text));
}

uint64_t dims_bytes(const Shape& shape) {
  uint64_t bytes = 0;
  for (const int64_t dim : shape.dims()) bytes += varint_bytes(static_cast<uint64_t>(dim));
  return bytes;
}

uint64_t head_bytes(const AnswerTensor& tensor) {
  uint64_t bytes = wire_text_bytes(tensor.name) + wire_text_bytes(tensor.datatype) +
                   wire_field_bytes(dims_bytes(tensor.view.shape));
  for (size_t i = 0; i < tensor.parameter_count; ++i) {
    bytes += wire_field_bytes(parameter_bytes(tensor.parameters[i]));
  }
  return bytes;
}

void write_head(WireWriter& writer, const AnswerTensor& tensor) {
  writer.head(kOutputs, head_bytes(tensor));
  writer.text(wire_v2::kTensorName, tensor.name);
  writer.text(wire_v2::kTensorDatatype, tensor.datatype);
  writer.head(wire_v2::kTensorShape, dims_bytes(tensor.view.shape));
  for (const int64_t dim : tensor.view.shape.dims()) writer.varint(static_cast<uint64_t>(dim));
  for (size_t i = 0; i < tensor.parameter_count; ++i) {
    const AnswerParameter& parameter = tensor.parameters[i];
    writer.head(wire_v2::kTensorParameters, parameter_bytes(parameter));
    writer.text(wire_v2::kMapKey, parameter.key);
    writer.head(wire_v2::kMapValue, wire_text_bytes(parameter.text));
    writer.text(wire_v2::kStringParam, parameter.text);
  }
}

// Bytes of the ModelInferResponse; false when they are over `bytes_max`.
bool response_bytes(const AnswerModel& model, std::string_view id,
                    std::span<const AnswerTensor> tensors, uint64_t bytes_max, uint64_t& total) {
  total = wire_text_bytes(model.name) + wire_text_bytes(model.version) + wire_text_bytes(id);
  for (const AnswerTensor& tensor : tensors) {
    const uint64_t raw = raw_tensor_size(tensor.view);
    total += wire_field_bytes(head_bytes(tensor));
    if (raw > bytes_max || total > bytes_max) return false;  // before the sum can overflow
    total += wire_field_bytes(raw);
  }
  return total <= bytes_max;
}

// What a TensorProto can hold.
Status check_tf_form(const AnswerTensor& tensor) {
  const auto refused = [&](const std::string& what) {
    return make_error(ErrorCode::Unimplemented,
                      "output " + quoted(tensor.name) + what +
                          ", for which TensorFlow's tensors have no form: leave it out by "
                          "output_filter, or ask by the V2 protocol");
  };
  if (is_ragged(tensor.view)) return refused(": lists of different lengths");
  for (size_t i = 0; i < tensor.parameter_count; ++i) {
    const AnswerParameter& parameter = tensor.parameters[i];
    if (parameter.key != kNullIndicesKey) continue;
    const std::string_view row = parameter.text.substr(0, parameter.text.find(','));
    return refused(", row " + std::string(row) + ": a missing value");
  }
  return {};
}

}  // namespace

Status encode_table_wire(const AnswerModel& model, const TableSchema& table,
                         const Signature& signature, const DecodedRequest& request,
                         std::span<const TensorView> outputs, bool stream, const Limits& limits,
                         Arena& arena, ByteBuffer& out) {
  std::span<AnswerTensor> tensors;
  Status made = make_answer(table, signature, request, outputs, AnswerForm::Wire, arena, tensors);
  if (!made.ok()) return made;
  const uint64_t bytes_max = std::min(limits.response_bytes_max, kWireMessageBytesMax);
  uint64_t response = 0;
  const bool fits = response_bytes(model, request.id, tensors, bytes_max, response);
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
  for (const AnswerTensor& tensor : tensors) write_head(writer, tensor);
  for (const AnswerTensor& tensor : tensors) {
    writer.head(kRawOutputs, raw_tensor_size(tensor.view));
    writer.at = write_raw_tensor(writer.at, tensor.view);
  }
  return {};
}

Status encode_table_tf(const AnswerModel& model, const TableSchema& table,
                       const Signature& signature, const DecodedRequest& request,
                       std::span<const TensorView> outputs, TfTensorForm form, const Limits& limits,
                       Arena& arena, ByteBuffer& out) {
  std::span<AnswerTensor> tensors;
  Status made = make_answer(table, signature, request, outputs, AnswerForm::Wire, arena, tensors);
  if (!made.ok()) return made;
  std::vector<TensorView> views;
  views.reserve(outputs.size());
  for (const AnswerTensor& tensor : tensors) {
    if (Status fits = check_tf_form(tensor); !fits.ok()) return fits;
    views.push_back(tensor.view);
    views.back().dtype = carrier_of(tensor.view.dtype);
  }
  return encode_tf_predict(model, signature, request, views, form, limits, out);
}

}  // namespace serval
