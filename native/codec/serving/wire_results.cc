// Hot path. Converts a signature's outputs for classify and regress, and writes
// ClassificationResponse and RegressionResponse. Any thread. Source: tfserving.md 1.7, 2;
// upstream's classifier.cc, regressor.cc (checks, order, words).
#include <algorithm>
#include <bit>

#include "base/bytes/generated/tensorflow_serving.h"
#include "base/bytes/utf8.h"
#include "codec/examples/signature.h"
#include "codec/json/reader.h"
#include "codec/serving/wire.h"
#include "codec/serving/wire_write.h"
#include "codec/v2/wire_read.h"

namespace serval {

namespace {

namespace ClassificationResponse = proto::tensorflow::serving::ClassificationResponse;
namespace ClassificationResult = proto::tensorflow::serving::ClassificationResult;
namespace Classifications = proto::tensorflow::serving::Classifications;
namespace Class = proto::tensorflow::serving::Class;
namespace RegressionResponse = proto::tensorflow::serving::RegressionResponse;
namespace RegressionResult = proto::tensorflow::serving::RegressionResult;
namespace Regression = proto::tensorflow::serving::Regression;

constexpr uint64_t kFloatFieldBytes = 5;

// "DT_FLOAT"
std::string data_type_name(DType dtype) {
  std::string name = "DT_";
  for (char c : dtype_tf_name(dtype)) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return name;
}

uint64_t example_count(const DecodedRequest& request) {
  const bool known = !request.inputs.empty() && request.inputs[0].shape.rank() != 0;
  return known ? static_cast<uint64_t>(request.inputs[0].shape[0]) : 0;
}

// The output called `alias`; null if it was not requested.
const TensorView* find_output(const Signature& signature, const DecodedRequest& request,
                              std::span<const TensorView> outputs, std::string_view alias) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (signature.outputs[request.outputs[i].index].name == alias) return &outputs[i];
  }
  return nullptr;
}

Status check_class_output(const TensorView& tensor, const char* name, DType wanted,
                          uint64_t examples) {
  if (tensor.shape.rank() != 2) {
    return invalid_argument("Expected Tensor shape: [batch_size num_classes] but got " +
                            tensor.shape.to_string());
  }
  if (tensor.dtype != wanted) {
    return invalid_argument(std::string("Expected ") + name + " Tensor of " +
                            data_type_name(wanted) + ". Got: " + data_type_name(tensor.dtype));
  }
  if (static_cast<uint64_t>(tensor.shape[0]) != examples) {
    return invalid_argument(std::string("Expected ") + name + " output batch size of " +
                            std::to_string(examples) + ". Got: " + std::to_string(tensor.shape[0]));
  }
  return {};
}

// Views an FP32 tensor's elements. Errors: internal if its memory is not aligned.
Status view_floats(const TensorSpec& spec, const TensorView& tensor, std::span<const float>& out) {
  if (Status status = check_answer(spec, tensor); !status.ok()) return status;
  if (reinterpret_cast<uintptr_t>(tensor.data) % sizeof(float) != 0) {
    return make_error(ErrorCode::Internal,
                      "output " + wire_quoted(spec.name) + " is not aligned to its elements");
  }
  out = {reinterpret_cast<const float*>(tensor.data), tensor.bytes / sizeof(float)};
  return {};
}

const TensorSpec& output_spec(const Signature& signature, std::string_view alias) {
  return signature.outputs[static_cast<size_t>(signature.find_output(alias))];
}

// Handles a classifier whose only chosen output has column names.
Status view_named(const TensorSpec& spec, std::span<const TensorView> outputs, uint64_t examples,
                  ClassifyView& out) {
  if (outputs.size() != 1) {
    return make_error(ErrorCode::Internal, "expected one output of a classifier");
  }
  Status status = check_class_output(outputs[0], "scores", DType::Fp32, examples);
  if (status.ok()) status = view_floats(spec, outputs[0], out.scores);
  if (!status.ok()) return status;
  out.rows = examples;
  out.classes = static_cast<size_t>(outputs[0].shape[1]);
  out.names = spec.labels;
  return {};
}

// proto3 omits zero, but not negative zero.
uint64_t float_bytes(float value) {
  return std::bit_cast<uint32_t>(value) == 0 ? 0 : kFloatFieldBytes;
}

void write_float_field(WireWriter& writer, uint32_t number, float value) {
  if (float_bytes(value) == 0) return;
  writer.tag(number, WireType::Fixed32);
  writer.raw(&value, sizeof value);
}

uint64_t class_bytes(const ClassifyView& view, size_t index) {
  return wire_text_bytes(view.label(index)) + float_bytes(view.score(index));
}

uint64_t row_bytes(const ClassifyView& view, size_t row) {
  uint64_t bytes = 0;
  for (size_t i = row * view.classes; i < (row + 1) * view.classes; ++i) {
    bytes += wire_field_bytes(class_bytes(view, i));
  }
  return bytes;
}

// Labels are protobuf strings: clients refuse a message whose strings are not UTF-8.
Status check_labels(const ClassifyView& view) {
  const size_t count = view.names.empty() ? view.labels.size() : view.classes;
  for (size_t i = 0; i < count; ++i) {
    if (is_valid_utf8(view.label(i))) continue;
    return invalid_argument("output 'classes': label " + std::to_string(i) +
                            " is not valid UTF-8, which a gRPC answer cannot carry; REST can");
  }
  return {};
}

