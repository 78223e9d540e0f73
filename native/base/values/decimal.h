// Decimals of up to 38 digits from and to text and doubles. Hot path; pure, any thread.
// Source: tabular.md 2.1 X18.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace serval {

inline constexpr unsigned kDecimalPrecisionMax = 38;
inline constexpr size_t kDecimalTextMax = 44;  // sign, point, a zero in front, 38 digits

// 10^exponent, from 0 to 38.
constexpr Int128 power_of_ten(unsigned exponent) {
  Int128 power = 1;
  for (unsigned i = 0; i < exponent; ++i) power *= 10;
  return power;
}

enum class DecimalFault : uint8_t { None, NoNumber, Overflow };

// The decimal of `scale` that is nearest to the number, half away from zero. Overflow: it has more
// than precision - scale digits in front of the point.
// Text: "-12.5", "1e3", blanks nowhere. A double counts as its shortest decimal text; NaN and
// infinities are no numbers.
DecimalFault read_decimal(std::string_view text, unsigned precision, unsigned scale, Int128& out);
DecimalFault round_decimal(double value, unsigned precision, unsigned scale, Int128& out);

// "12.50": `scale` digits behind the point. At most kDecimalTextMax bytes; returns the end.
char* write_decimal(char* out, Int128 unscaled, unsigned scale);
// The nearest double.
double decimal_to_double(Int128 unscaled, unsigned scale);

}  // namespace serval
