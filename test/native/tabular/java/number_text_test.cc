// Numbers as Java writes them. Expected values are the results of Double.toString, Float.toString
// and BigDecimal.toString of JDK 19.
#include "tabular/java/number_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace serval::tabular {
namespace {

std::string of_float(float value) {
  std::string out;
  append_java_float(static_cast<double>(value), out);
  return out;
}

std::string of_decimal(Int128 unscaled, int scale) {
  std::string out;
  append_java_decimal(unscaled, scale, out);
  return out;
}

TEST(NumberText, Doubles) {
  EXPECT_EQ(java_double(0), "0.0");
  EXPECT_EQ(java_double(-0.0), "-0.0");
  EXPECT_EQ(java_double(1), "1.0");
  EXPECT_EQ(java_double(-12.5), "-12.5");
  EXPECT_EQ(java_double(100), "100.0");
  EXPECT_EQ(java_double(9999999), "9999999.0");
  EXPECT_EQ(java_double(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(java_double(1234567.125), "1234567.125");
}

TEST(NumberText, ExponentsFromTenMillionAndBelowAThousandth) {
  EXPECT_EQ(java_double(1e7), "1.0E7");
  EXPECT_EQ(java_double(12345678.9), "1.23456789E7");
  EXPECT_EQ(java_double(0.001), "0.001");
  EXPECT_EQ(java_double(0.00099), "9.9E-4");
  EXPECT_EQ(java_double(-1e-10), "-1.0E-10");
  EXPECT_EQ(java_double(1e100), "1.0E100");
}

TEST(NumberText, Extremes) {
  EXPECT_EQ(java_double(std::numeric_limits<double>::max()), "1.7976931348623157E308");
  EXPECT_EQ(java_double(std::numeric_limits<double>::denorm_min()), "4.9E-324");
  EXPECT_EQ(java_double(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(java_double(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_EQ(java_double(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(NumberText, FloatsHaveTheirOwnShortestText) {
  EXPECT_EQ(of_float(0.1F), "0.1");
  EXPECT_EQ(of_float(16777216.0F), "1.6777216E7");
  EXPECT_EQ(of_float(3.0F), "3.0");
}

TEST(NumberText, Decimals) {
  EXPECT_EQ(of_decimal(1230, 2), "12.30");
  EXPECT_EQ(of_decimal(-5, 2), "-0.05");
  EXPECT_EQ(of_decimal(0, 0), "0");
  EXPECT_EQ(of_decimal(0, 3), "0.000");
  EXPECT_EQ(of_decimal(42, 0), "42");
  EXPECT_EQ(of_decimal(1, 6), "0.000001");
  EXPECT_EQ(of_decimal(1, 7), "1E-7");
  EXPECT_EQ(of_decimal(-123, 10), "-1.23E-8");
  const Int128 large = static_cast<Int128>(9999999999999999999ULL) * 1000000000000000000LL;
  EXPECT_EQ(of_decimal(large, 0), "9999999999999999999000000000000000000");
}

}  // namespace
}  // namespace serval::tabular
