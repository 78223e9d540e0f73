// Reads and writes MultiInference messages. Hot path, any thread. Source: tensorflow/serving
// multi_inference.cc.
#include "codec/examples/multi.h"

#include <string>
#include <unordered_set>

#include "base/bytes/wire_writer.h"
#include "codec/json/echo.h"
#include "codec/serving/json_request.h"
#include "codec/serving/wire_read.h"
#include "codec/serving/wire_write.h"

namespace serval {

namespace {

using Bytes = std::span<const uint8_t>;

// Both kinds of a task's response have the same fields.
constexpr uint32_t kResponseResult = serving::ClassificationResponse::kResult;
constexpr uint32_t kResponseModel = serving::ClassificationResponse::kModelSpec;
static_assert(kResponseResult == serving::RegressionResponse::kResult &&
              kResponseModel == serving::RegressionResponse::kModelSpec);
constexpr std::string_view kClassifyMethod = "tensorflow/serving/classify";
constexpr std::string_view kRegressMethod = "tensorflow/serving/regress";
constexpr const char* kRequest = "MultiInferenceRequest";
constexpr const char* kResponse = "MultiInferenceResponse";

bool read_task(Bytes bytes, const uint8_t* origin, WireFault& fault, TfTask& out) {
  WireReader reader(bytes, origin, fault);
  WireField field;
  bool good = true;
  while (good && reader.next(field)) {
    if (field.tag == bytes_tag(serving::InferenceTask::kModelSpec)) {
      good = read_tf_model(field.bytes, origin, fault, out.model);
    } else if (field.tag == bytes_tag(serving::InferenceTask::kMethodName)) {
      good = reader.text(field, out.method_name);
    }
  }
  return fault.reason == nullptr;
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status check_task(const TfTask& task, const TfTask& first,
                  std::unordered_set<std::string_view>& signatures) {
  if (task.model.name.empty()) {
    return invalid_argument("Found ModelSpec with an empty model name.");
  }
  if (task.model.name != first.model.name) {
    return invalid_argument(
        "All ModelSpecs in a MultiInferenceRequest must access the same model name.");
  }
  if (!signatures.insert(task.signature()).second) {
    return invalid_argument("Duplicate evaluation of signature: " + echo_text(task.signature()));
  }
  if (task.method_name == kClassifyMethod || task.method_name == kRegressMethod) return {};
  return make_error(ErrorCode::Unimplemented,
                    "Unsupported signature method_name: " + echo_text(task.method_name));
}

}  // namespace

Method TfTask::method() const {
  return method_name == kClassifyMethod ? Method::Classify : Method::Regress;
}

std::string_view TfTask::signature() const {
  return model.signature_name.empty() ? kDefaultSignature : model.signature_name;
}

Status read_tf_tasks(Bytes message, std::vector<TfTask>& tasks) {
  tasks.clear();
  WireFault fault;
  WireReader reader(message, message.data(), fault);
  WireField field;
  bool good = true;
  while (good && reader.next(field)) {
    if (field.tag != bytes_tag(serving::MultiInferenceRequest::kTasks)) continue;
    if (tasks.size() == kTasksMax) {
      return invalid_argument("MultiInferenceRequest: expected at most " +
                              std::to_string(kTasksMax) + " tasks, got more");
    }
    good = read_task(field.bytes, message.data(), fault, tasks.emplace_back());
  }
  if (fault.reason != nullptr) return tf_fault_error(kRequest, fault);
  if (tasks.empty() || tasks[0].model.name.empty()) {
    return invalid_argument("ModelSpec has no name specified.");
  }
  for (const TfTask& task : tasks) {
    if (Status status = check_tf_model(task.model); !status.ok()) return status;
  }
  return {};
}

Status check_tf_tasks(std::span<const TfTask> tasks, std::span<const Signature> signatures) {
  std::unordered_set<std::string_view> seen;
  for (const TfTask& task : tasks) {
    if (Status status = check_task(task, tasks[0], seen); !status.ok()) return status;
  }
  for (const TfTask& task : tasks) {
    const std::string_view name = task.signature();
    if (find_signature(signatures, name) >= 0) continue;
    return with_signature(
        invalid_argument("Requested signature not found in model graph: " + echo_text(name)), name);
  }
  return {};
}

Status append_tf_result(Method method, Bytes response, const Limits& limits, ByteBuffer& out) {
  WireFault fault;
  WireReader reader(response, response.data(), fault);
  WireField field;
  Bytes result, model;
  while (reader.next(field)) {
    if (field.tag == bytes_tag(kResponseResult)) result = field.bytes;
    else if (field.tag == bytes_tag(kResponseModel)) model = field.bytes;
  }
  if (fault.reason != nullptr) {
    return make_error(ErrorCode::Internal, std::string("a task's response: ") + fault.reason);
  }
  const uint64_t entry = wire_field_bytes(model.size()) + wire_field_bytes(result.size());
  const uint64_t bytes = wire_field_bytes(entry);
  Status status = check_response_bytes(kResponse, out.size() + bytes, limits);
  uint8_t* place = nullptr;
  if (status.ok()) status = grow_response(kResponse, bytes, limits, out, place);
  if (!status.ok()) return status;
  WireWriter writer{place};
  writer.head(serving::MultiInferenceResponse::kResults, entry);
  writer.bytes(serving::InferenceResult::kModelSpec, text_of(model));
  writer.bytes(method == Method::Classify ? serving::InferenceResult::kClassificationResult
                                          : serving::InferenceResult::kRegressionResult,
               text_of(result));
  return {};
}

}  // namespace serval
