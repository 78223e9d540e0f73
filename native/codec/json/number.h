// Reads numbers of JSON text directly from the body. Hot path; pure, any thread. Borrows the text.
// A number of up to 15 bytes costs one 16-byte load, two bit scans and one shuffle, with no branch
// that depends on its length or sign; longer ones, exponents and NaN tokens need a second function.
//
// The caller passes the text's end; kBodyPadding bytes after it can be read and may hold anything.
// A reader that returns nullptr rejected the text: it is not a number, or the plain reader has to
// decide. JsonLexer accepts everything that these readers accept, with the same value.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "base/cpu/cpu.h"

namespace serval {

namespace json_number {

inline constexpr std::array<double, 23> kPowersOfTen = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// The positions of a number's parts within its first 16 bytes.
struct Layout {
  uint32_t negative;  // 1 if the first byte is not a digit (so it must be '-')
  uint32_t whole;     // index of the first byte after the integer's digits
  uint32_t end;       // index of the next byte that is not a digit; 16 and more = too long
};

inline Layout find_layout(const char* p) {
  const uint32_t other = cpu::not_digits(p);
  const uint32_t behind_sign = other & ~1u;  // never 0, nor without its lowest bit
  return {other & 1u, cpu::first_bit(behind_sign), cpu::first_bit(behind_sign & (behind_sign - 1))};
}

// 1 if the integer part is not certainly valid: no digits, leading zeros, a byte other than a sign
// before it, or too long to see its end.
inline uint32_t wrong_whole(const char* p, Layout at) {
  const uint32_t digits = at.whole - at.negative;
  return static_cast<uint32_t>(at.whole > 15) | static_cast<uint32_t>(digits == 0) |
         (static_cast<uint32_t>(digits > 1) & static_cast<uint32_t>(p[at.negative] == '0')) |
         (at.negative & static_cast<uint32_t>(*p != '-'));
}

// Reads the other numbers: any length, exponents, NaN and Infinity.
const char* read_double_general(const char* p, const char* end, double& out);
const char* read_integer_general(const char* p, const char* end, bool& negative,
                                 uint64_t& magnitude);

}  // namespace json_number

// Reads a number at `p` (below `end`) as the correctly rounded double; -0 is 0, -0.0 is -0.0.
// Returns its end, which may be after `end` if the text is cut off: the caller compares.
inline const char* read_double(const char* p, const char* end, double& out) {
  using namespace json_number;
  using cpu::gather_digits;
  const Layout at = find_layout(p);
  const char* first = p + at.negative;
  const uint32_t whole = at.whole - at.negative;
  const uint32_t wrong_front = wrong_whole(p, at);
  if (p[at.whole] == '.') {
    const uint32_t fraction = at.end - at.whole - 1;
    const char* stop = p + at.end;
    const uint32_t wrong = wrong_front | static_cast<uint32_t>(fraction == 0) |
                           static_cast<uint32_t>(at.end > 15) |
                           static_cast<uint32_t>((*stop | 0x20) == 'e');
    if (wrong) [[unlikely]]
      return read_double_general(p, end, out);
    const auto mantissa =
        static_cast<double>(static_cast<int64_t>(gather_digits(first, whole + fraction, whole)));
    const double magnitude = mantissa / kPowersOfTen[fraction];
    out = std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) |
                                (static_cast<uint64_t>(at.negative) << 63));
    return stop;
  }
  const char* stop = p + at.whole;
  if (wrong_front | static_cast<uint32_t>((*stop | 0x20) == 'e')) [[unlikely]] {
    return read_double_general(p, end, out);
  }
  const auto mantissa = static_cast<int64_t>(gather_digits(first, whole, 16));
  out = static_cast<double>(at.negative ? -mantissa : mantissa);
  return stop;
}

// Reads an integer at `p` (below `end`) that fits T. Returns its end as read_double() does. Does
// not check the next byte: a fraction or an exponent is the caller's "unexpected byte".
template <typename T>
inline const char* read_integer(const char* p, const char* end, T& out) {
  using namespace json_number;
  using cpu::gather_digits;
  const Layout at = find_layout(p);
  const uint32_t whole = at.whole - at.negative;
  bool negative = at.negative != 0;
  uint64_t magnitude = 0;
  const char* stop = p + at.whole;
  if (wrong_whole(p, at)) [[unlikely]] {
    stop = read_integer_general(p, end, negative, magnitude);
    if (stop == nullptr) return nullptr;
  } else {
    magnitude = gather_digits(p + at.negative, whole, 16);
  }
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<T>::max());
  constexpr uint64_t kBelowZero = std::numeric_limits<T>::min() < 0 ? kMax + 1 : 0;
  if (magnitude > (negative ? kBelowZero : kMax)) [[unlikely]]
    return nullptr;
  out = static_cast<T>(negative ? 0 - magnitude : magnitude);
  return stop;
}

}  // namespace serval
