// The calendar: days to dates and back.
#include "base/values/civil.h"

#include <gtest/gtest.h>

namespace serval {
namespace {

TEST(Civil, DaysAndBack) {
  EXPECT_EQ(days_of({1970, 1, 1}), 0);
  EXPECT_EQ(days_of({2000, 2, 29}), 11016);
  EXPECT_EQ(days_of({1, 1, 1}), -719162);
  EXPECT_EQ(days_of({9999, 12, 31}), 2932896);
  for (int64_t days = -800'000; days < 3'000'000; days += 97) {
    const Civil date = civil_of(days);
    ASSERT_TRUE(is_civil(date)) << days;
    ASSERT_EQ(days_of(date), days);
  }
}

TEST(Civil, LeapYears) {
  EXPECT_TRUE(is_leap(2000) && is_leap(2024));
  EXPECT_FALSE(is_leap(1900) || is_leap(2023));
  EXPECT_TRUE(is_civil({2000, 2, 29}));
  EXPECT_FALSE(is_civil({1900, 2, 29}) || is_civil({2020, 0, 1}) || is_civil({2020, 13, 1}));
  EXPECT_FALSE(is_civil({2020, 4, 31}) || is_civil({2020, 4, 0}));
}

TEST(Civil, WeekDays) {
  EXPECT_EQ(weekday_of(0), 3);  // a Thursday
  EXPECT_EQ(weekday_of(-3), 0);
  EXPECT_EQ(weekday_of(-4), 6);
}

TEST(Civil, DivisionTowardsMinusInfinity) {
  EXPECT_EQ(floor_divide(-1, 7), -1);
  EXPECT_EQ(floor_divide(-7, 7), -1);
  EXPECT_EQ(floor_modulo(-1, 7), 6);
  EXPECT_EQ(floor_modulo(-7, 7), 0);
}

TEST(Civil, MicrosOfDaysAreBounded) {
  EXPECT_TRUE(has_micros(0) && has_micros(kMicrosDaysMax - 2));
  EXPECT_FALSE(has_micros(kMicrosDaysMax) || has_micros(INT64_MIN) || has_micros(INT64_MAX));
  EXPECT_EQ(micros_of_days(-1), -kDayMicros);
  EXPECT_EQ(micros_of_days(kMicrosDaysMax), kMicrosDaysMax * kDayMicros);
  EXPECT_EQ(micros_of_days(kMicrosDaysMax + 1), INT64_MAX);
  EXPECT_EQ(micros_of_days(-kMicrosDaysMax - 1), INT64_MIN);
}

}  // namespace
}  // namespace serval
