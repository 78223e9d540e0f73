// Requests and answers of tabular models (Spark, MLeap, PMML): the extended V2 protocol over gRPC
// and REST, V1 predict, and TensorFlow's Predict. Hot path; pure, any thread. Views: body and arena
// must outlive what is decoded. Source: tabular.md 2.1-2.5.
#pragma once

#include "base/table_schema.h"
#include "codec/request.h"
#include "codec/serving/wire.h"

namespace serval {

// Each decodes a request into one TensorView per field of the model (base/tensor.h says how they
// look), of the field's type; a field with `any` keeps the type that the request has. A field that
// is left out and may be is missing in all rows.
// Errors: malformed_body; invalid_argument naming tensor, field, row, what was expected and what
// was given; body_too_large where a limit of kTable... is passed; memory_full; unimplemented.

// ModelInferRequest. Contents may be typed or raw. Without conversions one field's numbers stay a
// view of the message.
Status decode_table_wire(std::span<const uint8_t> message, const TableSchema& table,
                         const Signature& signature, const Limits& limits, Arena& arena,
                         DecodedRequest& out);

// V2 JSON with the binary tensor data extension; `json_bytes` as in v2/json.h, where 0 is refused:
// a tabular request needs its JSON. kBodyPadding bytes behind the body can be read.
Status decode_table_v2_json(std::span<const uint8_t> body, int64_t json_bytes,
                            const TableSchema& table, const Signature& signature,
                            const Limits& limits, Arena& arena, DecodedRequest& out);

// V1 predict: "instances" is a list of objects by field name, or of lists in the order of the
// fields, or of values where the model has one field; "inputs" is an object of columns. null is a
// missing value.
Status decode_table_v1(std::span<const uint8_t> body, const TableSchema& table,
                       const Signature& signature, const Limits& limits, Arena& arena,
                       DecodedRequest& out);

// PredictRequest: an input is a field, [R], [R,1] or, of a vector or list, [R,D]; strings are days
// and timestamps too (ISO 8601 as well) where the field is one. A request cannot say more: no
// missing values but NaN, no cells of different length.
Status decode_table_tf(std::span<const uint8_t> message, const TableSchema& table,
                       std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                       DecodedRequest& out);

// Each encodes what a run answered; outputs[i] belongs to request.outputs[i]. `arena`: for text and
// numbers that are made on the way. Missing values are NaN where they are floats and the form has
// no null (gRPC, binary data), else null or counted in the parameter null_indices.
// Errors: invalid_argument (text that is not UTF-8), backend_failed (a value that its type's form
// does not have, as the year 10000), body_too_large, memory_full. `out` is then as it was (wire) or
// empty.

Status encode_table_wire(const AnswerModel& model, const TableSchema& table,
                         const Signature& signature, const DecodedRequest& request,
                         std::span<const TensorView> outputs, bool stream, const Limits& limits,
                         Arena& arena, ByteBuffer& out);

// `json_bytes_out` as encode_v2_infer() has it.
Status encode_table_v2_json(const AnswerModel& model, const TableSchema& table,
                            const Signature& signature, const DecodedRequest& request,
                            std::span<const TensorView> outputs, const Limits& limits, Arena& arena,
                            ByteBuffer& out, size_t& json_bytes_out);

Status encode_table_v1(const TableSchema& table, const Signature& signature,
                       const DecodedRequest& request, std::span<const TensorView> outputs,
                       const Limits& limits, Arena& arena, ByteBuffer& out);

// PredictResponse. Errors also: unimplemented (a missing value that is no float, and cells of
// different length: a TensorProto has no form for them).
Status encode_table_tf(const AnswerModel& model, const TableSchema& table,
                       const Signature& signature, const DecodedRequest& request,
                       std::span<const TensorView> outputs, TfTensorForm form, const Limits& limits,
                       Arena& arena, ByteBuffer& out);

}  // namespace serval
