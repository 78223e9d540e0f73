// Converts decimals. Hot path; any thread.
#include "base/values/decimal.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace serval {

namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr int64_t kExponentMax = 100'000;  // a number with a larger exponent is 0 or too large

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The parts of "-12.5e3".
struct Parts {
  bool negative = false;
  std::string_view whole, fraction;
  int64_t exponent = 0;
};

std::string_view take_digits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view taken = text.substr(0, count);
  text.remove_prefix(count);
  return taken;
}

bool take_exponent(std::string_view& text, int64_t& exponent) {
  if (text.empty() || (text[0] | 0x20) != 'e') return true;
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = take_digits(text);
  for (const char digit : digits) {
    if (exponent < kExponentMax) exponent = exponent * 10 + (digit - '0');
  }
  if (negative) exponent = -exponent;
  return !digits.empty();
}

bool split(std::string_view text, Parts& parts) {
  parts.negative = text.starts_with('-');
  if (parts.negative || text.starts_with('+')) text.remove_prefix(1);
  parts.whole = take_digits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    parts.fraction = take_digits(text);
  }
  if (parts.whole.empty() && parts.fraction.empty()) return false;
  return take_exponent(text, parts.exponent) && text.empty();
}

}  // namespace

DecimalFault read_decimal(std::string_view text, unsigned precision, unsigned scale, Int128& out) {
  Parts parts;
  if (!split(text, parts)) return DecimalFault::NoNumber;
  // Keeps digits up to the scale; of the rest only the first matters (round half up).
  const size_t count = parts.whole.size() + parts.fraction.size();
  const auto digit_at = [&](size_t i) {
    const char digit =
        i < parts.whole.size() ? parts.whole[i] : parts.fraction[i - parts.whole.size()];
    return static_cast<unsigned>(digit - '0');
  };
  const int64_t kept =
      static_cast<int64_t>(parts.whole.size()) + parts.exponent + static_cast<int64_t>(scale);
  const auto limit = static_cast<Uint128>(power_of_ten(precision));
  Uint128 value = 0;
  for (int64_t i = 0; i < kept; ++i) {
    const bool given = i < static_cast<int64_t>(count);
    if (!given && value == 0) break;
    value = value * 10 + (given ? digit_at(static_cast<size_t>(i)) : 0);
    if (value >= limit) return DecimalFault::Overflow;
  }
  if (kept >= 0 && kept < static_cast<int64_t>(count)) {
    value += digit_at(static_cast<size_t>(kept)) >= 5 ? 1 : 0;
    if (value >= limit) return DecimalFault::Overflow;
  }
  out = parts.negative ? -static_cast<Int128>(value) : static_cast<Int128>(value);
  return DecimalFault::None;
}

DecimalFault round_decimal(double value, unsigned precision, unsigned scale, Int128& out) {
  if (!std::isfinite(value)) return DecimalFault::NoNumber;
  char text[32];
  const auto written =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  return read_decimal({text, static_cast<size_t>(written.ptr - text)}, precision, scale, out);
}

char* write_decimal(char* out, Int128 unscaled, unsigned scale) {
  if (unscaled < 0) *out++ = '-';
  auto rest = static_cast<Uint128>(unscaled);
  if (unscaled < 0) rest = ~rest + 1;
  char digits[kDecimalTextMax];
  size_t count = 0;
  for (; rest != 0 || count <= scale; rest /= 10) {
    digits[count++] = static_cast<char>('0' + static_cast<unsigned>(rest % 10));
  }
  while (count > scale) *out++ = digits[--count];
  if (scale == 0) return out;
  *out++ = '.';
  while (count > 0) *out++ = digits[--count];
  return out;
}

double decimal_to_double(Int128 unscaled, unsigned scale) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr Int128 kExact = Int128{1} << 53;
  if (scale < std::size(kPowers) && unscaled > -kExact && unscaled < kExact) {
    return static_cast<double>(unscaled) / kPowers[scale];  // both are exact, so it is rounded once
  }
  char text[kDecimalTextMax];
  const char* end = write_decimal(text, unscaled, scale);
  double value = 0;
  std::from_chars(text, end, value);
  return value;
}

}  // namespace serval
