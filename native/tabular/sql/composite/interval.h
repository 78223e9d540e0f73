// Intervals: years and months, days to seconds, or both. Hot path; one thread at a time.
// Source: Spark's IntervalUtils.
#pragma once

#include "tabular/sql/composite/items.h"

namespace serval::tabular::sql {

struct Interval {
  int64_t months = 0, days = 0, micros = 0;
};

// Reads a valid value of one of the three interval types.
Interval interval_of(Eval& eval, const Value& value);
// A value of `type`: what the type does not have does not count.
Value of_interval(Eval& eval, SqlType type, Interval interval);
bool is_interval(SqlType type);

// "1 years 2 months", "INTERVAL '1-2' YEAR TO MONTH".
std::string interval_text(Eval& eval, const Value& value);
// A date or timestamp, and an interval. Fails where it is beyond all times.
Value time_after(Eval& eval, const Value& time, const Interval& by);

// "1 year 2 months -3.5 seconds"; nullopt where it is no interval.
std::optional<Interval> interval_named(std::string_view text);
// CAST of and to intervals; nullopt where Spark has none.
std::optional<Value> cast_interval(Eval& eval, const Value& value, SqlType to);

// +, -, * and / where one of both is an interval, or both are times; nullopt where neither is so.
enum class IntervalOp : uint8_t { Add, Subtract, Multiply, Divide };
std::optional<Value> interval_operation(Eval& eval, IntervalOp op, const Value& a, const Value& b);

}  // namespace serval::tabular::sql
