// Types of SQL values that hold others: arrays, maps, structures and intervals. Their values have
// the plan's type List; the two bytes that a decimal uses for its precision and scale say which of
// them it is. Any thread.
// Source: Spark's ArrayType, MapType, StructType and interval types.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tabular/sql/decimal.h"

namespace serval::tabular::sql {

enum class Form : uint8_t {
  Array,          // parts: the element
  Map,            // parts: key and value
  Struct,         // parts: one for each of `names`
  Interval,       // months, days and microseconds (make_interval)
  MonthInterval,  // `names`: its first and last unit, "year" and "month"
  TimeInterval,   // `names`: "day", "hour", "minute", "second"
};

struct Composite {
  Form form = Form::Array;
  std::vector<SqlType> parts;
  std::vector<std::string> names;
};

// The description of a type whose `type` is List. Immutable; lives as long as the process.
const Composite& composite_of(SqlType type);

SqlType array_of(SqlType element);
SqlType map_of(SqlType key, SqlType value);
SqlType struct_of(std::vector<std::string> names, std::vector<SqlType> parts);
SqlType interval_type();
SqlType month_interval(std::string_view first = "year", std::string_view last = "month");
SqlType time_interval(std::string_view first = "day", std::string_view last = "second");

bool is_form(SqlType type, Form form);
// Part `index`; the type of NULL where there is no such part.
SqlType part_of(SqlType type, size_t index);
inline SqlType element_of(SqlType array) { return part_of(array, 0); }

// "array<int>", "map<string,double>", "struct<a:int>", "interval day to second".
std::string composite_text(SqlType type);
// Parses "array<int>" and "map<string,int>"; nullopt if it is neither.
std::optional<SqlType> composite_named(std::string_view name);

using CommonType = std::optional<SqlType> (*)(SqlType a, SqlType b);
// The common type of two composites; `common` decides it for their parts.
std::optional<SqlType> common_composite(SqlType a, SqlType b, CommonType common);

}  // namespace serval::tabular::sql
