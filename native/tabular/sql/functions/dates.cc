// Functions of dates and times. Hot path; any thread.
// Source: tabular.md 10; Spark's DateTimeUtils.
#include <algorithm>

#include "tabular/java/zone.h"
#include "tabular/sql/calendar.h"
#include "tabular/sql/date_pattern.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

using Prepared = Result<std::shared_ptr<const void>>;

constexpr std::string_view kTimestampPattern = "yyyy-MM-dd HH:mm:ss";

// The pattern in the argument `kIndex`. Without that argument: `kDefault`'s, or null.
template <size_t kIndex, bool kDefault>
Prepared prepare_pattern(std::span<const Value* const> constants, const Dictionary& dictionary) {
  std::string_view text = kTimestampPattern;
  if (constants.size() > kIndex) {
    const Value* value = constants[kIndex];
    if (value == nullptr || value->type != Type::String || !value->valid()) {
      return make_error(ErrorCode::ModelInvalid, "expected a constant date pattern");
    }
    text = dictionary.text(value->text);
  } else if (!kDefault) {
    return std::shared_ptr<const void>();
  }
  auto made = DatePattern::compile(text);
  if (!made.ok()) return std::move(made.error());
  return std::shared_ptr<const void>(std::make_shared<DatePattern>(std::move(made.value())));
}

using OfDays = int64_t (*)(int64_t days);

template <OfDays kFunction>
Value part_of_date(Eval& eval, Arguments arguments, const void*) {
  const Value date = convert(eval, arguments[0], kDate);
  if (!date.valid()) return missing_of(kInt32);
  return Value::of_integer(kFunction(date.integer), Type::Int32);
}

int64_t year(int64_t days) { return civil_of(days).year; }
int64_t month(int64_t days) { return civil_of(days).month; }
int64_t quarter(int64_t days) { return (civil_of(days).month + 2) / 3; }
int64_t day(int64_t days) { return civil_of(days).day; }
int64_t day_of_week(int64_t days) { return (weekday_of(days) + 1) % 7 + 1; }
int64_t weekday(int64_t days) { return weekday_of(days); }
int64_t day_of_year(int64_t days) { return days - days_of({civil_of(days).year, 1, 1}) + 1; }
int64_t week(int64_t days) { return iso_week_of(days); }

template <int64_t kUnit, int64_t kCount>
Value part_of_time(Eval& eval, Arguments arguments, const void*) {
  const Value time = convert(eval, arguments[0], kTimestamp);
  if (!time.valid()) return missing_of(kInt32);
  const int64_t units = floor_divide(wall_of(eval, time.integer), kUnit);
  return Value::of_integer(floor_modulo(units, kCount), Type::Int32);
}

template <int kSign>
Value add_days(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[2] = {kDate, kInt32};
  Value made[2];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kDate);
  return Value::of_integer(static_cast<int32_t>(made[0].integer + kSign * made[1].integer),
                           Type::Date);
}

Value add_some_months(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[2] = {kDate, kInt32};
  Value made[2];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kDate);
  return Value::of_integer(add_months(made[0].integer, made[1].integer), Type::Date);
}

Value datediff(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[2] = {kDate, kDate};
  Value made[2];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kInt32);
  return Value::of_integer(made[0].integer - made[1].integer, Type::Int32);
}

Value last_day(Eval& eval, Arguments arguments, const void*) {
  const Value date = convert(eval, arguments[0], kDate);
  if (!date.valid()) return missing_of(kDate);
  Civil civil = civil_of(date.integer);
  civil.day = days_in_month(civil.year, civil.month);
  return Value::of_integer(days_of(civil), Type::Date);
}

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return made;
}

// "MO", "Mon" or "MONDAY"; -1: none.
int weekday_named(std::string_view text) {
  constexpr std::string_view kNames[] = {"monday", "tuesday",  "wednesday", "thursday",
                                         "friday", "saturday", "sunday"};
  const std::string name = lower(text);
  for (int i = 0; i < 7; ++i) {
    const std::string_view full = kNames[i];
    if (name == full || name == full.substr(0, 2) || name == full.substr(0, 3)) return i;
  }
  return -1;
}

Value next_day(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[2] = {kDate, kString};
  Value made[2];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kDate);
  const int wanted = weekday_named(eval.text(made[1]));
  if (wanted < 0) return unanswered(eval, kDate, "ILLEGAL_DAY_OF_WEEK", eval.text(made[1]));
  const int64_t from = made[0].integer;
  return Value::of_integer(from + 1 + floor_modulo(wanted - weekday_of(from + 1), 7), Type::Date);
}

// The first day of a unit; none: no such unit of days.
std::optional<int64_t> truncated(int64_t days, std::string_view unit) {
  const Civil date = civil_of(days);
  if (unit == "year" || unit == "yyyy" || unit == "yy") return days_of({date.year, 1, 1});
  if (unit == "quarter") return days_of({date.year, (date.month - 1) / 3 * 3 + 1, 1});
  if (unit == "month" || unit == "mon" || unit == "mm") return days_of({date.year, date.month, 1});
  if (unit == "week") return days - weekday_of(days);
  return std::nullopt;
}

