// Converts responses of other protocols to TensorFlow Serving's messages. A response has its
// tensors in the same form as a request: its beginning is replaced, and the decoders of requests
// read it as a request for a signature whose inputs are the outputs. Source: tfserving.md 1.6, 1.7,
// 2; Predict Protocol V2.
#include "engine/control/request_log/tf_answer.h"

#include <cstring>
#include <utility>
#include <vector>

#include "codec/serving/json.h"
#include "codec/serving/json_body.h"
#include "codec/serving/json_request.h"
#include "codec/serving/wire.h"
#include "codec/serving/wire_tensor.h"
#include "codec/v2/json.h"
#include "codec/v2/wire.h"
#include "codec/v2/wire_read.h"

namespace serval {

namespace {

using Bytes = std::span<const uint8_t>;

namespace ModelInferResponse = proto::inference::ModelInferResponse;
namespace ModelStreamInferResponse = proto::inference::ModelStreamInferResponse;

constexpr std::string_view kV2Outputs = "\"outputs\":[", kV2Front = "{\"inputs\":[";
// The beginnings of V1 responses, each with that of a request with the same tensors.
constexpr std::pair<std::string_view, std::string_view> kV1Fronts[] = {
    {"{\"predictions\":", "{\"instances\":"},
    {"{\"outputs\":", "{\"inputs\":"},
    {"{\"results\":", "{\"instances\":"}};

Error no_such_answer(const char* what) {
  return make_error(ErrorCode::Internal, std::string("unexpected response: ") + what);
}

Error no_memory() { return make_error(ErrorCode::MemoryFull, "no memory for a logged answer"); }

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Signature signature_of_answer(const Signature& signature, const DecodedRequest& asked) {
  Signature made;
  made.name = kDefaultSignature;
  for (const RequestedOutput& output : asked.outputs) {
    const TensorSpec& spec = signature.outputs[output.index];
    TensorSpec& input = made.inputs.emplace_back();
    input.name = spec.name;
    input.dtype = spec.dtype;
    input.dims = spec.dims;
    input.unknown_rank = spec.unknown_rank;
  }
  return made;
}

// Joins `front` and `rest`, followed by the padding bytes that decoders may read.
Status join(std::string_view front, Bytes rest, Arena& arena, Bytes& out) {
  const size_t bytes = front.size() + rest.size();
  auto* const place = static_cast<uint8_t*>(arena.allocate(bytes + kBodyPadding));
  if (place == nullptr) return no_memory();
  std::memcpy(place, front.data(), front.size());
  if (!rest.empty()) std::memcpy(place + front.size(), rest.data(), rest.size());
  std::memset(place + bytes, 0, kBodyPadding);
  out = {place, bytes};
  return {};
}

Status as_v1_request(Bytes answer, Arena& arena, Bytes& out) {
  for (const auto& [front, wanted] : kV1Fronts) {
    if (text_of(answer).starts_with(front)) {
      return join(wanted, answer.subspan(front.size()), arena, out);
    }
  }
  return no_such_answer("it has no member with values");
}

// Quotes within the texts of a response are escaped, so the first match is the member itself.
Status as_v2_request(const LoggedEntry& entry, Arena& arena, Bytes& out, int64_t& json_bytes) {
  const Bytes answer = entry.response();
  const size_t found = text_of(answer).find(kV2Outputs);
  if (found == std::string_view::npos) return no_such_answer("no outputs");
  const size_t cut = found + kV2Outputs.size();
  json_bytes = kNoJsonHeader;
  if (entry.response_json_bytes != 0) {
    if (entry.response_json_bytes < cut) return no_such_answer("it has outputs after the JSON");
    json_bytes = static_cast<int64_t>(entry.response_json_bytes - cut + kV2Front.size());
  }
  return join(kV2Front, answer.subspan(cut), arena, out);
}

// Copies only the tensors, into the fields that a request has for them.
Status as_wire_request(const LoggedEntry& entry, Arena& arena, Bytes& out) {
  Bytes answer = entry.response();
  WireFault fault;
  WireField field;
  if (entry.protocol == Protocol::V2GrpcStream) {
    WireReader stream(answer, answer.data(), fault);
    while (stream.next(field)) {
      if (field.tag == bytes_tag(ModelStreamInferResponse::kInferResponse)) answer = field.bytes;
    }
  }
  auto* const place = static_cast<uint8_t*>(arena.allocate(answer.size() + kBodyPadding));
  if (place == nullptr) return no_memory();
  WireWriter writer{place};
  WireReader reader(answer, answer.data(), fault);
  while (reader.next(field)) {
    if (field.tag == bytes_tag(ModelInferResponse::kOutputs)) {
      writer.bytes(ModelInferRequest::kInputs, text_of(field.bytes));
    } else if (field.tag == bytes_tag(ModelInferResponse::kRawOutputContents)) {
      writer.bytes(ModelInferRequest::kRawInputContents, text_of(field.bytes));
    }
  }
  if (fault.reason != nullptr) return no_such_answer(fault.reason);
  out = {place, static_cast<size_t>(writer.at - place)};
  return {};
}

// Returns the outputs' tensors in the order in which they were requested.
Status decode_answer(const LoggedEntry& entry, const Signature& signature,
                     const ServeSettings& settings, Arena& arena, DecodedRequest& out) {
  Bytes body;
  int64_t json_bytes = kNoJsonHeader;
  Status done;
  switch (entry.protocol) {
    case Protocol::V1Predict:
    case Protocol::V1Regress:
      done = as_v1_request(entry.response(), arena, body);
      if (!done.ok()) return done;
      return decode_v1_predict(body, {&signature, 1}, settings, arena, out);
    case Protocol::V2Rest:
      done = as_v2_request(entry, arena, body, json_bytes);
      if (!done.ok()) return done;
      return decode_v2_infer(body, json_bytes, &signature, settings, arena, out);
    case Protocol::V2Grpc:
    case Protocol::V2GrpcStream:
      done = as_wire_request(entry, arena, body);
      if (!done.ok()) return done;
      return decode_wire_v2(body, signature, settings, arena, out);
    default: return no_such_answer("its protocol");
  }
}

// The tensors from which {"results": [[["label", score], ...], ...]} was made.
struct Classes {
  std::vector<std::string_view> labels;  // views of the document
  std::vector<float> scores;
  Shape shape;

