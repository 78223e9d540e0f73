// The proleptic Gregorian calendar, as PMML's functions need it. Any thread.
#pragma once

#include <cstdint>

namespace serval::tabular::pmml {

constexpr int64_t kDaySeconds = 86'400;

struct Day {
  int32_t year = 1970, month = 1, day = 1;
};

// Days since 1970-01-01, by the usual formulas of 400-year eras that begin in March.
constexpr int64_t days_of(Day date) {
  const int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t of_era = year - era * 400;
  const int64_t of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

constexpr Day day_of(int64_t days) {
  const int64_t shifted = days + 719'468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const int64_t of_era = shifted - era * 146'097;
  const int64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const int64_t month = (5 * of_year + 2) / 153;
  Day made;
  made.day = static_cast<int32_t>(of_year - (153 * month + 2) / 5 + 1);
  made.month = static_cast<int32_t>(month < 10 ? month + 3 : month - 9);
  made.year = static_cast<int32_t>(year + era * 400 + (made.month <= 2 ? 1 : 0));
  return made;
}

// 0 is Sunday.
constexpr int week_day(int64_t days) { return static_cast<int>(((days + 4) % 7 + 7) % 7); }

constexpr int64_t seconds_of_micros(int64_t micros) {
  return micros / 1'000'000 - (micros % 1'000'000 < 0 ? 1 : 0);
}

}  // namespace serval::tabular::pmml
