// Decimal arithmetic of Spark: exact results of up to 512 bits, rounded once to the result's type.
// Pure; any thread. Source: tabular.md 10; Spark's DecimalType for the types of results.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/values/decimal.h"
#include "tabular/types.h"

namespace serval::tabular::sql {

inline constexpr int kPrecisionMax = 38;

// A type with what only decimals have. Any: the type of NULL.
struct SqlType {
  Type type = Type::Any;
  uint8_t precision = 0, scale = 0;
  bool operator==(const SqlType&) const = default;
};

constexpr SqlType decimal_type(int precision, int scale) {
  return {Type::Decimal, static_cast<uint8_t>(precision), static_cast<uint8_t>(scale)};
}

enum class DecimalOp { Add, Subtract, Multiply, Divide, Remainder };

// Result type of an operation, before it is limited to 38 digits.
SqlType decimal_result(DecimalOp op, SqlType a, SqlType b);

struct Decimal {
  Int128 unscaled = 0;
  int scale = 0;
};

enum class Rounding { HalfUp, HalfEven, Floor, Ceiling, Down };

// Empty if the result has more digits than `to`, or on division by zero.
std::optional<Int128> decimal_compute(DecimalOp op, Decimal a, Decimal b, SqlType to);
std::optional<Int128> decimal_rescale(Decimal value, SqlType to,
                                      Rounding rounding = Rounding::HalfUp);
// The integer part of a / b, its low 64 bits. Empty: b is zero.
std::optional<int64_t> decimal_quotient(Decimal a, Decimal b);
int decimal_compare(Decimal a, Decimal b);

// Significant digits; 1 of zero.
int decimal_digits(Int128 value);

// A number as digits: 0.digits * 10^exponent, the first digit not 0; no digits: zero.
struct Digits {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;
};
// "-12.5e3", surrounding blanks allowed. Empty: not a number.
std::optional<Digits> digits_of_text(std::string_view text);
// The shortest digits that read back as a finite number.
Digits digits_of_real(double value);
std::optional<Int128> decimal_of_digits(const Digits& value, SqlType to,
                                        Rounding rounding = Rounding::HalfUp);

}  // namespace serval::tabular::sql
