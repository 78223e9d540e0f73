// Converts decimals of up to 38 digits from and to text and doubles. Hot path; pure, any thread.
// Source: tabular.md 2.1 X18.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace serval {

inline constexpr unsigned kDecimalPrecisionMax = 38;
inline constexpr size_t kDecimalTextMax = 44;  // sign, point, a leading zero, 38 digits

// 10^exponent, for exponents 0 to 38.
constexpr Int128 power_of_ten(unsigned exponent) {
  Int128 power = 1;
  for (unsigned i = 0; i < exponent; ++i) power *= 10;
  return power;
}

enum class DecimalFault : uint8_t { None, NoNumber, Overflow };

// Finds the decimal of `scale` that is nearest to the number, half away from zero. Overflow: it has
// more than precision - scale digits before the point. Text: "-12.5", "1e3", no blanks. A double is
// read as its shortest decimal text; NaN and infinities are not numbers.
DecimalFault read_decimal(std::string_view text, unsigned precision, unsigned scale, Int128& out);
DecimalFault round_decimal(double value, unsigned precision, unsigned scale, Int128& out);

// Writes "12.50": `scale` digits after the point. At most kDecimalTextMax bytes; returns the end.
char* write_decimal(char* out, Int128 unscaled, unsigned scale);
// The nearest double.
double decimal_to_double(Int128 unscaled, unsigned scale);

}  // namespace serval
