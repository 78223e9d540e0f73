// One column of a frame: rows of a single type. Hot path; used by one thread at a time. Keeps its
// memory between runs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabular/value.h"

namespace serval::tabular {

// The reason why a row of a column could not be computed, and the place in the model.
struct Failure {
  uint32_t row = 0;
  std::string_view place;  // place in the plan
  std::string what;
};

// The type decides which member holds the values: storage_of(type); reals for a Vector;
// storage_of(element) for a List. Scalars have one value per row. In a Vector or List, row r has
// the values [offsets[r], offsets[r + 1]).
struct Column {
  Type type = Type::Any;
  Type element = Type::Any;
  uint8_t precision = 0, scale = 0;  // Decimal
  uint32_t rows = 0;
  bool sparse = false;  // Vector: `indices` holds the values' positions, ascending within a row
  std::vector<double> reals;
  std::vector<int64_t> integers;
  std::vector<TextId> texts;
  std::vector<Int128> decimals;
  std::vector<uint64_t> offsets;  // rows + 1
  std::vector<int32_t> indices;   // one per value
  std::vector<uint32_t> sizes;    // sparse: the vector's length, per row
  std::vector<uint8_t> states;    // State per row; empty = all valid
  // Rows that could not be computed, ascending. They are missing, and reading one is an error.
  std::vector<Failure> failures;

  // Scalars: `row_count` zeros, all valid. Vector, List: no values yet, offsets {0}.
  void reset(Type of, uint32_t row_count, Type of_element = Type::Any);

  State state(uint32_t row) const {
    return states.empty() ? State::Valid : static_cast<State>(states[row]);
  }
  bool valid(uint32_t row) const { return state(row) == State::Valid; }
  // Returns why a missing row could not be computed; null if it was computed.
  const Failure* failure(uint32_t row) const {
    return failures.empty() ? nullptr : find_failure(row);
  }
  void set_state(uint32_t row, State state);
  void set_missing(uint32_t row) { set_state(row, State::Missing); }
  // Returns the value of a row, for a column of any type.
  Value value(uint32_t row) const;
  // `value` must have this column's type or be missing. Scalars only.
  void set(uint32_t row, const Value& value);

  // Vector, List: the row's values, and their positions for a sparse vector.
  size_t length(uint32_t row) const {
    return sparse ? sizes[row] : static_cast<size_t>(offsets[row + 1] - offsets[row]);
  }
  std::span<const double> row_reals(uint32_t row) const {
    return {reals.data() + offsets[row], reals.data() + offsets[row + 1]};
  }
  std::span<const int32_t> row_indices(uint32_t row) const {
    return {indices.data() + offsets[row], indices.data() + offsets[row + 1]};
  }
  std::span<const TextId> row_texts(uint32_t row) const {
    return {texts.data() + offsets[row], texts.data() + offsets[row + 1]};
  }
  std::span<const int64_t> row_integers(uint32_t row) const {
    return {integers.data() + offsets[row], integers.data() + offsets[row + 1]};
  }
  // Vector, List. A stage appends a row's values to reals (and indices), texts or integers between
  // start_row and end_row, row by row, ascending. Rows that it skips (because they are not in its
  // Rows, or were refused) are missing.
  void start_row(uint32_t row) {
    if (offsets.size() <= row) end_rows(row);
  }
  void end_row() { offsets.push_back(held()); }
  // Ends a row of a sparse vector of length `size`; set `sparse` before the first row.
  void end_sparse_row(uint32_t size) {
    offsets.push_back(reals.size());
    sizes.push_back(size);
  }
  // Ends a row, sparse or dense according to the column.
  void end_vector(size_t size) {
    if (sparse) end_sparse_row(static_cast<uint32_t>(size));
    else end_row();
  }
  // Marks the row as missing and drops what was appended since start_row.
  void drop_row(uint32_t row);
  // Adds missing rows until there are `count`. Blocks call it after each stage.
  void end_rows(uint32_t count);
  // Number of values held by a Vector or List.
  size_t held() const;
  // Allocated memory, used or not.
  size_t held_bytes() const;

 private:
  const Failure* find_failure(uint32_t row) const;
};

}  // namespace serval::tabular
