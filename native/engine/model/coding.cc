// Decodes requests, checks them against their model's signature and encodes responses, by protocol.
// Hot path; the thread that runs the request.
#include "engine/model/coding.h"

#include <algorithm>

#include "codec/classification.h"
#include "codec/examples/json.h"
#include "codec/examples/multi.h"
#include "codec/examples/named_inputs.h"
#include "codec/examples/signature.h"
#include "codec/serving/json.h"
#include "codec/serving/wire.h"
#include "codec/table/table.h"
#include "codec/table/tensor_fields.h"
#include "codec/v2/json.h"
#include "codec/v2/wire.h"
#include "engine/model/refusals.h"
#include "engine/model/step_call.h"
#include "engine/observe/traced_tensors.h"
#include "engine/request/missing.h"
#include "engine/shm/tensors.h"

namespace serval {

namespace {

bool is_classify(Protocol protocol) {
  return protocol == Protocol::TfClassify || protocol == Protocol::V1Classify;
}

Method method_of(Protocol protocol) {
  return is_classify(protocol) ? Method::Classify : Method::Regress;
}

// Returns whether errors are worded as TensorFlow Serving words them.
bool is_tensorflow(Protocol protocol) {
  return protocol == Protocol::V1Predict || protocol >= Protocol::TfPredict;
}

TfTensorForm tf_form(const ServeSettings& settings) {
  return settings.tf_tensor_content ? TfTensorForm::Content : TfTensorForm::Typed;
}

// The error of protocols that do not support tabular models.
Error no_table(const Model& model) {
  return make_error(ErrorCode::Unimplemented,
                    "model '" + model.spec().name +
                        "' is tabular: use the V2 protocol (gRPC, REST), V1 predict or "
                        "TensorFlow's Predict");
}

// Source of the text: Triton's grpc/infer_handler.cc.
Error no_unary(const Model& model) {
  return make_error(ErrorCode::Unimplemented,
                    "ModelInfer RPC doesn't support models with decoupled transaction policy: use "
                    "ModelStreamInfer for '" +
                        model.spec().name + "'");
}

bool is_v2(Protocol protocol) {
  return protocol == Protocol::V2Rest || protocol == Protocol::V2Grpc ||
         protocol == Protocol::V2GrpcStream;
}

// Decodes fields: for a tabular model, or for one of tensors whose configuration asks for fields.
Status decode_table(const ServeInput& input, const Model& model, const TableSchema& table,
                    const ServeSettings& settings, Arena& arena, DecodedRequest& decoded) {
  const Signature& signature = model.signatures()[0];
  switch (input.protocol) {
    case Protocol::V1Predict:
      return decode_table_v1(input.body, table, signature, settings, arena, decoded);
    case Protocol::V2Rest:
      return decode_table_v2_json(input.body, input.json_bytes, table, signature, settings, arena,
                                  decoded);
    case Protocol::V2Grpc:
    case Protocol::V2GrpcStream:
      return decode_table_wire(input.body, table, signature, settings, arena, decoded);
    case Protocol::TfPredict:
      return decode_table_tf(input.body, table, model.signatures(), settings, arena, decoded);
    default: return no_table(model);
  }
}

Status encode_table(Protocol protocol, const Model& model, const DecodedRequest& decoded,
                    std::span<const TensorView> outputs, const ServeSettings& settings,
                    Arena& arena, Request& out) {
  ByteBuffer& response = out.response;
  const AnswerModel answer{model.spec().name, model.version_text()};
  const Signature& signature = model.signatures()[0];
  const TableSchema& table = *model.table();
  switch (protocol) {
    case Protocol::V1Predict:
      return encode_table_v1(table, signature, decoded, outputs, settings, arena, response);
    case Protocol::V2Rest:
      return encode_table_v2_json(answer, table, signature, decoded, outputs, settings, arena,
                                  response, out.json_bytes_out);
    case Protocol::V2Grpc:
    case Protocol::V2GrpcStream:
      return encode_table_wire(answer, table, signature, decoded, outputs,
                               protocol == Protocol::V2GrpcStream, settings, arena, response);
    case Protocol::TfPredict:
      return encode_table_tf(answer, table, signature, decoded, outputs, tf_form(settings),
                             settings, arena, response);
    default: return no_table(model);
  }
}

// Hot path: encode. Tensors to bytes.
Status encode(Protocol protocol, const Model& model, const DecodedRequest& decoded,
              std::span<const TensorView> outputs, const ServeSettings& settings, Request& out) {
  ByteBuffer& response = out.response;
  const AnswerModel answer{model.spec().name, model.version_text()};
  const Signature& signature = model.signatures()[decoded.signature_index];
  switch (protocol) {
    case Protocol::V1Predict:
      return encode_v1_predict(signature, decoded, outputs, settings, response);
    case Protocol::V2Rest:
      return encode_v2_infer(answer, signature, decoded, outputs, settings, response,
                             out.json_bytes_out);
    case Protocol::V2Grpc:
    case Protocol::V2GrpcStream:
      return encode_wire_v2(answer, signature, decoded, outputs, protocol == Protocol::V2GrpcStream,
                            settings, response);
    case Protocol::TfPredict:
      return encode_tf_predict(answer, signature, decoded, outputs, tf_form(settings), settings,
                               response);
    case Protocol::TfClassify:
    case Protocol::TfRegress:
      return encode_tf_results(method_of(protocol), answer, signature, decoded, outputs, settings,
                               response);
    case Protocol::V1Classify:
    case Protocol::V1Regress:
      return encode_v1_results(method_of(protocol), signature, decoded, outputs, settings,
                               response);
    case Protocol::TfMultiInference: break;  // its tasks are served separately
  }
  return make_error(ErrorCode::Internal, "unknown protocol");
}

// Source of the texts: tfserving.md 1.10; Triton's own.
Error too_many_rows(Protocol protocol, const Model& model, uint32_t rows) {
  const std::string limit = std::to_string(model.spec().batch.request_rows_max);
  if (is_tensorflow(protocol)) {
    return invalid_argument("Task size " + std::to_string(rows) +
                            " is larger than maximum input batch size " + limit);
  }
  return invalid_argument("inference request batch-size must be <= " + limit + " for '" +
                          model.spec().name + "', got " + std::to_string(rows));
}

// Checks that all inputs agree on the first dimension, if that is the batch.
Status check_rows(Protocol protocol, const Model& model, const DecodedRequest& decoded) {
  const uint32_t limit = model.spec().batch.request_rows_max;
  const bool batched = model.batch_mode() == BatchMode::On;
  if (limit == 0 && !batched) return {};
  const Signature& signature = model.signatures()[decoded.signature_index];
  const size_t checked = std::min(decoded.inputs.size(), signature.inputs.size());
  size_t first = checked;  // the first input with rows
  for (size_t i = 0; i < checked; ++i) {
    const TensorSpec& spec = signature.inputs[i];
    if (decoded.inputs[i].dtype == DType::Invalid || (spec.may_be_absent && !spec.in_config)) {
      continue;
    }
    const Shape& shape = decoded.inputs[i].shape;
    if (shape.rank() == 0) {
      return invalid_argument("input '" + spec.name +
                              "' has no dimension: a batch needs at least one");
    }
    if (first == checked) first = i;
    if (shape[0] != decoded.inputs[first].shape[0]) {
      return invalid_argument("inputs '" + signature.inputs[first].name + "' and '" + spec.name +
                              "' must have the same first dimension, got " +
                              decoded.inputs[first].shape.to_string() + " and " +
                              shape.to_string());
    }
  }
  const uint32_t rows = model.rows_of(decoded.inputs);
  if (limit != 0 && rows > limit) return too_many_rows(protocol, model, rows);
  return {};
}

// Accepts one element of any rank for a scalar. Source: Triton, where a scalar's shape is [1].
void take_scalars(const Model& model, DecodedRequest& decoded) {
  const Signature& signature = model.signatures()[decoded.signature_index];
  const size_t count = std::min(decoded.inputs.size(), signature.inputs.size());
  for (size_t i = 0; i < count; ++i) {
    const TensorSpec& spec = signature.inputs[i];
    Shape& shape = decoded.inputs[i].shape;
    if (spec.unknown_rank || !spec.dims.empty() || shape.rank() == 0) continue;
    const std::span<const int64_t> dims = shape.dims();
    if (std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 1; }))
      shape = Shape();
  }
}

