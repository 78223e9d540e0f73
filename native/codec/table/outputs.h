// Which outputs of a tabular model a request gets. Hot path; any thread. Source: tabular.md 2.1
// X29, 2.4 "Defaults per type".
#pragma once

#include "base/signature.h"
#include "base/table_schema.h"
#include "codec/request.h"

namespace serval::table {

// One output that is asked for by name; `classes`: of the classification extension, which these
// models have not.
struct NamedOutput {
  std::string_view name;
  bool has_binary = false, binary = false;
  bool has_classification = false;
};

// Appends it to out.outputs. Errors: invalid_argument (unknown; given twice; classification).
Status add_output(const NamedOutput& wanted, bool binary_by_default, const Signature& signature,
                  DecodedRequest& out);

// Where none is asked for: all but the extra ones.
void add_default_outputs(const TableSchema& table, bool binary, DecodedRequest& out);

}  // namespace serval::table
