// Requests and responses of tabular models (Spark, MLeap, PMML): the extended V2 protocol over gRPC
// and REST, V1 predict, and TensorFlow's Predict. Hot path; pure, any thread. Views: body and arena
// must outlive the decoded request. Source: tabular.md 2.1-2.5.
#pragma once

#include "base/table_schema.h"
#include "codec/request.h"
#include "codec/serving/wire.h"

namespace serval {

// Each decodes a request into one TensorView per field of the model (base/tensor.h describes the
// layout), of the field's type; a field with `any` keeps the request's type. An optional field that
// is omitted is missing in all rows. Errors: malformed_body; invalid_argument naming tensor, field,
// row, the expected and the given value; body_too_large if a limit kTable... is exceeded;
// memory_full; unimplemented.

// ModelInferRequest. Contents may be typed or raw. A field's numbers that need no conversion stay a
// view of the message.
Status decode_table_wire(std::span<const uint8_t> message, const TableSchema& table,
                         const Signature& signature, const Limits& limits, Arena& arena,
                         DecodedRequest& out);

// V2 JSON with the binary tensor data extension; `json_bytes` as in v2/json.h, except that 0 is
// refused: a tabular request needs its JSON. kBodyPadding bytes after the body can be read.
Status decode_table_v2_json(std::span<const uint8_t> body, int64_t json_bytes,
                            const TableSchema& table, const Signature& signature,
                            const Limits& limits, Arena& arena, DecodedRequest& out);

// V1 predict: "instances" is a list of objects by field name, or of lists in the order of the
// fields, or of values if the model has one field; "inputs" is an object of columns. null is a
// missing value.
Status decode_table_v1(std::span<const uint8_t> body, const TableSchema& table,
                       const Signature& signature, const Limits& limits, Arena& arena,
                       DecodedRequest& out);

// PredictRequest: an input is a field of shape [R], [R,1] or, for a vector or list, [R,D]; strings
// also represent days and timestamps (ISO 8601 too) if the field is one. The format has no missing
// values except NaN, and no cells of different lengths.
Status decode_table_tf(std::span<const uint8_t> message, const TableSchema& table,
                       std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                       DecodedRequest& out);

// Tensors that another model made, by the names of fields (or the one that has all fields): read as
// PredictRequest's inputs are. `out.outputs` is set before. The tensors must outlive the request.
Status decode_table_tensors(std::span<const std::string_view> names,
                            std::span<const TensorView> tensors, const TableSchema& table,
                            Arena& arena, DecodedRequest& out);

// Each encodes the outputs of a run; outputs[i] belongs to request.outputs[i]. `arena`: for
// temporary text and numbers. Missing values are NaN if they are floats and the form has no null
// (gRPC, binary data), otherwise null or listed in the parameter null_indices. Errors:
// invalid_argument (text that is not UTF-8), backend_failed (a value that its type's form cannot
// represent, such as the year 10000), body_too_large, memory_full. `out` is then unchanged (wire)
// or empty.

Status encode_table_wire(const AnswerModel& model, const TableSchema& table,
                         const Signature& signature, const DecodedRequest& request,
                         std::span<const TensorView> outputs, bool stream, const Limits& limits,
                         Arena& arena, ByteBuffer& out);

// `json_bytes_out`: as in encode_v2_infer().
Status encode_table_v2_json(const AnswerModel& model, const TableSchema& table,
                            const Signature& signature, const DecodedRequest& request,
                            std::span<const TensorView> outputs, const Limits& limits, Arena& arena,
                            ByteBuffer& out, size_t& json_bytes_out);

Status encode_table_v1(const TableSchema& table, const Signature& signature,
                       const DecodedRequest& request, std::span<const TensorView> outputs,
                       const Limits& limits, Arena& arena, ByteBuffer& out);

// PredictResponse. Additional errors: unimplemented (a missing value that is not a float, and cells
// of different lengths: TensorProto cannot represent them).
Status encode_table_tf(const AnswerModel& model, const TableSchema& table,
                       const Signature& signature, const DecodedRequest& request,
                       std::span<const TensorView> outputs, TfTensorForm form, const Limits& limits,
                       Arena& arena, ByteBuffer& out);

// The outputs as plain tensors, as PredictResponse has them: appends one per output. They borrow
// `outputs` and the arena. Errors: those of encode_table_tf().
Status make_table_tensors(const TableSchema& table, const Signature& signature,
                          const DecodedRequest& request, std::span<const TensorView> outputs,
                          Arena& arena, std::vector<TensorView>& tensors);

}  // namespace serval
