// Reading and writing columns for feature stages. Hot path.
#include "tabular/features/columns.h"

#include <algorithm>
#include <cmath>

#include "base/values/decimal.h"
#include "tabular/java/number_text.h"

namespace serval::tabular {

ColumnStage::ColumnStage(StageSpec& spec)
    : place_(spec.place),
      inputs_(spec.inputs.begin(), spec.inputs.end()),
      outputs_(spec.outputs.begin(), spec.outputs.end()) {
  for (const uint32_t input : inputs_) names_.emplace_back(spec.column_name(input));
}

Error ColumnStage::mismatch(size_t input, const Column& column, std::string_view wanted) const {
  std::string text = place_ + ": column '" + names_[input] + "' is ";
  text += type_name(column.type);
  if (column.type == Type::List) text += " of " + std::string(type_name(column.element));
  text += ", expected ";
  text += wanted;
  return invalid_argument(std::move(text));
}

std::string ColumnStage::missing(size_t input) const {
  return "column '" + names_[input] + "' is missing";
}

bool all_missing(const Column& column, Rows rows) {
  if (column.states.empty()) return rows.count == 0;
  for (uint32_t i = 0; i < rows.count; ++i) {
    if (column.state(rows[i]) != State::Missing) return false;
  }
  return true;
}

bool Numbers::reads(const Column& column) {
  return is_real(column.type) || is_integer(column.type) || column.type == Type::Bool ||
         column.type == Type::Decimal;
}

double Numbers::of_decimal(uint32_t row) const {
  return decimal_to_double(column_.decimals[row], column_.scale);
}

void append_java_scalar(const Column& column, uint32_t row, std::string& out) {
  switch (storage_of(column.type)) {
    case Storage::Real:
      if (column.type == Type::Float) append_java_float(column.reals[row], out);
      else append_java_double(column.reals[row], out);
      return;
    case Storage::Integer:
      if (column.type == Type::Bool) out += column.integers[row] != 0 ? "true" : "false";
      else out += std::to_string(column.integers[row]);
      return;
    case Storage::Decimal: append_java_decimal(column.decimals[row], column.scale, out); return;
    case Storage::Text: return;
  }
}

double VectorRow::at(size_t index) const {
  if (indices == nullptr) return values[index];
  const int32_t* end = indices + count;
  const int32_t* found = std::lower_bound(indices, end, static_cast<int32_t>(index));
  return found != end && *found == static_cast<int32_t>(index) ? values[found - indices] : 0;
}

double VectorRow::dot(const double* weights) const {
  double sum = 0;
  if (indices == nullptr) {
    for (size_t i = 0; i < count; ++i) sum += values[i] * weights[i];
  } else {
    for (size_t i = 0; i < count; ++i) sum += values[i] * weights[indices[i]];
  }
  return sum;
}

bool Vectors::reads(const Column& column) {
  return column.type == Type::Vector ||
         (column.type == Type::List && (is_real(column.element) || is_integer(column.element)));
}

VectorRow Vectors::operator[](uint32_t row) {
  if (column_.type == Type::List && !is_real(column_.element)) {
    const std::span<const int64_t> integers = column_.row_integers(row);
    converted_.assign(integers.begin(), integers.end());
    return {converted_.data(), nullptr, converted_.size(), converted_.size()};
  }
  const std::span<const double> values = column_.row_reals(row);
  if (!column_.sparse) return {values.data(), nullptr, values.size(), values.size()};
  // Non-null indices mark a vector as sparse, even in a column without values.
  static constexpr int32_t kNoIndex = 0;
  const int32_t* indices = column_.indices.empty() ? &kNoIndex : column_.row_indices(row).data();
  return {values.data(), indices, values.size(), column_.sizes[row]};
}

std::string ColumnStage::wrong_size(size_t expected, const VectorRow& row, size_t input) const {
  if (row.size == expected) return {};
  return "column '" + names_[input] + "': expected a vector of " + std::to_string(expected) +
         " values, got " + std::to_string(row.size);
}

const double* dense_values(const VectorRow& row, std::vector<double>& room) {
  if (row.indices == nullptr) return row.values;
  room.assign(row.size, 0);
  for (size_t i = 0; i < row.count; ++i) {
    room[static_cast<size_t>(row.indices[i])] = row.values[i];
  }
  return room.data();
}

VectorStage::VectorStage(StageSpec& spec, bool keeps_sparse)
    : ColumnStage(spec), keeps_sparse_(keeps_sparse) {
  spec.expect_inputs(1, 1);
  spec.expect_outputs(1, 1);
}

Status VectorStage::run(Run& run, Rows rows) const {
  const Column& in = run.in(inputs_[0]);
  if (!Vectors::reads(in) && !all_missing(in, rows)) return mismatch(0, in, "a vector");
  Vectors vectors(in);
  Column& out = run.out(outputs_[0], Type::Vector, rows);
  out.sparse = keeps_sparse_ && in.sparse;
  return each_row(run, rows, out, [&](uint32_t row) {
    if (!in.valid(row)) return passes_missing_ ? std::string() : missing(0);
    const VectorRow vector = vectors[row];
    size_t size = vector.size;
    std::string fault = answer(vector, out, size);
    if (fault.empty()) out.end_vector(size);
    return fault;
  });
}

VectorToNumberStage::VectorToNumberStage(StageSpec& spec, Type type)
    : ColumnStage(spec), type_(type) {
  spec.expect_inputs(1, 1);
  spec.expect_outputs(1, 1);
}

Status VectorToNumberStage::run(Run& run, Rows rows) const {
  const Column& in = run.in(inputs_[0]);
  if (!Vectors::reads(in) && !all_missing(in, rows)) return mismatch(0, in, "a vector");
  Vectors vectors(in);
  Column& out = run.out(outputs_[0], type_, rows);
  const bool real = is_real(type_);
  return each_row(run, rows, out, [&](uint32_t row) {
    double value = 0;
    std::string fault = in.valid(row) ? answer(vectors[row], value) : missing(0);
    if (real) out.reals[row] = value;
    else out.integers[row] = static_cast<int64_t>(value);
    return fault;
  });
}

NumberStage::NumberStage(StageSpec& spec, Missing missing) : ColumnStage(spec), missing_(missing) {
  spec.expect_inputs(1, 1);
  spec.expect_outputs(1, 1);
}

Status NumberStage::run(Run& run, Rows rows) const {
  const Column& in = run.in(inputs_[0]);
  if (!Numbers::reads(in) && !all_missing(in, rows)) return mismatch(0, in, "a number");
  const Numbers numbers(in);
  Column& out = run.out(outputs_[0], Type::Double, rows);
  return each_row(run, rows, out, [&](uint32_t row) {
    if (in.valid(row)) return answer(numbers[row], out.reals[row]);
    if (missing_ == Missing::Refused) return missing(0);
    out.set_missing(row);
    return std::string();
  });
}

}  // namespace serval::tabular