  Status read(const JsonDocument& document);
  TensorView view(DType dtype) const;

 private:
  Status read_row(const JsonDocument& document, const JsonNode& row);
};

Status Classes::read_row(const JsonDocument& document, const JsonNode& row) {
  for (const JsonNode* one = document.child(row); one != nullptr; one = document.sibling(*one)) {
    const JsonNode* const label = document.child(*one);
    const JsonNode* const score = label == nullptr ? nullptr : document.sibling(*label);
    if (score == nullptr || score->kind != JsonKind::Number) return no_such_answer("no score");
    // Other labels are bytes, which the message has no field for.
    if (label->kind != JsonKind::String) return no_such_answer("a label is not a string");
    labels.push_back(label->text);
    scores.push_back(static_cast<float>(score->number.f64));
  }
  return {};
}

Status Classes::read(const JsonDocument& document) {
  const JsonNode* const rows = document.member(document.root(), kInstancesKey);
  if (rows == nullptr || rows->children == 0) return no_such_answer("no results");
  for (const JsonNode* row = document.child(*rows); row != nullptr; row = document.sibling(*row)) {
    if (Status done = read_row(document, *row); !done.ok()) return done;
  }
  if (labels.size() % rows->children != 0) return no_such_answer("rows of several lengths");
  (void)shape.push_back(rows->children);
  (void)shape.push_back(static_cast<int64_t>(labels.size() / rows->children));
  return {};
}

TensorView Classes::view(DType dtype) const {
  TensorView tensor;
  tensor.dtype = dtype;
  tensor.shape = shape;
  if (dtype == DType::Bytes) {
    tensor.strings = labels;
  } else {
    tensor.data = reinterpret_cast<const uint8_t*>(scores.data());
    tensor.bytes = scores.size() * sizeof(float);
  }
  return tensor;
}

Status write_classification(const LoggedEntry& entry, const AnswerModel& model,
                            const Signature& signature, const DecodedRequest& asked,
                            const ServeSettings& settings, Arena& arena, ByteBuffer& out) {
  Bytes body;
  Status done = as_v1_request(entry.response(), arena, body);
  if (!done.ok()) return done;
  PlainBody plain{text_of(body), arena};
  done = plain.read();
  if (!done.ok()) return done;
  Classes classes;
  done = classes.read(plain.document);
  if (!done.ok()) return done;
  std::vector<TensorView> outputs;
  for (const RequestedOutput& output : asked.outputs) {
    outputs.push_back(classes.view(signature.outputs[output.index].dtype));
  }
  return encode_tf_results(Method::Classify, model, signature, asked, outputs, settings, out);
}

Status check_outputs(const Signature& signature, const DecodedRequest& asked) {
  for (const RequestedOutput& output : asked.outputs) {
    const char* why = nullptr;
    if (output.classes != 0) why = "is returned as a classification";
    else if (output.shared != 0) why = "is in shared memory";
    else if (tf_type_number(signature.outputs[output.index].dtype) == 0) {
      why = "has a type that TensorFlow lacks";
    }
    if (why == nullptr) continue;
    return make_error(ErrorCode::Unimplemented,
                      "output '" + signature.outputs[output.index].name + "' " + why);
  }
  return {};
}

}  // namespace

Status write_tf_answer(const LoggedEntry& entry, const Model& model, const DecodedRequest& asked,
                       const ServeSettings& settings, Arena& arena, ByteBuffer& out) {
  const Signature& signature = model.signatures()[asked.signature_index];
  const AnswerModel answer{model.spec().name, model.version_text()};
  Status done = check_outputs(signature, asked);
  if (!done.ok()) return done;
  if (entry.protocol == Protocol::V1Classify) {
    return write_classification(entry, answer, signature, asked, settings, arena, out);
  }
  DecodedRequest decoded;
  done = decode_answer(entry, signature_of_answer(signature, asked), settings, arena, decoded);
  if (!done.ok()) return done;
  if (entry.protocol == Protocol::V1Regress) {
    return encode_tf_results(Method::Regress, answer, signature, asked, decoded.inputs, settings,
                             out);
  }
  return encode_tf_predict(answer, signature, asked, decoded.inputs, TfTensorForm::Content,
                           settings, out);
}

}  // namespace serval