Value trunc(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[2] = {kDate, kString};
  Value made[2];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kDate);
  const auto days = truncated(made[0].integer, lower(eval.text(made[1])));
  return days ? Value::of_integer(*days, Type::Date) : missing_of(kDate);
}

// The instant at which clocks show `wall`; if they do so twice, the one with the offset of `near`.
int64_t instant_near(const Eval& eval, int64_t wall, int64_t near) {
  const Zone* zone = eval.run.zones.session;
  return zone == nullptr ? wall : zone->instant_of(wall, zone->offset_at(near));
}

Value date_trunc(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[2] = {kString, kTimestamp};
  Value made[2];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kTimestamp);
  const std::string unit = lower(eval.text(made[0]));
  const int64_t instant = made[1].integer, wall = wall_of(eval, instant);
  if (const auto days = truncated(floor_divide(wall, kDayMicros), unit)) {
    return Value::of_integer(start_of_day(eval, *days), Type::Timestamp);
  }
  struct Unit {
    std::string_view name;
    int64_t micros;
  };
  constexpr Unit kUnits[] = {{"day", kDayMicros},
                             {"dd", kDayMicros},
                             {"hour", 3600 * kSecondMicros},
                             {"minute", 60 * kSecondMicros},
                             {"second", kSecondMicros},
                             {"millisecond", 1000},
                             {"microsecond", 1}};
  for (const auto& [name, size] : kUnits) {
    if (unit != name) continue;
    // A time that clocks show twice stays the one of the two that it is.
    const int64_t truncated_wall = wall - floor_modulo(wall, size);
    return Value::of_integer(instant_near(eval, truncated_wall, instant), Type::Timestamp);
  }
  return missing_of(kTimestamp);
}

constexpr std::string_view kOutOfBounds = "DATETIME_FIELD_OUT_OF_BOUNDS";

Value make_date(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[3] = {kInt32, kInt32, kInt32};
  Value made[3];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kDate);
  const bool bounded = made[1].integer >= 1 && made[1].integer <= 12 && made[2].integer >= 1 &&
                       made[2].integer <= 31 && made[0].integer > -1'000'000 &&
                       made[0].integer < 1'000'000;
  if (!bounded) return unanswered(eval, kDate, kOutOfBounds);
  const Civil date{made[0].integer, static_cast<int>(made[1].integer),
                   static_cast<int>(made[2].integer)};
  return is_civil(date) ? Value::of_integer(days_of(date), Type::Date)
                        : unanswered(eval, kDate, kOutOfBounds);
}

// Rounds to 8 decimal places, unless the third argument is false.
Value months_between(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[3] = {kTimestamp, kTimestamp, kBool};
  Value made[3];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kDouble);
  const bool rounds = arguments.size() < 3 || made[2].integer != 0;
  Civil dates[2];
  int64_t times[2];
  bool last[2];
  for (size_t i = 0; i < 2; ++i) {
    const int64_t days = floor_divide(wall_of(eval, made[i].integer), kDayMicros);
    dates[i] = civil_of(days);
    times[i] = (made[i].integer - start_of_day(eval, days)) / kSecondMicros;
    last[i] = dates[i].day == days_in_month(dates[i].year, dates[i].month);
  }
  const auto months =
      static_cast<double>((dates[0].year - dates[1].year) * 12 + dates[0].month - dates[1].month);
  if (dates[0].day == dates[1].day || (last[0] && last[1])) return Value::of_real(months);
  const int64_t seconds = (dates[0].day - dates[1].day) * kDaySeconds + times[0] - times[1];
  const double between = months + static_cast<double>(seconds) / (31.0 * kDaySeconds);
  return Value::of_real(rounds ? std::floor(between * 1e8 + 0.5) / 1e8 : between);
}

// Micros of text by a pattern; of a date or time as they are.
Value patterned(Eval& eval, const Value& value, const void* pattern) {
  if (pattern == nullptr || (value.type != Type::String && value.type != Type::Any)) {
    return convert(eval, value, kTimestamp);
  }
  if (!value.valid()) return missing_of(kTimestamp);
  const auto micros = static_cast<const DatePattern*>(pattern)->parse(eval.text(value));
  if (micros) return Value::of_integer(instant_of(eval, *micros), Type::Timestamp);
  return unanswered(eval, kTimestamp, "CANNOT_PARSE_TIMESTAMP", eval.text(value));
}

Value to_date(Eval& eval, Arguments arguments, const void* state) {
  if (state == nullptr) return convert(eval, arguments[0], kDate);
  return cast(eval, patterned(eval, arguments[0], state), kDate);
}

// Without a pattern also of numbers: seconds.
Value to_timestamp(Eval& eval, Arguments arguments, const void* state) {
  if (state == nullptr) return cast(eval, arguments[0], kTimestamp);
  return patterned(eval, arguments[0], state);
}

