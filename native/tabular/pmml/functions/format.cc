// PMML's formatNumber and formatDatetime: Java's and C's patterns. Hot path, any thread.
// Source: tabular.md 3.3
#include <algorithm>
#include <array>
#include <charconv>

#include "base/values/civil.h"
#include "tabular/pmml/functions/functions.h"

namespace serval::tabular::pmml {
namespace {

constexpr int kWidthMax = 1000;

// One %-conversion of a pattern.
struct Conversion {
  bool left = false, plus = false, space = false, zero = false, comma = false, paren = false;
  int width = 0, precision = -1;
  char letter = 0;
};

// Reads what follows a '%'. False: no known conversion.
bool read_conversion(std::string_view text, size_t& at, Conversion& made) {
  for (; at < text.size(); ++at) {
    if (text[at] == '-') made.left = true;
    else if (text[at] == '+') made.plus = true;
    else if (text[at] == ' ') made.space = true;
    else if (text[at] == '0') made.zero = true;
    else if (text[at] == ',') made.comma = true;
    else if (text[at] == '(') made.paren = true;
    else break;
  }
  const auto number = [&](int& value) {
    value = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      value = std::min(value * 10 + (text[at] - '0'), kWidthMax + 1);
      at += 1;
    }
    return value <= kWidthMax;
  };
  if (!number(made.width)) return false;
  if (at < text.size() && text[at] == '.') {
    at += 1;
    if (!number(made.precision)) return false;
  }
  if (at == text.size()) return false;
  made.letter = text[at];
  return true;
}

// Decimal digits of a positive number and the position of its point: 0.d1d2... times 10^point. They
// are the shortest that read back as the number, as in Java.
std::string shortest_digits(double value, int& point) {
  std::array<char, 40> buffer;
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(written.ptr - buffer.data()));
  const size_t mark = text.find('e');
  const size_t from = mark + (text[mark + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + from, text.data() + text.size(), point);
  point += 1;
  std::string digits(1, text.front());
  if (mark > 2) digits += text.substr(2, mark - 2);
  if (value == 0) point = 1;
  return digits;
}

// Rounds half up to `keep` digits.
void round_digits(std::string& digits, int& point, int keep) {
  if (keep >= static_cast<int>(digits.size())) return;
  const bool up = keep >= 0 && digits[static_cast<size_t>(keep)] >= '5';
  digits.resize(static_cast<size_t>(std::max(keep, 0)));
  if (!up) return;
  int at = keep - 1;
  while (at >= 0 && digits[static_cast<size_t>(at)] == '9') digits[static_cast<size_t>(at--)] = '0';
  if (at >= 0) {
    digits[static_cast<size_t>(at)] = static_cast<char>(digits[static_cast<size_t>(at)] + 1);
    return;
  }
  digits.insert(digits.begin(), '1');
  point += 1;
}

std::string fixed_text(double value, int precision) {
  int point = 0;
  std::string digits = shortest_digits(value, point);
  round_digits(digits, point, point + precision);
  std::string made;
  for (int i = 0; i < point; ++i) {
    made += i < static_cast<int>(digits.size()) ? digits[static_cast<size_t>(i)] : '0';
  }
  if (made.empty()) made = "0";
  if (precision > 0) made += '.';
  for (int i = point; i < point + precision; ++i) {
    const bool there = i >= 0 && i < static_cast<int>(digits.size());
    made += there ? digits[static_cast<size_t>(i)] : '0';
  }
  return made;
}

std::string exponent_text(double value, int precision) {
  int point = 0;
  std::string digits = shortest_digits(value, point);
  round_digits(digits, point, precision + 1);
  digits.resize(static_cast<size_t>(precision) + 1, '0');
  std::string made(1, digits[0]);
  if (precision > 0) made += "." + digits.substr(1);
  const int exponent = value == 0 ? 0 : point - 1;
  made += exponent < 0 ? "e-" : "e+";
  const std::string size = std::to_string(std::abs(exponent));
  return made + (size.size() < 2 ? "0" : "") + size;
}

std::string grouped(const std::string& text) {
  const size_t whole = std::min(text.find('.'), text.size());
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && i < whole && (whole - i) % 3 == 0) made += ',';
    made += text[i];
  }
  return made;
}

std::string padded(std::string text, const Conversion& conversion) {
  const auto width = static_cast<size_t>(conversion.width);
  if (text.size() >= width) return text;
  if (conversion.left) return text + std::string(width - text.size(), ' ');
  if (!conversion.zero || conversion.letter == 's') {
    return std::string(width - text.size(), ' ') + text;
  }
  const size_t at = text.empty() || (text[0] >= '0' && text[0] <= '9') ? 0 : 1;
  return text.substr(0, at) + std::string(width - text.size(), '0') + text.substr(at);
}

// False: the conversion does not fit the number.
bool format_one(const Eval& eval, const Value& value, const Conversion& conversion,
                std::string& made) {
  if (conversion.letter == 's') {
    std::string text = text_of(eval, value);
    if (conversion.precision >= 0)
      text.resize(std::min(text.size(), static_cast<size_t>(conversion.precision)));
    made += padded(std::move(text), conversion);
    return true;
  }
  const bool whole = conversion.letter == 'd';
  if (whole != is_integer(value.type) ||
      (!whole && conversion.letter != 'f' && conversion.letter != 'e')) {
    return false;
  }
  const double number = real_of(value);
  const bool negative = whole ? value.integer < 0 : std::signbit(number);
  const int precision = conversion.precision < 0 ? 6 : conversion.precision;
  if (whole && conversion.precision >= 0) return false;
  std::string text = whole                      ? std::to_string(value.integer).substr(negative)
                     : !std::isfinite(number)   ? std::string("Infinity")
                     : conversion.letter == 'f' ? fixed_text(std::fabs(number), precision)
                                                : exponent_text(std::fabs(number), precision);
  if (conversion.comma) text = grouped(text);
  if (negative) text = conversion.paren ? "(" + text + ")" : "-" + text;
  else if (conversion.plus) text = "+" + text;
  else if (conversion.space) text = " " + text;
  made += padded(std::move(text), conversion);
  return true;
}

