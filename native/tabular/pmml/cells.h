// Reads and writes single values of columns for PMML's stages. Hot path, any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "tabular/expression.h"
#include "tabular/java/doubles.h"

namespace serval::tabular::pmml {

// A value as 64 bits; equal keys are equal values of one type.
inline int64_t key_of(const Value& value) {
  if (storage_of(value.type) == Storage::Text) return value.text;
  if (!is_real(value.type)) return value.integer;
  return std::bit_cast<int64_t>(value.real == 0 ? 0.0 : value.real);
}

inline int64_t key_at(const Column& column, uint32_t row) {
  switch (storage_of(column.type)) {
    case Storage::Text: return column.texts[row];
    case Storage::Real: {
      const double value = column.reals[row];
      return std::bit_cast<int64_t>(value == 0 ? 0.0 : value);
    }
    case Storage::Integer:
    case Storage::Decimal: break;
  }
  return column.integers[row];
}

// NaN is a number, as in JPMML. Plan::run has already made a request's NaN missing.
inline bool missing_at(const Column& column, uint32_t row) {
  return column.state(row) == State::Missing;
}

// The value of a number or Bool as a double.
inline double real_at(const Column& column, uint32_t row) {
  return is_real(column.type) ? column.reals[row] : static_cast<double>(column.integers[row]);
}

inline bool is_scalar_number(Type type) {
  return is_real(type) || is_integer(type) || type == Type::Bool;
}

// Writes a value of the same storage; an integer becomes a double in a real column.
inline void put(Column& column, uint32_t row, const Value& value) {
  if (value.missing()) {
    column.set_missing(row);
    return;
  }
  switch (storage_of(column.type)) {
    case Storage::Text: column.texts[row] = value.text; return;
    case Storage::Real:
      column.reals[row] = is_real(value.type) ? value.real : static_cast<double>(value.integer);
      return;
    case Storage::Integer:
    case Storage::Decimal: break;
  }
  column.integers[row] = value.integer;
}

// Element `at` of all elements in a List's rows.
inline Value element_at(const Column& list, uint64_t at) {
  const auto index = static_cast<size_t>(at);
  switch (storage_of(list.element)) {
    case Storage::Text: {
      Value made = Value::of_text(list.texts[index]);
      made.type = list.element;
      return made;
    }
    case Storage::Real: return Value::of_real(list.reals[index], list.element);
    case Storage::Integer:
    case Storage::Decimal: break;
  }
  return Value::of_integer(list.integers[index], list.element);
}

// Appends a value of the elements' storage to a List's open row.
inline void append(Column& list, const Value& value) {
  switch (storage_of(list.element)) {
    case Storage::Text: list.texts.push_back(value.text); return;
    case Storage::Real: list.reals.push_back(value.real); return;
    case Storage::Integer:
    case Storage::Decimal: break;
  }
  list.integers.push_back(value.integer);
}

// Returns whether a column of that type can hold the value.
inline bool fits(Type column, const Value& value) {
  if (value.missing()) return true;
  if (column == Type::Vector || column == Type::List || column == Type::Decimal) return false;
  const Storage storage = storage_of(column);
  return storage == storage_of(value.type) ||
         (storage == Storage::Real && storage_of(value.type) == Storage::Integer);
}

// Reads an attribute's values for a column of that type; `what` describes them in errors.
inline std::vector<Value> values_of(StageSpec& spec, const ValuesAttribute& attribute, Type type,
                                    const char* what) {
  std::vector<Value> values = spec.values(attribute);
  for (const Value& each : values) {
    if (!fits(type, each)) spec.fail(std::string(what) + " has another type than the output");
  }
  return values;
}

// Index of a row's value in `values`; -1: not found.
inline int64_t index_of(std::span<const Value> values, const Column& column, uint32_t row) {
  const Storage storage = storage_of(column.type);
  const int64_t key = key_at(column, row);
  for (size_t i = 0; i < values.size(); ++i) {
    if (storage_of(values[i].type) == storage && key_of(values[i]) == key) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

// The single value of an attribute, if present.
inline std::optional<Value> one_value(StageSpec& spec, const ValuesAttribute& attribute,
                                      Type type) {
  if (!spec.has(attribute)) return std::nullopt;
  const std::vector<Value> values = spec.values(attribute);
  if (values.size() != 1 || !fits(type, values.front())) {
    spec.fail("attribute '" + std::string(attribute.name) +
              "' is not one value of the column's type");
    return std::nullopt;
  }
  return values.front();
}

// Refuses a row by Run::refuse with the failure of `eval`, which can then continue.
inline Status refuse_failed(Run& run, std::string_view place, Eval& eval) {
  return run.refuse(eval.take_failure(place));
}

// Base of stages that compute one column from one or more others.
class OneOutput : public Stage {
 public:
  explicit OneOutput(StageSpec& spec, size_t least = 1, size_t most = 1) : place_(spec.place) {
    spec.expect_inputs(least, most);
    spec.expect_outputs(1, 1);
    if (spec.failed()) return;
    in_ = spec.inputs[0];
    out_ = spec.outputs[0];
    type_ = spec.column_type(out_);
  }

 protected:
  std::string place_;
  uint32_t in_ = 0, out_ = 0;  // the first input, the output
  Type type_ = Type::Any;      // the output's
};

struct Interval {
  double left, right;
  bool with_left, with_right;
  bool contains(double value) const {
    return (value > left || (with_left && value == left)) &&
           (value < right || (with_right && value == right));
  }
};

// left, right, closed left, closed right; four numbers each.
inline std::vector<Interval> intervals_of(StageSpec& spec, const RealsAttribute& attribute) {
  const std::span<const double> flat = spec.reals(attribute);
  if (flat.size() % 4 != 0) spec.fail("intervals have four numbers each");
  std::vector<Interval> made;
  for (size_t i = 0; i + 4 <= flat.size(); i += 4) {
    made.push_back({flat[i], flat[i + 1], flat[i + 2] != 0, flat[i + 3] != 0});
  }
  return made;
}

}  // namespace serval::tabular::pmml
