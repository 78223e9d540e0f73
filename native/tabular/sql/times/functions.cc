// Dates and times as numbers and back, their parts, and intervals between them. Hot path; any
// thread. Source: Spark's datetimeExpressions.scala and intervalExpressions.scala.
#include <limits>

#include "tabular/java/zone.h"
#include "tabular/sql/calendar.h"
#include "tabular/sql/composite/interval.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

constexpr int64_t kYearMost = 300'000;
constexpr int64_t kHourMicros = 3600 * kSecondMicros, kMinuteMicros = 60 * kSecondMicros;

Value date_from_unix_date(Eval& eval, Arguments arguments, const void*) {
  const Value days = argument(eval, "date_from_unix_date", arguments, 0, kInt32);
  return days.valid() ? Value::of_integer(days.integer, Type::Date) : missing_of(kDate);
}

Value unix_date(Eval& eval, Arguments arguments, const void*) {
  const Value date = argument(eval, "unix_date", arguments, 0, kDate);
  return date.valid() ? Value::of_integer(date.integer, Type::Int32) : missing_of(kInt32);
}

template <int64_t kUnit>
Value unix_time(Eval& eval, Arguments arguments, const void*) {
  const std::string_view name = kUnit == 1      ? "unix_micros"
                                : kUnit == 1000 ? "unix_millis"
                                                : "unix_seconds";
  const Value time = argument(eval, name, arguments, 0, kTimestamp);
  if (!time.valid()) return missing_of(kInt64);
  return Value::of_integer(floor_divide(time.integer, kUnit));
}