Value format_number(Eval& eval, std::span<const Value> arguments, const void*) {
  if (arguments[0].missing() || arguments[1].missing()) return fail_missing(eval, "formatNumber");
  const Value& value = arguments[0];
  if (!is_number(value)) return fail_type(eval, "formatNumber", "a number", value);
  if (!is_text(arguments[1].type))
    return fail_type(eval, "formatNumber", "a pattern", arguments[1]);
  const std::string_view pattern = eval.text(arguments[1]);
  const auto refuse = [&] {
    return eval.fail("function formatNumber: pattern \"" + std::string(pattern.substr(0, 100)) +
                     "\" does not fit " + std::string(type_name(value.type)));
  };
  std::string made;
  int used = 0;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      made += pattern[at];
      continue;
    }
    at += 1;
    Conversion conversion;
    if (!read_conversion(pattern, at, conversion)) return refuse();
    if (conversion.letter == '%') made += '%';
    else if (conversion.letter == 'n') made += '\n';
    else if (++used > 1 || !format_one(eval, value, conversion, made)) return refuse();
  }
  return eval.of_text(made);
}

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

std::string digits_of(int64_t value, size_t width) {
  std::string text = std::to_string(value);
  return text.size() >= width ? text : std::string(width - text.size(), '0') + text;
}

// One conversion of formatDatetime; has_* says what the value has. False: it has not that.
bool format_part(char letter, const Civil& day, int64_t days, int64_t seconds, bool has_date,
                 bool has_time, std::string& made) {
  const int64_t hour = seconds / 3600, minute = seconds / 60 % 60, second = seconds % 60;
  const int64_t half = (hour + 11) % 12 + 1;
  const auto again = [&](char each) {
    return format_part(each, day, days, seconds, has_date, has_time, made);
  };
  const auto list = [&](std::string_view letters, char between) {
    for (size_t i = 0; i < letters.size(); ++i) {
      if (i > 0) made += between;
      if (!again(letters[i])) return false;
    }
    return true;
  };
  if (has_date) {
    const auto month = static_cast<size_t>(day.month - 1);
    const auto name = static_cast<size_t>((weekday_of(days) + 1) % 7);
    switch (letter) {
      case 'Y': made += digits_of(day.year, 4); return true;
      case 'y': made += digits_of(day.year % 100, 2); return true;
      case 'C': made += digits_of(day.year / 100, 2); return true;
      case 'm': made += digits_of(day.month, 2); return true;
      case 'd': made += digits_of(day.day, 2); return true;
      case 'e': made += std::to_string(day.day); return true;
      case 'j': made += digits_of(days - days_of({day.year, 1, 1}) + 1, 3); return true;
      case 'A': made += kDays[name]; return true;
      case 'a': made += kDays[name].substr(0, 3); return true;
      case 'B': made += kMonths[month]; return true;
      case 'b':
      case 'h': made += kMonths[month].substr(0, 3); return true;
      case 'F': return list("Ymd", '-');
      case 'D': return list("mdy", '/');
      default: break;
    }
  }
  if (has_time) {
    switch (letter) {
      case 'H': made += digits_of(hour, 2); return true;
      case 'I': made += digits_of(half, 2); return true;
      case 'k': made += std::to_string(hour); return true;
      case 'l': made += std::to_string(half); return true;
      case 'M': made += digits_of(minute, 2); return true;
      case 'S': made += digits_of(second, 2); return true;
      case 'p': made += hour < 12 ? "am" : "pm"; return true;
      case 'R': return list("HM", ':');
      case 'T': return list("HMS", ':');
      default: break;
    }
  }
  return false;
}

Value format_datetime(Eval& eval, std::span<const Value> arguments, const void*) {
  if (arguments[0].missing() || arguments[1].missing()) return fail_missing(eval, "formatDatetime");
  const Value& value = arguments[0];
  const bool stamp = value.type == Type::Timestamp;
  const bool has_date = stamp || value.type == Type::Date;
  const bool has_time = stamp || value.type == Type::Time;
  if (!has_date && !has_time) return fail_type(eval, "formatDatetime", "a date or time", value);
  const std::string_view pattern = eval.text(cast(eval, arguments[1], Type::String));
  if (eval.failed()) return {};
  const int64_t total = stamp      ? floor_divide(value.integer, kSecondMicros)
                        : has_date ? value.integer * kDaySeconds
                                   : value.integer;
  const int64_t days = floor_divide(total, kDaySeconds);
  const Civil day = civil_of(days);
  std::string made;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      made += pattern[at];
      continue;
    }
    at += 1;
    const char letter = at < pattern.size() ? pattern[at] : '\0';
    if (letter == '%') made += '%';
    else if (!format_part(letter, day, days, total - days * kDaySeconds, has_date, has_time,
                          made)) {
      return eval.fail("function formatDatetime: pattern \"" + std::string(pattern.substr(0, 100)) +
                       "\" does not fit " + std::string(type_name(value.type)));
    }
  }
  return eval.of_text(made);
}

constexpr Function kFormatFunctions[] = {
    {fn::pmml_formatNumber, format_number, nullptr, nullptr, true},
    {fn::pmml_formatDatetime, format_datetime, nullptr, nullptr, true},
};

}  // namespace

std::span<const Function> format_functions() { return kFormatFunctions; }

}  // namespace serval::tabular::pmml
