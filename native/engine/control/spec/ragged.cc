// Reads what a model spec says about ragged batches. Control plane, any thread.
#include "engine/ragged/ragged_model.h"

#include <algorithm>

#include "engine/control/spec/codec.h"
#include "engine/control/spec/unpack.h"

namespace serval {

namespace {

Error bad_ragged(const std::string& member, const std::string& what) {
  return invalid_argument("model spec: " + member + " " + what);
}

Status check_source(const std::string& member, const ModelSpec& spec, const std::string& source) {
  if (std::ranges::find(spec.inputs, source, &TensorOverride::name) != spec.inputs.end()) return {};
  return bad_ragged(member + ".source", "is '" + source + "', expected one of the inputs");
}

Status check_batch_input(const std::string& member, const ModelSpec& spec, const BatchInput& one) {
  if (one.kind > fb::BatchInputKind::MAX) {
    return bad_ragged(member + ".kind",
                      "is " + std::to_string(static_cast<int>(one.kind)) + ", expected 0 to 5");
  }
  if (one.datatype != DType::Int32 && one.datatype != DType::Fp32) {
    return bad_ragged(member + ".datatype",
                      "is " + std::string(dtype_name(one.datatype)) + ", expected INT32 or FP32");
  }
  return check_source(member, spec, one.source);
}

}  // namespace

Status read_ragged(const fb::ModelSpec& from, ModelSpec& spec) {
  unpack(from.batch_inputs(), spec.batch_inputs);
  unpack(from.batch_outputs(), spec.batch_outputs);
  for (size_t i = 0; i < spec.batch_inputs.size(); ++i) {
    const std::string member = "batch_inputs[" + std::to_string(i) + "]";
    if (i == kInputsMax) {
      return bad_ragged(member, "is one too many, expected at most " + std::to_string(kInputsMax));
    }
    Status fits = check_batch_input(member, spec, spec.batch_inputs[i]);
    if (!fits.ok()) return fits;
  }
  for (size_t i = 0; i < spec.batch_outputs.size(); ++i) {
    const std::string member = "batch_outputs[" + std::to_string(i) + "]";
    Status fits = check_source(member, spec, spec.batch_outputs[i].source);
    if (!fits.ok()) return fits;
  }
  const BatchPolicy& batch = spec.batch;
  if (is_ragged(spec) && (batch.mode == BatchMode::Auto || batch.split || batch.pad_inner ||
                          !batch.allowed_rows.empty())) {
    return bad_ragged("batch",
                      "has mode auto, split, pad_inner or allowed_rows, expected none "
                      "of them for a model with ragged inputs");
  }
  return {};
}

}  // namespace serval
