// Types of SQL values: what two of them have in common, and values as others. A value knows its
// type even where it is missing, so every call knows what it answers. Hot path; any thread.
// Source: tabular.md 5.3 and 10; Spark's TypeCoercion (not ANSI) for what becomes what.
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
// The smallest type that has both without a loss; none where Spark has none.
std::optional<SqlType> tightest_type(SqlType a, SqlType b);
// Text with another type is text (what CASE, COALESCE and IN do).
std::optional<SqlType> wider_type(SqlType a, SqlType b);
// Of all; texts first.
std::optional<SqlType> common_type(std::span<const SqlType> types);
// The same in ANSI mode: text with another type is of the other type, a bigint or a double.
std::optional<SqlType> ansi_type(SqlType a, SqlType b);
std::optional<SqlType> ansi_common_type(std::span<const SqlType> types);
// By the mode.
std::optional<SqlType> common_type(const Eval& eval, std::span<const SqlType> types);

// CAST. What cannot be is missing; a pair of types that Spark does not cast fails.
Value cast(Eval& eval, const Value& value, SqlType to);
// The same as if the mode was not ANSI.
Value cast_plain(Eval& eval, const Value& value, SqlType to);
// "decimal(10,2)" -> the type; none where it is not one.
std::optional<SqlType> type_named(std::string_view name);
// An operation without an answer: NULL of the type, in ANSI mode an error: Spark's name of it, and
// more where `detail` has it.
Value unanswered(Eval& eval, SqlType type, std::string_view condition,
                 std::string_view detail = {});
// A cast without an answer: of text CAST_INVALID_INPUT, of others `condition`.
Value uncastable(Eval& eval, const Value& value, SqlType to, std::string_view condition);
// As a function's argument: casts only what Spark does unasked.
Value convert(Eval& eval, const Value& value, SqlType to);

// A timestamp is an instant: what the clocks of the model's zone show then, and back.
int64_t wall_of(const Eval& eval, int64_t instant);
int64_t instant_of(const Eval& eval, int64_t wall);
int64_t start_of_day(const Eval& eval, int64_t days);

// The text that a value is in SQL. Of a valid value.
std::string text_of(Eval& eval, const Value& value);

// Order of two values of a type, -1 to 1: NaN is the largest number and equal to itself.
int compare_values(Eval& eval, const Value& a, const Value& b);
// The type in which `=` and `<` compare, not ANSI. None: Spark refuses it.
std::optional<SqlType> comparison_type(SqlType a, SqlType b);

}  // namespace serval::tabular::sql