// Adds what to do if only the first dim differs, because the export fixed the number of rows.
void explain_fixed_batch(const TensorSpec& spec, const Shape& shape, Error& error) {
  if (spec.dims.empty() || spec.dims[0] < 1 || spec.dims.size() != shape.rank()) return;
  TensorSpec free = spec;
  free.dims[0] = -1;
  if (!fits_declared(free, shape)) return;
  error.message += "; the model was exported with a fixed first dimension: send " +
                   std::to_string(spec.dims[0]) +
                   " rows a request, or export it with a free one (torch.onnx.export: " +
                   "dynamic_shapes, or dynamic_axes with dynamo=False)";
}

// Hot path: check. The shapes against the signature, for every protocol alike.
Status check_inputs(Protocol protocol, const Model& model, DecodedRequest& decoded) {
  const Signature& signature = model.signatures()[decoded.signature_index];
  const bool counts_rows = model.table() != nullptr && signature.inputs.empty();
  if (decoded.inputs.size() > (counts_rows ? 1 : signature.inputs.size()) ||
      decoded.inputs.size() < signature.required_inputs()) {
    return make_error(ErrorCode::Internal, "the decoder omitted an input");
  }
  // A tabular model's codec has compared the inputs with the fields.
  const size_t checked = model.table() == nullptr ? decoded.inputs.size() : 0;
  for (size_t i = 0; i < checked; ++i) {
    if (decoded.inputs[i].dtype == DType::Invalid) continue;  // an optional input
    const TensorSpec& spec = signature.inputs[i];
    Shape& shape = decoded.inputs[i].shape;
    Status fits = check_shape(spec, shape);
    if (fits.ok()) continue;
    if (protocol == Protocol::V1Predict && is_v1_column(spec)) {
      if (shape.rank() == 1 && shape.push_back(1)) continue;
      fits.error().message += ": a row is a value, or a list of one value";
    }
    explain_fixed_batch(spec, shape, fits.error());
    return fits;
  }
  return check_rows(protocol, model, decoded);
}

}  // namespace

