// The proleptic Gregorian calendar: conversions between day numbers and dates. Hot and control
// plane; pure, any thread. The text form of dates is defined by each protocol and format.
#pragma once

#include <cstdint>

namespace serval {

inline constexpr int64_t kDaySeconds = 86'400;
inline constexpr int64_t kSecondMicros = 1'000'000;
inline constexpr int64_t kDayMicros = kDaySeconds * kSecondMicros;

// The range of days whose microseconds fit 64 bits: about 292,000 years in both directions.
inline constexpr int64_t kMicrosDaysMax = INT64_MAX / kDayMicros;

// Whether 64 bits hold each of a day's microseconds, in any time zone.
constexpr bool has_micros(int64_t days) {
  return days <= kMicrosDaysMax - 2 && days >= 2 - kMicrosDaysMax;
}

// The first microsecond of a day; for days out of range, the nearest representable one.
constexpr int64_t micros_of_days(int64_t days) {
  if (days > kMicrosDaysMax) return INT64_MAX;
  return days < -kMicrosDaysMax ? INT64_MIN : days * kDayMicros;
}

struct Civil {
  int64_t year = 1970;
  int month = 1, day = 1;
};

// Rounds towards minus infinity; `by` is above 0.
constexpr int64_t floor_divide(int64_t value, int64_t by) {
  const int64_t quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}

// From 0 to by - 1.
constexpr int64_t floor_modulo(int64_t value, int64_t by) {
  const int64_t rest = value % by;
  return rest < 0 ? rest + by : rest;
}

constexpr bool is_leap(int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

// `month` from 1 to 12.
constexpr int days_in_month(int64_t year, int month) {
  if (month == 2) return is_leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Whether the date exists; for any year.
constexpr bool is_civil(const Civil& date) {
  return date.month >= 1 && date.month <= 12 && date.day >= 1 &&
         date.day <= days_in_month(date.year, date.month);
}

// Days since 1970-01-01. Counted in eras of 400 years that begin in March, so that the leap day is
// the last of a year.
constexpr int64_t days_of(const Civil& date) {
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t era = floor_divide(year, 400);
  const int64_t of_era = year - era * 400;
  const int64_t of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

constexpr Civil civil_of(int64_t days) {
  days += 719'468;
  const int64_t era = floor_divide(days, 146'097);
  const int64_t of_era = days - era * 146'097;
  const int64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const int64_t month = (5 * of_year + 2) / 153;
  Civil date;
  date.day = static_cast<int>(of_year - (153 * month + 2) / 5 + 1);
  date.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  date.year = year + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

// 0 = Monday.
constexpr int weekday_of(int64_t days) { return static_cast<int>(floor_modulo(days + 3, 7)); }

}  // namespace serval
