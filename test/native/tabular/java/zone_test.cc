// Time zones that skip hours and repeat hours, and damaged tables.
#include "tabular/java/zone.h"

#include <gtest/gtest.h>

#include "tabular/column.h"

namespace serval::tabular {
namespace {

constexpr int64_t kSecond = 1'000'000, kHour = 3600 * kSecond, kDay = 24 * kHour;
// The offset changes from 1 to 2 hours after 100 days, back after 200, and a day ahead after 300.
constexpr double kTimes[] = {100 * 86'400.0, 200 * 86'400.0, 300 * 86'400.0};
constexpr int32_t kOffsets[] = {3600, 7200, 3600, 90'000};

Zone zone() { return *Zone::make("a zone", kTimes, kOffsets); }

TEST(Zone, InstantsAndBack) {
  const Zone made = zone();
  for (const int64_t day : {-1000, 0, 99, 150, 250, 400, 300'000}) {
    const int64_t instant = day * kDay + 12 * kHour;
    EXPECT_EQ(made.instant_of(made.wall_of(instant)), instant) << day;
  }
  EXPECT_EQ(made.wall_of(0), kHour);
  EXPECT_EQ(made.wall_of(150 * kDay), 150 * kDay + 2 * kHour);
}

TEST(Zone, SkippedTimesAreBehindTheGap) {
  const Zone made = zone();
  // local times from 1:00 to 2:00 do not exist
  const int64_t wall = 100 * kDay + kHour + kHour / 2;
  EXPECT_EQ(made.instant_of(wall), 100 * kDay + kHour / 2);
  EXPECT_EQ(made.wall_of(made.instant_of(wall)), wall + kHour);
  EXPECT_EQ(made.instant_of(wall - kHour), 100 * kDay - kHour / 2);
  EXPECT_EQ(made.instant_of(wall + kHour), 100 * kDay + kHour / 2);
}

TEST(Zone, TimesShownTwiceAreTheFirst) {
  const Zone made = zone();
  const int64_t wall = 200 * kDay + kHour + kHour / 2;
  EXPECT_EQ(made.instant_of(wall), 200 * kDay - kHour / 2);
  EXPECT_EQ(made.instant_of(wall, 2 * kHour), 200 * kDay - kHour / 2);
  EXPECT_EQ(made.instant_of(wall, kHour), 200 * kDay + kHour / 2);
  EXPECT_EQ(made.instant_of(wall, 5 * kHour), 200 * kDay - kHour / 2);
}

TEST(Zone, DaysBeginWhereClocksDo) {
  const Zone made = zone();
  EXPECT_EQ(made.start_of_day(150), 150 * kDay - 2 * kHour);
  // Day 301 is skipped, from 1:00 of the day before on: it begins at the gap's end.
  EXPECT_EQ(made.start_of_day(301), 300 * kDay);
  EXPECT_EQ(made.start_of_day(302), 302 * kDay - 25 * kHour);
}

TEST(Zone, BehindTheTableAsFourHundredYearsBefore) {
  // 2499-07-01, and the same day of 2899.
  constexpr double kLate[] = {16'709'328'000.0};
  constexpr int32_t kLateOffsets[] = {0, 3600};
  const auto made = Zone::make("late", kLate, kLateOffsets);
  ASSERT_TRUE(made);
  const int64_t cycle = 146'097 * kDay;
  const auto at = static_cast<int64_t>(kLate[0]) * kSecond;
  for (const int64_t cycles : {0, 1, 2, 17}) {
    EXPECT_EQ(made->offset_at(at + cycles * cycle - kSecond), 0) << cycles;
    EXPECT_EQ(made->offset_at(at + cycles * cycle), kHour) << cycles;
  }
}

TEST(Zone, EndsOfTime) {
  const Zone made = zone();
  for (const int64_t end : {INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(made.wall_of(end) > 0, end > 0);
    EXPECT_EQ(made.instant_of(end) > 0, end > 0);
  }
}

TEST(Zone, DamagedTables) {
  constexpr double kBack[] = {200, 100};
  constexpr double kNan[] = {__builtin_nan("")};
  constexpr int32_t kFew[] = {0}, kTwo[] = {0, 1}, kThree[] = {0, 1, 2}, kFar[] = {0, 100'000};
  constexpr double kOne[] = {100};
  EXPECT_FALSE(Zone::make("", kOne, kFew));
  EXPECT_FALSE(Zone::make("", kBack, kThree));
  EXPECT_FALSE(Zone::make("", kNan, kTwo));
  EXPECT_FALSE(Zone::make("", kOne, kFar));
  EXPECT_FALSE(Zone::make("", {}, {}));
  EXPECT_TRUE(Zone::make("", {}, kFew));
}

TEST(Zone, Columns) {
  const Zone made = zone();
  Column column;
  column.reset(Type::Timestamp, 2);
  column.integers = {kHour, 150 * kDay};
  made.to_instants(column);
  EXPECT_EQ(column.integers, (std::vector<int64_t>{0, 150 * kDay - 2 * kHour}));
  made.to_walls(column);
  EXPECT_EQ(column.integers, (std::vector<int64_t>{kHour, 150 * kDay}));
  column.reset(Type::List, 1, Type::Timestamp);
  column.integers = {kHour};
  made.to_instants(column);
  EXPECT_EQ(column.integers[0], 0);
  column.reset(Type::Date, 1);
  column.integers = {17};
  made.to_instants(column);
  EXPECT_EQ(column.integers[0], 17);
}

}  // namespace
}  // namespace serval::tabular