// "Mon", "Jan".
Value dayname(Eval& eval, Arguments arguments, const void*) {
  constexpr std::string_view kNames[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  const Value date = argument(eval, "dayname", arguments, 0, kDate);
  if (!date.valid()) return missing_of(kString);
  return text_value(eval, kNames[weekday_of(date.integer)]);
}

Value monthname(Eval& eval, Arguments arguments, const void*) {
  constexpr std::string_view kNames[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const Value date = argument(eval, "monthname", arguments, 0, kDate);
  if (!date.valid()) return missing_of(kString);
  return text_value(eval, kNames[civil_of(date.integer).month - 1]);
}

// The year that the ISO week belongs to.
Value year_of_week(Eval& eval, Arguments arguments, const void*) {
  const Value date = argument(eval, "extract", arguments, 0, kDate);
  if (!date.valid()) return missing_of(kInt32);
  const int64_t thursday = date.integer - weekday_of(date.integer) + 3;
  return Value::of_integer(civil_of(thursday).year, Type::Int32);
}

// From 1 (Monday) to 7.
Value day_of_iso_week(Eval& eval, Arguments arguments, const void*) {
  const Value date = argument(eval, "extract", arguments, 0, kDate);
  if (!date.valid()) return missing_of(kInt32);
  return Value::of_integer(weekday_of(date.integer) + 1, Type::Int32);
}

// EXTRACT(SECOND ...): with six digits after the point.
Value seconds_of_minute(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kSeconds = decimal_type(8, 6);
  const Value time = argument(eval, "extract", arguments, 0, kTimestamp);
  if (!time.valid()) return missing_of(kSeconds);
  return of_decimal(floor_modulo(wall_of(eval, time.integer), kMinuteMicros), kSeconds);
}

// make_timestamp(year, month, day, hour, minute, second[, zone]): NULL if the time does not exist.
template <bool kHasZone>
Value make_timestamp(Eval& eval, Arguments arguments, const void*) {
  constexpr std::string_view kName = "make_timestamp";
  constexpr SqlType kSeconds = decimal_type(16, 6);
  int64_t parts[6];
  bool valid = true;
  for (size_t i = 0; i < 6; ++i) {
    const Value part = argument(eval, kName, arguments, i, i < 5 ? kInt32 : kSeconds);
    valid = valid && part.valid();
    if (part.valid()) parts[i] = i < 5 ? part.integer : static_cast<int64_t>(part.decimal);
  }
  const Zone* zone = eval.run.zones.session;
  if (kHasZone) {
    const Value name = argument(eval, kName, arguments, 6, kString);
    valid = valid && name.valid();
    if (valid && !eval.failed()) {
      zone = eval.run.zones.find(eval.text(name));
      if (zone == nullptr) {
        return eval.fail("make_timestamp(): argument 7: the time zone '" +
                         std::string(eval.text(name)) + "' is not in the plan");
      }
    }
  }
  if (!valid || eval.failed()) return missing_of(kTimestamp);
  const bool bounded = parts[0] >= -kYearMost && parts[0] <= kYearMost && parts[1] >= 1 &&
                       parts[1] <= 12 && parts[2] >= 1 && parts[2] <= 31 && parts[3] >= 0 &&
                       parts[3] <= 23 && parts[4] >= 0 && parts[4] <= 59 && parts[5] >= 0 &&
                       parts[5] <= kMinuteMicros;
  constexpr std::string_view kOutOfBounds = "DATETIME_FIELD_OUT_OF_BOUNDS";
  if (!bounded) return unanswered(eval, kTimestamp, kOutOfBounds);
  const Civil date{parts[0], static_cast<int>(parts[1]), static_cast<int>(parts[2])};
  if (!is_civil(date) || !has_micros(days_of(date))) {
    return unanswered(eval, kTimestamp, kOutOfBounds);
  }
  const int64_t wall =
      days_of(date) * kDayMicros + parts[3] * kHourMicros + parts[4] * kMinuteMicros + parts[5];
  return Value::of_integer(zone == nullptr ? wall : zone->instant_of(wall), Type::Timestamp);
}

// convert_timezone([from,] to, time): the local time in `to` when it is `time` in `from`.
Value convert_timezone(Eval& eval, Arguments arguments, const void*) {
  constexpr std::string_view kName = "convert_timezone";
  const size_t count = arguments.size();
  const Zone* zones[2] = {eval.run.zones.session, nullptr};
  bool valid = true;
  for (size_t i = 0; i + 1 < count; ++i) {
    const Value name = argument(eval, kName, arguments, i, kString);
    valid = valid && name.valid();
    if (!name.valid()) continue;
    const Zone*& zone = zones[i + 3 - count];
    zone = eval.run.zones.find(eval.text(name));
    if (zone == nullptr) {
      return eval.fail("convert_timezone(): argument " + std::to_string(i + 1) +
                       ": the time zone '" + std::string(eval.text(name)) + "' is not in the plan");
    }
  }
  const Value time = argument(eval, kName, arguments, count - 1, kTimestamp);
  if (!valid || !time.valid() || eval.failed()) return missing_of(kTimestamp);
  const int64_t wall = wall_of(eval, time.integer);
  const int64_t instant = zones[0] == nullptr ? wall : zones[0]->instant_of(wall);
  return Value::of_integer(instant_of(eval, zones[1]->wall_of(instant)), Type::Timestamp);
}

// INTERVAL '...' ...: months, micros, the first and the last unit, all constants.
Value interval_literal(Eval& eval, Arguments arguments, const void*) {
  const std::string_view first = eval.text(arguments[2]), last = eval.text(arguments[3]);
  const bool months = first == "year" || first == "month";
  const SqlType type = months ? month_interval(first, last) : time_interval(first, last);
  return of_interval(eval, type, {arguments[0].integer, 0, arguments[1].integer});
}

// Whole numbers, and seconds with a fraction at the end; what is left out is 0.
bool interval_parts(Eval& eval, std::string_view function, Arguments arguments, size_t count,
                    Int128 (&parts)[7]) {
  bool valid = true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool seconds = i + 1 == count;
    const Value part =
        argument(eval, function, arguments, i, seconds ? decimal_type(18, 6) : kInt32);
    valid = valid && part.valid();
    if (part.valid()) parts[i] = seconds ? part.decimal : Int128{part.integer};
  }
  return valid && !eval.failed();
}

bool fits_int(Int128 value) {
  return value >= std::numeric_limits<int32_t>::min() &&
         value <= std::numeric_limits<int32_t>::max();
}
bool fits_long(Int128 value) {
  return value >= std::numeric_limits<int64_t>::min() &&
         value <= std::numeric_limits<int64_t>::max();
}

// make_interval([years[, months[, weeks[, days[, hours[, minutes[, seconds]]]]]]])
Value make_interval(Eval& eval, Arguments arguments, const void*) {
  Int128 parts[7] = {};
  if (!interval_parts(eval, "make_interval", arguments, 7, parts))
    return missing_of(interval_type());
  const Int128 months = parts[0] * 12 + parts[1], days = parts[2] * 7 + parts[3];
  const Int128 micros = parts[4] * kHourMicros + parts[5] * kMinuteMicros + parts[6];
  if (!fits_int(months) || !fits_int(days) || !fits_long(micros)) {
    return unanswered(eval, interval_type(), "ARITHMETIC_OVERFLOW");
  }
  return of_interval(
      eval, interval_type(),
      {static_cast<int64_t>(months), static_cast<int64_t>(days), static_cast<int64_t>(micros)});
}

// make_dt_interval([days[, hours[, minutes[, seconds]]]])
Value make_dt_interval(Eval& eval, Arguments arguments, const void*) {
  Int128 parts[7] = {};
  const SqlType type = time_interval();
  if (!interval_parts(eval, "make_dt_interval", arguments, 4, parts)) return missing_of(type);
  const Int128 micros =
      parts[0] * kDayMicros + parts[1] * kHourMicros + parts[2] * kMinuteMicros + parts[3];
  if (!fits_long(micros)) return eval.fail("make_dt_interval(): an interval out of range");
  return of_interval(eval, type, {0, 0, static_cast<int64_t>(micros)});
}

Value make_ym_interval(Eval& eval, Arguments arguments, const void*) {
  Int128 parts[7] = {};
  const SqlType type = month_interval();
  if (!interval_parts(eval, "make_ym_interval", arguments, 7, parts)) return missing_of(type);
  const Int128 months = parts[0] * 12 + parts[1];
  if (!fits_int(months)) return eval.fail("make_ym_interval(): an interval out of range");
  return of_interval(eval, type, {static_cast<int64_t>(months), 0, 0});
}

struct Unit {
  std::string_view name;
  int64_t months, days, micros;
};
constexpr Unit kUnits[] = {{"year", 12, 0, 0},
                           {"quarter", 3, 0, 0},
                           {"month", 1, 0, 0},
                           {"week", 0, 7, 0},
                           {"day", 0, 1, 0},
                           {"dayofyear", 0, 1, 0},
                           {"hour", 0, 0, kHourMicros},
                           {"minute", 0, 0, kMinuteMicros},
                           {"second", 0, 0, kSecondMicros},
                           {"millisecond", 0, 0, 1000},
                           {"microsecond", 0, 0, 1}};

const Unit* unit_argument(Eval& eval, const Value& name) {
  for (const Unit& unit : kUnits) {
    if (eval.text(name) == unit.name) return &unit;
  }
  eval.fail("there is no unit '" + std::string(eval.text(name)) + "' of time");
  return nullptr;
}

// timestampadd(unit, count, time); the unit is a constant, in lower case.
Value timestampadd(Eval& eval, Arguments arguments, const void*) {
  const Unit* unit = unit_argument(eval, arguments[0]);
  const Value count = argument(eval, "timestampadd", arguments, 1, kInt32);
  const Value time = argument(eval, "timestampadd", arguments, 2, kTimestamp);
  if (unit == nullptr || !count.valid() || !time.valid()) return missing_of(kTimestamp);
  const int64_t many = count.integer;
  return time_after(eval, time, {unit->months * many, unit->days * many, unit->micros * many});
}

// Whole months between two wall clocks, as java.time counts them: first whole days, then months.
int64_t months_between_walls(int64_t from, int64_t to) {
  const int64_t first = floor_divide(from, kDayMicros);
  int64_t last = floor_divide(to, kDayMicros);
  const int64_t left = floor_modulo(from, kDayMicros), right = floor_modulo(to, kDayMicros);
  if (last > first && right < left) --last;
  if (last < first && right > left) ++last;
  const Civil a = civil_of(first), b = civil_of(last);
  const auto packed = [](const Civil& of) { return (of.year * 12 + of.month) * 32 + of.day; };
  return (packed(b) - packed(a)) / 32;
}

// timestampdiff(unit, from, to): whole units.
Value timestampdiff(Eval& eval, Arguments arguments, const void*) {
  const Unit* unit = unit_argument(eval, arguments[0]);
  const Value from = argument(eval, "timestampdiff", arguments, 1, kTimestamp);
  const Value to = argument(eval, "timestampdiff", arguments, 2, kTimestamp);
  if (unit == nullptr || !from.valid() || !to.valid()) return missing_of(kInt64);
  const int64_t left = wall_of(eval, from.integer), right = wall_of(eval, to.integer);
  if (unit->months != 0) return Value::of_integer(months_between_walls(left, right) / unit->months);
  // Days are what clocks show, hours are exact.
  const Int128 walls = Int128{right} - left, instants = Int128{to.integer} - from.integer;
  const Int128 count =
      unit->days != 0 ? walls / (unit->days * kDayMicros) : instants / unit->micros;
  if (!fits_long(count)) return eval.fail("timestampdiff(): a number out of range");
  return Value::of_integer(static_cast<int64_t>(count));
}

constexpr Function kTimesFunctions[] = {
    function(fn::sql_date_from_unix_date, date_from_unix_date),
    function(fn::sql_unix_date, unix_date),
    function(fn::sql_unix_seconds, unix_time<kSecondMicros>),
    function(fn::sql_unix_millis, unix_time<1000>),
    function(fn::sql_unix_micros, unix_time<1>),
    function(fn::sql_dayname, dayname),
    function(fn::sql_monthname, monthname),
    function(fn::sql_year_of_week, year_of_week),
    function(fn::sql_day_of_iso_week, day_of_iso_week),
    function(fn::sql_seconds_of_minute, seconds_of_minute),
    function(fn::sql_make_timestamp, make_timestamp<false>),
    function(fn::sql_make_timestamp_in, make_timestamp<true>),
    function(fn::sql_convert_timezone, convert_timezone),
    function(fn::sql_interval_literal, interval_literal),
    function(fn::sql_make_interval, make_interval),
    function(fn::sql_make_dt_interval, make_dt_interval),
    function(fn::sql_make_ym_interval, make_ym_interval),
    function(fn::sql_timestampadd, timestampadd),
    function(fn::sql_timestampdiff, timestampdiff),
};

}  // namespace

std::span<const Function> time_functions() { return kTimesFunctions; }

}  // namespace serval::tabular::sql
