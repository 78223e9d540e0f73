// The tensors of a request against the fields of a tabular model: which are lengths of others,
// which fields they name, how many rows there are, and then their values. Hot path; any thread.
// Source: tabular.md 2.2 "Decode order".
#pragma once

#include <span>

#include "base/table_schema.h"
#include "codec/request.h"
#include "codec/table/parameters.h"
#include "codec/table/tensor.h"

namespace serval::table {

// Fills out.inputs, one per field. `tensors`: all of the request, with their parameters; datatypes
// are known.
// Errors: those of the decoders (codec/table/table.h).
Status bind_tensors(std::span<RequestTensor> tensors, TensorSource& source,
                    const TableSchema& table, bool strict, Arena& arena, DecodedRequest& out);

// Fills the views of fields that have none (dtype Invalid) with `rows` missing values.
// Errors: invalid_argument naming those that may not be left out.
Status fill_missing(const TableSchema& table, uint64_t rows, Arena& arena,
                    std::vector<TensorView>& inputs);

// Whether any of the tensors has what plain V2 has not. Source: tabular.md 2.4 "Strings".
bool uses_extension(std::span<const RequestTensor> tensors);

}  // namespace serval::table
