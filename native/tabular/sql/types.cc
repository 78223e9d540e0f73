// Types of SQL values and their common types. Any thread.
#include <algorithm>
#include <charconv>
#include <vector>

#include "tabular/sql/composite/types.h"
#include "tabular/sql/values.h"

namespace serval::tabular::sql {

namespace {

std::string_view sql_name(Type type) {
  switch (type) {
    case Type::Any: return "void";
    case Type::Bool: return "boolean";
    case Type::Int8: return "tinyint";
    case Type::Int16: return "smallint";
    case Type::Int32: return "int";
    case Type::Int64: return "bigint";
    case Type::Float: return "float";
    case Type::Double: return "double";
    case Type::Decimal: return "decimal";
    case Type::String: return "string";
    case Type::Binary: return "binary";
    case Type::Date: return "date";
    case Type::Timestamp: return "timestamp";
    default: return type_name(type);
  }
}

constexpr Type kNamed[] = {Type::Bool,   Type::Int8,  Type::Int16,    Type::Int32,
                           Type::Int64,  Type::Float, Type::Double,   Type::String,
                           Type::Binary, Type::Date,  Type::Timestamp};

// A decimal type that holds both; drops decimal places if it would be too long.
SqlType wider_decimal(SqlType a, SqlType b) {
  const int scale = std::max(a.scale, b.scale);
  const int whole = std::max(a.precision - a.scale, b.precision - b.scale);
  return decimal_type(std::min(whole + scale, kPrecisionMax), std::min(scale, kPrecisionMax));
}

bool is_time(Type type) { return type == Type::Date || type == Type::Timestamp; }

// Text becomes text with these.
bool is_told(Type type) { return is_numeric(type) || is_time(type); }

}  // namespace

std::string type_text(SqlType type) {
  if (type.type == Type::List) return composite_text(type);
  std::string text(sql_name(type.type));
  if (type.type != Type::Decimal) return text;
  return text + "(" + std::to_string(type.precision) + "," + std::to_string(type.scale) + ")";
}

std::optional<SqlType> type_named(std::string_view name) {
  for (const Type type : kNamed) {
    if (sql_name(type) == name) return SqlType{type};
  }
  if (name.ends_with(">")) return composite_named(name);
  constexpr std::string_view kDecimal = "decimal(";
  if (name.substr(0, kDecimal.size()) != kDecimal) return std::nullopt;
  int numbers[2] = {0, 0};
  const char* at = name.data() + kDecimal.size();
  const char* const end = name.data() + name.size();
  for (const char after : {',', ')'}) {
    const auto read = std::from_chars(at, end, numbers[after == ',' ? 0 : 1]);
    if (read.ec != std::errc{} || read.ptr == end || *read.ptr != after) return std::nullopt;
    at = read.ptr + 1;
  }
  const auto [precision, scale] = std::pair(numbers[0], numbers[1]);
  if (at != end || precision < 1 || precision > kPrecisionMax || scale < 0 || scale > precision) {
    return std::nullopt;
  }
  return decimal_type(precision, scale);
}

Value missing_of(SqlType type) {
  Value made = Value::missing_of(type.type);
  made.precision = type.precision;
  made.scale = type.scale;
  return made;
}

Value of_decimal(Int128 unscaled, SqlType type) {
  Value made = missing_of(type);
  made.state = State::Valid;
  made.decimal = unscaled;
  return made;
}

SqlType decimal_for(Type integer) {
  switch (integer) {
    case Type::Int8: return decimal_type(3, 0);
    case Type::Int16: return decimal_type(5, 0);
    case Type::Int32: return decimal_type(10, 0);
    default: return decimal_type(20, 0);
  }
}

std::optional<SqlType> tightest_type(SqlType a, SqlType b) {
  if (a == b || b.type == Type::Any) return a;
  if (a.type == Type::Any) return b;
  if (is_time(a.type) && is_time(b.type)) return kTimestamp;
  if (a.type == Type::List && b.type == Type::List) return common_composite(a, b, tightest_type);
  if (!is_numeric(a.type) || !is_numeric(b.type)) return std::nullopt;
  const bool decimals = a.type == Type::Decimal || b.type == Type::Decimal;
  if (!decimals) return a.type > b.type ? a : b;
  if (is_real(a.type) || is_real(b.type)) return kDouble;
  return wider_decimal(a.type == Type::Decimal ? a : decimal_for(a.type),
                       b.type == Type::Decimal ? b : decimal_for(b.type));
}

std::optional<SqlType> wider_type(SqlType a, SqlType b) {
  if (const auto both = tightest_type(a, b)) return both;
  if (a.type == Type::String && is_told(b.type)) return a;
  if (b.type == Type::String && is_told(a.type)) return b;
  if (a.type == Type::List && b.type == Type::List) return common_composite(a, b, wider_type);
  return std::nullopt;
}

std::optional<SqlType> common_type(std::span<const SqlType> types) {
  std::optional<SqlType> made = SqlType{};
  for (const bool texts : {true, false}) {
    for (const SqlType type : types) {
      if (!made) return std::nullopt;
      if ((type.type == Type::String) == texts) made = wider_type(*made, type);
    }
  }
  return made;
}

std::optional<SqlType> comparison_type(SqlType a, SqlType b) {
  if (a.type == Type::String && b.type != Type::String) return comparison_type(b, a);
  if (b.type == Type::String) {
    if (a.type == Type::Decimal) return kDouble;
    if (a.type == Type::List) return std::nullopt;
    return a.type == Type::Any || a.type == Type::Vector ? b : a;
  }
  if (a.type == Type::Bool && is_numeric(b.type)) return b;
  if (b.type == Type::Bool && is_numeric(a.type)) return a;
  return tightest_type(a, b);
}

}  // namespace serval::tabular::sql
