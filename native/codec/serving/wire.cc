// Hot path. Decodes a PredictRequest against a model's signatures with TensorFlow Serving's checks,
// in its order and words. Any thread. wire_read.cc checks the wire format before anything here uses
// the model.
// Source: tfserving.md 1.10, 2; upstream's predict_util.cc, cc/saved_model/util.cc.
#include "codec/serving/wire.h"

#include <algorithm>

#include "codec/examples/signature.h"
#include "codec/json/echo.h"
#include "codec/serving/json_request.h"
#include "codec/serving/wire_read.h"
#include "codec/v2/wire_read.h"

namespace serval {

namespace {

using Bytes = std::span<const uint8_t>;

Status check_text_size(const char* field, std::string_view text) {
  if (text.size() <= kNameBytesMax) return {};
  return invalid_argument(std::string(field) + " is " + std::to_string(text.size()) +
                          " bytes long; the limit is " + std::to_string(kNameBytesMax));
}

std::vector<std::string_view> aliases_of(const WireTfPredict& wire) {
  std::vector<std::string_view> names;
  for (const WireTfInput& input : wire.inputs) names.push_back(input.alias);
  return names;
}

// The names in the first list that are missing from the second.
std::vector<std::string_view> difference(std::vector<std::string_view> names,
                                         std::vector<std::string_view> others) {
  std::sort(names.begin(), names.end());
  std::sort(others.begin(), others.end());
  std::vector<std::string_view> left;
  std::set_difference(names.begin(), names.end(), others.begin(), others.end(),
                      std::back_inserter(left));
  return left;
}

Error size_error(const WireTfPredict& wire, const Signature& signature) {
  const auto sent = aliases_of(wire), wanted = names_of(signature.inputs);
  return invalid_argument("input size does not match signature: " + std::to_string(sent.size()) +
                          "!=" + std::to_string(wanted.size()) + " len({" + join_names(sent) +
                          "}) != len({" + join_names(wanted) + "}). Sent extra: {" +
                          join_names(difference(sent, wanted)) + "}. Missing but required: {" +
                          join_names(difference(wanted, sent)) + "}.");
}

// Whether the signature, or the graph, has a default.
bool has_default(const TensorSpec& spec) {
  return spec.default_value != nullptr || spec.may_be_absent;
}

// Uses our tensor names in place of TensorFlow's feed names.
Error missing_error(const WireTfPredict& wire, const Signature& signature,
                    const TensorSpec& missing) {
  std::vector<std::string_view> defaults;
  for (const TensorSpec& spec : signature.inputs) {
    if (has_default(spec)) defaults.push_back(spec.name);
  }
  const std::string alias = echo_text(missing.name);
  return invalid_argument("Signature input alias: " + alias + "(feed name: " + alias +
                          ") not found in request and no default value provided. Inputs expected "
                          "to be in the request {" +
                          join_names(aliases_of(wire)) +
                          "}, or default input alias set: " + join_names(defaults));
}

Error invalid_name_error(const WireTfPredict& wire, const Signature& signature) {
  const auto sent = aliases_of(wire);
  return invalid_argument(
      "Inputs contains invalid name. Used request inputs: " +
      join_names(difference(sent, difference(sent, names_of(signature.inputs)))) +
      ", request input: " + join_names(sent));
}

Status decode_inputs(const WireTfPredict& wire, const Signature& signature, const Limits& limits,
                     Arena& arena, DecodedRequest& out) {
  const size_t sent = wire.inputs.size(), wanted = signature.inputs.size();
  const bool defaults = std::any_of(signature.inputs.begin(), signature.inputs.end(),
                                    [](const TensorSpec& spec) { return has_default(spec); });
  if (sent > wanted || (sent < wanted && !defaults)) return size_error(wire, signature);
  out.inputs.resize(wanted);
  uint64_t fill_left = limits.body_bytes_max;
  size_t used = 0;
  for (size_t i = 0; i < wanted; ++i) {
    const TensorSpec& spec = signature.inputs[i];
    const WireTfInput* input = wire.find(spec.name);
    if (input == nullptr) {
      if (!has_default(spec)) return missing_error(wire, signature, spec);
      if (spec.default_value != nullptr) out.inputs[i] = *spec.default_value;
      continue;
    }
    ++used;
    Status status = decode_wire_tensor(input->tensor, spec.name, fill_left, arena, out.inputs[i]);
    if (!status.ok()) return status;
  }
  return used == sent ? Status() : Status(invalid_name_error(wire, signature));
}

// TensorFlow's session reports this when it is fed, after all checks of the request.
Status check_dtypes(const Signature& signature, const DecodedRequest& request) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    if (request.inputs[i].dtype == spec.dtype) continue;
    if (request.inputs[i].dtype == DType::Invalid && spec.may_be_absent) continue;
    return invalid_argument("Expects arg[" + std::to_string(i) + "] to be " +
                            std::string(dtype_tf_name(spec.dtype)) + " but " +
                            std::string(dtype_tf_name(request.inputs[i].dtype)) +
                            " is provided: input " + wire_quoted(spec.name));
  }
  return {};
}

}  // namespace