void explain_signature(const Model& model, Error& error) {
  if (error.signature.empty()) return;
  Missing missing;
  missing.part = fb::MissingPart::Signature;
  missing.model = model.spec().name;
  missing.version = model.version_text();
  missing.signature = error.signature;
  error.missing = missing.pack();
}

// Hot path: decode. Bytes to tensors.
Status decode_as_sent(const ServeInput& input, const Model& model, const ServeSettings& settings,
                      Arena& arena, DecodedRequest& decoded) {
  const std::vector<Signature>& signatures = model.signatures();
  if (input.step != nullptr) return decode_step(*input.step, model, arena, decoded);
  if (model.table() != nullptr) {
    return decode_table(input, model, *model.table(), settings, arena, decoded);
  }
  // A body without JSON is exactly one tensor.
  const TableSchema* const fields = model.shapes().fields();
  if (fields != nullptr && is_v2(input.protocol) && input.json_bytes != 0) {
    Status done = decode_table(input, model, *fields, settings, arena, decoded);
    return done.ok() ? make_tensors(signatures[0], decoded) : std::move(done);
  }
  switch (input.protocol) {
    case Protocol::V1Predict:
      return decode_v1_predict(input.body, signatures, settings, arena, decoded);
    case Protocol::V2Rest:
      return decode_v2_infer(input.body, input.json_bytes, &signatures[0], settings, arena,
                             decoded);
    case Protocol::V2Grpc:
    case Protocol::V2GrpcStream:
      return decode_wire_v2(input.body, signatures[0], settings, arena, decoded);
    case Protocol::TfPredict:
      return decode_tf_predict(input.body, signatures, settings, arena, decoded);
    case Protocol::TfClassify:
    case Protocol::TfRegress:
      if (input.task != nullptr) {
        return decode_tf_task(input.body, method_of(input.protocol), *input.task,
                              settings.tf_check_method, signatures, settings, arena, decoded);
      }
      return decode_tf_examples(input.body, method_of(input.protocol), settings.tf_check_method,
                                signatures, settings, arena, decoded);
    case Protocol::V1Classify:
    case Protocol::V1Regress:
      return decode_v1_examples(input.body, method_of(input.protocol), settings.tf_check_method,
                                signatures, settings, arena, decoded);
    case Protocol::TfMultiInference: break;  // its tasks are served separately
  }
  return make_error(ErrorCode::Internal, "unknown protocol");
}

