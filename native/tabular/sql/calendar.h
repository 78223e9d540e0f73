// Dates and times of the proleptic Gregorian calendar, without zones: days since 1970-01-01,
// microseconds since then. Pure; any thread.
// Source: tabular.md 10; Spark's DateTimeUtils for the texts that CAST takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace serval::tabular::sql {

struct Civil {
  int64_t year = 1970;
  int month = 1, day = 1;
};

int64_t days_of(Civil date);
Civil civil_of(int64_t days);
bool is_leap(int64_t year);
int days_in_month(int64_t year, int month);
bool is_civil(Civil date);
// 0 = Monday.
int weekday_of(int64_t days);
int iso_week_of(int64_t days);
int64_t add_months(int64_t days, int64_t months);

int64_t floor_divide(int64_t value, int64_t by);
int64_t floor_modulo(int64_t value, int64_t by);

// "2020-1-5", "2020", "2020-01-05T..."; none where it is no date.
std::optional<int64_t> date_of_text(std::string_view text);
// "2020-01-05 10:20:30.123+01:00" and its beginnings. `unknown_zone`: the zone is a name that is
// not known here.
std::optional<int64_t> timestamp_of_text(std::string_view text, bool& unknown_zone);
std::string date_text(int64_t days);
// Without a fraction where it is zero, else without its last zeros.
std::string timestamp_text(int64_t micros);

}  // namespace serval::tabular::sql
