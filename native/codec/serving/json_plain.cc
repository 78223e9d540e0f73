// The plain V1 predict decoder: TensorFlow Serving's checks, in its order, in its words. It decides
// every error, and tests compare the fast decoder with it. Control plane of the hot path; any
// thread.
// Source: tfserving.md 1.3, 1.5, 1.10, 9; upstream's util/json_tensor.cc.
#include <algorithm>

#include "base/generated/grpc_code.h"
#include "codec/json/echo.h"
#include "codec/serving/json.h"
#include "codec/serving/json_request.h"
#include "codec/serving/json_tensor.h"

namespace serval {

namespace {

// Whether an object names inputs, rather than holding the bytes of one value.
bool is_named_object(const PlainBody& body, const JsonNode& value) {
  return value.kind == JsonKind::Object && !is_base64_object(body.document, value);
}

// Source: tfserving.md 1.5 "Instance errors are wrapped", "UNIMPLEMENTED inside is flattened".
Error element_error(size_t element, const std::string* key, const Error& error) {
  if (error.code == ErrorCode::Internal) return error;
  const bool unimplemented = error.code == ErrorCode::Unimplemented;
  const size_t code = unimplemented ? grpc_code::kUnimplemented : grpc_code::kInvalidArgument;
  return invalid_argument("Failed to process element: " + std::to_string(element) +
                          (key != nullptr ? " key: " + *key : std::string()) +
                          " of 'instances' list. Error: " + std::string(grpc_code::kNames[code]) +
                          ": " + error.message);
}

Error keys_error(const PlainBody& body, const Signature& signature, size_t element,
                 const JsonNode& value) {
  std::vector<std::string> names;
  for (const TensorSpec& input : signature.inputs) names.push_back(input.name);
  std::sort(names.begin(), names.end());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return invalid_argument(
      "Failed to process element: " + std::to_string(element) +
      " of 'instances' list. JSON object: " + echo_json(body.document, value, body.text) +
      " keys must be equal to: " + list);
}

// Appends one object of a row-format list. `given[i]`: input i has a value in this element.
Status append_object(const PlainBody& body, const Signature& signature, size_t element,
                     const JsonNode& value, std::vector<PlainTensor>& tensors,
                     std::vector<bool>& given) {
  given.assign(tensors.size(), false);
  const JsonNode* member = body.document.child(value);
  for (; member != nullptr; member = body.document.sibling(*member)) {
    const int found = signature.find_input(member->key);
    const auto index = static_cast<size_t>(found);
    Status status;
    if (found < 0) {
      status =
          invalid_argument("JSON object: does not have named input: " + echo_text(member->key));
    } else if (given[index]) {
      status = invalid_argument("JSON object: has more than one value for input: " +
                                echo_text(member->key));
    } else {
      status = tensors[index].append(body, *member);
      given[index] = true;
    }
    if (status.ok()) continue;
    const std::string key = echo_text(member->key);
    return element_error(element, &key, status.error());
  }
  for (size_t i = 0; i < given.size(); ++i) {
    // An optional input has to be present in all instances or in none.
    const bool needed = !signature.inputs[i].may_be_absent || tensors[i].values() > 0;
    if (given[i] ? tensors[i].values() == element + 1 : !needed) continue;
    return keys_error(body, signature, element, value);
  }
  return {};
}

Status decode_row_elements(const PlainBody& body, const Signature& signature,
                           const JsonNode& instances, bool objects,
                           std::vector<PlainTensor>& tensors) {
  std::vector<bool> given;
  size_t element = 0;
  const JsonNode* value = body.document.child(instances);
  for (; value != nullptr; value = body.document.sibling(*value), ++element) {
    if (is_named_object(body, *value) != objects) {
      return invalid_argument((objects ? "Expecting object but got list at item "
                                       : "Expecting value/list but got object at item ") +
                              std::to_string(element) + " of input list");
    }
    Status status;
    if (objects) {
      status = append_object(body, signature, element, *value, tensors, given);
    } else {
      status = tensors[0].append(body, *value);
      if (!status.ok()) status = element_error(element, nullptr, status.error());
    }
    if (!status.ok()) return status;
  }
  return {};
}

Status decode_row(const PlainBody& body, const Signature& signature, const JsonNode& instances,
                  DecodedRequest& out) {
  if (instances.kind != JsonKind::Array) {
    return body.format_error("Expecting 'instances' to be an list/array");
  }
  if (instances.children == 0) return body.format_error("No values in 'instances' array");
  const bool objects = is_named_object(body, *body.document.child(instances));
  if (!objects && signature.required_inputs() > 1) {
    return invalid_argument(
        "instances is a plain list, but expecting list of objects as multiple "
        "input tensors required as per tensorinfo_map");
  }
  if (!objects && signature.inputs.empty()) {
    return invalid_argument(
        "instances is a plain list, but expecting list of empty objects as no "
        "input tensors required as per tensorinfo_map");
  }
  std::vector<PlainTensor> tensors;
  for (const TensorSpec& spec : signature.inputs) {
    tensors.emplace_back(spec, instances.children, kRankMax - 1);
  }
  Status status = decode_row_elements(body, signature, instances, objects, tensors);
  if (!status.ok()) return status;
  for (const PlainTensor& tensor : tensors) {
    out.inputs.push_back(tensor.values() == 0 ? TensorView() : tensor.batch());
  }
  out.row_format = true;
  return {};
}

// Checked after everything that TensorFlow Serving checks, which ignores such a name: a misspelt
// input beside good ones must not pass silently.
Status refuse_unknown(const PlainBody& body, const Signature& signature, const JsonNode& inputs) {
  const JsonNode* member = body.document.child(inputs);
  for (; member != nullptr; member = body.document.sibling(*member)) {
    if (signature.find_input(member->key) >= 0) continue;
    return invalid_argument("JSON object: does not have named input: " + echo_text(member->key));
  }
  return {};
}

Status decode_columns(const PlainBody& body, const Signature& signature, const JsonNode& inputs,
                      DecodedRequest& out) {
  const bool named = is_named_object(body, inputs);
  if (!named && signature.required_inputs() > 1) {
    return invalid_argument(
        "inputs is a plain value/list, but expecting an object as multiple "
        "input tensors required as per tensorinfo_map");
  }
  if (!named && signature.inputs.empty()) {
    return invalid_argument(
        "inputs is a plain value/list, but expecting an empty object as no "
        "input tensors required as per tensorinfo_map");
  }
  for (const TensorSpec& spec : signature.inputs) {
    const JsonNode* value = named ? body.document.member(inputs, spec.name) : &inputs;
    if (spec.may_be_absent && (named ? value == nullptr : &spec != signature.inputs.data())) {
      out.inputs.emplace_back();
      continue;
    }
    if (value == nullptr) {
      return invalid_argument("Missing named input: " + spec.name + " in 'inputs' object.");
    }
    PlainTensor tensor(spec, 1, kRankMax);
    Status status = tensor.append(body, *value);
    if (!status.ok()) return status;
    out.inputs.push_back(tensor.whole());
  }
  return named ? refuse_unknown(body, signature, inputs) : Status();
}

// Chooses the signature that the body names. Source: tfserving.md 1.3 (its place among the checks),
// 1.10.
Status choose_signature(const PlainBody& body, std::span<const Signature> signatures,
                        DecodedRequest& out) {
  if (signatures.empty()) return make_error(ErrorCode::ModelNotFound, "");
  const int index = find_signature(signatures, body.signature_name);
  if (index < 0) {
    const std::string_view wanted =
        body.signature_name.empty() ? kDefaultSignature : body.signature_name;
    return with_signature(
        make_error(ErrorCode::SignatureNotFound, "Serving signature name: \"" + echo_text(wanted) +
                                                     "\" not found in signature def"),
        wanted);
  }
  out.signature_index = static_cast<uint32_t>(index);
  return {};
}

Status decode_tensors(const PlainBody& body, const Signature& signature, DecodedRequest& out) {
  const JsonNode* instances = body.document.member(body.document.root(), kInstancesKey);
  const JsonNode* inputs = body.document.member(body.document.root(), kInputsKey);
  if (instances != nullptr && inputs != nullptr) {
    return body.format_error(
        "Not formatted correctly expecting only one of 'inputs' or 'instances' "
        "keys to exist ");
  }
  if (instances != nullptr) return decode_row(body, signature, *instances, out);
  if (inputs != nullptr) return decode_columns(body, signature, *inputs, out);
  return invalid_argument("Missing 'inputs' or 'instances' key");
}

}  // namespace

Status decode_v1_predict_plain(std::span<const uint8_t> body, std::span<const Signature> signatures,
                               const Limits&, Arena& arena, DecodedRequest& out) {
  out.clear();
  const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
  PlainBody plain{text, arena};
  Status status = plain.read();
  if (!status.ok()) return status;
  status = choose_signature(plain, signatures, out);
  if (!status.ok()) return status;
  const Signature& signature = signatures[out.signature_index];
  status = decode_tensors(plain, signature, out);
  if (!status.ok()) return status;
  request_all_outputs(signature, out);
  return {};
}

}  // namespace serval