void write_classes(WireWriter& writer, const ClassifyView& view) {
  for (size_t row = 0; row < view.rows; ++row) {
    writer.head(ClassificationResult::kClassifications, row_bytes(view, row));
    for (size_t i = row * view.classes; i < (row + 1) * view.classes; ++i) {
      writer.head(Classifications::kClasses, class_bytes(view, i));
      writer.text(Class::kLabel, view.label(i));
      write_float_field(writer, Class::kScore, view.score(i));
    }
  }
}

Status encode_classes(const ClassifyView& view, const TfModelSpec& model, const Limits& limits,
                      ByteBuffer& out) {
  if (Status status = check_labels(view); !status.ok()) return status;
  uint64_t result = 0;
  for (size_t row = 0; row < view.rows; ++row) result += wire_field_bytes(row_bytes(view, row));
  uint8_t* place = nullptr;
  const uint64_t total = wire_field_bytes(result) + model.field_bytes();
  Status status = grow_response("ClassificationResponse", total, limits, out, place);
  if (!status.ok()) return status;
  WireWriter writer{place};
  writer.head(ClassificationResponse::kResult, result);
  write_classes(writer, view);
  model.write(writer, ClassificationResponse::kModelSpec);
  return {};
}

Status encode_values(std::span<const float> values, const TfModelSpec& model, const Limits& limits,
                     ByteBuffer& out) {
  uint64_t result = 0;
  for (float value : values) result += wire_field_bytes(float_bytes(value));
  uint8_t* place = nullptr;
  const uint64_t total = wire_field_bytes(result) + model.field_bytes();
  Status status = grow_response("RegressionResponse", total, limits, out, place);
  if (!status.ok()) return status;
  WireWriter writer{place};
  writer.head(RegressionResponse::kResult, result);
  for (float value : values) {
    writer.head(RegressionResult::kRegressions, float_bytes(value));
    write_float_field(writer, Regression::kValue, value);
  }
  model.write(writer, RegressionResponse::kModelSpec);
  return {};
}

}  // namespace

Status view_classification(const Signature& signature, const DecodedRequest& request,
                           std::span<const TensorView> outputs, ClassifyView& out) {
  out = {};
  const uint64_t examples = example_count(request);
  const int named = find_named_scores(signature);
  if (named >= 0) {
    return view_named(signature.outputs[static_cast<size_t>(named)], outputs, examples, out);
  }
  const TensorView* classes = find_output(signature, request, outputs, kClassifyClasses);
  const TensorView* scores = find_output(signature, request, outputs, kClassifyScores);
  Status status;
  if (classes != nullptr) {
    status = check_class_output(*classes, "classes", DType::Bytes, examples);
    if (!status.ok()) return status;
  }
  if (scores != nullptr) {
    status = check_class_output(*scores, "scores", DType::Fp32, examples);
    if (!status.ok()) return status;
  }
  if (classes != nullptr && scores != nullptr && classes->shape[1] != scores->shape[1]) {
    return invalid_argument("Tensors class and score should match in dim_size(1). Got " +
                            std::to_string(classes->shape[1]) + " vs. " +
                            std::to_string(scores->shape[1]));
  }
  out.rows = examples;
  if (classes != nullptr) {
    status = check_answer(output_spec(signature, kClassifyClasses), *classes);
    out.classes = static_cast<size_t>(classes->shape[1]);
    out.labels = classes->strings;
  }
  if (scores != nullptr && status.ok()) {
    status = view_floats(output_spec(signature, kClassifyScores), *scores, out.scores);
    out.classes = static_cast<size_t>(scores->shape[1]);
  }
  return status;
}

Status view_regression(const Signature& signature, const DecodedRequest& request,
                       std::span<const TensorView> outputs, std::span<const float>& out) {
  const TensorView* tensor = find_output(signature, request, outputs, kRegressOutput);
  if (tensor == nullptr) return invalid_argument("Could not find output tensor 'outputs'");
  const Shape& shape = tensor->shape;
  if (!(shape.rank() == 1 || (shape.rank() == 2 && shape[1] == 1))) {
    return invalid_argument(
        "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got " +
        shape.to_string());
  }
  const uint64_t examples = example_count(request);
  if (static_cast<uint64_t>(shape[0]) != examples) {
    return invalid_argument("Input batch size did not match output batch size: " +
                            std::to_string(examples) + " vs. " + std::to_string(shape[0]));
  }
  if (tensor->dtype != DType::Fp32) {
    return invalid_argument("Expected output Tensor of DT_FLOAT.  Got: " +
                            data_type_name(tensor->dtype));
  }
  return view_floats(output_spec(signature, kRegressOutput), *tensor, out);
}

Status encode_tf_results(Method method, const AnswerModel& model, const Signature& signature,
                         const DecodedRequest& request, std::span<const TensorView> outputs,
                         const Limits& limits, ByteBuffer& out) {
  const TfModelSpec model_spec(model, signature);
  if (method == Method::Classify) {
    ClassifyView view;
    Status status = view_classification(signature, request, outputs, view);
    return status.ok() ? encode_classes(view, model_spec, limits, out) : std::move(status);
  }
  std::span<const float> values;
  Status status = view_regression(signature, request, outputs, values);
  return status.ok() ? encode_values(values, model_spec, limits, out) : std::move(status);
}

}  // namespace serval
