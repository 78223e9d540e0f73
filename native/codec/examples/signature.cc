// Chooses signatures for classify and regress with TensorFlow Serving's checks, in its order and
// words. Hot path, any thread. Source: tfserving.md 1.7; upstream's classifier.cc, regressor.cc.
#include "codec/examples/signature.h"

#include <algorithm>

#include "codec/json/echo.h"
#include "codec/serving/json_request.h"

namespace serval {

namespace {

// Lists a signature's aliases; upstream prints its whole SignatureDef.
std::string describe(const Signature& signature) {
  const std::string_view method = signature.method_name.empty()
                                      ? std::string_view("tensorflow/serving/predict")
                                      : std::string_view(signature.method_name);
  return "inputs: " + join_names(names_of(signature.inputs)) +
         "; outputs: " + join_names(names_of(signature.outputs)) +
         "; method_name: " + std::string(method);
}

Error names_error(std::string text) {
  return make_error(ErrorCode::SignatureNotFound, std::move(text));
}

Status check_method_name(const Signature& signature, Method method) {
  if (signature.method() == method) return {};
  const bool classify = method == Method::Classify;
  return invalid_argument(std::string("Expected ") + (classify ? "classification" : "regression") +
                          " signature method_name to be tensorflow/serving/" +
                          (classify ? "classify" : "regress") +
                          ". Was: " + echo_text(signature.method_name));
}

// Adds the output called `alias`, if the signature has it.
bool request_output(const Signature& signature, std::string_view alias, DecodedRequest& out) {
  const int index = signature.find_output(alias);
  if (index >= 0) out.outputs.push_back({static_cast<uint32_t>(index)});
  return index >= 0;
}

Status choose_classification(const Signature& signature, DecodedRequest& out) {
  const size_t count = signature.outputs.size();
  if (count != 1 && count != 2) {
    return invalid_argument("Expected one or two output Tensors, found " + std::to_string(count));
  }
  if (signature.find_input(kExampleInput) < 0) {
    return invalid_argument("No classification inputs found in SignatureDef: " +
                            describe(signature));
  }
  const bool classes = request_output(signature, kClassifyClasses, out);
  const bool scores = request_output(signature, kClassifyScores, out);
  if (classes || scores) return {};
  return names_error(
      "Expected classification signature outputs to contain at least one of \"classes\" or "
      "\"scores\". Signature was: " +
      describe(signature));
}

Status choose_regression(const Signature& signature, DecodedRequest& out) {
  if (signature.outputs.size() != 1) return invalid_argument("Expected one output Tensor.");
  if (signature.find_input(kExampleInput) < 0) {
    return invalid_argument("No regression inputs found in SignatureDef: " + describe(signature));
  }
  if (request_output(signature, kRegressOutput, out)) return {};
  return names_error("No regression outputs found in SignatureDef: " + describe(signature));
}

}  // namespace

Status choose_example_signature(std::span<const Signature> signatures, std::string_view name,
                                Method method, bool check_method, DecodedRequest& out) {
  const int index = find_signature(signatures, name);
  if (index < 0) {
    const std::string_view wanted = name.empty() ? kDefaultSignature : name;
    return with_signature(
        invalid_argument("No signature was found with the name: " + echo_text(wanted)), wanted);
  }
  const Signature& signature = signatures[static_cast<size_t>(index)];
  if (check_method) {
    if (Status status = check_method_name(signature, method); !status.ok()) return status;
  }
  out.signature_index = static_cast<uint32_t>(index);
  const int scores = method == Method::Classify ? find_named_scores(signature) : -1;
  if (scores >= 0) {
    out.outputs.push_back({static_cast<uint32_t>(scores)});
    return {};
  }
  if (signature.inputs.size() != 1) return invalid_argument("Expected one input Tensor.");
  return method == Method::Classify ? choose_classification(signature, out)
                                    : choose_regression(signature, out);
}

int find_named_scores(const Signature& signature) {
  int found = -1;
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    if (signature.outputs[i].labels.empty()) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

void set_example_input(std::span<const std::string_view> examples, DecodedRequest& out) {
  TensorView tensor;
  tensor.dtype = DType::Bytes;
  (void)tensor.shape.push_back(static_cast<int64_t>(examples.size()));
  tensor.strings = examples;
  out.inputs.assign(1, tensor);
}

std::string join_names(std::vector<std::string_view> names) {
  std::sort(names.begin(), names.end());
  std::string text;
  for (size_t i = 0; i < names.size() && text.size() <= kErrorValueBytesMax; ++i) {
    if (i != 0) text += ',';
    text += names[i].substr(0, kErrorValueBytesMax + 1);
  }
  return echo_text(text);
}

std::vector<std::string_view> names_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::string_view> names;
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return names;
}

}  // namespace serval
