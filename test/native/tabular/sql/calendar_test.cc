// Dates, times and their patterns, as Spark reads and writes them.
#include "tabular/sql/calendar.h"

#include <gtest/gtest.h>

#include "tabular/sql/date_pattern.h"

namespace serval::tabular::sql {
namespace {

constexpr int64_t kSecond = 1'000'000, kDay = 86'400 * kSecond;

TEST(Calendar, Weeks) {
  EXPECT_EQ(iso_week_of(days_of({2021, 1, 3})), 53);
  EXPECT_EQ(iso_week_of(days_of({2021, 1, 4})), 1);
  EXPECT_EQ(iso_week_of(days_of({2018, 12, 31})), 1);
}

TEST(Calendar, ReadsDates) {
  EXPECT_EQ(date_of_text(" 2020-01-05 "), days_of({2020, 1, 5}));
  EXPECT_EQ(date_of_text("2020-1-5T9"), days_of({2020, 1, 5}));
  EXPECT_EQ(date_of_text("2020"), days_of({2020, 1, 1}));
  EXPECT_EQ(date_of_text("-0001-01-01"), days_of({-1, 1, 1}));
  for (const std::string_view bad :
       {"", "20", "2020-", "2020-1-", "2020-13-1", "2020-1-32", "x2020", "2020-01T",
        "12345678-01-01", "2020-001-01", "2020/01/01"}) {
    EXPECT_EQ(date_of_text(bad), std::nullopt) << bad;
  }
}

TEST(Calendar, ReadsTimestamps) {
  bool unknown = false;
  const auto at = [&](std::string_view text) { return timestamp_of_text(text, unknown); };
  EXPECT_EQ(at("1970-01-02 00:00:01.5"), kDay + 1'500'000);
  EXPECT_EQ(at("1970-01-01T00:00:00.1234567Z"), 123456);
  EXPECT_EQ(at("1970-01-01 01:00:00+01:00"), 0);
  EXPECT_EQ(at("1970-01-01 00:00:00 UTC-2"), 7200 * kSecond);
  EXPECT_EQ(at("1970-01-01 5:6"), (5 * 60 + 6) * 60 * kSecond);
  EXPECT_EQ(at("1970-01-01 "), 0) << "a trailing blank is ignored";
  for (const std::string_view bad :
       {"1970-01-01 24:00:00", "1970-01-01 00:60", "1970-01-01 00:00:60",
        "1970-01-01 00:00:00+19:00", "1970-01 00:00"}) {
    EXPECT_EQ(at(bad), std::nullopt) << bad;
    EXPECT_FALSE(unknown) << bad;
  }
  EXPECT_EQ(at("9999999-01-01"), std::nullopt);  // beyond 64 bits of microseconds
  EXPECT_EQ(at("-9999999-01-01 00:00:00"), std::nullopt);
  EXPECT_EQ(at("1970-01-01 00:00:00 Europe/Paris"), std::nullopt);
  EXPECT_TRUE(unknown);
}

TEST(Calendar, Texts) {
  EXPECT_EQ(date_text(days_of({987, 6, 5})), "0987-06-05");
  EXPECT_EQ(timestamp_text(-1), "1969-12-31 23:59:59.999999");
  EXPECT_EQ(timestamp_text(kDay + 120'000), "1970-01-02 00:00:00.12");
}

TEST(DatePattern, FormatsAndParses) {
  const int64_t time = days_of({2020, 5, 6}) * kDay + (13 * 3600 + 4 * 60 + 5) * kSecond + 250'000;
  const auto formatted = [&](std::string_view pattern) {
    auto made = DatePattern::compile(pattern);
    return made.ok() ? made.value().format(time) : made.error().message;
  };
  EXPECT_EQ(formatted("yyyy-MM-dd'T'HH:mm:ss.SSS"), "2020-05-06T13:04:05.250");
  EXPECT_EQ(formatted("d/M/yy h a"), "6/5/20 1 PM");
  EXPECT_EQ(formatted("EEEE, MMMM D ''"), "Wednesday, May 127 '");

  const auto parsed = [](std::string_view pattern, std::string_view text) {
    auto made = DatePattern::compile(pattern);
    return made.ok() ? made.value().parse(text) : std::nullopt;
  };
  EXPECT_EQ(parsed("yyyy-MM-dd'T'HH:mm:ss.SSS", "2020-05-06T13:04:05.250"), time);
  EXPECT_EQ(parsed("yyyyMMdd", "20200506"), days_of({2020, 5, 6}) * kDay);
  EXPECT_EQ(parsed("d MMM yyyy", "6 mAY 2020"), days_of({2020, 5, 6}) * kDay);
  EXPECT_EQ(parsed("hh:mm a", "12:30 am"), 30 * 60 * kSecond);
  EXPECT_EQ(parsed("HH", "07"), 7 * 3600 * kSecond);
  EXPECT_EQ(parsed("y-MM-dd", "999999999-05-06"), std::nullopt);
  EXPECT_EQ(parsed("yyyy-MM-dd", "2020-5-6"), std::nullopt);
  EXPECT_EQ(parsed("yyyy-MM-dd", "2020-02-30"), std::nullopt);
  EXPECT_EQ(parsed("yyyy-MM-dd", "2020-05-06 "), std::nullopt);
  EXPECT_EQ(parsed("yyyy D", "2021 366"), std::nullopt);
  EXPECT_EQ(parsed("HH:mm", "24:00"), std::nullopt);
}

TEST(DatePattern, RefusesUnsupportedLetters) {
  for (const std::string_view bad :
       {"yyyy-MM-dd z", "QQQ", "'open", "[yyyy]", "yyyyyyy", "w", "EEEEE"}) {
    EXPECT_FALSE(DatePattern::compile(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace serval::tabular::sql
