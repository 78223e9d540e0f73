// The fast number readers against the plain reader: the same values, to the bit, or left to the
// plain reader. Source: tfserving.md 1.4 (number grammar and tokens).
#include "codec/json/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codec/serving/json_body.h"
#include "support/json_v1_support.h"

namespace serval {
namespace {

struct Read {
  bool accepted = false;  // the reader consumed the whole text, up to the delimiter
  double value = 0;
};

Read read_fast(const std::string& number, char delimiter = ',') {
  const testing::PaddedBody body(number + delimiter, "7.e");
  const auto* begin = reinterpret_cast<const char*>(body.span().data());
  const char* end = begin + body.span().size();
  Read read;
  read.accepted = read_double(begin, end, read.value) == end - 1;
  return read;
}

JsonNumber read_plain(const std::string& number, bool& accepted) {
  Arena arena;
  JsonDocument document;
  const Status status = parse_json(number, arena, kTfJsonRules, &document);
  accepted = status.ok() && document.end_offset == number.size() &&
             document.root().kind == JsonKind::Number;
  return accepted ? document.root().number : JsonNumber();
}

// Fast accepts -> plain accepts, with the same bits (a NaN is a NaN).
void expect_agreement(const std::string& number) {
  const Read fast = read_fast(number);
  if (!fast.accepted) return;
  bool plain_accepts = false;
  const JsonNumber plain = read_plain(number, plain_accepts);
  ASSERT_TRUE(plain_accepts) << number;
  if (std::isnan(plain.f64)) {
    EXPECT_TRUE(std::isnan(fast.value)) << number;
  } else {
    EXPECT_EQ(std::bit_cast<uint64_t>(fast.value), std::bit_cast<uint64_t>(plain.f64)) << number;
  }
}

TEST(JsonNumber, AcceptsWhatJsonAllows) {
  for (const char* text : {"0",
                           "-0",
                           "-0.0",
                           "1",
                           "-1",
                           "10",
                           "1.5",
                           "-1.5",
                           "0.123456789",
                           "123456789012345",
                           "1234567890123456",
                           "-123456789012345",
                           "-1234567890123456",
                           "0.1234567890123",
                           "0.12345678901234",
                           "0.123456789012345",
                           "-0.123456789012",
                           "-0.1234567890123",
                           "9999999999999999999",
                           "18446744073709551615",
                           "99999999999999999999",
                           "1e5",
                           "1E5",
                           "1e+5",
                           "1e-5",
                           "1.25e-07",
                           "1.7976931348623157e308",
                           "5e-324",
                           "0e309",
                           "-0e5",
                           "NaN",
                           "-NaN",
                           "Inf",
                           "-Inf",
                           "Infinity",
                           "-Infinity",
                           "0.10000000149011612",
                           "0.30000000000000004",
                           "123456.789012345678901234567890",
                           "0.00000000000000000001234"}) {
    SCOPED_TRACE(text);
    for (char delimiter : {',', ']', '}', ' ', '\n'}) {
      EXPECT_TRUE(read_fast(text, delimiter).accepted);
    }
    expect_agreement(text);
  }
}

TEST(JsonNumber, TurnsDownTheRest) {
  for (const char* text :
       {"",      "-",     "--1",      "+1",      ".5",   "5.",        "-.5",  "01",    "-01",
        "00.5",  "1.5.5", "1e",       "1e+",     "1.e5", "1e5.5",     "0x10", "1_0",   "nan",
        "Nan",   "INF",   "infinity", "Infinit", "Infi", "InfinityX", "NaNs", "1e309", "-1e309",
        "1e400", "a",     "\"1\"",    "[1",      "- 1",  "1f",        "true", "\x80"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(read_fast(text).accepted);
  }
}

// A number cut off at the end of the text is never accepted because of the bytes after it.
TEST(JsonNumber, StopsAtTheEnd) {
  for (const std::string number : {"1", "-1.5", "0.123456789", "1234567890123456789", "1e5",
                                   "Infinity", "0.12345678901234567"}) {
    for (size_t length = 1; length <= number.size(); ++length) {
      const testing::PaddedBody body(number.substr(0, length), "1");
      const auto* begin = reinterpret_cast<const char*>(body.span().data());
      const char* end = begin + length;
      double value = 0;
      const char* stop = read_double(begin, end, value);
      EXPECT_TRUE(stop == nullptr || stop >= end) << number << " " << length;
      int64_t integer = 0;
      stop = read_integer(begin, end, integer);
      EXPECT_TRUE(stop == nullptr || stop >= end || *stop == '.' || *stop == 'e')
          << number << " " << length;
    }
  }
}

TEST(JsonNumber, AgreesOnRandomNumbers) {
  std::mt19937_64 random(20240521);
  size_t accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    const double value = std::bit_cast<double>(random());
    char text[64];
    const char* format = i % 4 == 0 ? "%.17g" : i % 4 == 1 ? "%.9g" : i % 4 == 2 ? "%.6e" : "%.3f";
    const double shown = i % 4 == 3 ? std::fmod(value, 1e9) : value;
    if (!std::isfinite(shown)) continue;
    std::snprintf(text, sizeof(text), format, shown);
    expect_agreement(text);
    accepted += read_fast(text).accepted;
  }
  EXPECT_GT(accepted, 190000u);
}

// Random mixtures of a number's characters, and numbers of any length with a point and an exponent.
TEST(JsonNumber, AgreesOnRandomTexts) {
  std::mt19937_64 random(7);
  const std::string characters = "0123456789012345678900..--+eE";
  for (int i = 0; i < 300000; ++i) {
    std::string text;
    if (i % 2 == 0) {
      for (size_t left = 1 + random() % 24; left != 0; --left) {
        text += characters[random() % characters.size()];
      }
    } else {
      const auto digits = [&](size_t most) {
        for (size_t left = 1 + random() % most; left != 0; --left) {
          text += static_cast<char>('0' + random() % 10);
        }
      };
      if (random() % 2) text += '-';
      digits(20);
      if (random() % 2) {
        text += '.';
        digits(20);
      }
      if (random() % 4 == 0) {
        text += random() % 2 ? "e-" : "E";
        digits(3);
      }
    }
    expect_agreement(text);
  }
}

// Midpoints between two doubles: the last of many digits decides.
TEST(JsonNumber, RoundsHalfwayCasesToEven) {
  for (const char* text :
       {"9007199254740993.0", "9007199254740993.00000000000000000000000000000000001",
        "9007199254740992.99999999999999999999999999999999999",
        "1.00000000000000011102230246251565", "1.00000000000000011102230246251566",
        "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308",
        "2.2250738585072014e-308", "7.2057594037927933e16"}) {
    expect_agreement(text);
  }
  EXPECT_EQ(read_fast("9007199254740993.0").value, 9007199254740992.0);
}

template <typename T>
void expect_integers() {
  std::mt19937_64 random(sizeof(T));
  const auto check = [](const std::string& text) {
    const testing::PaddedBody body(text + "]", "9");
    const auto* begin = reinterpret_cast<const char*>(body.span().data());
    const char* end = begin + body.span().size();
    T value = 0;
    const bool fast = read_integer(begin, end, value) == end - 1;
    bool number = false;
    const JsonNumber plain = read_plain(text, number);
    const bool integer = number && plain.form != JsonNumber::Form::Double;
    const bool large = plain.form == JsonNumber::Form::Uint64;
    const bool fits =
        integer && (large ? std::in_range<T>(plain.u64) : std::in_range<T>(plain.i64));
    ASSERT_EQ(fast, fits) << text;
    if (fast) {
      EXPECT_EQ(value, static_cast<T>(large ? plain.u64 : static_cast<uint64_t>(plain.i64)));
    }
  };
  const auto min = std::to_string(std::numeric_limits<T>::min());
  const auto max = std::to_string(std::numeric_limits<T>::max());
  for (const std::string& text :
       {min, max, max + "0", "-" + max, std::string("0"), std::string("-0"), std::string("-1"),
        std::string("00"), std::string("-"), std::string("1.0"), std::string("1e2"),
        std::string("18446744073709551615"), std::string("18446744073709551616"),
        std::string("9223372036854775808"), std::string("-9223372036854775809"),
        std::string("999999999999999999999999"), std::string("x"), std::string("NaN")}) {
    check(text);
  }
  for (int i = 0; i < 50000; ++i) {
    const uint64_t bits = random() >> (random() % 64);
    check((i % 2 ? "-" : "") + std::to_string(bits));
    check(std::to_string(static_cast<T>(bits)));
  }
}

TEST(JsonNumber, Integers) {
  expect_integers<int8_t>();
  expect_integers<uint8_t>();
  expect_integers<int16_t>();
  expect_integers<uint16_t>();
  expect_integers<int32_t>();
  expect_integers<uint32_t>();
  expect_integers<int64_t>();
  expect_integers<uint64_t>();
}

}  // namespace
}  // namespace serval
