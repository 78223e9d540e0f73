// Shortest round-trip text of double. Hot path; pure, any thread. Must not allocate. One 192-bit
// product decides nearly every value; Schubfach (R. Giulietti, "The Schubfach way to render
// doubles", 2020) decides those close to the end of their rounding interval or to a tie, and the
// powers of two. The text equals that of std::to_chars with the layout of floats (float_text.h),
// except that it is fixed for decimal exponents -5..15. Both tables are made at compile time; no
// branch depends on a value's length, since the lengths of neighbours differ at random. Source of
// the short way: Yaoyuan Guo's yy_double, as explained in V. Zverovich's Zmij.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/cpu/cpu.h"
#include "codec/json/text.h"

namespace serval {

namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr int kPowerMin = -292;
constexpr int kPowerMax = 324;
constexpr uint64_t kTenTo8 = 100'000'000;
constexpr uint64_t kTenTo16 = kTenTo8 * kTenTo8;

// 10^k as a 128-bit mantissa with its top bit set, rounded down, plus one.
struct Power {
  uint64_t low;
  uint64_t high;
};

// 5^324 takes 753 bits; 2^1023 / 5^292 keeps 345.
using Wide = std::array<uint64_t, 16>;

constexpr Power power_of(const Wide& value) {
  size_t words = value.size();
  while (value[words - 1] == 0) --words;
  const auto word = [&](size_t i) { return words > i ? value[words - 1 - i] : uint64_t{0}; };
  const int zeros = std::countl_zero(word(0));
  const auto aligned = [&](size_t i) {
    return zeros == 0 ? word(i) : word(i) << zeros | word(i + 1) >> (64 - zeros);
  };
  const Uint128 mantissa = (Uint128{aligned(0)} << 64 | aligned(1)) + 1;
  return {static_cast<uint64_t>(mantissa), static_cast<uint64_t>(mantissa >> 64)};
}

constexpr auto kPowers = [] {
  std::array<Power, kPowerMax - kPowerMin + 1> table{};
  Wide value{1};
  for (int k = 0; k <= kPowerMax; ++k) {
    table[static_cast<size_t>(k - kPowerMin)] = power_of(value);
    Uint128 carry = 0;
    for (uint64_t& word : value) {
      carry += Uint128{word} * 5;
      word = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }
  // floor(floor(x / 5) / 5) is floor(x / 25): the quotients stay exact.
  value = {};
  value.back() = 1ULL << 63;
  for (int k = -1; k >= kPowerMin; --k) {
    Uint128 rest = 0;
    for (size_t i = value.size(); i-- > 0;) {
      rest = rest << 64 | value[i];
      value[i] = static_cast<uint64_t>(rest / 5);
      rest %= 5;
    }
    table[static_cast<size_t>(k - kPowerMin)] = power_of(value);
  }
  return table;
}();

// digits * 10^exponent; digits has up to 17 digits, trailing zeros among them.
struct Decimal {
  uint64_t digits;
  int exponent;
};

inline int power_shift(int exponent, int k) { return exponent + ((-k * 1741647) >> 19) + 1; }

// The upper 128 bits of the 192 of power * factor.
inline Uint128 multiply(const Power& power, uint64_t factor) {
  const Uint128 low = Uint128{power.low} * factor;
  return Uint128{power.high} * factor + static_cast<uint64_t>(low >> 64);
}

// The product's integer part with a sticky last bit.
inline uint64_t round_to_odd(const Power& power, uint64_t factor) {
  const Uint128 product = multiply(power, factor);
  return static_cast<uint64_t>(product >> 64) |
         static_cast<uint64_t>((static_cast<uint64_t>(product) >> 1) != 0);
}

// Like shortest_decimal in float_text.cc, with the same names.
[[gnu::noinline]] Decimal schubfach(uint64_t mantissa, int exponent, bool lower_is_closer) {
  const uint64_t odd = mantissa & 1u;
  const uint64_t lower_bound = 4 * mantissa - 2 + static_cast<uint64_t>(lower_is_closer);
  const int k = (exponent * 1262611 - (lower_is_closer ? 524031 : 0)) >> 22;
  const int shift = power_shift(exponent, k);
  const Power& power = kPowers[static_cast<size_t>(-k - kPowerMin)];
  const uint64_t lower = round_to_odd(power, lower_bound << shift) + odd;
  const uint64_t value = round_to_odd(power, (4 * mantissa) << shift);
  const uint64_t upper = round_to_odd(power, (4 * mantissa + 2) << shift) - odd;

  const uint64_t whole = value / 4;
  const uint64_t tens = whole / 10;
  const bool tens_up = 40 * tens + 40 <= upper;
  if (whole >= 10 && (lower <= 40 * tens) != tens_up) return {10 * (tens + tens_up), k};
  const bool ones_up = 4 * whole + 4 <= upper;
  if ((lower <= 4 * whole) != ones_up) return {whole + ones_up, k};
  const uint64_t middle = 4 * whole + 2;
  return {whole + static_cast<uint64_t>(value > middle || (value == middle && whole % 2 != 0)), k};
}

// Finds the shortest decimal in the rounding interval of a normal value, and of those the closest.
inline Decimal shortest_decimal(uint64_t mantissa, int exponent, bool lower_is_closer) {
  const int k = (exponent * 1262611) >> 22;
  const int shift = power_shift(exponent, k);
  const Power& power = kPowers[static_cast<size_t>(-k - kPowerMin)];
  const Uint128 product = multiply(power, mantissa << shift);
  const auto whole = static_cast<uint64_t>(product >> 64);
  const auto part = static_cast<uint64_t>(product);  // the fraction, in units of 2^-64
  const uint64_t tens = whole / 10;
  // Within the group of ten, in units of 2^-60: the value, and half the distance to the next
  // double.
  constexpr uint64_t kTen = 10ULL << 60;
  const uint64_t place = (whole - tens * 10) << 60 | part >> 4;
  const uint64_t half = power.high >> (5 - shift);
  const uint64_t above = place + half;

  // The power is rounded and bits were shifted out, so a difference of up to 2 is undecided.
  const auto near = [](uint64_t a, uint64_t b) { return a - b + 2 <= 4; };
  if (static_cast<int>(lower_is_closer) | static_cast<int>(near(place, half)) |
      static_cast<int>(near(above, kTen)) | static_cast<int>(near(part, 1ULL << 63))) [[unlikely]] {
    return schubfach(mantissa, exponent, lower_is_closer);
  }
  // Uses masks because the winning candidate is close to random (and the compiler turns `?` into
  // branches).
  const uint64_t ones = whole + (part >> 63);
  const uint64_t tens_up = uint64_t{above > kTen};
  const uint64_t shorter = tens_up | uint64_t{place < half};
  return {ones ^ ((ones ^ (10 * (tens + tens_up))) & (0 - shorter)), k};
}

// The layout of a double of one decimal exponent.
struct Layout {
  uint8_t lead;           // bytes of "0.000" before its digits
  uint8_t point;          // index of the point among the digits; 17 = after all
  uint8_t beside_digits;  // 1: the point is among the text's bytes
  uint8_t bytes_min;      // "123.0" needs five even with fewer significant digits
  uint8_t bare;           // 1: a single digit is written without "." ("1e+20")
  uint8_t suffix_bytes;
  std::array<char, 8> suffix;  // "e+200"
};

constexpr int kExponentMin = -324;
constexpr int kExponentMax = 308;

constexpr Layout make_layout(int exponent) {
  Layout layout{};
  if (exponent < 0 && exponent >= -5) {
    layout.lead = static_cast<uint8_t>(1 - exponent);
    layout.point = 17;
    return layout;
  }
  const bool fixed = exponent >= 0 && exponent < 16;
  layout.point = static_cast<uint8_t>(fixed ? exponent + 1 : 1);
  layout.beside_digits = 1;
  layout.bytes_min = static_cast<uint8_t>(fixed ? exponent + 3 : 0);
  layout.bare = !fixed;
  if (fixed) return layout;
  const int magnitude = exponent < 0 ? -exponent : exponent;
  size_t at = 0;
  layout.suffix[at++] = 'e';
  layout.suffix[at++] = exponent < 0 ? '-' : '+';
  if (magnitude >= 100) layout.suffix[at++] = static_cast<char>('0' + magnitude / 100);
  layout.suffix[at++] = static_cast<char>('0' + magnitude / 10 % 10);
  layout.suffix[at++] = static_cast<char>('0' + magnitude % 10);
  layout.suffix_bytes = static_cast<uint8_t>(at);
  return layout;
}

constexpr auto kLayouts = [] {
  std::array<Layout, kExponentMax - kExponentMin + 1> table{};
  for (int exponent = kExponentMin; exponent <= kExponentMax; ++exponent) {
    table[static_cast<size_t>(exponent - kExponentMin)] = make_layout(exponent);
  }
  return table;
}();

// Row n moves the bytes from index n to the front of a register.
constexpr auto kFromByte = [] {
  std::array<uint8_t, 32> table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(i < 16 ? i : 0x80);
  return table;
}();

// Lays out 17 digits, the first of which is not 0. Touches up to 40 bytes.
inline char* lay_out(char* out, uint64_t seventeen, int exponent) {
  const uint64_t upper = seventeen / kTenTo8;
  const uint64_t first = upper / kTenTo8;
  const cpu::Bytes16 rest = cpu::sixteen_digits(static_cast<uint32_t>(upper - first * kTenTo8),
                                                static_cast<uint32_t>(seventeen - upper * kTenTo8));
  const auto significant = static_cast<uint32_t>(1 + std::bit_width(cpu::not_zero(rest)));
  const cpu::Bytes16 text = cpu::to_text(rest);
  const Layout& layout = kLayouts[static_cast<size_t>(exponent - kExponentMin)];

  std::memcpy(out, "0.000000", 8);
  out += layout.lead;
  *out = static_cast<char>('0' + first);
  cpu::store(out + 1, text);
  const cpu::Bytes16 after_point = cpu::pick(text, kFromByte.data() + layout.point - 1);
  out[layout.point] = '.';
  cpu::store(out + layout.point + 1, after_point);
  out += std::max<uint32_t>(significant + layout.beside_digits, layout.bytes_min) -
         (layout.bare & static_cast<uint32_t>(significant == 1));
  std::memcpy(out, layout.suffix.data(), layout.suffix.size());
  return out + layout.suffix_bytes;
}

// Writes zeros, subnormal values, and values that are not finite.
[[gnu::noinline]] char* write_special(char* out, uint64_t bits) {
  const uint64_t magnitude = bits << 1 >> 1;
  constexpr uint64_t kInfinity = 0x7ff0000000000000ULL;
  if (magnitude > kInfinity) {
    std::memcpy(out, "NaN", 3);
    return out + 3;
  }
  *out = '-';
  out += bits >> 63;
  if (magnitude == kInfinity) {
    std::memcpy(out, "Infinity", 8);
    return out + 8;
  }
  if (magnitude == 0) {
    std::memcpy(out, "0.0", 3);
    return out + 3;
  }
  Decimal decimal = schubfach(magnitude, -1074, false);
  for (; decimal.digits < kTenTo16; --decimal.exponent) decimal.digits *= 10;
  return lay_out(out, decimal.digits, decimal.exponent + 16);
}

inline char* write(char* out, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t fraction = bits & 0xfffffffffffffULL;
  const auto biased = static_cast<uint32_t>(bits >> 52) & 0x7ffu;
  if (biased - 1 >= 0x7fe) [[unlikely]]
    return write_special(out, bits);
  *out = '-';
  out += bits >> 63;
  const Decimal decimal =
      shortest_decimal(fraction | 1ULL << 52, static_cast<int>(biased) - 1075,
                       (static_cast<int>(fraction == 0) & static_cast<int>(biased > 1)) != 0);
  const auto sixteen = static_cast<int>(decimal.digits < kTenTo16);  // else 17 digits
  return lay_out(out, decimal.digits * (1 + 9 * static_cast<uint64_t>(sixteen)),
                 decimal.exponent + 16 - sixteen);
}

}  // namespace

char* write_double(char* out, double value) { return write(out, value); }

char* write_doubles(char* out, const uint8_t* data, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    double value = 0;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    out = write(out, value);
    *out++ = ',';
  }
  return out;
}

}  // namespace serval
