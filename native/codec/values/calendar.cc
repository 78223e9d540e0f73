// Parses and formats dates and times. Hot path; any thread.
#include "codec/values/calendar.h"

#include "base/values/civil.h"

namespace serval {

namespace {

constexpr int64_t kFirstDay = days_of({1, 1, 1});
constexpr int64_t kLastDay = days_of({9999, 12, 31});
static_assert(days_of({1970, 1, 1}) == 0 && days_of({2000, 3, 1}) == 11017);

// Reads `count` digits at `at`. False: other characters.
bool digits(const char* at, size_t count, unsigned& out) {
  out = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto digit = static_cast<unsigned>(at[i]) - '0';
    if (digit > 9) return false;
    out = out * 10 + digit;
  }
  return true;
}

bool read_day(unsigned year, unsigned month, unsigned day, int64_t& days) {
  const Civil date{year, static_cast<int>(month), static_cast<int>(day)};
  if (year == 0 || !is_civil(date)) return false;
  days = days_of(date);
  return true;
}

// Reads "HH:MM:SS" at `at`.
bool read_clock(const char* at, int64_t& seconds) {
  unsigned hour = 0, minute = 0, second = 0;
  if (!digits(at, 2, hour) || at[2] != ':' || !digits(at + 3, 2, minute) || at[5] != ':' ||
      !digits(at + 6, 2, second)) {
    return false;
  }
  seconds = (int64_t{hour} * 60 + minute) * 60 + second;
  return hour < 24 && minute < 60 && second < 60;
}

// Reads and removes a fraction with its point at the front of `text`.
bool read_fraction(std::string_view& text, int64_t& micros) {
  if (!text.starts_with('.')) return true;
  text.remove_prefix(1);
  size_t count = 0;
  int64_t scale = kSecondMicros / 10;
  for (; count < text.size() && text[count] >= '0' && text[count] <= '9'; ++count, scale /= 10) {
    if (count == 6) return false;
    micros += (text[count] - '0') * scale;
  }
  text.remove_prefix(count);
  return count != 0;
}

// Reads the rest of the text: a zone, or nothing.
bool read_zone(std::string_view text, int64_t& micros, bool& zoned) {
  zoned = !text.empty();
  if (!zoned || text == "Z") return true;
  unsigned hours = 0, minutes = 0;
  const bool right = text.size() == 6 && (text[0] == '+' || text[0] == '-') && text[3] == ':' &&
                     digits(text.data() + 1, 2, hours) && digits(text.data() + 4, 2, minutes);
  if (!right || hours > 18 || minutes > 59) return false;
  const int64_t ahead = (int64_t{hours} * 60 + minutes) * 60 * kSecondMicros;
  micros -= text[0] == '+' ? ahead : -ahead;
  return true;
}

char* put(char* out, int64_t value, size_t count) {
  for (size_t i = count; i-- > 0; value /= 10) out[i] = static_cast<char>('0' + value % 10);
  return out + count;
}

char* put_clock(char* out, int64_t seconds) {
  out = put(out, seconds / 3600, 2);
  *out++ = ':';
  out = put(out, seconds / 60 % 60, 2);
  *out++ = ':';
  return put(out, seconds % 60, 2);
}

}  // namespace

bool read_date(std::string_view text, int64_t& days) {
  unsigned year = 0, month = 0, day = 0;
  if (text.size() != kDateTextBytes) return false;
  const char* at = text.data();
  return digits(at, 4, year) && at[4] == '-' && digits(at + 5, 2, month) && at[7] == '-' &&
         digits(at + 8, 2, day) && read_day(year, month, day, days);
}

bool read_timestamp(std::string_view text, int64_t& micros) {
  unsigned year = 0, month = 0, day = 0;
  int64_t days = 0, seconds = 0;
  if (text.size() != kTimestampTextBytes) return false;
  const char* at = text.data();
  if (!digits(at, 2, day) || at[2] != '/' || !digits(at + 3, 2, month) || at[5] != '/' ||
      !digits(at + 6, 4, year) || at[10] != ' ' || !read_day(year, month, day, days) ||
      !read_clock(at + 11, seconds)) {
    return false;
  }
  micros = (days * kDaySeconds + seconds) * kSecondMicros;
  return true;
}

bool read_iso_timestamp(std::string_view text, int64_t& micros, bool& zoned) {
  int64_t days = 0, seconds = 0;
  zoned = false;
  if (!read_date(text.substr(0, kDateTextBytes), days)) return false;
  text.remove_prefix(kDateTextBytes);
  micros = days * kDayMicros;
  if (text.empty()) return true;
  if ((text[0] != 'T' && text[0] != ' ') || text.size() < 1 + kTimeTextBytes ||
      !read_clock(text.data() + 1, seconds)) {
    return false;
  }
  text.remove_prefix(1 + kTimeTextBytes);
  micros += seconds * kSecondMicros;
  return read_fraction(text, micros) && read_zone(text, micros, zoned);
}

bool read_time(std::string_view text, int64_t& seconds) {
  return text.size() == kTimeTextBytes && read_clock(text.data(), seconds);
}

char* write_date(char* out, int64_t days) {
  if (days < kFirstDay || days > kLastDay) return nullptr;
  const Civil day = civil_of(days);
  out = put(out, day.year, 4);
  *out++ = '-';
  out = put(out, day.month, 2);
  *out++ = '-';
  return put(out, day.day, 2);
}

char* write_timestamp(char* out, int64_t micros) {
  const int64_t days = floor_divide(micros, kDayMicros), rest = floor_modulo(micros, kDayMicros);
  if (days < kFirstDay || days > kLastDay) return nullptr;
  const Civil day = civil_of(days);
  out = put(out, day.day, 2);
  *out++ = '/';
  out = put(out, day.month, 2);
  *out++ = '/';
  out = put(out, day.year, 4);
  *out++ = ' ';
  return put_clock(out, rest / kSecondMicros);
}

char* write_iso_timestamp(char* out, int64_t micros) {
  const int64_t days = floor_divide(micros, kDayMicros), rest = floor_modulo(micros, kDayMicros);
  out = write_date(out, days);
  if (out == nullptr) return nullptr;
  *out++ = 'T';
  out = put_clock(out, rest / kSecondMicros);
  if (rest % kSecondMicros == 0) return out;
  *out++ = '.';
  return put(out, rest % kSecondMicros, 6);
}

char* write_time(char* out, int64_t seconds) {
  if (seconds < 0 || seconds >= kDaySeconds) return nullptr;
  return put_clock(out, seconds);
}

}  // namespace serval
