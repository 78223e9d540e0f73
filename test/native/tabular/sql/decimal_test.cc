// Decimals: exact inside, rounded once. Expected numbers are Java's BigDecimal's.
#include "tabular/sql/decimal.h"

#include <gtest/gtest.h>

namespace serval::tabular::sql {
namespace {

Int128 number(std::string_view text) {
  Int128 value = 0;
  const bool negative = text.front() == '-';
  for (const char c : text.substr(negative ? 1 : 0)) value = value * 10 + (c - '0');
  return negative ? -value : value;
}

std::string text_of(std::optional<Int128> value) {
  if (!value) return "none";
  char text[kDecimalTextMax];
  return {text, write_decimal(text, *value, 0)};
}

const std::string kNines(38, '9');

TEST(Decimal, TypesOfResults) {
  const SqlType a = decimal_type(10, 2), b = decimal_type(5, 3);
  EXPECT_EQ(decimal_result(DecimalOp::Add, a, b), decimal_type(12, 3));
  EXPECT_EQ(decimal_result(DecimalOp::Multiply, a, b), decimal_type(16, 5));
  EXPECT_EQ(decimal_result(DecimalOp::Divide, a, b), decimal_type(19, 8));
  EXPECT_EQ(decimal_result(DecimalOp::Remainder, a, b), decimal_type(5, 3));
  // A precision over 38 reduces the scale, but not below 6.
  const SqlType wide = decimal_type(38, 18);
  EXPECT_EQ(decimal_result(DecimalOp::Multiply, wide, wide), decimal_type(38, 6));
  EXPECT_EQ(decimal_result(DecimalOp::Divide, wide, wide), decimal_type(38, 6));
  EXPECT_EQ(decimal_result(DecimalOp::Add, wide, wide), decimal_type(38, 17));
}

TEST(Decimal, SumsOfDifferentScales) {
  const auto sum =
      decimal_compute(DecimalOp::Add, {number(kNines), 38}, {1, 0}, decimal_type(38, 37));
  EXPECT_EQ(text_of(sum), "2" + std::string(37, '0'));
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Subtract, {5, 1}, {500, 3}, decimal_type(5, 3))),
            "0");
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Subtract, {1, 0}, {25, 1}, decimal_type(5, 1))),
            "-15");
}

TEST(Decimal, WhatDoesNotFitIsNone) {
  const SqlType to = decimal_type(38, 0);
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Add, {number(kNines), 0}, {1, 0}, to)), "none");
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Multiply, {number(kNines), 0}, {-10, 0}, to)),
            "none");
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Divide, {1, 0}, {0, 0}, to)), "none");
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Remainder, {1, 0}, {0, 3}, to)), "none");
  EXPECT_EQ(text_of(decimal_rescale({100, 0}, decimal_type(2, 0))), "none");
}

TEST(Decimal, ProductsOfManyDigits) {
  const Int128 many = number("12345678901234567890123456789012345678");
  EXPECT_EQ(
      text_of(decimal_compute(DecimalOp::Multiply, {many, 37}, {many, 37}, decimal_type(38, 37))),
      "15241578753238836750495351562566681943");
  EXPECT_EQ(
      text_of(decimal_compute(DecimalOp::Multiply, {-many, 37}, {many, 38}, decimal_type(38, 38))),
      "-15241578753238836750495351562566681943");
}

TEST(Decimal, Quotients) {
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Divide, {1, 0}, {3, 0}, decimal_type(38, 37))),
            std::string(37, '3'));
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Divide, {-2, 0}, {3, 0}, decimal_type(10, 2))),
            "-67");
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Divide, {number(kNines), 0}, {number(kNines), 38},
                                    decimal_type(38, 0))),
            "none");
  EXPECT_EQ(decimal_quotient({-75, 1}, {2, 0}), -3);
  EXPECT_EQ(decimal_quotient({75, 1}, {0, 0}), std::nullopt);
}

TEST(Decimal, RemaindersHaveTheSignOfWhatIsDivided) {
  const SqlType to = decimal_type(10, 1);
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Remainder, {-75, 1}, {2, 0}, to)), "-15");
  EXPECT_EQ(text_of(decimal_compute(DecimalOp::Remainder, {75, 1}, {-2, 0}, to)), "15");
}

TEST(Decimal, Rounding) {
  const SqlType to = decimal_type(10, 0);
  const auto rounded = [&](Int128 tenths, Rounding how) {
    return text_of(decimal_rescale({tenths, 1}, to, how));
  };
  EXPECT_EQ(rounded(25, Rounding::HalfUp), "3");
  EXPECT_EQ(rounded(-25, Rounding::HalfUp), "-3");
  EXPECT_EQ(rounded(25, Rounding::HalfEven), "2");
  EXPECT_EQ(rounded(35, Rounding::HalfEven), "4");
  EXPECT_EQ(rounded(-21, Rounding::Floor), "-3");
  EXPECT_EQ(rounded(-29, Rounding::Ceiling), "-2");
  EXPECT_EQ(rounded(29, Rounding::Down), "2");
  // A remainder that is more than a half.
  EXPECT_EQ(text_of(decimal_rescale({2501, 3}, to, Rounding::HalfEven)), "3");
}

TEST(Decimal, Comparison) {
  EXPECT_EQ(decimal_compare({10, 1}, {1, 0}), 0);
  EXPECT_LT(decimal_compare({-1, 0}, {1, 38}), 0);
  EXPECT_GT(decimal_compare({-1, 38}, {-1, 0}), 0);
  EXPECT_GT(decimal_compare({number(kNines), 0}, {number(kNines), 1}), 0);
}

TEST(Decimal, OutOfText) {
  const auto read = [](std::string_view text, SqlType to) -> std::string {
    const auto digits = digits_of_text(text);
    return digits ? text_of(decimal_of_digits(*digits, to)) : "not a number";
  };
  const SqlType to = decimal_type(5, 2);
  EXPECT_EQ(read(" 1.005 ", to), "101");
  EXPECT_EQ(read("-0.004", to), "0");
  EXPECT_EQ(read("12e1", to), "12000");
  EXPECT_EQ(read("999.994", to), "99999");
  EXPECT_EQ(read("999.995", to), "none");
  EXPECT_EQ(read("1000", to), "none");
  EXPECT_EQ(read("0.00000000000000000000000000000000000000000000000009", to), "0");
  EXPECT_EQ(read("0e999999999", to), "0");
  for (const std::string_view bad : {"", ".", "1.2.3", "1e", "e5", "1 2", "0x1", "1e99999999999"}) {
    EXPECT_EQ(read(bad, to), "not a number") << bad;
  }
}

}  // namespace
}  // namespace serval::tabular::sql
