// Decimals as Spark computes with them. Pure; any thread.
#include "tabular/sql/decimal.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace serval::tabular::sql {

namespace {

__extension__ using UInt128 = unsigned __int128;

constexpr int kLimbs = 8;  // 512 bits: 10^115 is what a division needs
constexpr uint64_t kTenTo19 = 10'000'000'000'000'000'000u;

// A magnitude and a sign.
struct Wide {
  std::array<uint64_t, kLimbs> limbs{};
  bool negative = false;

  static Wide of(Int128 value) {
    Wide made;
    made.negative = value < 0;
    const UInt128 magnitude =
        value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
    made.limbs[0] = static_cast<uint64_t>(magnitude);
    made.limbs[1] = static_cast<uint64_t>(magnitude >> 64);
    return made;
  }
  bool zero() const {
    return std::all_of(limbs.begin(), limbs.end(), [](uint64_t limb) { return limb == 0; });
  }
};

int compare_magnitudes(const Wide& a, const Wide& b) {
  for (int i = kLimbs - 1; i >= 0; --i) {
    const auto at = static_cast<size_t>(i);
    if (a.limbs[at] != b.limbs[at]) return a.limbs[at] < b.limbs[at] ? -1 : 1;
  }
  return 0;
}

void multiply_by(Wide& value, uint64_t factor) {
  UInt128 carry = 0;
  for (uint64_t& limb : value.limbs) {
    carry += static_cast<UInt128>(limb) * factor;
    limb = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
}

// Returns the remainder.
uint64_t divide_by(Wide& value, uint64_t divisor) {
  UInt128 rest = 0;
  for (int i = kLimbs - 1; i >= 0; --i) {
    uint64_t& limb = value.limbs[static_cast<size_t>(i)];
    rest = (rest << 64) | limb;
    limb = static_cast<uint64_t>(rest / divisor);
    rest %= divisor;
  }
  return static_cast<uint64_t>(rest);
}

uint64_t small_power(int power) {
  uint64_t value = 1;
  for (int i = 0; i < power; ++i) value *= 10;
  return value;
}

void scale_up(Wide& value, int digits) {
  for (; digits >= 19; digits -= 19) multiply_by(value, kTenTo19);
  if (digits > 0) multiply_by(value, small_power(digits));
}

// Truncates without rounding. `exact`: false if anything but zeros was dropped.
void scale_down(Wide& value, int digits, bool& exact) {
  for (; digits >= 19; digits -= 19) exact = divide_by(value, kTenTo19) == 0 && exact;
  if (digits > 0) exact = divide_by(value, small_power(digits)) == 0 && exact;
}

void add_magnitude(Wide& value, const Wide& other) {
  UInt128 carry = 0;
  for (size_t i = 0; i < kLimbs; ++i) {
    carry += static_cast<UInt128>(value.limbs[i]) + other.limbs[i];
    value.limbs[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
}

// value >= other.
void subtract_magnitude(Wide& value, const Wide& other) {
  uint64_t borrow = 0;
  for (size_t i = 0; i < kLimbs; ++i) {
    const UInt128 take = static_cast<UInt128>(other.limbs[i]) + borrow;
    borrow = value.limbs[i] < take ? 1 : 0;
    value.limbs[i] -= static_cast<uint64_t>(take);
  }
}

Wide sum(const Wide& a, const Wide& b) {
  Wide made = a;
  if (a.negative == b.negative) {
    add_magnitude(made, b);
  } else if (compare_magnitudes(a, b) >= 0) {
    subtract_magnitude(made, b);
  } else {
    made = b;
    subtract_magnitude(made, a);
  }
  return made;
}

Wide product(const Wide& a, Int128 b) {
  const Wide factor = Wide::of(b);
  Wide low = a, high = a;
  multiply_by(low, factor.limbs[0]);
  multiply_by(high, factor.limbs[1]);
  for (size_t i = kLimbs - 1; i > 0; --i) high.limbs[i] = high.limbs[i - 1];
  high.limbs[0] = 0;
  add_magnitude(low, high);
  low.negative = a.negative != factor.negative;
  return low;
}

// Divides the magnitudes: returns the quotient and sets `rest` to the remainder. Bit by bit,
// because it is rare.
Wide divided(const Wide& value, const Wide& divisor, Wide& rest) {
  Wide quotient;
  rest = Wide{};
  for (int bit = kLimbs * 64 - 1; bit >= 0; --bit) {
    add_magnitude(rest, Wide(rest));
    const auto limb = static_cast<size_t>(bit / 64);
    if (((value.limbs[limb] >> (bit % 64)) & 1) != 0) rest.limbs[0] |= 1;
    if (compare_magnitudes(rest, divisor) < 0) continue;
    subtract_magnitude(rest, divisor);
    quotient.limbs[limb] |= uint64_t{1} << (bit % 64);
  }
  return quotient;
}

bool rounds_away(Rounding rounding, bool negative, unsigned digit, bool exact_below, bool odd) {
  switch (rounding) {
    case Rounding::HalfUp: return digit >= 5;
    case Rounding::HalfEven: return digit > 5 || (digit == 5 && (!exact_below || odd));
    case Rounding::Floor: return negative && (digit != 0 || !exact_below);
    case Rounding::Ceiling: return !negative && (digit != 0 || !exact_below);
    case Rounding::Down: return false;
  }
  return false;
}

// value * 10^-from at the scale `to`, rounded once.
void change_scale(Wide& value, int from, int to, Rounding rounding) {
  if (to >= from) return scale_up(value, to - from);
  bool exact = true;
  scale_down(value, from - to - 1, exact);
  const auto digit = static_cast<unsigned>(divide_by(value, 10));
  if (!rounds_away(rounding, value.negative, digit, exact, (value.limbs[0] & 1) != 0)) return;
  Wide one;
  one.limbs[0] = 1;
  add_magnitude(value, one);
}

std::optional<Int128> fitting(const Wide& value, int precision) {
  if (compare_magnitudes(value, Wide::of(power_of_ten(precision))) >= 0) return std::nullopt;
  const auto magnitude =
      static_cast<Int128>((static_cast<UInt128>(value.limbs[1]) << 64) | value.limbs[0]);
  return value.negative ? -magnitude : magnitude;
}

SqlType cut(int precision, int scale) {
  if (precision <= kPrecisionMax) return decimal_type(precision, scale);
  const int whole = precision - scale;
  return decimal_type(kPrecisionMax, std::max(kPrecisionMax - whole, std::min(scale, 6)));
}

Wide aligned(Decimal value, int scale) {
  Wide made = Wide::of(value.unscaled);
  scale_up(made, scale - value.scale);
  return made;
}

}  // namespace

SqlType decimal_result(DecimalOp op, SqlType a, SqlType b) {
  const int whole_a = a.precision - a.scale, whole_b = b.precision - b.scale;
  switch (op) {
    case DecimalOp::Add:
    case DecimalOp::Subtract: {
      const int scale = std::max(a.scale, b.scale);
      return cut(std::max(whole_a, whole_b) + scale + 1, scale);
    }
    case DecimalOp::Multiply: return cut(a.precision + b.precision + 1, a.scale + b.scale);
    case DecimalOp::Divide: {
      const int scale = std::max(6, a.scale + b.precision + 1);
      return cut(whole_a + b.scale + scale, scale);
    }
    case DecimalOp::Remainder: break;
  }
  return cut(std::min(whole_a, whole_b) + std::max(a.scale, b.scale), std::max(a.scale, b.scale));
}

std::optional<Int128> decimal_compute(DecimalOp op, Decimal a, Decimal b, SqlType to) {
  Wide made;
  int scale = std::max(a.scale, b.scale);
  switch (op) {
    case DecimalOp::Add: made = sum(aligned(a, scale), aligned(b, scale)); break;
    case DecimalOp::Subtract:
      made = sum(aligned(a, scale), aligned({-b.unscaled, b.scale}, scale));
      break;
    case DecimalOp::Multiply:
      made = product(Wide::of(a.unscaled), b.unscaled);
      scale = a.scale + b.scale;
      break;
    case DecimalOp::Divide: {
      // To 39 digits first, and from there to the type: twice, as Spark.
      if (b.unscaled == 0) return std::nullopt;
      scale = kPrecisionMax + 1;
      Wide value = Wide::of(a.unscaled), rest;
      scale_up(value, scale + 1 + b.scale - a.scale);
      made = divided(value, Wide::of(b.unscaled), rest);
      made.negative = (a.unscaled < 0) != (b.unscaled < 0);
      change_scale(made, scale + 1, scale, Rounding::HalfUp);
      break;
    }
    case DecimalOp::Remainder:
      if (b.unscaled == 0) return std::nullopt;
      divided(aligned(a, scale), aligned(b, scale), made);
      made.negative = a.unscaled < 0;
      break;
  }
  change_scale(made, scale, to.scale, Rounding::HalfUp);
  return fitting(made, to.precision);
}

std::optional<Int128> decimal_rescale(Decimal value, SqlType to, Rounding rounding) {
  Wide made = Wide::of(value.unscaled);
  change_scale(made, value.scale, to.scale, rounding);
  return fitting(made, to.precision);
}

std::optional<int64_t> decimal_quotient(Decimal a, Decimal b) {
  if (b.unscaled == 0) return std::nullopt;
  const int scale = std::max(a.scale, b.scale);
  Wide rest;
  const Wide made = divided(aligned(a, scale), aligned(b, scale), rest);
  const uint64_t low = (a.unscaled < 0) != (b.unscaled < 0) ? -made.limbs[0] : made.limbs[0];
  return static_cast<int64_t>(low);
}

int decimal_compare(Decimal a, Decimal b) {
  if (a.scale == b.scale) return a.unscaled < b.unscaled ? -1 : (a.unscaled > b.unscaled ? 1 : 0);
  if ((a.unscaled < 0) != (b.unscaled < 0)) return a.unscaled < 0 ? -1 : 1;
  const int scale = std::max(a.scale, b.scale);
  const int order = compare_magnitudes(aligned(a, scale), aligned(b, scale));
  return a.unscaled < 0 ? -order : order;
}

int decimal_digits(Int128 value) {
  int digits = 1;
  for (value /= 10; value != 0; value /= 10) ++digits;
  return digits;
}

std::optional<Digits> digits_of_text(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  Digits made;
  size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) made.negative = text[at++] == '-';
  bool any = false, point = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      if (made.digits.empty() && c == '0') {
        if (point) --made.exponent;
        continue;
      }
      made.digits += c;
      if (!point) ++made.exponent;
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && text[at] == '+') ++at;
    int64_t exponent = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + text.size(), exponent);
    if (read.ec != std::errc{} || exponent > 1'000'000'000 || exponent < -1'000'000'000) {
      return std::nullopt;
    }
    at = static_cast<size_t>(read.ptr - text.data());
    made.exponent += exponent;
  }
  if (at != text.size()) return std::nullopt;
  return made;
}

