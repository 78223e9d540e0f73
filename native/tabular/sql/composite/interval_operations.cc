// Arithmetic of intervals and times. Hot path; one thread at a time.
// Source: Spark's intervalExpressions.scala and TypeCoercion.
#include <cmath>
#include <limits>

#include "tabular/sql/calendar.h"
#include "tabular/sql/composite/interval.h"

namespace serval::tabular::sql {

namespace {

bool is_time(SqlType type) { return type.type == Type::Date || type.type == Type::Timestamp; }

Value out_of_range(Eval& eval) { return eval.fail("an interval out of range"); }

// -1 to subtract. An interval's parts never overflow here: months and days have 32 bits.
std::optional<Interval> signed_interval(const Interval& of, int sign) {
  if (sign > 0) return of;
  if (of.micros == std::numeric_limits<int64_t>::min()) return std::nullopt;
  return Interval{-of.months, -of.days, -of.micros};
}

bool is_day_only(SqlType interval) {
  const Composite& of = composite_of(interval);
  return of.form == Form::TimeInterval && of.names[1] == "day";
}

// A time and an interval.
Value shift(Eval& eval, Value time, const Value& by, int sign) {
  const SqlType interval = full_type(by);
  const Form form = composite_of(interval).form;
  if (time.type == Type::String) time = cast(eval, time, kTimestamp);
  // A date stays a date if no hours are added.
  if (time.type == Type::Date && form == Form::TimeInterval && !is_day_only(interval)) {
    time = cast(eval, time, kTimestamp);
  }
  if (!time.valid() || !by.valid() || eval.failed()) return missing_of(type_of(time));
  const auto signed_by = signed_interval(interval_of(eval, by), sign);
  if (!signed_by) return out_of_range(eval);
  return time_after(eval, time, *signed_by);
}

// Two intervals of one kind.
Value sum(Eval& eval, const Value& a, const Value& b, int sign) {
  const auto type = tightest_type(full_type(a), full_type(b));
  if (!type) {
    return eval.fail("cannot compute " + type_text(full_type(a)) + (sign > 0 ? " + " : " - ") +
                     type_text(full_type(b)));
  }
  if (!a.valid() || !b.valid()) return missing_of(*type);
  const Interval left = interval_of(eval, a);
  const auto right = signed_interval(interval_of(eval, b), sign);
  Interval made;
  if (!right || __builtin_add_overflow(left.micros, right->micros, &made.micros)) {
    return out_of_range(eval);
  }
  made.months = left.months + right->months;
  made.days = left.days + right->days;
  constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
  for (const int64_t part : {made.months, made.days}) {
    if (part > kInt32Max || part < -kInt32Max - 1) return out_of_range(eval);
  }
  return of_interval(eval, *type, made);
}

// Half away from zero, as Java's RoundingUtils does.
std::optional<int64_t> rounded(double value, int64_t most) {
  if (!std::isfinite(value) || std::fabs(value) >= static_cast<double>(most)) return std::nullopt;
  return static_cast<int64_t>(std::round(value));
}

// By a number; a calendar interval's parts each by itself.
Value scaled(Eval& eval, const Value& of, const Value& by, bool divides) {
  const SqlType type = full_type(of);
  const SqlType whole = composite_of(type).form == Form::MonthInterval  ? month_interval()
                        : composite_of(type).form == Form::TimeInterval ? time_interval()
                                                                        : type;
  const Value factor = convert(eval, by, kDouble);
  if (!of.valid() || !factor.valid() || eval.failed()) return missing_of(whole);
  if (divides && factor.real == 0) {
    if (composite_of(type).form == Form::Interval) return missing_of(whole);
    return eval.fail("an interval divided by zero");
  }
  const Interval from = interval_of(eval, of);
  if (!divides && is_integer(by.type) && composite_of(type).form != Form::Interval) {
    int64_t micros = 0, months = 0;
    if (__builtin_mul_overflow(from.micros, by.integer, &micros) ||
        __builtin_mul_overflow(from.months, by.integer, &months) ||
        months != static_cast<int32_t>(months)) {
      return out_of_range(eval);
    }
    return of_interval(eval, whole, {months, 0, micros});
  }
  const auto part = [&](int64_t value) {
    const auto real = static_cast<double>(value);
    return divides ? real / factor.real : real * factor.real;
  };
  if (composite_of(type).form == Form::Interval) {
    // The remainder of a day is added to the hours.
    const double days = part(from.days);
    const double micros = part(from.micros) + (days - std::trunc(days)) * kDayMicros;
    constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
    const auto made = rounded(micros, std::numeric_limits<int64_t>::max());
    const auto months = rounded(std::trunc(part(from.months)), kInt32Max);
    const auto whole_days = rounded(std::trunc(days), kInt32Max);
    if (!made || !months || !whole_days) return out_of_range(eval);
    return of_interval(eval, whole, {*months, *whole_days, *made});
  }
  const auto months = rounded(part(from.months), std::numeric_limits<int32_t>::max());
  const auto micros = rounded(part(from.micros), std::numeric_limits<int64_t>::max());
  if (!months || !micros) return out_of_range(eval);
  return of_interval(eval, whole, {*months, 0, *micros});
}

// Days between dates, and micros between times.
Value difference(Eval& eval, const Value& a, const Value& b) {
  const bool dates = a.type == Type::Date && b.type == Type::Date;
  const SqlType type = dates ? time_interval("day", "day") : time_interval();
  const SqlType both = dates ? kDate : kTimestamp;
  const Value left = cast(eval, a, both), right = cast(eval, b, both);
  if (!left.valid() || !right.valid() || eval.failed()) return missing_of(type);
  int64_t between = 0;
  if (__builtin_sub_overflow(left.integer, right.integer, &between)) return out_of_range(eval);
  if (dates && !has_micros(between)) return out_of_range(eval);
  return of_interval(eval, type, dates ? Interval{0, between, 0} : Interval{0, 0, between});
}

}  // namespace

std::optional<Value> interval_operation(Eval& eval, IntervalOp op, const Value& a, const Value& b) {
  const SqlType left = full_type(a), right = full_type(b);
  const bool intervals[2] = {is_interval(left), is_interval(right)};
  const bool numbers[2] = {is_numeric(left.type) || left.type == Type::String,
                           is_numeric(right.type) || right.type == Type::String};
  const bool adds = op == IntervalOp::Add, subtracts = op == IntervalOp::Subtract;
  if (subtracts && is_time(left) && is_time(right)) return difference(eval, a, b);
  if (!intervals[0] && !intervals[1]) return std::nullopt;
  if (adds || subtracts) {
    const int sign = adds ? 1 : -1;
    if (intervals[0] && intervals[1]) return sum(eval, a, b, sign);
    if (intervals[1] && (is_time(left) || left.type == Type::String))
      return shift(eval, a, b, sign);
    if (adds && intervals[0] && (is_time(right) || right.type == Type::String)) {
      return shift(eval, b, a, 1);
    }
    return std::nullopt;
  }
  if (intervals[0] && numbers[1]) return scaled(eval, a, b, op == IntervalOp::Divide);
  if (intervals[1] && numbers[0] && op == IntervalOp::Multiply) return scaled(eval, b, a, false);
  return std::nullopt;
}

}  // namespace serval::tabular::sql
