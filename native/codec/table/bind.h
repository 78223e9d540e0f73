// Matches the tensors of a request with the fields of a tabular model: which are lengths of others,
// which fields they name, how many rows there are, then their values; and the requested outputs.
// Hot path; any thread. Source: tabular.md 2.2 "Decode order".
#pragma once

#include <span>

#include "base/signature.h"
#include "base/table_schema.h"
#include "codec/request.h"
#include "codec/table/parameters.h"
#include "codec/table/tensor.h"

namespace serval::table {

// Fills out.inputs, one per field. `tensors`: all tensors of the request, with their parameters;
// their datatypes are valid.
// Errors: those of the decoders (codec/table/table.h).
Status bind_tensors(std::span<RequestTensor> tensors, TensorSource& source,
                    const TableSchema& table, bool strict, Arena& arena, DecodedRequest& out);

// Fills the views of fields that have none (dtype Invalid) with `rows` missing values; for a table
// without fields, adds one view that holds the number of rows. Records in out.left_out those that
// some outputs need: check_left_out().
// Errors: invalid_argument naming the fields that are always required.
Status fill_missing(const TableSchema& table, uint64_t rows, Arena& arena, DecodedRequest& out);

// Checks that the omitted fields are not needed, once out.outputs is known.
// Errors: invalid_argument naming those that the outputs need.
Status check_left_out(const TableSchema& table, const DecodedRequest& out);

// Whether any of the tensors uses a feature that plain V2 does not have. Source: tabular.md 2.4
// "Strings".
bool uses_extension(std::span<const RequestTensor> tensors);

// One output requested by name; `classes`: for the classification extension, which tabular models
// do not support; 0 = none.
struct NamedOutput {
  std::string_view name;
  bool has_binary = false, binary = false;
  uint32_t classes = 0;
};

// Appends it to out.outputs. Errors: invalid_argument (unknown; given twice; classification).
Status add_output(const NamedOutput& wanted, bool binary_by_default, const TableSchema& table,
                  const Signature& signature, DecodedRequest& out);

// Used if none is requested: adds all but the extra ones.
void add_default_outputs(const TableSchema& table, bool binary, DecodedRequest& out);

}  // namespace serval::table
