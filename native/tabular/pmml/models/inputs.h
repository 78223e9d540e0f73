// Shared by the stages of PMML models: inputs as numbers, row by row, and output rows of vectors.
// Hot path. One thread at a time.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tabular/stage.h"

namespace serval::tabular::pmml {

// A scalar column read as doubles: its numbers, or the ids of its texts (equal texts have equal
// ids). Borrows the column.
class ScalarColumn {
 public:
  // Returns false if the column holds no scalars of that kind.
  bool open(const Column& column, bool texts) {
    const Storage storage = storage_of(column.type);
    if (column.type == Type::Vector || column.type == Type::List) return false;
    if ((storage == Storage::Text) != texts || storage == Storage::Decimal) return false;
    storage_ = storage;
    data_ = storage == Storage::Real      ? static_cast<const void*>(column.reals.data())
            : storage == Storage::Integer ? static_cast<const void*>(column.integers.data())
                                          : static_cast<const void*>(column.texts.data());
    states_ = column.states.empty() ? nullptr : column.states.data();
    column_ = &column;
    return true;
  }
  // Returns why a missing row could not be computed: see Column::failure.
  const Failure* failure(uint32_t row) const { return column_->failure(row); }
  // A value outside its field's domain is not missing: invalidValueTreatment kept it.
  bool missing(uint32_t row) const {
    return states_ != nullptr && states_[row] == static_cast<uint8_t>(State::Missing);
  }
  double at(uint32_t row) const {
    if (storage_ == Storage::Real) return static_cast<const double*>(data_)[row];
    if (storage_ == Storage::Integer) {
      return static_cast<double>(static_cast<const int64_t*>(data_)[row]);
    }
    return static_cast<double>(static_cast<const TextId*>(data_)[row]);
  }

 private:
  Storage storage_ = Storage::Real;
  const void* data_ = nullptr;
  const uint8_t* states_ = nullptr;
  const Column* column_ = nullptr;
};

// Encodes a constant like the ScalarColumn values that equal it.
inline double code_of(const Value& value) {
  if (!value.valid()) return std::numeric_limits<double>::quiet_NaN();
  switch (storage_of(value.type)) {
    case Storage::Real: return value.real;
    case Storage::Text: return static_cast<double>(value.text);
    default: return static_cast<double>(value.integer);
  }
}

// Marks a missing value among numbers: a NaN that no computation produces.
inline double absent_number() { return std::bit_cast<double>(uint64_t{0x7FF8000000AB5E27}); }
inline bool is_absent(double value) {
  return std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(absent_number());
}

// Expected contents of a stage's inputs, declared while it is made; the default is numbers.
class InputNames {
 public:
  explicit InputNames(StageSpec& spec)
      : columns_(spec.inputs.begin(), spec.inputs.end()), kinds_(columns_.size(), Kind::Unsaid) {
    for (const uint32_t column : columns_) names_.emplace_back(spec.column_name(column));
  }
  size_t count() const { return columns_.size(); }
  std::span<const uint32_t> columns() const { return columns_; }
  const std::string& name(size_t input) const { return names_[input]; }
  bool text(size_t input) const { return kinds_[input] == Kind::Text; }
  // Declares an input used in calculations. Records a fault if it was declared as text, or does not
  // exist.
  void number(StageSpec& spec, int32_t input) { say(spec, input, Kind::Number); }
  // Declares an input that is compared with values such as this one.
  void compare(StageSpec& spec, int32_t input, const Value& value) {
    say(spec, input, is_text(value.type) ? Kind::Text : Kind::Number);
  }

