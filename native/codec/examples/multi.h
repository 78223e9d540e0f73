// TensorFlow Serving's MultiInference: classify and regress of several signatures on one input. The
// tasks are served one by one from the one message, and their responses are joined. Hot path, any
// thread; pure. Views of the message. Source: tensorflow/serving multi_inference.cc,
// inference.proto.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "codec/serving/wire.h"

namespace serval {

// Limit on the tasks of one MultiInferenceRequest, each of which runs the model.
inline constexpr size_t kTasksMax = 1024;

// One InferenceTask. Its model's version and label are not used: all tasks run on the model of the
// first one.
struct TfTask {
  TfModelRef model;
  std::string_view method_name;

  Method method() const;               // of a task that passed check_tf_tasks()
  std::string_view signature() const;  // the resolved name
};

// Reads the tasks of a MultiInferenceRequest into `tasks`; the first one names the model.
// Errors: malformed_body with the byte; invalid_argument (over kTasksMax; the first task has no
// name, a name exceeds kNameBytesMax).
Status read_tf_tasks(std::span<const uint8_t> message, std::vector<TfTask>& tasks);

// Makes TensorFlow Serving's checks of the tasks, in its order and words, then checks that the
// model has their signatures. Errors: invalid_argument, for a signature with its name;
// unimplemented.
Status check_tf_tasks(std::span<const TfTask> tasks, std::span<const Signature> signatures);

// decode_tf_examples() for one task: uses the message's Input, which replaces that of a
// ClassificationRequest or RegressionRequest, and the signature that the task names.
Status decode_tf_task(std::span<const uint8_t> message, Method method, std::string_view signature,
                      bool check_method, std::span<const Signature> signatures,
                      const Limits& limits, Arena& arena, DecodedRequest& out);

// Appends a task's ClassificationResponse or RegressionResponse to the MultiInferenceResponse
// `out`, which is unchanged on an error. `response` was written by encode_tf_results().
// Errors: body_too_large (limits.response_bytes_max); memory_full; internal (`response` is
// malformed).
Status append_tf_result(Method method, std::span<const uint8_t> response, const Limits& limits,
                        ByteBuffer& out);

}  // namespace serval
