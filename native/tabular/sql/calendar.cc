// Parsing and writing of SQL dates and timestamps. Pure; any thread.
#include "tabular/sql/calendar.h"

#include <algorithm>
#include <array>

#include "base/bytes/views.h"
#include "tabular/sql/number_text.h"

namespace serval::tabular::sql {

namespace {

// Reads up to `most` digits at `at`; -1 if there are fewer than `least` or more than `most`.
int64_t number_at(std::string_view text, size_t& at, size_t least, size_t most) {
  const size_t start = at;
  int64_t value = 0;
  while (at < text.size() && is_digit(text[at]) && at - start <= most) {
    value = value * 10 + (text[at++] - '0');
  }
  return at - start < least || at - start > most ? -1 : value;
}

bool take(std::string_view text, size_t& at, char c) {
  if (at >= text.size() || text[at] != c) return false;
  ++at;
  return true;
}

// [+-]yyyy[-m[m][-d[d]]]; `whole`: it has a day.
std::optional<Civil> date_at(std::string_view text, size_t& at, bool& whole) {
  bool negative = false;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) negative = text[at++] == '-';
  Civil date;
  date.year = number_at(text, at, 4, 7);
  if (date.year < 0) return std::nullopt;
  if (negative) date.year = -date.year;
  whole = false;
  if (take(text, at, '-')) {
    date.month = static_cast<int>(number_at(text, at, 1, 2));
    if (take(text, at, '-')) {
      date.day = static_cast<int>(number_at(text, at, 1, 2));
      whole = true;
    }
  }
  if (!is_civil(date)) return std::nullopt;
  return date;
}

// h[h][:m[m][:s[s][.fraction]]] as microseconds; -1: none.
int64_t time_at(std::string_view text, size_t& at) {
  int64_t parts[3] = {0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    parts[i] = number_at(text, at, 1, 2);
    if (parts[i] < 0) return -1;
    if (i < 2 && !take(text, at, ':')) break;
  }
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return -1;
  int64_t micros = 0;
  if (take(text, at, '.')) {
    int64_t unit = kSecondMicros / 10;
    for (; at < text.size() && is_digit(text[at]); ++at, unit /= 10) {
      micros += unit * (text[at] - '0');
    }
  }
  return ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * kSecondMicros + micros;
}

// "Z", "UTC", "+01:00", "-3"; empty for any other text.
std::optional<int64_t> zone_seconds(std::string_view zone) {
  zone = trimmed(zone);
  for (const std::string_view prefix : {"UTC", "GMT", "UT", "Z"}) {
    if (zone.substr(0, prefix.size()) != prefix) continue;
    zone.remove_prefix(prefix.size());
    if (zone.empty()) return 0;
    if (prefix == "Z") return std::nullopt;
    break;
  }
  if (zone.empty() || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
  size_t at = 1;
  int64_t parts[3] = {0, 0, 0};
  for (int64_t& part : parts) {
    part = number_at(zone, at, 1, 2);
    if (part < 0) return std::nullopt;
    if (!take(zone, at, ':')) break;
  }
  if (at != zone.size() || parts[0] > 18 || parts[1] > 59 || parts[2] > 59) return std::nullopt;
  const int64_t seconds = (parts[0] * 60 + parts[1]) * 60 + parts[2];
  return zone[0] == '-' ? -seconds : seconds;
}

void append_padded(std::string& text, int64_t value, size_t width) {
  const std::string digits = std::to_string(value);
  if (digits.size() < width) text.append(width - digits.size(), '0');
  text += digits;
}

}  // namespace

int iso_week_of(int64_t days) {
  // The week belongs to the year that its Thursday is in.
  const int64_t thursday = days - weekday_of(days) + 3;
  const int64_t first = days_of({civil_of(thursday).year, 1, 1});
  return static_cast<int>((thursday - first) / 7 + 1);
}

int64_t add_months(int64_t days, int64_t months) {
  const Civil from = civil_of(days);
  const int64_t count = from.year * 12 + from.month - 1 + months;
  Civil to;
  to.year = floor_divide(count, 12);
  to.month = static_cast<int>(floor_modulo(count, 12)) + 1;
  to.day = std::min(from.day, days_in_month(to.year, to.month));
  return days_of(to);
}

std::optional<int64_t> date_of_text(std::string_view text) {
  text = trimmed(text);
  size_t at = 0;
  bool whole = false;
  const auto date = date_at(text, at, whole);
  if (!date) return std::nullopt;
  // After a whole date, anything that follows a blank or a T is ignored.
  if (at != text.size() && !(whole && (text[at] == ' ' || text[at] == 'T'))) return std::nullopt;
  return days_of(*date);
}

std::optional<int64_t> timestamp_of_text(std::string_view text, bool& unknown_zone) {
  unknown_zone = false;
  text = trimmed(text);
  size_t at = 0;
  bool whole = false;
  const auto date = date_at(text, at, whole);
  if (!date) return std::nullopt;
  const int64_t days = days_of(*date);
  if (!has_micros(days)) return std::nullopt;
  const int64_t day = days * kDayMicros;
  if (at == text.size()) return day;
  if (!whole || (text[at] != ' ' && text[at] != 'T')) return std::nullopt;
  ++at;
  const int64_t time = time_at(text, at);
  if (time < 0) return std::nullopt;
  if (at == text.size()) return day + time;
  const auto zone = zone_seconds(text.substr(at));
  if (zone) return day + time - *zone * kSecondMicros;
  const char first = trimmed(text.substr(at)).front();
  unknown_zone = (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
  return std::nullopt;
}

std::string date_text(int64_t days) {
  const Civil date = civil_of(days);
  std::string text = date.year < 0 ? "-" : (date.year > 9999 ? "+" : "");
  append_padded(text, date.year < 0 ? -date.year : date.year, 4);
  text += '-';
  append_padded(text, date.month, 2);
  text += '-';
  append_padded(text, date.day, 2);
  return text;
}

std::string timestamp_text(int64_t micros) {
  const int64_t day = floor_divide(micros, kDayMicros), time = floor_modulo(micros, kDayMicros);
  std::string text = date_text(day) + " ";
  append_padded(text, time / (3600 * kSecondMicros), 2);
  text += ':';
  append_padded(text, time / (60 * kSecondMicros) % 60, 2);
  text += ':';
  append_padded(text, time / kSecondMicros % 60, 2);
  if (time % kSecondMicros == 0) return text;
  text += '.';
  append_padded(text, time % kSecondMicros, 6);
  while (text.back() == '0') text.pop_back();
  return text;
}

}  // namespace serval::tabular::sql
