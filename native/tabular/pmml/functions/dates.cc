// PMML's functions of dates and times. Hot path, any thread. Source: tabular.md 3.3
#include "base/values/civil.h"
#include "tabular/pmml/functions/functions.h"

namespace serval::tabular::pmml {
namespace {

// value, year.
Value days_since_year(Eval& eval, std::span<const Value> arguments, const void*) {
  if (arguments[0].missing() || arguments[1].missing()) {
    return fail_missing(eval, "dateDaysSinceYear");
  }
  const Value date = cast(eval, arguments[0], Type::Date);
  const Value year = cast(eval, arguments[1], Type::Int32);
  if (eval.failed()) return {};
  if (year.integer < 1 || year.integer > 9999) return eval.fail("a year beyond 1 to 9999");
  const int64_t days = date.integer - days_of({year.integer, 1, 1});
  return Value::of_integer(days, Type::Int32);
}

Value seconds_since_year(Eval& eval, std::span<const Value> arguments, const void*) {
  if (arguments[0].missing() || arguments[1].missing()) {
    return fail_missing(eval, "dateSecondsSinceYear");
  }
  if (arguments[0].type != Type::Timestamp) {
    return fail_type(eval, "dateSecondsSinceYear", "a dateTime", arguments[0]);
  }
  const Value year = cast(eval, arguments[1], Type::Int32);
  if (eval.failed()) return {};
  if (year.integer < 1 || year.integer > 9999) return eval.fail("a year beyond 1 to 9999");
  const int64_t from = days_of({year.integer, 1, 1}) * kDaySeconds;
  const int64_t seconds = floor_divide(arguments[0].integer, kSecondMicros) - from;
  return number_of(eval, Type::Int32, static_cast<double>(seconds), "dateSecondsSinceYear");
}

Value seconds_since_midnight(Eval& eval, std::span<const Value> arguments, const void*) {
  if (arguments[0].missing()) return fail_missing(eval, "dateSecondsSinceMidnight");
  const Value time = cast(eval, arguments[0], Type::Time);
  if (eval.failed()) return {};
  return Value::of_integer(time.integer, Type::Int32);
}

constexpr Function kDatesFunctions[] = {
    {fn::pmml_dateDaysSinceYear, days_since_year, nullptr, nullptr, true},
    {fn::pmml_dateSecondsSinceYear, seconds_since_year, nullptr, nullptr, true},
    {fn::pmml_dateSecondsSinceMidnight, seconds_since_midnight, nullptr, nullptr, true},
};

}  // namespace

std::span<const Function> date_functions() { return kDatesFunctions; }

}  // namespace serval::tabular::pmml