Status decode_request(const ServeInput& input, const Model& model, const ServeSettings& settings,
                      Arena& arena, DecodedRequest& decoded) {
  if (model.spec().decoupled && input.protocol == Protocol::V2Grpc && input.step == nullptr) {
    return no_unary(model);
  }
  bool named = false;  // inputs without Examples
  Status done = input.protocol == Protocol::V1Classify && model.table() == nullptr
                    ? decode_v1_classify(input.body, settings.tf_check_method, model.signatures(),
                                         settings, arena, decoded, named)
                    : decode_as_sent(input, model, settings, arena, decoded);
  if (!done.ok()) {
    explain_signature(model, done.error());
    return done;
  }
  if (is_classify(input.protocol) && model.table() == nullptr && !named) {
    const Signature& signature = model.signatures()[decoded.signature_index];
    if (find_named_scores(signature) >= 0) done = examples_to_inputs(signature, arena, decoded);
    if (!done.ok()) return done;
  }
  std::vector<TensorView>& inputs = decoded.inputs;
  while (model.table() == nullptr && !inputs.empty() && inputs.back().dtype == DType::Invalid) {
    inputs.pop_back();  // an optional input
  }
  if (!decoded.shared.empty()) {
    const SharedRegions* const regions = model.services().shared_regions;
    if (input.displace != nullptr && names_device(regions, decoded)) {
      input.displace->cancel(EndCause::Displaced);
      return ended_error(model, input.displace->cause());
    }
    done = attach_shared(regions, model.signatures()[decoded.signature_index],
                         model.takes_device_memory(), arena, decoded);
    if (!done.ok()) return done;
  }
  const bool is_v2 = input.protocol == Protocol::V2Rest || input.protocol == Protocol::V2Grpc ||
                     input.protocol == Protocol::V2GrpcStream;
  if (is_v2 && model.table() == nullptr) take_scalars(model, decoded);
  done = check_inputs(input.protocol, model, decoded);
  if (!done.ok()) return done;
  if (model.table() == nullptr) {
    model.shapes().to_model(decoded.signature_index, decoded.inputs);
    model.shapes().add_defaults(decoded.signature_index, decoded.inputs);
  }
  return {};
}

Status encode_answer(Protocol protocol, const Model& model, const DecodedRequest& decoded,
                     std::span<const uint32_t> output_indices, std::span<TensorView> outputs,
                     const ServeSettings& settings, Arena& arena, Request& out) {
  out.response.clear();
  out.json_bytes_out = 0;
  if (model.table() != nullptr) {
    if (out.step != nullptr) return encode_step(model, decoded, outputs, *out.step);
    trace_tensors(model.signatures()[0], decoded, outputs, out.trace.get());
    return encode_table(protocol, model, decoded, outputs, settings, arena, out);
  }
  model.shapes().to_client(decoded.signature_index, output_indices, outputs);
  if (out.step != nullptr) return encode_step(model, decoded, outputs, *out.step);
  trace_tensors(model.signatures()[decoded.signature_index], decoded, outputs, out.trace.get());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint32_t classes = decoded.outputs[i].classes;
    if (classes == 0) continue;
    const uint32_t index = decoded.outputs[i].index;
    const Signature& signature = model.signatures()[decoded.signature_index];
    const std::span<const std::string> labels =
        model.shapes().labels(decoded.signature_index, index);
    const TensorSpec& spec = signature.outputs[index];
    // Labels from the model itself are those of a row's columns.
    const bool rows = model.batch_dim() || !spec.labels.empty();
    Status done = classify_output(spec.name, classes, rows, labels, arena, outputs[i]);
    if (!done.ok()) return done;
  }
  for (size_t i = 0; decoded.table.text_is_string && i < outputs.size(); ++i) {
    if (outputs[i].dtype == DType::Bytes) outputs[i].dtype = DType::String;
  }
  if (!decoded.shared.empty()) {
    const Signature& signature = model.signatures()[decoded.signature_index];
    if (Status done = write_shared(decoded, signature, outputs); !done.ok()) return done;
  }
  return encode(protocol, model, decoded, outputs, settings, out);
}

}  // namespace serval
