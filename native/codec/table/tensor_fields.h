// The tabular extension for a tensor model (ONNX) whose configuration enables it: presents its
// inputs as fields, and converts fields back to its inputs. Everything between works as for a
// tabular model. Fields: control plane, once per load; inputs: hot path. Any thread.
// Source: tabular.md 2.1 X1 "may opt in by config".
#pragma once

#include "base/table_schema.h"
#include "codec/request.h"

namespace serval {

// Presents the inputs as fields: [n] and [n,1] are a value per row, [n,d] a list. Control plane.
// Errors: model_invalid, naming every input that cannot be a field, and why.
Result<TableSchema> fields_of_tensors(const Signature& signature);

// Converts what decode_table_wire() or decode_table_v2_json() read to the shapes of the model's
// inputs. Hot path; any thread. Copies nothing.
// Errors: invalid_argument for what a tensor cannot hold (missing values, rows of different length,
// with input and row), and parameters that ask for it.
Status make_tensors(const Signature& signature, DecodedRequest& request);

}  // namespace serval
