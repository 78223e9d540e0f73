// Dates, times and numbers as text. Source: tabular.md 2.1 X3, X4, X25.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "codec/values/calendar.h"
#include "codec/values/text_values.h"

namespace serval {
namespace {

std::string date_text(int64_t days) {
  char text[kDateTextBytes];
  char* end = write_date(text, days);
  return end == nullptr ? "none" : std::string(text, end);
}

TEST(Calendar, DatesThereAndBack) {
  const std::pair<std::string_view, int64_t> cases[] = {
      {"1970-01-01", 0},     {"1969-12-31", -1},      {"2000-02-29", 11016},
      {"2021-02-01", 18659}, {"0001-01-01", -719162}, {"9999-12-31", 2932896},
      {"1900-03-01", -25508}};
  for (const auto& [text, days] : cases) {
    int64_t read = 0;
    ASSERT_TRUE(read_date(text, read)) << text;
    EXPECT_EQ(read, days) << text;
    EXPECT_EQ(date_text(days), text);
  }
  for (int64_t days = -719162; days <= 2932896; days += 97) {
    int64_t read = 0;
    ASSERT_TRUE(read_date(date_text(days), read));
    ASSERT_EQ(read, days);
  }
}

TEST(Calendar, WhatIsNoDate) {
  for (const char* text :
       {"", "2021-2-1", "2021-02-30", "2021-13-01", "2021-00-10", "2021-01-00", "0000-01-01",
        "1900-02-29", "2021/02/01", "2021-02-01 ", " 2021-02-01", "20210-2-01", "2021-02-0a",
        "-021-02-01", "01-02-2021", "2021-02-01T00:00:00"}) {
    int64_t days = 0;
    EXPECT_FALSE(read_date(text, days)) << text;
  }
  EXPECT_EQ(date_text(-719163), "none");
  EXPECT_EQ(date_text(2932897), "none");
  EXPECT_EQ(date_text(INT64_MAX / 2), "none");
}

TEST(Calendar, TimestampsAreDayFirst) {
  int64_t micros = 0;
  ASSERT_TRUE(read_timestamp("01/02/2021 03:04:05", micros));
  EXPECT_EQ(micros, (18659 * INT64_C(86400) + 3 * 3600 + 4 * 60 + 5) * 1'000'000);
  char text[kIsoTextBytesMax];
  EXPECT_EQ(std::string(text, write_timestamp(text, micros)), "01/02/2021 03:04:05");
  EXPECT_EQ(std::string(text, write_iso_timestamp(text, micros + 1)), "2021-02-01T03:04:05.000001");
  EXPECT_EQ(std::string(text, write_timestamp(text, -1)), "31/12/1969 23:59:59");
  for (const char* wrong :
       {"", "1/2/2021 03:04:05", "01/13/2021 00:00:00", "32/01/2021 00:00:00",
        "01/02/2021 24:00:00", "01/02/2021 00:60:00", "01/02/2021 00:00:60", "01/02/2021T00:00:00",
        "01/02/2021 00:00:00Z", "2021-02-01 00:00:00", "01/02/2021", "29/02/2021 00:00:00"}) {
    EXPECT_FALSE(read_timestamp(wrong, micros)) << wrong;
  }
  EXPECT_EQ(write_timestamp(text, INT64_MAX), nullptr);
}

TEST(Calendar, IsoTimestamps) {
  const int64_t day = 18659 * INT64_C(86400) * 1'000'000;
  const std::tuple<std::string_view, int64_t, bool> cases[] = {
      {"2021-02-01", 0, false},
      {"2021-02-01T00:00:01", 1'000'000, false},
      {"2021-02-01 00:00:01.5", 1'500'000, false},
      {"2021-02-01T00:00:00.000001Z", 1, true},
      {"2021-02-01T02:00:00+02:00", 0, true},
      {"2021-02-01T00:00:00-01:30", 5'400'000'000, true}};
  for (const auto& [text, offset, zone] : cases) {
    int64_t micros = 0;
    bool zoned = false;
    ASSERT_TRUE(read_iso_timestamp(text, micros, zoned)) << text;
    EXPECT_EQ(micros, day + offset) << text;
    EXPECT_EQ(zoned, zone) << text;
  }
  for (const char* wrong :
       {"", "2021-02-01T", "2021-02-01T00:00", "2021-02-01T00:00:00.",
        "2021-02-01T00:00:00.1234567", "2021-02-01T00:00:00+2:00", "2021-02-01T00:00:00+02",
        "2021-02-01T00:00:00+19:00", "2021-02-01x00:00:00", "2021-02-01T00:00:00ZZ"}) {
    int64_t micros = 0;
    bool zoned = false;
    EXPECT_FALSE(read_iso_timestamp(wrong, micros, zoned)) << wrong;
  }
}

TEST(Calendar, Times) {
  int64_t seconds = 0;
  ASSERT_TRUE(read_time("23:59:59", seconds));
  EXPECT_EQ(seconds, 86399);
  char text[kTimeTextBytes];
  EXPECT_EQ(std::string(text, write_time(text, 3661)), "01:01:01");
  EXPECT_EQ(write_time(text, 86400), nullptr);
  EXPECT_EQ(write_time(text, -1), nullptr);
  EXPECT_FALSE(read_time("24:00:00", seconds));
  EXPECT_FALSE(read_time("1:00:00", seconds));
}

TEST(TextValues, Numbers) {
  int64_t integer = 0;
  double real = 0;
  for (const auto& [text, value] : {std::pair<std::string_view, int64_t>{"12", 12},
                                    {"+12", 12},
                                    {"-9223372036854775808", INT64_MIN},
                                    {"3.0", 3},
                                    {"1e2", 100}}) {
    ASSERT_TRUE(read_integer_text(text, integer)) << text;
    EXPECT_EQ(integer, value) << text;
  }
  for (const char* text : {"", "3.5", "abc", "+-3", "9223372036854775808", "1e300", "NaN", " 3"}) {
    EXPECT_FALSE(read_integer_text(text, integer)) << text;
  }
  ASSERT_TRUE(read_double_text("-Infinity", real));
  EXPECT_EQ(real, -INFINITY);
  ASSERT_TRUE(read_double_text("NaN", real));
  EXPECT_TRUE(std::isnan(real));
  ASSERT_TRUE(read_double_text("-.5e1", real));
  EXPECT_EQ(real, -5);
  for (const char* text : {"", "nan", "inf", "infinity", "1,5", "0x1p3", "1.5x", "--1"}) {
    EXPECT_FALSE(read_double_text(text, real)) << text;
  }
  uint8_t truth = 0;
  EXPECT_TRUE(read_bool_text("TRUE", truth) && truth == 1);
  EXPECT_TRUE(read_bool_text("false", truth) && truth == 0);
  EXPECT_FALSE(read_bool_text("1", truth));
}

}  // namespace
}  // namespace serval
