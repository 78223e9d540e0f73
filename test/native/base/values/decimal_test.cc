// Decimals to and from text and doubles. Source: tabular.md 2.1 X18.
#include "base/values/decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace serval {
namespace {

std::string decimal_of(std::string_view text, unsigned precision, unsigned scale) {
  Int128 value = 0;
  switch (read_decimal(text, precision, scale, value)) {
    case DecimalFault::NoNumber: return "no number";
    case DecimalFault::Overflow: return "overflow";
    case DecimalFault::None: break;
  }
  char out[kDecimalTextMax];
  return {out, write_decimal(out, value, scale)};
}

TEST(Decimals, RoundHalfUp) {
  EXPECT_EQ(decimal_of("10.12", 10, 5), "10.12000");
  EXPECT_EQ(decimal_of("2.345", 10, 2), "2.35");
  EXPECT_EQ(decimal_of("-2.345", 10, 2), "-2.35");
  EXPECT_EQ(decimal_of("2.3449999", 10, 2), "2.34");
  EXPECT_EQ(decimal_of("0.005", 10, 2), "0.01");
  EXPECT_EQ(decimal_of("0.0049", 10, 2), "0.00");
  EXPECT_EQ(decimal_of("0.5", 3, 0), "1");
  EXPECT_EQ(decimal_of("1e3", 5, 1), "1000.0");
  EXPECT_EQ(decimal_of("12345e-3", 5, 3), "12.345");
  EXPECT_EQ(decimal_of(".5", 3, 1), "0.5");
  EXPECT_EQ(decimal_of("1e-400", 38, 38), "0.00000000000000000000000000000000000000");
  EXPECT_EQ(decimal_of("-0", 3, 1), "0.0");
}

TEST(Decimals, Overflow) {
  EXPECT_EQ(decimal_of("999.99", 5, 2), "999.99");
  EXPECT_EQ(decimal_of("999.995", 5, 2), "overflow");
  EXPECT_EQ(decimal_of("1000", 5, 2), "overflow");
  EXPECT_EQ(decimal_of("1e400", 38, 0), "overflow");
  EXPECT_EQ(decimal_of("0e999999999999", 5, 2), "0.00");
  EXPECT_EQ(decimal_of("99999999999999999999999999999999999999", 38, 0),
            "99999999999999999999999999999999999999");
  EXPECT_EQ(decimal_of("100000000000000000000000000000000000000", 38, 0), "overflow");
  EXPECT_EQ(decimal_of("0.99999999999999999999999999999999999999", 38, 38),
            "0.99999999999999999999999999999999999999");
}

TEST(Decimals, WhatIsNone) {
  for (const char* text : {"", "-", ".", "1.2.3", "1e", "abc", " 1", "1 ", "0x10", "NaN", "1e+"}) {
    EXPECT_EQ(decimal_of(text, 10, 2), "no number") << text;
  }
}

TEST(Decimals, Doubles) {
  Int128 value = 0;
  ASSERT_EQ(round_decimal(0.1, 38, 20, value), DecimalFault::None);  // by its shortest text
  char out[kDecimalTextMax];
  EXPECT_EQ(std::string(out, write_decimal(out, value, 20)), "0.10000000000000000000");
  EXPECT_EQ(round_decimal(1.005, 10, 2, value), DecimalFault::None);
  EXPECT_EQ(std::string(out, write_decimal(out, value, 2)), "1.01");
  EXPECT_EQ(round_decimal(std::nan(""), 10, 2, value), DecimalFault::NoNumber);
  EXPECT_EQ(round_decimal(INFINITY, 10, 2, value), DecimalFault::NoNumber);
  EXPECT_EQ(decimal_to_double(123456, 3), 123.456);
  EXPECT_EQ(decimal_to_double(-1, 1), -0.1);
  EXPECT_EQ(decimal_to_double(power_of_ten(38) - 1, 0), 1e38);
  EXPECT_EQ(decimal_to_double(-1, 38), -1e-38);
}

TEST(Decimals, BecomeTheNearestDouble) {
  EXPECT_EQ(decimal_to_double(15, 1), 1.5);
  EXPECT_EQ(decimal_to_double(-1, 3), -0.001);
  EXPECT_EQ(decimal_to_double(1, 38), 1e-38);
  EXPECT_EQ(decimal_to_double(static_cast<Int128>(9007199254740993), 0), 9007199254740992.0);
  // 0.1234567890123456789012345678: more digits than a double has.
  const Int128 long_one =
      static_cast<Int128>(12345678901234ULL) * 100000000000000LL + 56789012345678LL;
  EXPECT_EQ(decimal_to_double(long_one, 28), 0.1234567890123456789012345678);
}

}  // namespace
}  // namespace serval
