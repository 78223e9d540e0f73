// Shortest round-trip text of float. Hot path; pure, any thread. Must not allocate.
// Schubfach (R. Giulietti, "The Schubfach way to render doubles", 2020) with one 64-bit
// multiplication per boundary; many at once: float_batch.cc. Integral floats below 2^32 are written
// exactly. Doubles: double_text.cc.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "codec/json/digits.h"
#include "codec/json/float_text.h"
#include "codec/json/text.h"

namespace serval {

namespace {

using namespace float_text;

// The product's integer part with a sticky last bit.
inline uint32_t round_to_odd(uint64_t power, uint32_t factor) {
  const Uint128 product = Uint128{power} * factor;
  const auto high = static_cast<uint32_t>(product >> 64);
  return high | static_cast<uint32_t>((static_cast<uint64_t>(product) >> 33) != 0);
}

// digits * 10^exponent; digits has up to nine digits, trailing zeros among them.
struct Decimal {
  uint32_t digits;
  int exponent;
};

// Finds the shortest decimal in the rounding interval of mantissa * 2^exponent, and of those the
// closest.
inline Decimal shortest_decimal(uint32_t mantissa, int exponent, bool lower_is_closer) {
  const uint32_t odd = mantissa & 1u;  // an odd mantissa excludes the ends of its interval
  const uint32_t lower_bound = 4 * mantissa - 2 + static_cast<uint32_t>(lower_is_closer);
  const int k = (exponent * 1262611 - (lower_is_closer ? 524031 : 0)) >> 22;
  const int shift = exponent + ((-k * 1741647) >> 19) + 1;
  const uint64_t power = kPowers[static_cast<size_t>(-k - kPowerMin)];
  const uint32_t lower = round_to_odd(power, lower_bound << shift) + odd;
  const uint32_t value = round_to_odd(power, (4 * mantissa) << shift);
  const uint32_t upper = round_to_odd(power, (4 * mantissa + 2) << shift) - odd;

  // Conditions are the numbers 0 and 1, combined arithmetically: the winning candidate is close to
  // random, and a mispredicted branch costs more than all of this.
  const uint32_t whole = value / 4;
  const uint32_t tens = whole / 10;
  const uint32_t tens_up = 40 * tens + 40 <= upper;
  const uint32_t shorter = (uint32_t{lower <= 40 * tens} ^ tens_up) & uint32_t{whole >= 10};
  const uint32_t ones_up = 4 * whole + 4 <= upper;
  const uint32_t one_inside = uint32_t{lower <= 4 * whole} ^ ones_up;
  const uint32_t middle = 4 * whole + 2;
  const uint32_t nearer_up = uint32_t{value > middle} | (uint32_t{value == middle} & whole);
  const uint32_t ones = whole + ((one_inside & ones_up) | (~one_inside & nearer_up & 1u));
  return {ones ^ ((ones ^ (10 * (tens + tens_up))) & (0 - shorter)), k};
}

constexpr std::array<uint32_t, 10> kPower32 = {1,      10,      100,      1000,      10000,
                                               100000, 1000000, 10000000, 100000000, 1000000000};

inline int digit_count(uint32_t value) {
  const int guess = (std::bit_width(value | 1u) * 1233) >> 12;
  return guess + static_cast<int>(value >= kPower32[static_cast<size_t>(guess)]);
}

inline char* write_decimal(char* out, Decimal decimal) {
  const int length = digit_count(decimal.digits);
  const int exponent = decimal.exponent + length - 1;  // the exponent of the first digit
  const uint32_t nine = decimal.digits * kPower32[static_cast<size_t>(9 - length)];
  const uint64_t rest = eight_digits(nine % 100000000);
  return lay_out(out, digit_vector(rest, nine / 100000000), significant_digits(rest),
                 kLayouts[static_cast<size_t>(exponent - kExponentMin)]);
}

char* write_token(char* out, bool negative, bool is_nan) {
  if (is_nan) {
    std::memcpy(out, "NaN", 3);
    return out + 3;
  }
  if (negative) *out++ = '-';
  std::memcpy(out, "Infinity", 8);
  return out + 8;
}

}  // namespace

char* write_float(char* out, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t fraction = bits & 0x7fffffu;
  const uint32_t biased = (bits >> 23) & 0xffu;
  if (biased == 0xff) [[unlikely]]
    return write_token(out, bits >> 31, fraction != 0);
  *out = '-';
  out += bits >> 31;
  if ((bits << 1) == 0) {
    std::memcpy(out, "0.0", 3);
    return out + 3;
  }
  if (biased == 0) [[unlikely]] {
    return write_decimal(out, shortest_decimal(fraction, -149, false));
  }
  const uint32_t mantissa = fraction | 0x800000u;
  const int exponent = static_cast<int>(biased) - 150;
  if (exponent >= 0 && exponent <= 8) {  // integral, 2^23 .. 2^32
    out = write_uint64(out, uint64_t{mantissa} << exponent);
    std::memcpy(out, ".0", 2);
    return out + 2;
  }
  return write_decimal(out, shortest_decimal(mantissa, exponent, fraction == 0 && biased > 1));
}

}  // namespace serval
