// Spark's ANSI mode: common types of values of two types, and the errors of undefined operations.
// Hot path; any thread. Source: Spark 4's AnsiTypeCoercion and QueryExecutionErrors.
#include "tabular/sql/values.h"

namespace serval::tabular::sql {

namespace {

constexpr size_t kDetailMax = 160;

// The beginning of a text, for an error: at most this number of bytes, in whole characters.
std::string first_of(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace

Value unanswered(Eval& eval, SqlType type, std::string_view condition, std::string_view detail) {
  const Value missing = missing_of(type);
  if (!eval.ansi) return missing;
  std::string what(condition);
  if (!detail.empty()) what.append(": ").append(first_of(detail, kDetailMax));
  return eval.raise(missing, std::move(what));
}

Value uncastable(Eval& eval, const Value& value, SqlType to, std::string_view condition) {
  if (!eval.ansi) return missing_of(to);
  const bool is_text = value.type == Type::String;
  const std::string shown =
      is_text ? "'" + first_of(eval.text(value), 60) + "'" : text_of(eval, value);
  return unanswered(eval, to, is_text ? "CAST_INVALID_INPUT" : condition,
                    shown + " cannot be cast to " + type_text(to));
}

std::optional<SqlType> ansi_type(SqlType a, SqlType b) {
  if (a.type == Type::String && b.type != Type::String) return ansi_type(b, a);
  if (b.type == Type::String && a.type != Type::String) {
    if (a.type == Type::Any || a.type == Type::Vector || a.type == Type::List) return b;
    if (is_integer(a.type)) return kInt64;
    return is_numeric(a.type) ? kDouble : a;
  }
  const bool is_float = a.type == Type::Float || b.type == Type::Float;
  if (is_float && (is_integer(a.type) || is_integer(b.type))) return kDouble;
  return tightest_type(a, b);
}

std::optional<SqlType> ansi_common_type(std::span<const SqlType> types) {
  std::optional<SqlType> made = SqlType{};
  for (const bool texts : {false, true}) {
    for (const SqlType type : types) {
      if (!made) return std::nullopt;
      if ((type.type == Type::String) == texts) made = ansi_type(*made, type);
    }
  }
  return made;
}

std::optional<SqlType> common_type(const Eval& eval, std::span<const SqlType> types) {
  return eval.ansi_types ? ansi_common_type(types) : common_type(types);
}

}  // namespace serval::tabular::sql
