// The extension for a model of tensors (ONNX), where its configuration asks for it: its inputs seen
// as fields, and fields made its inputs again. Everything between is done as for a tabular model.
// Fields: control plane, once a load; inputs: hot path. Any thread.
// Source: tabular.md 2.1 X1 "may opt in by config".
#pragma once

#include "base/table_schema.h"
#include "codec/request.h"

namespace serval {

// The inputs as fields: [n] and [n,1] are a value a row, [n,d] a list. Control plane.
// Errors: model_invalid, naming every input that is no field, and why.
Result<TableSchema> fields_of_tensors(const Signature& signature);

// Gives what decode_table_wire() or decode_table_v2_json() read the shapes of the model's inputs.
// Hot path; any thread. Nothing is copied.
// Errors: invalid_argument: what no tensor has (missing values, rows of different length, with
// input and row), and parameters that ask for it.
Status make_tensors(const Signature& signature, DecodedRequest& request);

}  // namespace serval
