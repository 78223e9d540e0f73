// Dates, wall-clock times and times of the day as text. Hot path; pure, any thread. Proleptic
// Gregorian, years 0001 to 9999. Source: tabular.md 2.1 X3, X4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace serval {

inline constexpr size_t kDateTextBytes = 10;       // "2021-02-01"
inline constexpr size_t kTimestampTextBytes = 19;  // "01/02/2021 00:00:00"
inline constexpr size_t kIsoTextBytesMax = 26;     // "2021-02-01T00:00:00.123456"
inline constexpr size_t kTimeTextBytes = 8;        // "23:59:59"

// Each reads all of `text`; false if it does not have the form, or is not a day or time of the
// calendar.

// "YYYY-MM-DD": days since 1970-01-01.
bool read_date(std::string_view text, int64_t& days);
// "dd/mm/yyyy HH:MM:SS": microseconds since 1970.
bool read_timestamp(std::string_view text, int64_t& micros);
// ISO 8601: "YYYY-MM-DD", then nothing, or 'T' or a blank and "HH:MM:SS", an optional fraction of
// up to six digits, and an optional zone (Z, +hh:mm). The zone is subtracted: the result is UTC's
// wall clock, and `zoned` says whether there was a zone.
bool read_iso_timestamp(std::string_view text, int64_t& micros, bool& zoned);
// "HH:MM:SS": seconds of a day.
bool read_time(std::string_view text, int64_t& seconds);

// Each writes at `out`, which has enough space for the text, and returns its end; nullptr if the
// value has no such text (a year outside of 0001 to 9999; seconds outside of a day).
char* write_date(char* out, int64_t days);
// Writes the second that contains `micros`.
char* write_timestamp(char* out, int64_t micros);
// Writes the fraction if there is one.
char* write_iso_timestamp(char* out, int64_t micros);
char* write_time(char* out, int64_t seconds);

}  // namespace serval
