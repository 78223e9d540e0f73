// Hot path. Writes PredictResponse: exact sizes first, one growth of the buffer, then every byte
// once, directly into it. Any thread. Source: tfserving.md 2 "PredictResponse", "ModelSpec".
#include "codec/serving/wire_write.h"

#include <algorithm>
#include <charconv>

#include "codec/serving/wire_read.h"
#include "codec/serving/wire_tensor.h"
#include "codec/v2/wire_read.h"

namespace serval {

namespace {

bool read_version(std::string_view text, uint64_t& out) {
  int64_t version = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, version);
  out = static_cast<uint64_t>(version);
  return !text.empty() && read.ec == std::errc() && read.ptr == end;
}

// Bytes of a map entry; both of its fields are always written.
uint64_t entry_bytes(const TensorSpec& spec, const WireTensorBytes& bytes) {
  return wire_field_bytes(spec.name.size()) + wire_field_bytes(bytes.proto);
}

}  // namespace

TfModelSpec::TfModelSpec(const AnswerModel& model, const Signature& signature)
    : model_(model), signature_(signature), has_version_(read_version(model.version, version_)) {
  bytes_ = wire_text_bytes(model.name) + wire_text_bytes(signature.name);
  if (has_version_) bytes_ += wire_field_bytes(version_bytes());
}

uint64_t TfModelSpec::version_bytes() const {
  return version_ == 0 ? 0 : 1 + varint_bytes(version_);
}

void TfModelSpec::write(WireWriter& writer, uint32_t number) const {
  writer.head(number, bytes_);
  writer.text(serving::ModelSpec::kName, model_.name);
  if (has_version_) {
    writer.head(serving::ModelSpec::kVersion, version_bytes());
    if (version_ != 0) {
      writer.tag(proto::google::protobuf::Int64Value::kValue, WireType::Varint);
      writer.varint(version_);
    }
  }
  writer.text(serving::ModelSpec::kSignatureName, signature_.name);
}

Status check_response_bytes(const char* name, uint64_t bytes, const Limits& limits) {
  const uint64_t bytes_max = std::min(limits.response_bytes_max, kWireMessageBytesMax);
  if (bytes <= bytes_max) return {};
  return make_error(ErrorCode::BodyTooLarge, "the " + std::string(name) +
                                                 " would be over the limit of " +
                                                 std::to_string(bytes_max) + " bytes");
}

Status grow_response(const char* name, uint64_t total, const Limits& limits, ByteBuffer& out,
                     uint8_t*& place) {
  if (Status fits = check_response_bytes(name, total, limits); !fits.ok()) return fits;
  place = out.grow(total);
  if (place != nullptr) return {};
  return make_error(ErrorCode::MemoryFull,
                    "out of memory for a response of " + std::to_string(total) + " bytes");
}

Status check_answer(const TensorSpec& spec, const TensorView& tensor) {
  const std::optional<uint64_t> elements = tensor.shape.elements();
  const bool text = tensor.dtype == DType::Bytes;
  uint64_t bytes = 0;
  const bool sized =
      elements && !__builtin_mul_overflow(*elements, dtype_bytes(tensor.dtype), &bytes);
  const bool strings = tensor.strings.size() == (text ? elements.value_or(0) : 0);
  if (sized && strings && tensor.bytes == bytes && tensor.dtype != DType::Invalid) return {};
  return make_error(ErrorCode::Internal, "output " + wire_quoted(spec.name) + " has " +
                                             std::to_string(tensor.bytes) + " bytes and " +
                                             std::to_string(tensor.strings.size()) +
                                             " strings for shape " + tensor.shape.to_string() +
                                             " of " + std::string(dtype_tf_name(tensor.dtype)));
}

Status encode_tf_predict(const AnswerModel& model, const Signature& signature,
                         const DecodedRequest& request, std::span<const TensorView> outputs,
                         TfTensorForm form, const Limits& limits, ByteBuffer& out) {
  const TfModelSpec model_spec(model, signature);
  uint64_t total = model_spec.field_bytes();
  std::vector<WireTensorBytes> sizes;
  sizes.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec& spec = signature.outputs[request.outputs[i].index];
    if (Status status = check_answer(spec, outputs[i]); !status.ok()) return status;
    sizes.push_back(wire_tensor_bytes(outputs[i], form));
    total += wire_field_bytes(entry_bytes(spec, sizes[i]));
  }
  uint8_t* place = nullptr;
  Status status = grow_response("PredictResponse", total, limits, out, place);
  if (!status.ok()) return status;
  WireWriter writer{place};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec& spec = signature.outputs[request.outputs[i].index];
    writer.head(serving::PredictResponse::kOutputs, entry_bytes(spec, sizes[i]));
    writer.bytes(MapEntry::kKey, spec.name);
    writer.head(MapEntry::kValue, sizes[i].proto);
    write_wire_tensor(writer, outputs[i], form, sizes[i]);
  }
  model_spec.write(writer, serving::PredictResponse::kModelSpec);
  return {};
}

}  // namespace serval
