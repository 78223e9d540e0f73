// Patterns of dates and times. Pure; any thread.
#include "tabular/sql/date_pattern.h"

#include <algorithm>
#include <array>

#include "base/bytes/views.h"
#include "tabular/sql/calendar.h"

namespace serval::tabular::sql {

namespace {

constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                   "Friday", "Saturday", "Sunday"};

// Most repetitions of a letter; 0: not supported.
int most_of(char letter) {
  switch (letter) {
    case 'y': return 6;
    case 'M':
    case 'L':
    case 'E': return 4;
    case 'D': return 3;
    case 'd':
    case 'H':
    case 'h':
    case 'm':
    case 's': return 2;
    case 'S': return 9;
    case 'a': return 1;
    default: return 0;
  }
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

void append_number(std::string& text, int64_t value, int width) {
  const std::string digits = std::to_string(value < 0 ? -value : value);
  if (value < 0) text += '-';
  for (auto i = static_cast<int>(digits.size()); i < width; ++i) text += '0';
  text += digits;
}

// Matches `names` or, if `length` is not 0, their first letters, ignoring case. -1: no match.
template <size_t N>
int name_at(const std::array<std::string_view, N>& names, size_t length, std::string_view text,
            size_t& at) {
  for (size_t i = 0; i < N; ++i) {
    const std::string_view name = length == 0 ? names[i] : names[i].substr(0, length);
    const std::string_view there = text.substr(at, name.size());
    const bool same = std::equal(name.begin(), name.end(), there.begin(), there.end(),
                                 [](char a, char b) { return lower(a) == lower(b); });
    if (!same) continue;
    at += name.size();
    return static_cast<int>(i);
  }
  return -1;
}

int64_t number_at(std::string_view text, size_t& at, int least, int most) {
  int64_t value = 0;
  int count = 0;
  while (count < most && at < text.size() && is_digit(text[at])) {
    value = value * 10 + (text[at++] - '0');
    ++count;
  }
  return count < least ? -1 : value;
}

}  // namespace

struct DatePattern::Fields {
  Civil date;
  int day_of_year = 0, hour = -1, half_hour = -1, half = -1, minute = 0, second = 0;
  int64_t micros = 0;
};

Result<DatePattern> DatePattern::compile(std::string_view pattern) {
  DatePattern made;
  const auto add_text = [&](char c) {
    if (made.pieces_.empty() || made.pieces_.back().letter != 0) made.pieces_.emplace_back();
    made.pieces_.back().text += c;
  };
  const auto invalid = [&](const std::string& what) {
    return make_error(ErrorCode::ModelInvalid,
                      "the date pattern '" + std::string(pattern) + "': " + what);
  };
  for (size_t at = 0; at < pattern.size();) {
    const char c = pattern[at];
    if (c == '\'') {
      const size_t end = pattern.find('\'', at + 1);
      if (end == std::string_view::npos) return invalid("a text that does not end");
      if (end == at + 1) add_text('\'');
      for (const char quoted : pattern.substr(at + 1, end - at - 1)) add_text(quoted);
      at = end + 1;
    } else if (is_letter(c)) {
      size_t end = at;
      while (end < pattern.size() && pattern[end] == c) ++end;
      const auto count = static_cast<int>(end - at);
      if (count > most_of(c))
        return invalid("'" + std::string(pattern.substr(at, end - at)) + "' is not supported");
      made.pieces_.push_back({c, count, {}});
      at = end;
    } else if (std::string_view("[]{}#").find(c) != std::string_view::npos) {
      return invalid("'" + std::string(1, c) + "' is not supported");
    } else {
      add_text(c);
      ++at;
    }
  }
  return made;
}

std::string DatePattern::format(int64_t micros) const {
  const int64_t day = floor_divide(micros, kDayMicros), time = floor_modulo(micros, kDayMicros);
  const Civil date = civil_of(day);
  const int64_t hour = time / (3600 * kSecondMicros);
  std::string text;
  for (const auto& [letter, count, literal] : pieces_) {
    switch (letter) {
      case 'y':
        append_number(text, count == 2 ? floor_modulo(date.year, 100) : date.year, count);
        break;
      case 'M':
      case 'L': {
        const std::string_view name = kMonths[static_cast<size_t>(date.month - 1)];
        if (count <= 2) append_number(text, date.month, count);
        else text += count == 3 ? name.substr(0, 3) : name;
        break;
      }
      case 'E': {
        const std::string_view name = kDays[static_cast<size_t>(weekday_of(day))];
        text += count <= 3 ? name.substr(0, 3) : name;
        break;
      }
      case 'D': append_number(text, day - days_of({date.year, 1, 1}) + 1, count); break;
      case 'd': append_number(text, date.day, count); break;
      case 'H': append_number(text, hour, count); break;
      case 'h': append_number(text, (hour + 11) % 12 + 1, count); break;
      case 'm': append_number(text, time / (60 * kSecondMicros) % 60, count); break;
      case 's': append_number(text, time / kSecondMicros % 60, count); break;
      case 'S': {
        std::string digits;
        append_number(digits, time % kSecondMicros, 6);
        digits += "000";
        text += digits.substr(0, static_cast<size_t>(count));
        break;
      }
      case 'a': text += hour < 12 ? "AM" : "PM"; break;
      default: text += literal;
    }
  }
  return text;
}

bool DatePattern::parse_piece(const Piece& piece, bool joined, std::string_view text, size_t& at,
                              Fields& fields) {
  const auto& [letter, count, literal] = piece;
  const auto number = [&](int least, int most) { return number_at(text, at, least, most); };
  // A single letter reads as many digits as there are, unless digits follow in the pattern.
  const int most = count == 1 && !joined ? 2 : count;
  int64_t value = 0;
  switch (letter) {
    case 'y':
      if (count == 2) {
        value = number(2, 2);
        fields.date.year = 2000 + value;
      } else {
        value = number(count, count == 1 && !joined ? 10 : count);
        fields.date.year = value;
      }
      return value >= 0;
    case 'M':
    case 'L':
      value = count <= 2 ? number(count, most) : name_at(kMonths, count == 3 ? 3 : 0, text, at) + 1;
      fields.date.month = static_cast<int>(value);
      return value > 0;
    case 'E': return name_at(kDays, count <= 3 ? 3 : 0, text, at) >= 0;
    case 'D':
      value = number(count, count == 1 && !joined ? 3 : count);
      fields.day_of_year = static_cast<int>(value);
      return value > 0;
    case 'd':
      value = number(count, most);
      fields.date.day = static_cast<int>(value);
      return value > 0;
    case 'H':
      value = number(count, most);
      fields.hour = static_cast<int>(value);
      return value >= 0 && value < 24;
    case 'h':
      value = number(count, most);
      fields.half_hour = static_cast<int>(value % 12);
      return value >= 1 && value <= 12;
    case 'm':
      value = number(count, most);
      fields.minute = static_cast<int>(value);
      return value >= 0 && value < 60;
    case 's':
      value = number(count, most);
      fields.second = static_cast<int>(value);
      return value >= 0 && value < 60;
    case 'S':
      value = number(count, count);
      for (int i = count; i < 6; ++i) value *= 10;
      for (int i = count; i > 6; --i) value /= 10;
      fields.micros = value;
      return value >= 0;
    case 'a':
      fields.half = name_at(std::array<std::string_view, 2>{"AM", "PM"}, 0, text, at);
      return fields.half >= 0;
    default:
      if (text.substr(at, literal.size()) != literal) return false;
      at += literal.size();
      return true;
  }
}

std::optional<int64_t> DatePattern::parse(std::string_view text) const {
  Fields fields;
  size_t at = 0;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const bool joined = i + 1 < pieces_.size() && pieces_[i + 1].letter != 0 &&
                        pieces_[i + 1].letter != 'a' && pieces_[i + 1].letter != 'E';
    if (!parse_piece(pieces_[i], joined, text, at, fields)) return std::nullopt;
  }
  if (at != text.size() || !is_civil(fields.date)) return std::nullopt;
  int64_t days = days_of(fields.date);
  if (fields.day_of_year > 0) {
    if (fields.day_of_year > (is_leap(fields.date.year) ? 366 : 365)) return std::nullopt;
    days = days_of({fields.date.year, 1, 1}) + fields.day_of_year - 1;
  }
  int64_t hour = std::max(fields.hour, 0);
  if (fields.hour < 0 && fields.half_hour >= 0) {
    hour = fields.half_hour + (fields.half == 1 ? 12 : 0);
  }
  if (!has_micros(days)) return std::nullopt;
  const int64_t seconds = (hour * 60 + fields.minute) * 60 + fields.second;
  return days * kDayMicros + seconds * kSecondMicros + fields.micros;
}

}  // namespace serval::tabular::sql
