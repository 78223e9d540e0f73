// Converts requests to TensorFlow Serving's messages. Source: tfserving.md 2 "PredictRequest",
// "ClassificationRequest".
#include "engine/control/request_log/tf_request.h"

#include <algorithm>

#include "base/bytes/generated/prediction_log.h"
#include "codec/serving/wire_read.h"
#include "codec/serving/wire_tensor.h"
#include "codec/serving/wire_write.h"
#include "engine/control/request_log/tf_answer.h"

namespace serval {

namespace {

// Every log message has the same fields.
constexpr uint32_t kLogRequest = serving::PredictLog::kRequest;
constexpr uint32_t kLogResponse = serving::PredictLog::kResponse;
static_assert(kLogRequest == serving::ClassifyLog::kRequest &&
              kLogRequest == serving::RegressLog::kRequest &&
              kLogResponse == serving::ClassifyLog::kResponse &&
              kLogResponse == serving::RegressLog::kResponse);
constexpr const char* kName = "logged request";

std::string_view text_of(const ByteBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.bytes().data()), buffer.size()};
}

bool is_input(const SharedTensor& shared) { return shared.input != SharedTensor::kOutput; }

// Returns whether the request gets every output in the signature's order, as one without a filter
// does.
bool asks_for_all(const Signature& signature, const DecodedRequest& decoded) {
  if (decoded.outputs.size() != signature.outputs.size()) return false;
  for (size_t i = 0; i < decoded.outputs.size(); ++i) {
    if (decoded.outputs[i].index != i) return false;
  }
  return true;
}

uint64_t entry_bytes(const TensorSpec& spec, const WireTensorBytes& bytes) {
  return wire_field_bytes(spec.name.size()) + wire_field_bytes(bytes.proto);
}

Status write_predict(const TfModelSpec& model_spec, const Signature& signature,
                     const DecodedRequest& decoded, const Limits& limits, ByteBuffer& out) {
  const bool filtered = !asks_for_all(signature, decoded);
  const size_t inputs = std::min(decoded.inputs.size(), signature.inputs.size());
  uint64_t total = model_spec.field_bytes();
  std::vector<WireTensorBytes> sizes;
  for (size_t i = 0; i < inputs; ++i) {
    if (decoded.inputs[i].dtype == DType::Invalid) {  // left out: an optional input
      sizes.emplace_back();
      continue;
    }
    if (tf_type_number(decoded.inputs[i].dtype) == 0) {
      return make_error(ErrorCode::Unimplemented,
                        "TensorFlow has no type for input '" + signature.inputs[i].name + "'");
    }
    sizes.push_back(wire_tensor_bytes(decoded.inputs[i], TfTensorForm::Content));
    total += wire_field_bytes(entry_bytes(signature.inputs[i], sizes[i]));
  }
  for (size_t i = 0; filtered && i < decoded.outputs.size(); ++i) {
    total += wire_field_bytes(signature.outputs[decoded.outputs[i].index].name.size());
  }
  uint8_t* place = nullptr;
  if (Status room = grow_response(kName, total, limits, out, place); !room.ok()) return room;
  WireWriter writer{place};
  model_spec.write(writer, kRequestModelSpec);
  for (size_t i = 0; i < inputs; ++i) {
    if (decoded.inputs[i].dtype == DType::Invalid) continue;
    writer.head(serving::PredictRequest::kInputs, entry_bytes(signature.inputs[i], sizes[i]));
    writer.bytes(MapEntry::kKey, signature.inputs[i].name);
    writer.head(MapEntry::kValue, sizes[i].proto);
    write_wire_tensor(writer, decoded.inputs[i], TfTensorForm::Content, sizes[i]);
  }
  for (size_t i = 0; filtered && i < decoded.outputs.size(); ++i) {
    writer.bytes(serving::PredictRequest::kOutputFilter,
                 signature.outputs[decoded.outputs[i].index].name);
  }
  return {};
}

// The context was added to each Example when it was decoded, and stays part of it.
Status write_examples(const TfModelSpec& model_spec, const DecodedRequest& decoded,
                      const Limits& limits, ByteBuffer& out) {
  if (decoded.inputs.size() != 1) {
    return make_error(ErrorCode::Internal, "expected one input of Examples");
  }
  uint64_t list = 0;
  for (const std::string_view example : decoded.inputs[0].strings) {
    list += wire_field_bytes(example.size());
  }
  const uint64_t input = wire_field_bytes(list);
  uint8_t* place = nullptr;
  Status room =
      grow_response(kName, model_spec.field_bytes() + wire_field_bytes(input), limits, out, place);
  if (!room.ok()) return room;
  WireWriter writer{place};
  model_spec.write(writer, kRequestModelSpec);
  writer.head(kRequestInput, input);
  writer.head(serving::Input::kExampleList, list);
  for (const std::string_view example : decoded.inputs[0].strings) {
    writer.bytes(serving::ExampleList::kExamples, example);
  }
  return {};
}

bool is_examples(Protocol protocol) {
  return protocol == Protocol::V1Classify || protocol == Protocol::V1Regress;
}

// Writes {request, response}, the form of every log message of TensorFlow Serving.
Status write_pair(const ByteBuffer& request, const ByteBuffer& response, const Limits& limits,
                  ByteBuffer& out) {
  const bool answered = response.size() != 0;
  const uint64_t total =
      wire_field_bytes(request.size()) + (answered ? wire_field_bytes(response.size()) : 0);
  uint8_t* place = nullptr;
  if (Status room = grow_response(kName, total, limits, out, place); !room.ok()) return room;
  WireWriter writer{place};
  writer.bytes(kLogRequest, text_of(request));
  if (answered) writer.bytes(kLogResponse, text_of(response));
  return {};
}

}  // namespace

Status write_tf_log(const LoggedEntry& entry, const Model& model, const ServeSettings& settings,
                    ByteBuffer& out) {
  if (model.table() != nullptr) {
    return make_error(ErrorCode::Unimplemented, "tabular models have no TensorFlow signature");
  }
  const ServeInput input{entry.protocol, entry.request(), entry.json_bytes, nullptr, nullptr};
  Arena arena;
  arena.charge_to(model.services().budget);
  DecodedRequest decoded;
  Status done = decode_as_sent(input, model, settings, arena, decoded);
  if (!done.ok()) return done;
  if (std::any_of(decoded.shared.begin(), decoded.shared.end(), is_input)) {
    return make_error(ErrorCode::Unimplemented, "its tensors were in shared memory");
  }
  const Signature& signature = model.signatures()[decoded.signature_index];
  const AnswerModel answer{model.spec().name, model.version_text()};
  const TfModelSpec model_spec(answer, signature);
  ByteBuffer request, response;
  done = is_examples(entry.protocol)
             ? write_examples(model_spec, decoded, settings, request)
             : write_predict(model_spec, signature, decoded, settings, request);
  if (!done.ok()) return done;
  // A response without such a form is left out; the request is still logged.
  if (!write_tf_answer(entry, model, decoded, settings, arena, response).ok()) response.clear();
  return write_pair(request, response, settings, out);
}

}  // namespace serval