 private:
  enum class Kind : uint8_t { Unsaid, Number, Text };
  void say(StageSpec& spec, int32_t input, Kind kind) {
    if (input < 0 || static_cast<size_t>(input) >= kinds_.size()) {
      return spec.fail("there is no input " + std::to_string(input));
    }
    Kind& known = kinds_[static_cast<size_t>(input)];
    if (known != Kind::Unsaid && known != kind) {
      return spec.fail("'" + names_[static_cast<size_t>(input)] +
                       "' is used both as text and as a number");
    }
    known = kind;
  }
  std::vector<uint32_t> columns_;
  std::vector<std::string> names_;
  std::vector<Kind> kinds_;
};

// A stage's inputs in one run, row by row. A small number of them needs no allocation.
class Inputs {
 public:
  // `expected` declares the columns. Errors: invalid_argument naming an input of another kind.
  Status open(const Run& run, const InputNames& expected) {
    const std::span<const uint32_t> columns = expected.columns();
    count_ = columns.size();
    if (count_ > kFew) {
      many_.resize(count_);
      many_values_.resize(count_);
      columns_ = many_.data();
      values_ = many_values_.data();
    }
    for (size_t i = 0; i < count_; ++i) {
      if (columns_[i].open(run.in(columns[i]), expected.text(i))) continue;
      return invalid_argument("column '" + expected.name(i) + "': expected " +
                              (expected.text(i) ? "strings" : "numbers") + ", got " +
                              std::string(type_name(run.in(columns[i]).type)));
    }
    return {};
  }
  bool missing(size_t input, uint32_t row) const { return columns_[input].missing(row); }
  double at(size_t input, uint32_t row) const { return columns_[input].at(row); }
  // Returns why a missing input could not be computed; null if it could.
  const Failure* failure(size_t input, uint32_t row) const { return columns_[input].failure(row); }
  // The first input missing in the row; count() if none is.
  size_t first_missing(uint32_t row) const {
    size_t i = 0;
    while (i < count_ && !columns_[i].missing(row)) ++i;
    return i;
  }
  // The row's numbers; missing ones are absent_number().
  std::span<const double> load(uint32_t row) {
    for (size_t i = 0; i < count_; ++i) {
      values_[i] = columns_[i].missing(row) ? absent_number() : columns_[i].at(row);
    }
    return {values_, count_};
  }
  size_t count() const { return count_; }

 private:
  static constexpr size_t kFew = 24;
  size_t count_ = 0;
  std::array<ScalarColumn, kFew> few_;
  std::array<double, kFew> few_values_;
  std::vector<ScalarColumn> many_;
  std::vector<double> many_values_;
  ScalarColumn* columns_ = few_.data();
  double* values_ = few_values_.data();
};

// Inputs of one row in the order in which a model reads them, until one decides the result.
class RowReader {
 public:
  RowReader(const Inputs& inputs, uint32_t row) : inputs_(inputs), row_(row) {}
  uint32_t row() const { return row_; }
  double at(size_t input) const { return inputs_.at(input, row_); }
  bool missing(size_t input) {
    if (!inputs_.missing(input, row_)) return false;
    if (failed_ == nullptr) failed_ = inputs_.failure(input, row_);
    return true;
  }
  // The first missing input read that could not be computed, for which the row must be refused.
  const Failure* failed() const { return failed_; }

 private:
  const Inputs& inputs_;
  uint32_t row_;
  const Failure* failed_ = nullptr;
};

// Adds a row to a Vector column (made by Run::out): `width` zeros, to be filled before the next row
// is added. Skipped rows are missing.
inline std::span<double> add_row(Column& column, uint32_t row, size_t width) {
  column.start_row(row);
  const size_t at = column.reals.size();
  column.reals.resize(at + width);
  column.end_row();
  return {column.reals.data() + at, width};
}

// Removes the row that add_row added last: it is missing.
inline void drop_added(Column& column, size_t width) {
  column.reals.resize(column.reals.size() - width);
  column.offsets.pop_back();
}

// Checks the offsets of `count` parts in a list of `size`: ascending from 0 to size.
inline bool good_offsets(std::span<const int32_t> offsets, size_t count, size_t size) {
  if (offsets.size() != count + 1 || offsets.front() != 0) return false;
  for (size_t i = 0; i < count; ++i) {
    if (offsets[i + 1] < offsets[i]) return false;
  }
  return static_cast<size_t>(offsets.back()) == size;
}

// Checks that all of `indices` are in [least, limit).
inline bool good_indices(std::span<const int32_t> indices, int32_t least, size_t limit) {
  for (const int32_t index : indices) {
    if (index < least || (index >= 0 && static_cast<size_t>(index) >= limit)) return false;
  }
  return true;
}

}  // namespace serval::tabular::pmml
