// Reading, writing and casting of intervals. Hot path; one thread at a time.
#include "tabular/sql/composite/interval.h"

#include <array>
#include <cmath>
#include <limits>

#include "tabular/sql/calendar.h"
#include "tabular/sql/number_text.h"

namespace serval::tabular::sql {

namespace {

constexpr int64_t kIntMax = std::numeric_limits<int32_t>::max();
constexpr int64_t kMinuteMicros = 60 * kSecondMicros, kHourMicros = 60 * kMinuteMicros;

std::string upper(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return made;
}

std::string two(uint64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); }

// "3.5" of 3,500,000 micros, without its last zeros.
std::string seconds_text(uint64_t micros, bool padded) {
  const uint64_t whole = micros / kSecondMicros, part = micros % kSecondMicros;
  std::string text = padded ? two(whole) : std::to_string(whole);
  if (part == 0) return text;
  std::string digits = std::to_string(part);
  digits.insert(0, 6 - digits.size(), '0');
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

uint64_t size_of(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

std::string months_text(const Composite& of, int64_t months) {
  const uint64_t size = size_of(months);
  const bool years = of.names[0] == "year", rest = of.names[1] == "month";
  std::string text = months < 0 ? "-" : "";
  if (years) text += std::to_string(size / 12);
  if (years && rest) text += "-";
  if (rest) text += std::to_string(years ? size % 12 : size);
  return text;
}

// From the first unit, which has no limit, to the last one.
std::string micros_text(const Composite& of, int64_t micros) {
  constexpr std::array<std::string_view, 4> kUnits = {"day", "hour", "minute", "second"};
  constexpr std::array<uint64_t, 4> kMicros = {kDayMicros, kHourMicros, kMinuteMicros,
                                               kSecondMicros};
  std::string text = micros < 0 ? "-" : "";
  uint64_t left = size_of(micros);
  bool started = false;
  for (size_t i = 0; i < kUnits.size(); ++i) {
    const bool first = !started && of.names[0] == kUnits[i];
    if (!first && !started) continue;
    if (started) text += i == 1 ? " " : ":";
    const uint64_t count = left / kMicros[i];
    if (i == 3) text += seconds_text(left, true);
    else text += first && i == 0 ? std::to_string(count) : two(count);
    left %= kMicros[i];
    started = true;
    if (of.names[1] == kUnits[i]) break;
  }
  return text;
}

void add_part(std::string& text, int64_t count, std::string_view unit) {
  if (count == 0) return;
  if (!text.empty()) text += " ";
  text += std::to_string(count) + " " + std::string(unit);
}

std::string calendar_text(const Interval& of) {
  std::string text;
  add_part(text, of.months / 12, "years");
  add_part(text, of.months % 12, "months");
  add_part(text, of.days, "days");
  add_part(text, of.micros / kHourMicros, "hours");
  add_part(text, of.micros % kHourMicros / kMinuteMicros, "minutes");
  const int64_t rest = of.micros % kMinuteMicros;
  if (rest != 0) {
    if (!text.empty()) text += " ";
    text += (rest < 0 ? "-" : "") + seconds_text(size_of(rest), false) + " seconds";
  }
  return text.empty() ? "0 seconds" : text;
}

Value int_value(int64_t value, Type type) { return Value::of_integer(value, type); }

// A unit's name as months, days and micros.
std::optional<Interval> unit_named(std::string_view name) {
  std::string low(name);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (low.size() > 1 && low.back() == 's') low.pop_back();
  if (low == "year") return Interval{12, 0, 0};
  if (low == "month") return Interval{1, 0, 0};
  if (low == "week") return Interval{0, 7, 0};
  if (low == "day") return Interval{0, 1, 0};
  if (low == "hour") return Interval{0, 0, kHourMicros};
  if (low == "minute") return Interval{0, 0, kMinuteMicros};
  if (low == "second") return Interval{0, 0, kSecondMicros};
  if (low == "millisecond") return Interval{0, 0, 1000};
  if (low == "microsecond") return Interval{0, 0, 1};
  return std::nullopt;
}

std::string_view next_word(std::string_view& rest) {
  const size_t from = rest.find_first_not_of(" \t\n\r");
  if (from == std::string_view::npos) {
    rest = {};
    return {};
  }
  rest.remove_prefix(from);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t\n\r"));
  rest.remove_prefix(word.size());
  return word;
}

// A number in front of a unit: of seconds one with a fraction. False: no such number.
bool add_count(std::string_view count, const Interval& unit, Interval& to) {
  const size_t point = count.find('.');
  const bool negative = count.starts_with("-");
  Int128 micros = 0;
  if (point != std::string_view::npos) {
    if (unit.micros != kSecondMicros) return false;
    std::string digits(count.substr(point + 1));
    if (digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) {
      return false;
    }
    digits.resize(6, '0');
    micros = std::stoll(digits);
    if (negative) micros = -micros;
    count = count.substr(0, point);
    if (count.empty() || count == "-" || count == "+") count = "0";
  }
  const auto number = integer_of_text(count);
  if (!number) return false;
  const Int128 many = *number;
  const Int128 months = to.months + many * unit.months, days = to.days + many * unit.days;
  micros += to.micros + many * unit.micros;
  const auto fits = [](Int128 value, int64_t most) { return value <= most && value >= -most - 1; };
  if (!fits(months, kIntMax) || !fits(days, kIntMax) ||
      !fits(micros, std::numeric_limits<int64_t>::max())) {
    return false;
  }
  to = {static_cast<int64_t>(months), static_cast<int64_t>(days), static_cast<int64_t>(micros)};
  return true;
}

}  // namespace

bool is_interval(SqlType type) {
  return type.type == Type::List && composite_of(type).form >= Form::Interval;
}

Interval interval_of(Eval& eval, const Value& value) {
  const auto items = items_of(eval, value);
  switch (composite_of(type_of(value)).form) {
    case Form::MonthInterval: return {items[0].integer, 0, 0};
    case Form::TimeInterval: return {0, 0, items[0].integer};
    default: return {items[0].integer, items[1].integer, items[2].integer};
  }
}

Value of_interval(Eval& eval, SqlType type, Interval interval) {
  switch (composite_of(type).form) {
    case Form::MonthInterval:
      return of_items(eval, type, {int_value(interval.months, Type::Int32)});
    case Form::TimeInterval:
      return of_items(eval, type,
                      {int_value(interval.days * kDayMicros + interval.micros, Type::Int64)});
    default:
      return of_items(
          eval, type,
          {int_value(interval.months, Type::Int32), int_value(interval.days, Type::Int32),
           int_value(interval.micros, Type::Int64)});
  }
}

std::string interval_text(Eval& eval, const Value& value) {
  const Composite& of = composite_of(type_of(value));
  const Interval interval = interval_of(eval, value);
  if (of.form == Form::Interval) return calendar_text(interval);
  const std::string text = of.form == Form::MonthInterval ? months_text(of, interval.months)
                                                          : micros_text(of, interval.micros);
  const std::string first = upper(of.names[0]), last = upper(of.names[1]);
  return "INTERVAL '" + text + "' " + first + (first == last ? "" : " TO " + last);
}

std::optional<Interval> interval_named(std::string_view text) {
  std::string_view rest = text;
  std::string_view word = next_word(rest);
  if (upper(word) == "INTERVAL") word = next_word(rest);
  if (word.empty()) return std::nullopt;
  Interval made;
  for (; !word.empty(); word = next_word(rest)) {
    std::string count(word);
    if (count == "-" || count == "+") count += next_word(rest);
    const auto unit = unit_named(next_word(rest));
    if (!unit || !add_count(count, *unit, made)) return std::nullopt;
  }
  return made;
}

std::optional<Value> cast_interval(Eval& eval, const Value& value, SqlType to) {
  const SqlType from = type_of(value);
  if (!is_interval(to)) return std::nullopt;
  if (from.type == Type::String) {
    if (!value.valid()) return missing_of(to);
    const auto made = interval_named(eval.text(value));
    return made ? of_interval(eval, to, *made) : missing_of(to);
  }
  if (!is_interval(from) || composite_of(from).form != composite_of(to).form) return std::nullopt;
  return value.valid() ? of_interval(eval, to, interval_of(eval, value)) : missing_of(to);
}

// The day keeps its place in the month; a time of the day is what clocks show, and exact
// differences are added at the end.
Value time_after(Eval& eval, const Value& time, const Interval& by) {
  constexpr int64_t kDaysMost = 1LL << 32;
  if (time.type == Type::Date) {
    if (by.micros % kDayMicros != 0) return eval.fail("cannot add hours to a date");
    const int64_t days = add_months(time.integer, by.months) + by.days + by.micros / kDayMicros;
    if (days > kDaysMost || days < -kDaysMost) return eval.fail("a date out of range");
    return Value::of_integer(days, Type::Date);
  }
  const int64_t wall = wall_of(eval, time.integer);
  int64_t made = time.integer;
  if (by.months != 0 || by.days != 0) {
    const int64_t days = add_months(floor_divide(wall, kDayMicros), by.months) + by.days;
    if (!has_micros(days)) return eval.fail("a timestamp out of range");
    made = instant_of(eval, days * kDayMicros + floor_modulo(wall, kDayMicros));
  }
  if (__builtin_add_overflow(made, by.micros, &made)) return eval.fail("a timestamp out of range");
  return Value::of_integer(made, Type::Timestamp);
}

}  // namespace serval::tabular::sql
