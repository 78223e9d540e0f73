// Types of SQL values, their common types, and conversion of values. A missing value also has a
// type, so every call knows its result type. Hot path; any thread. Source: tabular.md 5.3 and 10;
// Spark's TypeCoercion (not ANSI) for conversions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tabular/expression.h"
#include "tabular/sql/decimal.h"

namespace serval::tabular::sql {

inline constexpr SqlType kBool{Type::Bool}, kInt32{Type::Int32}, kInt64{Type::Int64};
inline constexpr SqlType kDouble{Type::Double}, kString{Type::String}, kDate{Type::Date};
inline constexpr SqlType kTimestamp{Type::Timestamp};

inline SqlType type_of(const Value& value) { return {value.type, value.precision, value.scale}; }
constexpr bool is_numeric(Type type) {
  return is_integer(type) || is_real(type) || type == Type::Decimal;
}
// "decimal(10,2)", "string", for error texts.
std::string type_text(SqlType type);

Value missing_of(SqlType type);
Value of_decimal(Int128 unscaled, SqlType type);
inline Decimal decimal_of(const Value& value) { return {value.decimal, value.scale}; }

// The decimal type that has all values of an integer type.
SqlType decimal_for(Type integer);
// The smallest type that holds both without loss; empty if Spark has none.
std::optional<SqlType> tightest_type(SqlType a, SqlType b);
// Text combined with another type is text (as in CASE, COALESCE and IN).
std::optional<SqlType> wider_type(SqlType a, SqlType b);
// Common type of all; texts are considered first.
std::optional<SqlType> common_type(std::span<const SqlType> types);
// The same in ANSI mode: text combined with another type has the other type, a bigint or a double.
std::optional<SqlType> ansi_type(SqlType a, SqlType b);
std::optional<SqlType> ansi_common_type(std::span<const SqlType> types);
// Common type according to the mode.
std::optional<SqlType> common_type(const Eval& eval, std::span<const SqlType> types);

// CAST. Impossible values are missing; a pair of types that Spark does not cast fails.
Value cast(Eval& eval, const Value& value, SqlType to);
// The same, ignoring ANSI mode.
Value cast_plain(Eval& eval, const Value& value, SqlType to);
// "decimal(10,2)" -> the type; empty if the text names none.
std::optional<SqlType> type_named(std::string_view name);
// Result of an undefined operation: NULL of the type, or in ANSI mode an error with Spark's
// condition name and `detail`.
Value unanswered(Eval& eval, SqlType type, std::string_view condition,
                 std::string_view detail = {});
// Result of an impossible cast: CAST_INVALID_INPUT for a text, else `condition`.
Value uncastable(Eval& eval, const Value& value, SqlType to, std::string_view condition);
// Converts a function's argument: only Spark's implicit casts.
Value convert(Eval& eval, const Value& value, SqlType to);

// Converts between an instant (a timestamp) and the wall-clock time in the model's zone.
int64_t wall_of(const Eval& eval, int64_t instant);
int64_t instant_of(const Eval& eval, int64_t wall);
int64_t start_of_day(const Eval& eval, int64_t days);

// SQL text of a valid value.
std::string text_of(Eval& eval, const Value& value);

// Order of two values of a type, -1 to 1: NaN is the largest number and equal to itself.
int compare_values(Eval& eval, const Value& a, const Value& b);
// The type in which `=` and `<` compare, without ANSI. Empty: Spark refuses it.
std::optional<SqlType> comparison_type(SqlType a, SqlType b);

}  // namespace serval::tabular::sql
