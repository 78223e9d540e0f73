// FP16 and BF16: all 65536 patterns of both, rounding ties, and no double rounding from double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/half.h"

namespace serval {
namespace {

bool half_is_nan(uint16_t h) { return (h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0; }
bool bf16_is_nan(uint16_t b) { return (b & 0x7f80) == 0x7f80 && (b & 0x7f) != 0; }

// The value of a pattern as a double, by the definition of IEEE 754.
double half_value(uint16_t h) {
  const double sign = h & 0x8000 ? -1 : 1;
  const int exponent = (h >> 10) & 0x1f;
  const int mantissa = h & 0x3ff;
  if (exponent == 31) return sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

double bf16_value(uint16_t b) {
  const double sign = b & 0x8000 ? -1 : 1;
  const int exponent = (b >> 7) & 0xff;
  const int mantissa = b & 0x7f;
  if (exponent == 255) return sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(mantissa, -133);
  return sign * std::ldexp(128 + mantissa, exponent - 134);
}

// Rounds to nearest even by search: of the two patterns around |value| the nearer one, or the even
// one if both are equally near. `largest` is the pattern of the largest finite value; infinity
// counts as the next step after it.
template <typename ValueOf>
uint16_t nearest(double value, uint16_t largest, ValueOf value_of) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  // the value that infinity represents for rounding
  const double beyond = 2 * value_of(largest) - value_of(largest - 1);
  const auto at = [&](uint16_t pattern) { return pattern > largest ? beyond : value_of(pattern); };
  if (magnitude >= beyond) return static_cast<uint16_t>(sign | (largest + 1));
  uint16_t low = 0, high = static_cast<uint16_t>(largest + 1);
  while (high - low > 1) {
    const uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (at(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - at(low), above = at(high) - magnitude;
  const bool up = above < below || (above == below && (low & 1));
  return static_cast<uint16_t>(sign | (up ? high : low));
}

uint16_t nearest_half(double value) { return nearest(value, 0x7bff, half_value); }
uint16_t nearest_bf16(double value) { return nearest(value, 0x7f7f, bf16_value); }

TEST(Half, AllPatternsHaveTheirValue) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const uint16_t h = static_cast<uint16_t>(i);
    const float value = half_to_float(h);
    if (half_is_nan(h)) {
      ASSERT_TRUE(std::isnan(value)) << i;
    } else {
      ASSERT_EQ(static_cast<double>(value), half_value(h)) << i;
      ASSERT_EQ(std::signbit(value), (h & 0x8000) != 0) << i;
    }
  }
}

TEST(Half, AllPatternsComeBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const uint16_t h = static_cast<uint16_t>(i);
    const uint16_t back = float_to_half(half_to_float(h));
    const uint16_t from_double = double_to_half(static_cast<double>(half_to_float(h)));
    if (half_is_nan(h)) {
      ASSERT_TRUE(half_is_nan(back) && (back & 0x200)) << i;  // a quiet NaN
      ASSERT_TRUE(half_is_nan(from_double)) << i;
    } else {
      ASSERT_EQ(back, h);
      ASSERT_EQ(from_double, h);
    }
  }
}

TEST(Bf16, AllPatternsHaveTheirValueAndComeBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const uint16_t b = static_cast<uint16_t>(i);
    const float value = bf16_to_float(b);
    if (bf16_is_nan(b)) {
      ASSERT_TRUE(std::isnan(value)) << i;
      ASSERT_TRUE(bf16_is_nan(float_to_bf16(value))) << i;
      ASSERT_TRUE(bf16_is_nan(double_to_bf16(static_cast<double>(value)))) << i;
    } else {
      ASSERT_EQ(static_cast<double>(value), bf16_value(b)) << i;
      ASSERT_EQ(float_to_bf16(value), b);
      ASSERT_EQ(double_to_bf16(static_cast<double>(value)), b);
    }
  }
}

// The midpoint of each two neighbours, and the doubles next to it: ties round to the even pattern,
// and a difference that float cannot hold still decides.
template <typename ValueOf, typename Convert>
void check_midpoints(uint16_t largest, ValueOf value_of, Convert convert) {
  for (uint16_t low = 0; low <= largest; ++low) {
    const uint16_t high = static_cast<uint16_t>(low + 1);
    const double step =
        low == largest ? value_of(low) - value_of(low - 1) : value_of(high) - value_of(low);
    const double middle = value_of(low) + step / 2;
    const uint16_t even = low & 1 ? high : low;
    ASSERT_EQ(convert(middle), even) << low;
    ASSERT_EQ(convert(std::nextafter(middle, 0.)), low) << low;
    ASSERT_EQ(convert(std::nextafter(middle, HUGE_VAL)), high) << low;
    ASSERT_EQ(convert(-middle), even | 0x8000) << low;
    ASSERT_EQ(convert(-std::nextafter(middle, HUGE_VAL)), high | 0x8000) << low;
    ASSERT_EQ(convert(-std::nextafter(middle, 0.)), low | 0x8000) << low;
  }
}

TEST(Half, MidpointsFromDouble) { check_midpoints(0x7bff, half_value, double_to_half); }
TEST(Bf16, MidpointsFromDouble) { check_midpoints(0x7f7f, bf16_value, double_to_bf16); }

// The same for float: midpoints of 16-bit values are exact in float (those of subnormal bf16
// values, too).
TEST(Half, MidpointsFromFloat) {
  for (uint16_t low = 0; low < 0x7bff; ++low) {
    const double middle = (half_value(low) + half_value(low + 1)) / 2;
    const float exact = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(exact), middle);
    ASSERT_EQ(float_to_half(exact), low & 1 ? low + 1 : low);
    ASSERT_EQ(float_to_half(std::nextafterf(exact, 0.f)), low);
    ASSERT_EQ(float_to_half(std::nextafterf(exact, HUGE_VALF)), low + 1);
  }
}

TEST(Bf16, MidpointsFromFloat) {
  for (uint16_t low = 0; low < 0x7f7f; ++low) {
    const float exact = static_cast<float>((bf16_value(low) + bf16_value(low + 1)) / 2);
    ASSERT_EQ(float_to_bf16(exact), low & 1 ? low + 1 : low);
    ASSERT_EQ(float_to_bf16(std::nextafterf(exact, 0.f)), low);
    ASSERT_EQ(float_to_bf16(std::nextafterf(exact, HUGE_VALF)), low + 1);
  }
}

TEST(Half, KnownDoubleRoundings) {
  // 1 + 2^-11 is the tie between 1 and 1 + 2^-10; float rounds away the bit below 2^-24.
  EXPECT_EQ(double_to_half(1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(double_to_half(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(double_to_half(1 + 0x1p-10 + 0x1p-11 - 0x1p-40), 0x3c01);
  EXPECT_EQ(double_to_half(0x1p-25), 0x0000);
  EXPECT_EQ(double_to_half(0x1p-25 + 0x1p-70), 0x0001);
  EXPECT_EQ(double_to_half(65519.999999999), 0x7bff);
  EXPECT_EQ(double_to_half(65520.), 0x7c00);
  EXPECT_EQ(double_to_bf16(1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(double_to_bf16(1 + 0x1p-8 + 0x1p-45), 0x3f81);
}

TEST(Half, Extremes) {
  const double huge = std::numeric_limits<double>::max();
  const double tiny = std::numeric_limits<double>::denorm_min();
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto convert : {double_to_half, double_to_bf16}) {
    const uint16_t inf = convert == double_to_half ? 0x7c00 : 0x7f80;
    EXPECT_EQ(convert(huge), inf);
    EXPECT_EQ(convert(-huge), inf | 0x8000);
    EXPECT_EQ(convert(infinity), inf);
    EXPECT_EQ(convert(-infinity), inf | 0x8000);
    EXPECT_EQ(convert(tiny), 0);
    EXPECT_EQ(convert(-tiny), 0x8000);
    EXPECT_EQ(convert(0.), 0);
    EXPECT_EQ(convert(-0.), 0x8000);
    EXPECT_TRUE(std::isnan(convert == double_to_half ? half_to_float(convert(nan))
                                                     : bf16_to_float(convert(nan))));
  }
  const float signalling = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(half_is_nan(float_to_half(signalling)));
  EXPECT_TRUE(bf16_is_nan(float_to_bf16(signalling)));
  // No value is above the largest float and below the tie with bf16's infinity; 1e39 is infinite.
  EXPECT_EQ(double_to_bf16(1e39), 0x7f80);
  EXPECT_EQ(double_to_bf16(3.39e38), 0x7f7f);
}

TEST(Half, RandomValuesAgainstSearch) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    // Any mantissa, with exponents slightly beyond both types' ranges.
    const uint64_t range = i % 2 ? 60 : 300;
    const uint64_t exponent = 1023 - range / 2 + random() % range;
    const uint64_t bits = (random() & 0x800fffffffffffffu) | exponent << 52;
    const double value = std::bit_cast<double>(bits);
    ASSERT_EQ(double_to_half(value), nearest_half(value)) << value;
    ASSERT_EQ(double_to_bf16(value), nearest_bf16(value)) << value;
    const float single = static_cast<float>(value);
    if (std::isinf(single)) continue;
    ASSERT_EQ(float_to_half(single), nearest_half(single)) << single;
    ASSERT_EQ(float_to_bf16(single), nearest_bf16(single)) << single;
  }
}

}  // namespace
}  // namespace serval
