// Tables of the float writers (float_text.cc, float_batch.cc): powers of ten and text layouts, made
// at compile time. Hot path; constant data only.
//
// Layout (Source: tfserving.md 1.6, v2-protocol.md 1.2 and 9): fixed for decimal exponents -5..8,
// else d.ddde+XX with two exponent digits, as printf writes them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/cpu/cpu.h"
#include "codec/json/digits.h"

namespace serval::float_text {

__extension__ using Uint128 = unsigned __int128;

inline constexpr int kPowerMin = -31;
inline constexpr int kPowerMax = 45;

// 10^k as a 64-bit mantissa with its top bit set, rounded down, plus one.
constexpr uint64_t power_mantissa(int k) {
  Uint128 five = 1;  // 5^45 takes 105 bits
  for (int i = 0; i < (k < 0 ? -k : k); ++i) five *= 5;
  if (k >= 0) {
    int width = 0;
    while (width < 128 && (five >> width) != 0) ++width;
    const Uint128 top = width > 64 ? five >> (width - 64) : five << (64 - width);
    return static_cast<uint64_t>(top) + 1;
  }
  // 2^n / 5^-k by long division, until the quotient has 64 bits; 5^31 takes 72 bits.
  Uint128 remainder = 1;
  uint64_t quotient = 0;
  while ((quotient >> 63) == 0) {
    remainder <<= 1;
    quotient <<= 1;
    if (remainder >= five) {
      remainder -= five;
      quotient |= 1;
    }
  }
  return quotient + 1;
}

inline constexpr auto kPowers = [] {
  std::array<uint64_t, kPowerMax - kPowerMin + 1> table{};
  for (int k = kPowerMin; k <= kPowerMax; ++k) {
    table[static_cast<size_t>(k - kPowerMin)] = power_mantissa(k);
  }
  return table;
}();

// The layout of a float of one decimal exponent: the place of each digit, and the suffix.
struct Layout {
  std::array<uint8_t, 16> places;  // index of each text byte in the digit vector
  std::array<char, 4> suffix;      // "e+20"
  uint8_t suffix_bytes;
  uint8_t beside_digits;  // bytes of the text that are not significant digits ("0.00", ".")
  uint8_t bytes_min;      // "123.0" needs five even with fewer significant digits
  uint8_t bare;           // 1: a single digit is written without "." ("1e+20")
};

inline constexpr int kExponentMin = -45;
inline constexpr int kExponentMax = 38;

constexpr Layout make_layout(int exponent) {
  constexpr uint8_t kFirst = 8, kZero = 9, kPoint = 10;
  const auto digit = [](int i) {
    return i == 0 ? kFirst : i > 8 ? kZero : static_cast<uint8_t>(i - 1);
  };
  Layout layout{};
  size_t at = 0;
  if (exponent < 0 && exponent >= -5) {
    layout.places[at++] = kZero;
    layout.places[at++] = kPoint;
    for (int i = exponent; i < -1; ++i) layout.places[at++] = kZero;
    layout.beside_digits = static_cast<uint8_t>(at);
    for (int i = 0; at < 16; ++i) layout.places[at++] = digit(i);
    return layout;
  }
  const bool fixed = exponent >= 0 && exponent < 9;
  const int before = fixed ? exponent + 1 : 1;
  for (int i = 0; i < before; ++i) layout.places[at++] = digit(i);
  layout.places[at++] = kPoint;
  for (int i = before; at < 16; ++i) layout.places[at++] = digit(i);
  layout.beside_digits = 1;
  layout.bare = !fixed;
  layout.bytes_min = static_cast<uint8_t>(fixed ? before + 2 : 0);
  if (fixed) return layout;
  const int magnitude = exponent < 0 ? -exponent : exponent;
  layout.suffix_bytes = 4;
  layout.suffix = {'e', exponent < 0 ? '-' : '+', static_cast<char>('0' + magnitude / 10),
                   static_cast<char>('0' + magnitude % 10)};
  return layout;
}

inline constexpr auto kLayouts = [] {
  std::array<Layout, kExponentMax - kExponentMin + 1> table{};
  for (int exponent = kExponentMin; exponent <= kExponentMax; ++exponent) {
    table[static_cast<size_t>(exponent - kExponentMin)] = make_layout(exponent);
  }
  return table;
}();

// The digit vector: the text of digits 1..8 of nine, digit 0, '0', '.'.
inline cpu::Bytes16 digit_vector(uint64_t digits_1_to_8, uint32_t digit_0) {
  return cpu::two_words(digits_1_to_8 | kEightZeros, digit_0 + 0x2e3030);
}

// Lays out a digit vector; `significant` is its number of digits without trailing zeros. Writes up
// to 20 bytes. Has no branches: the exponents of neighbouring values differ at random.
inline char* lay_out(char* out, cpu::Bytes16 digits, uint32_t significant, const Layout& layout) {
  cpu::store(out, cpu::pick(digits, layout.places.data()));
  const uint32_t bytes = std::max<uint32_t>(significant + layout.beside_digits, layout.bytes_min);
  out += bytes - (layout.bare & static_cast<uint32_t>(significant == 1));
  std::memcpy(out, layout.suffix.data(), 4);
  return out + layout.suffix_bytes;
}

// The number of significant digits of nine, from the values (not texts) of digits 1..8.
inline uint32_t significant_digits(uint64_t digits_1_to_8) {
  return 9 - static_cast<uint32_t>(std::countl_zero(digits_1_to_8)) / 8;
}

// Writes elements as text, each followed by a comma. Needs kFloatTextMax + 1 bytes per element.
// Borrows data (floats, any alignment).
char* write_floats(char* out, const uint8_t* data, uint64_t count);

// The same in rows of `row` elements (`count` is a multiple of it): writes "],[" instead of the
// comma after each row. Short rows fill the batches as well as long ones do.
char* write_float_rows(char* out, const uint8_t* data, uint64_t count, uint64_t row);

}  // namespace serval::float_text
