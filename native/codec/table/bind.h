// The tensors of a request against the fields of a tabular model: which are lengths of others,
// which fields they name, how many rows there are, and then their values; and the outputs that it
// asks for. Hot path; any thread. Source: tabular.md 2.2 "Decode order".
#pragma once

#include <span>

#include "base/signature.h"
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

// Fills the views of fields that have none (dtype Invalid) with `rows` missing values; of a table
// without fields, adds one view that says how many rows there are. Notes in
// out.left_out those that some outputs need: check_left_out().
// Errors: invalid_argument naming those that may not be left out whatever is asked for.
Status fill_missing(const TableSchema& table, uint64_t rows, Arena& arena, DecodedRequest& out);

// Whether the fields that were left out are not needed, once out.outputs is known.
// Errors: invalid_argument naming those that the outputs need.
Status check_left_out(const TableSchema& table, const DecodedRequest& out);

// Whether any of the tensors has what plain V2 has not. Source: tabular.md 2.4 "Strings".
bool uses_extension(std::span<const RequestTensor> tensors);

// One output that is asked for by name; `classes`: of the classification extension, which tabular
// models have not; 0 = none.
struct NamedOutput {
  std::string_view name;
  bool has_binary = false, binary = false;
  uint32_t classes = 0;
};

// Appends it to out.outputs. Errors: invalid_argument (unknown; given twice; classification).
Status add_output(const NamedOutput& wanted, bool binary_by_default, const TableSchema& table,
                  const Signature& signature, DecodedRequest& out);

// Where none is asked for: all but the extra ones.
void add_default_outputs(const TableSchema& table, bool binary, DecodedRequest& out);

}  // namespace serval::table
