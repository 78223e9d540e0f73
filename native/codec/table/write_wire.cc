// Writes a tabular model's outputs as ModelInferResponse and PredictResponse. Hot path; any thread.
// Source: tabular.md 2.4.
#include "codec/table/answer.h"
#include "codec/table/table.h"
#include "codec/table/tensor.h"

namespace serval {

namespace {

// Checks that a TensorProto can hold the tensor.
Status check_tf_form(const table::AnswerTensor& tensor) {
  const auto refused = [&](const std::string& what) {
    return make_error(ErrorCode::Unimplemented,
                      "output " + table::quoted(tensor.name) + what +
                          ", for which TensorFlow's tensors have no form: leave it out by "
                          "output_filter, or ask by the V2 protocol");
  };
  if (is_ragged(tensor.view)) return refused(": lists of different lengths");
  for (size_t i = 0; i < tensor.parameter_count; ++i) {
    const AnswerParameter& parameter = tensor.parameters[i];
    if (parameter.key != table::kNullIndicesKey) continue;
    const std::string_view row = parameter.text.substr(0, parameter.text.find(','));
    return refused(", row " + std::string(row) + ": a missing value");
  }
  return {};
}

}  // namespace

Status encode_table_wire(const AnswerModel& model, const TableSchema& schema,
                         const Signature& signature, const DecodedRequest& request,
                         std::span<const TensorView> outputs, bool stream, const Limits& limits,
                         Arena& arena, ByteBuffer& out) {
  std::span<table::AnswerTensor> tensors;
  Status made = table::make_answer(schema, signature, request, outputs, table::AnswerForm::Wire,
                                   arena, tensors);
  if (!made.ok()) return made;
  const auto tensor = [&](size_t i) {
    const table::AnswerTensor& one = tensors[i];
    return WireAnswerTensor{
        one.name, one.datatype, {one.parameters.data(), one.parameter_count}, one.view};
  };
  return write_wire_answer(model, request.id, tensors.size(), tensor, stream, limits, out);
}

Status make_table_tensors(const TableSchema& schema, const Signature& signature,
                          const DecodedRequest& request, std::span<const TensorView> outputs,
                          Arena& arena, std::vector<TensorView>& tensors) {
  std::span<table::AnswerTensor> made;
  Status done =
      table::make_answer(schema, signature, request, outputs, table::AnswerForm::Wire, arena, made);
  if (!done.ok()) return done;
  tensors.reserve(made.size());
  for (const table::AnswerTensor& tensor : made) {
    if (Status fits = check_tf_form(tensor); !fits.ok()) return fits;
    tensors.push_back(tensor.view);
    tensors.back().dtype = table::carrier_of(tensor.view.dtype);
  }
  return {};
}

Status encode_table_tf(const AnswerModel& model, const TableSchema& schema,
                       const Signature& signature, const DecodedRequest& request,
                       std::span<const TensorView> outputs, TfTensorForm form, const Limits& limits,
                       Arena& arena, ByteBuffer& out) {
  std::vector<TensorView> views;
  Status made = make_table_tensors(schema, signature, request, outputs, arena, views);
  if (!made.ok()) return made;
  return encode_tf_predict(model, signature, request, views, form, limits, out);
}

}  // namespace serval