Status check_tf_model(const TfModelRef& model) {
  Status status = check_text_size("model_spec.name", model.name);
  if (status.ok()) status = check_text_size("model_spec.signature_name", model.signature_name);
  if (status.ok()) status = check_text_size("model_spec.version_label", model.label);
  return status;
}

Status peek_tf(Bytes message, TfModelRef& out) {
  out = {};
  WireFault fault;
  TfModelRef model;
  bool found = false;
  if (!find_tf_model(message, fault, model, found)) return tf_fault_error("request", fault);
  if (!found) return invalid_argument("Missing ModelSpec");
  if (model.name.empty()) return invalid_argument("ModelSpec has no name specified.");
  Status status = check_tf_model(model);
  if (status.ok()) out = model;
  return status;
}

Status open_tf_predict(Bytes message, std::span<const Signature> signatures, const Limits& limits,
                       Arena& arena, WireTfPredict& wire, uint32_t& signature_index) {
  if (message.size() > limits.body_bytes_max) {
    return make_error(ErrorCode::BodyTooLarge,
                      "PredictRequest is " + std::to_string(message.size()) +
                          " bytes long; the limit is " + std::to_string(limits.body_bytes_max));
  }
  if (Status status = read_tf_predict(message, arena, wire); !status.ok()) return status;
  const std::string_view asked = wire.model.signature_name;
  const std::string_view name = asked.empty() ? kDefaultSignature : asked;
  const int index = find_signature(signatures, name);
  if (index < 0) {
    return with_signature(
        make_error(ErrorCode::SignatureNotFound,
                   "Serving signature key \"" + echo_text(name) + "\" not found."),
        name);
  }
  signature_index = static_cast<uint32_t>(index);
  return {};
}

// Source: tfserving.md 2 "output_filter selects and orders outputs".
Status take_output_filter(const WireTfPredict& wire, const Signature& signature,
                          DecodedRequest& out) {
  for (std::string_view alias : wire.output_filter) {
    const int index = signature.find_output(alias);
    if (index < 0) {
      return invalid_argument("output tensor alias not found in signature: " + echo_text(alias) +
                              " Outputs expected to be in the set {" +
                              join_names(names_of(signature.outputs)) + "}.");
    }
    // Searches at most one entry per output of the model.
    for (const RequestedOutput& earlier : out.outputs) {
      if (earlier.index != static_cast<uint32_t>(index)) continue;
      return invalid_argument("duplicate output tensor alias: " + echo_text(alias));
    }
    out.outputs.push_back({static_cast<uint32_t>(index)});
  }
  return {};
}

Status decode_tf_predict(Bytes message, std::span<const Signature> signatures, const Limits& limits,
                         Arena& arena, DecodedRequest& out) {
  out.clear();
  WireTfPredict wire;
  Status status = open_tf_predict(message, signatures, limits, arena, wire, out.signature_index);
  if (!status.ok()) return status;
  const Signature& signature = signatures[out.signature_index];
  status = decode_inputs(wire, signature, limits, arena, out);
  if (status.ok()) status = take_output_filter(wire, signature, out);
  if (wire.output_filter.empty()) request_all_outputs(signature, out);
  if (status.ok()) status = check_dtypes(signature, out);
  return status;
}

}  // namespace serval
