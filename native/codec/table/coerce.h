// The values of one field: read from a tensor and converted to the type that the model requires.
// Hot path; any thread. Source: tabular.md 2.1 X2, X3, X4, X18, X23, X25.
#pragma once

#include "base/buffer.h"
#include "base/table_schema.h"
#include "codec/table/tensor.h"

namespace serval::table {

// Whether a field's values are vectors or lists.
inline bool has_cells(const FieldSpec& field) {
  return field.type == plan::Type::Vector || field.type == plan::Type::List;
}

// Fills `out` with the field's values from `tensor`: of its cells, index `place` of each row.
// Values that need no conversion and belong to one field stay views. `text_is_checked`: text is
// known to be UTF-8.
// Errors: invalid_argument naming tensor, field and row.
Status make_field(const RequestTensor& tensor, uint64_t place, const FieldSpec& field,
                  const TableSchema& table, bool text_is_checked, Arena& arena, TensorView& out);

// Does the same for a column of a matrix of floats or doubles whose values are only copied, to
// `to`, which has space for a double per row. Returns false, with `out` unchanged, if make_field()
// must convert it.
bool copy_matrix_column(const RequestTensor& tensor, uint64_t place, const FieldSpec& field,
                        const TableSchema& table, double* to, TensorView& out);

// Reads the lengths of a ragged tensor's cells as 32 bits from its companion's elements.
// Errors: invalid_argument naming the companion (a negative length), body_too_large.
Status read_lengths(const RequestTensor& companion, uint64_t cells, Arena& arena,
                    const uint32_t*& lengths, uint64_t& total);

}  // namespace serval::table
