// Reading and writing columns in stages of Spark's and MLeap's pipelines. Hot path. A reader
// belongs to one run and one thread.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabular/stage.h"

namespace serval::tabular {

struct VectorRow;

// A stage's input columns and their names in errors.
class ColumnStage : public Stage {
 protected:
  explicit ColumnStage(StageSpec& spec);
  // "<place>: column 'x' is String, expected a number"
  Error mismatch(size_t input, const Column& column, std::string_view wanted) const;
  // "column 'x' is missing"
  std::string missing(size_t input) const;
  // "column 'x': expected a vector of 4 values, got 3"; empty if the size is right.
  std::string wrong_size(size_t expected, const VectorRow& row, size_t input = 0) const;
  Status refuse(Run& run, uint32_t row, std::string what) const {
    return run.refuse(row, place_, std::move(what));
  }

  // Fills `out` row by row. fill(row) sets the row's value, or for a Vector or List appends values
  // and ends the row (a row that it does not end is missing). It returns what is wrong with the
  // row, or an empty text; faulty rows are refused. Errors: invalid_argument; body_too_large if the
  // column would have too many values.
  template <typename Fill>
  Status each_row(Run& run, Rows rows, Column& out, Fill&& fill) const;

  // Calls each(row, vector) for the rows of input 0, a Vector; it returns what is wrong with the
  // row, or an empty text. Calls none(row) for rows that are refused or have no vector.
  template <typename Each, typename None>
  Status each_vector(Run& run, Rows rows, Each&& each, None&& none) const;

  std::string place_;
  std::vector<uint32_t> inputs_, outputs_;
  std::vector<std::string> names_;  // names of the inputs
};

// Returns whether no row of `rows` has a value.
bool all_missing(const Column& column, Rows rows);

// A column of numbers, read as doubles.
class Numbers {
 public:
  // Accepts Bool, Int8 to Int64, Float, Double and Decimal.
  static bool reads(const Column& column);
  explicit Numbers(const Column& column) : column_(column), storage_(storage_of(column.type)) {}
  bool valid(uint32_t row) const { return column_.valid(row); }
  double operator[](uint32_t row) const {
    if (storage_ == Storage::Real) return column_.reals[row];
    if (storage_ == Storage::Integer) return static_cast<double>(column_.integers[row]);
    return of_decimal(row);
  }

 private:
  double of_decimal(uint32_t row) const;
  const Column& column_;
  Storage storage_;
};

// Appends the row's value (not a text) as Spark casts it to a string.
void append_java_scalar(const Column& column, uint32_t row, std::string& out);

// The vector of one row. `indices` is null if it is dense.
struct VectorRow {
  const double* values = nullptr;
  const int32_t* indices = nullptr;
  size_t count = 0;  // number of stored values
  size_t size = 0;   // length of the vector

  // Visits all values of a dense vector, or the stored values of a sparse one, in order.
  template <typename Each>
  void for_each(Each&& each) const {
    if (indices == nullptr) {
      for (size_t i = 0; i < count; ++i) each(i, values[i]);
    } else {
      for (size_t i = 0; i < count; ++i) each(static_cast<size_t>(indices[i]), values[i]);
    }
  }
  double at(size_t index) const;
  // Dot product with `weights`, summed in order.
  double dot(const double* weights) const;
};

// A column of vectors: Vector, or List of numbers.
class Vectors {
 public:
  static bool reads(const Column& column);
  explicit Vectors(const Column& column) : column_(column) {}
  bool valid(uint32_t row) const { return column_.valid(row); }
  bool sparse() const { return column_.sparse; }
  // Valid until the next call. The row must be valid.
  VectorRow operator[](uint32_t row);

 private:
  const Column& column_;
  std::vector<double> converted_;  // values of a List of integers
};

// The row's values at their positions: its own memory if it is dense, else `room`.
const double* dense_values(const VectorRow& row, std::vector<double>& room);

// Appends space for a dense vector (zeros) to the row that was started; end it with end_row().
inline double* append_dense(Column& out, size_t size) {
  const size_t begin = out.reals.size();
  out.reals.resize(begin + size);
  return out.reals.data() + begin;
}

// Vector -> Vector, row by row. With `keeps_sparse`, sparse input gives sparse output.
class VectorStage : public ColumnStage {
 public:
  Status run(Run& run, Rows rows) const override;

 protected:
  VectorStage(StageSpec& spec, bool keeps_sparse);
  // Appends the row's values to out.reals (for a sparse column also ascending indices; `size` holds
  // the input's length on entry and the result's on return). Returns what is wrong with the row, or
  // an empty text.
  virtual std::string answer(const VectorRow& in, Column& out, size_t& size) const = 0;

  bool passes_missing_ = false;  // false: a row without a vector is refused

 private:
  bool keeps_sparse_;
};

// Vector -> one number of `type`.
class VectorToNumberStage : public ColumnStage {
 public:
  Status run(Run& run, Rows rows) const final;

 protected:
  VectorToNumberStage(StageSpec& spec, Type type);
  virtual std::string answer(const VectorRow& in, double& out) const = 0;

 private:
  Type type_;
};

// One number -> Double.
class NumberStage : public ColumnStage {
 public:
  Status run(Run& run, Rows rows) const final;

 protected:
  // Result for a missing input.
  enum class Missing : uint8_t { Passes, Refused };
  NumberStage(StageSpec& spec, Missing missing);
  virtual std::string answer(double in, double& out) const = 0;

 private:
  Missing missing_;
};

template <typename Fill>
Status ColumnStage::each_row(Run& run, Rows rows, Column& out, Fill&& fill) const {
  const bool is_list = out.type == Type::Vector || out.type == Type::List;
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows[i];
    if (is_list) {
      if (out.held() > run.options.column_values_max) return run.too_many(out.held(), place_);
      out.start_row(row);
    }
    std::string fault = fill(row);
    if (fault.empty()) continue;
    out.drop_row(row);
    if (Status refused = refuse(run, row, std::move(fault)); !refused.ok()) return refused;
  }
  return {};
}

template <typename Each, typename None>
Status ColumnStage::each_vector(Run& run, Rows rows, Each&& each, None&& none) const {
  const Column& in = run.in(inputs_[0]);
  if (!Vectors::reads(in) && !all_missing(in, rows)) return mismatch(0, in, "a vector");
  Vectors vectors(in);
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows[i];
    std::string fault = in.valid(row) ? each(row, vectors[row]) : missing(0);
    if (fault.empty()) continue;
    none(row);
    if (Status refused = refuse(run, row, std::move(fault)); !refused.ok()) return refused;
  }
  return {};
}

// Outputs by their role in the attribute `roles`; a role without an output is not computed.
template <typename Role>
class Roles {
 public:
  // Checks that each output has one role.
  Roles(StageSpec& spec, const ChoicesAttribute<Role>& attribute)
      : roles_(spec.choices(attribute)), columns_(spec.outputs) {
    if (roles_.size() != columns_.size()) spec.fail("expected a role for each output");
  }
  std::optional<uint32_t> operator[](Role role) const {
    for (size_t i = 0; i < std::min(roles_.size(), columns_.size()); ++i) {
      if (roles_[i] == role) return columns_[i];
    }
    return std::nullopt;
  }

 private:
  std::vector<Role> roles_;
  std::span<const uint32_t> columns_;
};

template <typename Kind>
std::unique_ptr<Stage> make_stage(StageSpec& spec) {
  return std::make_unique<Kind>(spec);
}

}  // namespace serval::tabular
