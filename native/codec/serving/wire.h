// Decodes and encodes TensorFlow Serving's gRPC messages as protobuf wire bytes: PredictRequest,
// ClassificationRequest, RegressionRequest and their responses. Hot path; pure. Source:
// tfserving.md 2, 1.10.
#pragma once

#include "codec/request.h"

namespace serval {

// The ModelSpec of any of the three requests (field 1 of each).
struct TfModelRef {
  std::string_view name;
  std::string_view signature_name;  // "" = serving_default
  bool has_version = false;
  int64_t version = 0;
  bool has_label = false;
  std::string_view label;
};

// Reads top-level fields and ModelSpec only. A repeated message field is merged.
// Errors: malformed_body ("... at byte N"); invalid_argument `Missing ModelSpec`, `ModelSpec has no
// name specified.`, names over kNameBytesMax.
Status peek_tf(std::span<const uint8_t> message, TfModelRef& out);

// Decodes a PredictRequest: signature by ModelSpec.signature_name, inputs by alias (of duplicate
// map keys the last counts), the signature's defaults for omitted inputs, output_filter (order
// kept). Tensors: aligned tensor_content stays a view of the message; typed fields in one packed
// run stay views if little-endian elements allow it (float, double); the others are decoded into
// `arena`. TensorProto rules of tfserving.md 2 "TensorProto reading rules". dtype_text in errors is
// TensorFlow's ("float"). A dtype other than the signature's: invalid_argument in the words of
// TensorFlow's session ("... expects float but int64 is provided" form, see tfserving.md; name
// alias and both dtypes).
// Errors: texts of tfserving.md 1.10 (signature, size, name, alias, tensor parsing, output alias);
// signature_not_found `Serving signature key "<s>" not found.`.
Status decode_tf_predict(std::span<const uint8_t> message, std::span<const Signature> signatures,
                         const Limits& limits, Arena& arena, DecodedRequest& out);

// Decodes a ClassificationRequest or RegressionRequest: Input {example_list |
// example_list_with_context} becomes one rank-1 string tensor of serialized Examples (each preceded
// by the context bytes), the signature's only input. Views of the message if there is no context.
// `method`: Classify or Regress; outputs are those of `classes`/`scores` or `outputs`.
// `check_method`: --enable_signature_method_name_check.
// Errors: tfserving.md 1.7; `Input is empty.`
Status decode_tf_examples(std::span<const uint8_t> message, Method method, bool check_method,
                          std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                          DecodedRequest& out);

// The form of tensors in responses: typed fields, or tensor_content
// (--enable_serialization_as_tensor_content). Strings are always string_val.
enum class TfTensorForm : uint8_t { Typed, Content };

// Encodes a PredictResponse: outputs map in the request's order, model_spec {name, version as
// Int64Value, signature_name resolved}. Appends; `out` is unchanged on an error.
Status encode_tf_predict(const AnswerModel& model, const Signature& signature,
                         const DecodedRequest& request, std::span<const TensorView> outputs,
                         TfTensorForm form, const Limits& limits, ByteBuffer& out);

// A signature's outputs as classify and regress return them, shared with the REST encoder: checks
// names, dtypes and shapes against the number of examples.
struct ClassifyView {
  size_t rows = 0, classes = 0;              // classes per row
  std::span<const std::string_view> labels;  // rows * classes, or empty
  std::span<const float> scores;             // rows * classes, or empty
  std::span<const std::string> names;        // class names, the same for each row, or empty

  // Missing values are "" and 0.
  std::string_view label(size_t index) const {
    if (!labels.empty()) return labels[index];
    const size_t column = names.empty() ? 0 : index % classes;
    return column < names.size() ? std::string_view(names[column]) : std::string_view();
  }
  float score(size_t index) const { return scores.empty() ? 0 : scores[index]; }
};
Status view_classification(const Signature& signature, const DecodedRequest& request,
                           std::span<const TensorView> outputs, ClassifyView& out);
// Regress: float [N] or [N,1].
Status view_regression(const Signature& signature, const DecodedRequest& request,
                       std::span<const TensorView> outputs, std::span<const float>& out);

// Encodes a ClassificationResponse (Method::Classify) or RegressionResponse.
Status encode_tf_results(Method method, const AnswerModel& model, const Signature& signature,
                         const DecodedRequest& request, std::span<const TensorView> outputs,
                         const Limits& limits, ByteBuffer& out);

// Decodes a single TensorProto (defaults of signatures, warmup files); the tensor's memory is the
// message or `arena`. Errors: invalid_argument `tensor parsing error: <name>`; unimplemented for
// dtypes that the engine does not have.
Status decode_tensor_proto(std::span<const uint8_t> proto, std::string_view name, Arena& arena,
                           TensorView& out);

}  // namespace serval
