// Lookup of one part of an array, a map or a structure. Hot path; any thread.
#include "tabular/sql/composite/lookup.h"

namespace serval::tabular::sql {

namespace {

Value item_at(Eval& eval, std::string_view function, std::span<const Value> arguments, int first) {
  const SqlType element = element_of(full_type(arguments[0]));
  const Value& given = arguments[1];
  const bool fits = given.type == Type::Any || is_integer(given.type);
  if (!fits || (first == 1 && given.type == Type::Int64)) {
    bad_argument(eval, function, 1, "int", given);
    return missing_of(element);
  }
  if (!arguments[0].valid() || !given.valid()) return missing_of(element);
  const auto items = items_of(eval, arguments[0]);
  if (first == 1 && given.integer == 0) {
    eval.fail(std::string(function) + "(): argument 2: items count from 1, got 0");
    return missing_of(element);
  }
  const auto count = static_cast<int64_t>(items.size());
  const int64_t at =
      first == 1 && given.integer < 0 ? count + given.integer : given.integer - first;
  if (at >= 0 && at < count) return items[static_cast<size_t>(at)];
  const bool is_item = function == "[]";
  if (!is_item && function != "element_at") return missing_of(element);
  return unanswered(eval, element,
                    is_item ? "INVALID_ARRAY_INDEX" : "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
                    "item " + std::to_string(given.integer) + " of " + std::to_string(count));
}

Value value_of_key(Eval& eval, std::string_view function, std::span<const Value> arguments) {
  const SqlType type = full_type(arguments[0]);
  const SqlType value_type = part_of(type, 1);
  const auto key_type = tightest_type(part_of(type, 0), full_type(arguments[1]));
  if (!key_type) {
    bad_argument(eval, function, 1, type_text(part_of(type, 0)), arguments[1]);
    return missing_of(value_type);
  }
  const Value key = cast(eval, arguments[1], *key_type);
  if (!arguments[0].valid() || !key.valid()) return missing_of(value_type);
  const auto pairs = items_of(eval, arguments[0]);
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (compare_items(eval, cast(eval, pairs[i], *key_type), key) == 0) return pairs[i + 1];
  }
  return missing_of(value_type);
}

bool same_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto low = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    if (low(a[i]) != low(b[i])) return false;
  }
  return true;
}

// The position of the field; -1 after eval.failed().
int64_t field_named(Eval& eval, SqlType type, const Value& name) {
  if (name.type != Type::String || !name.valid()) {
    eval.fail("expected the name of a field of " + type_text(type) + ", got " +
              type_text(type_of(name)));
    return -1;
  }
  const auto& names = composite_of(type).names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (same_name(names[i], eval.text(name))) return static_cast<int64_t>(i);
  }
  eval.fail(type_text(type) + " has no field '" + std::string(eval.text(name)) + "'");
  return -1;
}

Value field_of(Eval& eval, std::span<const Value> arguments) {
  const SqlType type = full_type(arguments[0]);
  const int64_t at = field_named(eval, type, arguments[1]);
  if (at < 0) return {};
  const SqlType part = part_of(type, static_cast<size_t>(at));
  if (!arguments[0].valid()) return missing_of(part);
  return items_of(eval, arguments[0])[static_cast<size_t>(at)];
}

// The field of each structure of an array.
Value fields_of(Eval& eval, std::span<const Value> arguments) {
  const SqlType element = element_of(full_type(arguments[0]));
  const int64_t at = field_named(eval, element, arguments[1]);
  if (at < 0) return {};
  const SqlType part = part_of(element, static_cast<size_t>(at));
  if (!arguments[0].valid()) return missing_of(array_of(part));
  std::vector<Value> made;
  for (const Value& each : items_of(eval, arguments[0])) {
    made.push_back(each.valid() ? items_of(eval, each)[static_cast<size_t>(at)] : missing_of(part));
  }
  return of_items(eval, array_of(part), std::move(made));
}

}  // namespace

Value look_up(Eval& eval, std::string_view function, std::span<const Value> arguments, int first) {
  const SqlType type = full_type(arguments[0]);
  if (type.type == Type::Any) return {};
  const bool named = arguments[1].type == Type::String && first == 0;
  if (is_form(type, Form::Struct) && named) return field_of(eval, arguments);
  if (is_form(type, Form::Map)) return value_of_key(eval, function, arguments);
  if (is_form(type, Form::Array)) {
    if (named && is_form(element_of(type), Form::Struct)) return fields_of(eval, arguments);
    return item_at(eval, function, arguments, first);
  }
  return bad_argument(eval, function, 0, "an array or a map", arguments[0]);
}

}  // namespace serval::tabular::sql
