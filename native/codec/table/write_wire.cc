// A tabular model's answer as ModelInferResponse. Hot path; any thread. Source: tabular.md 2.4.
#include "codec/table/answer.h"
#include "codec/table/table.h"

namespace serval {

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

}  // namespace serval