Value unix_timestamp(Eval& eval, Arguments arguments, const void* state) {
  const Value time = patterned(eval, arguments[0], state);
  if (!time.valid()) return missing_of(kInt64);
  return Value::of_integer(floor_divide(time.integer, kSecondMicros));
}

Value from_unixtime(Eval& eval, Arguments arguments, const void* state) {
  const Value seconds = convert(eval, arguments[0], kInt64);
  if (!seconds.valid()) return missing_of(kString);
  constexpr int64_t kMost = 9'000'000'000'000;
  const int64_t bounded = std::clamp(seconds.integer, -kMost, kMost);
  if (bounded != seconds.integer) return eval.fail("from_unixtime(): a time out of range");
  const int64_t wall = wall_of(eval, bounded * kSecondMicros);
  return text_value(eval, static_cast<const DatePattern*>(state)->format(wall));
}

Value date_format(Eval& eval, Arguments arguments, const void* state) {
  const Value time = convert(eval, arguments[0], kTimestamp);
  if (!time.valid()) return missing_of(kString);
  const int64_t wall = wall_of(eval, time.integer);
  return text_value(eval, static_cast<const DatePattern*>(state)->format(wall));
}

// Seconds may have a fraction.
Value timestamp_seconds(Eval& eval, Arguments arguments, const void*) {
  const Value& value = arguments[0];
  if (!is_numeric(value.type) && value.type != Type::Any) {
    return eval.fail("expected a number, got " + type_text(type_of(value)));
  }
  int64_t micros = 0;
  if (value.valid() && is_integer(value.type) &&
      __builtin_mul_overflow(value.integer, kSecondMicros, &micros)) {
    return eval.raise(missing_of(kTimestamp), "a timestamp out of range");
  }
  return cast_plain(eval, value, kTimestamp);
}

template <int64_t kUnit>
Value timestamp_of(Eval& eval, Arguments arguments, const void*) {
  const Value value = convert(eval, arguments[0], kInt64);
  if (!value.valid()) return missing_of(kTimestamp);
  int64_t micros = 0;
  if (__builtin_mul_overflow(value.integer, kUnit, &micros)) {
    return eval.raise(missing_of(kTimestamp), "a timestamp out of range");
  }
  return Value::of_integer(micros, Type::Timestamp);
}

// Shifts an instant so that UTC's clock shows the zone's local time, and back.
template <bool kFromUtc>
Value to_zone(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[2] = {kTimestamp, kString};
  Value made[2];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kTimestamp);
  const Zone* zone = eval.run.zones.find(eval.text(made[1]));
  if (zone == nullptr) {
    return eval.fail("the time zone '" + std::string(eval.text(made[1])) + "' is not in the plan");
  }
  const int64_t time = made[0].integer;
  return Value::of_integer(kFromUtc ? zone->wall_of(time) : zone->instant_of(time),
                           Type::Timestamp);
}

constexpr Function kDatesFunctions[] = {
    function(fn::sql_year, part_of_date<year>),
    function(fn::sql_quarter, part_of_date<quarter>),
    function(fn::sql_month, part_of_date<month>),
    function(fn::sql_day, part_of_date<day>),
    function(fn::sql_dayofweek, part_of_date<day_of_week>),
    function(fn::sql_weekday, part_of_date<weekday>),
    function(fn::sql_dayofyear, part_of_date<day_of_year>),
    function(fn::sql_weekofyear, part_of_date<week>),
    function(fn::sql_hour, part_of_time<3600 * kSecondMicros, 24>),
    function(fn::sql_minute, part_of_time<60 * kSecondMicros, 60>),
    function(fn::sql_second, part_of_time<kSecondMicros, 60>),
    function(fn::sql_date_add, add_days<1>),
    function(fn::sql_date_sub, add_days<-1>),
    function(fn::sql_add_months, add_some_months),
    function(fn::sql_datediff, datediff),
    function(fn::sql_last_day, last_day),
    function(fn::sql_next_day, next_day),
    function(fn::sql_trunc, trunc),
    function(fn::sql_date_trunc, date_trunc),
    function(fn::sql_make_date, make_date),
    function(fn::sql_months_between, months_between),
    function(fn::sql_to_date, to_date, prepare_pattern<1, false>),
    function(fn::sql_to_timestamp, to_timestamp, prepare_pattern<1, false>),
    function(fn::sql_unix_timestamp, unix_timestamp, prepare_pattern<1, true>),
    function(fn::sql_from_unixtime, from_unixtime, prepare_pattern<1, true>),
    function(fn::sql_date_format, date_format, prepare_pattern<1, false>),
    function(fn::sql_from_utc_timestamp, to_zone<true>),
    function(fn::sql_to_utc_timestamp, to_zone<false>),
    function(fn::sql_timestamp_seconds, timestamp_seconds),
    function(fn::sql_timestamp_millis, timestamp_of<1000>),
    function(fn::sql_timestamp_micros, timestamp_of<1>),
};

}  // namespace

std::span<const Function> date_functions() { return kDatesFunctions; }

}  // namespace serval::tabular::sql
