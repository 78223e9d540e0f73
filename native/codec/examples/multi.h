// TensorFlow Serving's MultiInference: classify and regress of several signatures on one input. Its
// tasks are served one by one from the one message, and their responses put together. Hot path, any
// thread; pure. Views of the message. Source: tensorflow/serving multi_inference.cc,
// inference.proto.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "codec/serving/wire.h"

namespace serval {

// Tasks of one MultiInferenceRequest: each is a run of the model.
inline constexpr size_t kTasksMax = 1024;

// One InferenceTask. Not what its model's version or label says: all run on the first one's.
struct TfTask {
  TfModelRef model;
  std::string_view method_name;

  Method method() const;               // of a task that was checked
  std::string_view signature() const;  // resolved
};

// Reads the tasks of a MultiInferenceRequest into `tasks`, whose first one names the model.
// Errors: malformed_body with the byte; invalid_argument (over kTasksMax; the first task has no
// name, a name is over kNameBytesMax).
Status read_tf_tasks(std::span<const uint8_t> message, std::vector<TfTask>& tasks);

// TensorFlow Serving's checks of the tasks, in its order and words; then whether the model has
// their signatures. Errors: invalid_argument, of a signature with its name; unimplemented.
Status check_tf_tasks(std::span<const TfTask> tasks, std::span<const Signature> signatures);

// decode_tf_examples() for one task: of the message's Input, which stands where a
// ClassificationRequest or RegressionRequest has its own, for the signature that the task names.
Status decode_tf_task(std::span<const uint8_t> message, Method method, std::string_view signature,
                      bool check_method, std::span<const Signature> signatures,
                      const Limits& limits, Arena& arena, DecodedRequest& out);

// Appends a task's ClassificationResponse or RegressionResponse to the MultiInferenceResponse
// `out`, which at an error stays as it was. `response` is one that encode_tf_results() wrote.
// Errors: body_too_large (limits.response_bytes_max); memory_full; internal (no such response).
Status append_tf_result(Method method, std::span<const uint8_t> response, const Limits& limits,
                        ByteBuffer& out);

}  // namespace serval