Digits digits_of_real(double value) {
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  return *digits_of_text({buffer, static_cast<size_t>(end - buffer)});
}

std::optional<Int128> decimal_of_digits(const Digits& value, SqlType to, Rounding rounding) {
  if (value.digits.empty()) return Int128{0};
  if (value.exponent > to.precision - to.scale) return std::nullopt;
  // Digits to keep: those before the point and `scale` after it.
  const int64_t kept = value.exponent + to.scale;
  Int128 unscaled = 0;
  for (int64_t i = 0; i < kept; ++i) {
    const auto at = static_cast<size_t>(i);
    unscaled = unscaled * 10 + (at < value.digits.size() ? value.digits[at] - '0' : 0);
  }
  const auto count = static_cast<int64_t>(value.digits.size());
  if (kept < count) {
    const auto at = static_cast<size_t>(kept);
    const unsigned digit = kept < 0 ? 0 : static_cast<unsigned>(value.digits[at] - '0');
    const bool exact =
        kept >= 0 && value.digits.find_first_not_of('0', at + 1) == std::string::npos;
    if (rounds_away(rounding, value.negative, digit, exact, unscaled % 2 != 0)) ++unscaled;
  }
  if (unscaled >= power_of_ten(to.precision)) return std::nullopt;
  return value.negative ? -unscaled : unscaled;
}

}  // namespace serval::tabular::sql
