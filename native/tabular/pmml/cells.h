// Single values of columns, as PMML's stages read and write them. Hot path, any thread.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "tabular/stage.h"

namespace serval::tabular::pmml {

// A value as 64 bits: equal ones are equal values of the same type.
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

// NaN is missing too, wherever it comes from.
inline bool missing_at(const Column& column, uint32_t row) {
  if (column.state(row) == State::Missing) return true;
  return is_real(column.type) && std::isnan(column.reals[row]);
}

// Of a number or Bool.
inline double real_at(const Column& column, uint32_t row) {
  return is_real(column.type) ? column.reals[row] : static_cast<double>(column.integers[row]);
}

inline bool is_scalar_number(Type type) {
  return is_real(type) || is_integer(type) || type == Type::Bool;
}

// Writes a value of the same storage; an integer becomes a double where the column is one.
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

// Can a column of that type have the value?
inline bool fits(Type column, const Value& value) {
  if (value.missing()) return true;
  if (column == Type::Vector || column == Type::List || column == Type::Decimal) return false;
  const Storage storage = storage_of(column);
  return storage == storage_of(value.type) ||
         (storage == Storage::Real && storage_of(value.type) == Storage::Integer);
}

// The one value of an attribute, if it is there.
inline std::optional<Value> one_value(StageSpec& spec, std::string_view name, Type type) {
  if (!spec.has(name)) return std::nullopt;
  const std::vector<Value> values = spec.values(name);
  if (values.size() != 1 || !fits(type, values.front())) {
    spec.fail("attribute '" + std::string(name) + "' is not one value of the column's type");
    return std::nullopt;
  }
  return values.front();
}

struct Interval {
  double left, right;
  bool with_left, with_right;
  bool contains(double value) const {
    return (value > left || (with_left && value == left)) &&
           (value < right || (with_right && value == right));
  }
};

// left, right, closed left, closed right; four numbers each.
inline std::vector<Interval> intervals_of(StageSpec& spec, std::string_view name) {
  const std::span<const double> flat = spec.reals(name);
  if (flat.size() % 4 != 0) spec.fail("intervals have four numbers each");
  std::vector<Interval> made;
  for (size_t i = 0; i + 4 <= flat.size(); i += 4) {
    made.push_back({flat[i], flat[i + 1], flat[i + 2] != 0, flat[i + 3] != 0});
  }
  return made;
}

}  // namespace serval::tabular::pmml
