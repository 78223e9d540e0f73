// Reads the inputs of a model of tensors. Hot path; any thread.
#include "capi/tensors.h"

#include "capi/describe.h"
#include "capi/elements.h"
#include "codec/json/echo.h"

namespace serval::capi {

namespace {

Status no_such(const std::string& what, const char* name, const std::vector<TensorSpec>& specs) {
  return invalid_argument(what + " '" + echo_text(name) + "': the model has none of this name; " +
                          "expected " + names_text(specs));
}

Status read_input(const serval_tensor& given, size_t index, const Signature& signature, Run& run) {
  DType dtype = DType::Invalid;
  Shape shape;
  if (Status head = read_head(given, index, false, dtype, shape); !head.ok()) return head;
  const int found = signature.find_input(given.name);
  if (found < 0) return no_such("input", given.name, signature.inputs);
  const TensorSpec& spec = signature.inputs[static_cast<size_t>(found)];
  TensorView& view = run.decoded.inputs[static_cast<size_t>(found)];
  const std::string place = input_place(given);
  if (view.dtype != DType::Invalid) return invalid_argument(place + " is given twice");
  if (dtype != spec.dtype) {
    return invalid_argument(place + ": expected datatype " + std::string(dtype_name(spec.dtype)) +
                            ", got " + std::string(dtype_name(dtype)));
  }
  if (given.missing != nullptr || given.lengths != nullptr) {
    return invalid_argument(place + ": " + (given.missing != nullptr ? "missing" : "lengths") +
                            ": expected NULL: only columns of tabular models have them");
  }
  if (Status fits = check_shape(spec, shape); !fits.ok()) return fits;
  return read_elements(given, dtype, shape, run.arena, view);
}

}  // namespace

Status read_tensors(const Call& call, const ModelShapes& shapes, Run& run) {
  DecodedRequest& decoded = run.decoded;
  const Signature& signature = shapes.signatures()[decoded.signature_index];
  decoded.inputs.assign(signature.inputs.size(), TensorView());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (Status read = read_input(call.inputs[i], i, signature, run); !read.ok()) return read;
  }
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    if (decoded.inputs[i].dtype != DType::Invalid || signature.inputs[i].may_be_absent) continue;
    return invalid_argument("input '" + echo_text(signature.inputs[i].name) +
                            "' is missing; expected " + names_text(signature.inputs));
  }
  shapes.to_model(decoded.signature_index, decoded.inputs);
  shapes.add_defaults(decoded.signature_index, decoded.inputs);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const char* name = call.outputs[i];
    if (name == nullptr) {
      return invalid_argument("outputs[" + std::to_string(i) + "]: expected a text, got NULL");
    }
    const int found = signature.find_output(name);
    if (found < 0) return no_such("output", name, signature.outputs);
    decoded.outputs.push_back({static_cast<uint32_t>(found)});
  }
  for (uint32_t i = 0; call.outputs.empty() && i < signature.outputs.size(); ++i) {
    decoded.outputs.push_back({i});
  }
  return {};
}

}  // namespace serval::capi
