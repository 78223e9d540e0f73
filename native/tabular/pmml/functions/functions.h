// The tables of PMML's functions, one per file, and what they share. Any thread.
// Source: tabular.md 3.3
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "tabular/expression.h"
#include "tabular/java/doubles.h"

namespace serval::tabular::pmml {

std::span<const Function> arithmetic_functions();
std::span<const Function> math_functions();
std::span<const Function> logic_functions();
std::span<const Function> predicate_functions();
std::span<const Function> text_functions();
std::span<const Function> format_functions();
std::span<const Function> date_functions();
std::span<const Function> value_functions();

inline bool is_number(const Value& value) { return is_real(value.type) || is_integer(value.type); }

inline double real_of(const Value& value) {
  return is_real(value.type) ? value.real : static_cast<double>(value.integer);
}

// Type of the result of an operation on two numbers: double over float over integer.
inline Type wider(Type left, Type right) {
  if (left == Type::Double || right == Type::Double) return Type::Double;
  if (left == Type::Float || right == Type::Float) return Type::Float;
  return Type::Int32;
}

// A result of that type; -0.0 becomes 0.0. Refuses NaN, unless the enclosing Apply keeps it, and
// integers beyond PMML's integer type.
inline Value number_of(Eval& eval, Type type, double value, std::string_view function) {
  if (std::isnan(value) && !(eval.keeps_nan && is_real(type))) {
    return eval.fail("function " + std::string(function) + ": the result is not a number");
  }
  value = without_sign_of_zero(value);
  if (type == Type::Double) return Value::of_real(value);
  if (type == Type::Float) {
    return Value::of_real(static_cast<double>(static_cast<float>(value)), Type::Float);
  }
  constexpr double kMin = std::numeric_limits<int32_t>::min();
  constexpr double kMax = std::numeric_limits<int32_t>::max();
  if (value < kMin || value > kMax || value != std::floor(value)) {
    return eval.fail("function " + std::string(function) + ": the result is not a 32-bit integer");
  }
  return Value::of_integer(static_cast<int64_t>(value), Type::Int32);
}

// Whether JPMML-Evaluator treats a value as invalid: outside its field's domain, or NaN.
inline bool is_invalid(const Value& value) {
  if (value.missing()) return false;
  return value.state == State::Invalid || (is_real(value.type) && std::isnan(value.real));
}

// Fails for a function that accepts no missing arguments.
Value fail_missing(Eval& eval, std::string_view function);
// Fails for an argument of the wrong type.
Value fail_type(Eval& eval, std::string_view function, const char* expected, const Value& got);

// Casts a value as PMML does. A missing value stays missing; an impossible cast is refused.
Value cast(Eval& eval, const Value& value, Type type);
// Text as PMML writes a value: doubles as Java does ("1.0E10").
std::string text_of(const Eval& eval, const Value& value);

// Compares two values, the second one cast to the first one's type.
bool equal_values(Eval& eval, const Value& left, const Value& right);

}  // namespace serval::tabular::pmml
