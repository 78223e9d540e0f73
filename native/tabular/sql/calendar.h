// SQL dates and timestamps and their texts, without zones: days or microseconds since 1970-01-01.
// Pure; any thread. Source: tabular.md 10; Spark's DateTimeUtils for the texts that CAST accepts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/values/civil.h"

namespace serval::tabular::sql {

int iso_week_of(int64_t days);
int64_t add_months(int64_t days, int64_t months);

// "2020-1-5", "2020", "2020-01-05T..."; empty if it is not a date.
std::optional<int64_t> date_of_text(std::string_view text);
// "2020-01-05 10:20:30.123+01:00" and its prefixes. `unknown_zone`: the zone's name is unknown.
std::optional<int64_t> timestamp_of_text(std::string_view text, bool& unknown_zone);
std::string date_text(int64_t days);
// Omits a zero fraction, and trailing zeros of others.
std::string timestamp_text(int64_t micros);

}  // namespace serval::tabular::sql
