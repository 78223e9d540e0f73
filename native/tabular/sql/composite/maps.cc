// Functions of maps and structures. Hot path; any thread.
// Source: Spark's complexTypeCreator.scala, collectionOperations.scala and ArrayBasedMapBuilder.
#include <array>
#include <set>

#include "tabular/sql/composite/items.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

// Reads argument `index` as a map. False: it is not a map; `valid` says whether it has a value.
bool map_argument(Eval& eval, std::string_view function, Arguments arguments, size_t index) {
  const Value& value = arguments[index];
  if (value.type == Type::Any || is_form(full_type(value), Form::Map)) return true;
  bad_argument(eval, function, index, "a map", value);
  return false;
}

std::optional<SqlType> common_of(const Eval& eval, Arguments arguments, size_t first, size_t step) {
  std::vector<SqlType> types;
  for (size_t i = first; i < arguments.size(); i += step) types.push_back(full_type(arguments[i]));
  return common_type(eval, types);
}

// map(key, value, key, value, ...)
Value make_map(Eval& eval, Arguments arguments, const void*) {
  if (arguments.size() % 2 != 0) return eval.fail("map(): expected keys and values in pairs");
  const auto key = common_of(eval, arguments, 0, 2), value = common_of(eval, arguments, 1, 2);
  if (!key || !value) {
    return eval.fail("map(): its keys, or its values, have types that have no type in common");
  }
  std::vector<Value> items;
  for (size_t i = 0; i < arguments.size(); ++i) {
    items.push_back(cast(eval, arguments[i], i % 2 == 0 ? *key : *value));
  }
  if (eval.failed()) return {};
  return of_pairs(eval, "map", map_of(*key, *value), std::move(items));
}

Value map_from_arrays(Eval& eval, Arguments arguments, const void*) {
  Array keys, values;
  if (!array_argument(eval, "map_from_arrays", arguments, 0, keys) ||
      !array_argument(eval, "map_from_arrays", arguments, 1, values)) {
    return {};
  }
  const SqlType type = map_of(keys.element, values.element);
  if (!keys.valid || !values.valid) return missing_of(type);
  if (keys.items.size() != values.items.size()) {
    return eval.fail("map_from_arrays(): expected arrays of one length, got " +
                     std::to_string(keys.items.size()) + " and " +
                     std::to_string(values.items.size()));
  }
  std::vector<Value> items;
  for (size_t i = 0; i < keys.items.size(); ++i) {
    items.push_back(keys.items[i]);
    items.push_back(values.items[i]);
  }
  return of_pairs(eval, "map_from_arrays", type, std::move(items));
}

Value map_from_entries(Eval& eval, Arguments arguments, const void*) {
  Array entries;
  if (!array_argument(eval, "map_from_entries", arguments, 0, entries)) return {};
  const bool pairs =
      is_form(entries.element, Form::Struct) && composite_of(entries.element).parts.size() == 2;
  if (!pairs) {
    return bad_argument(eval, "map_from_entries", 0, "an array of structures of two fields",
                        arguments[0]);
  }
  const SqlType type = map_of(part_of(entries.element, 0), part_of(entries.element, 1));
  if (!entries.valid) return missing_of(type);
  std::vector<Value> items;
  for (const Value& entry : entries.items) {
    if (!entry.valid()) return missing_of(type);
    const auto fields = items_of(eval, entry);
    items.insert(items.end(), fields.begin(), fields.end());
  }
  return of_pairs(eval, "map_from_entries", type, std::move(items));
}

Value map_concat(Eval& eval, Arguments arguments, const void*) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!map_argument(eval, "map_concat", arguments, i)) return {};
  }
  const auto common = common_of(eval, arguments, 0, 1);
  if (!common) return eval.fail("map_concat(): its maps have types that have no type in common");
  const SqlType type = common->type == Type::Any ? map_of(kString, kString) : *common;
  std::vector<Value> items;
  bool valid = true;
  for (const Value& value : arguments) {
    const Value map = cast(eval, value, type);
    valid = valid && map.valid();
    if (!valid || eval.failed()) return missing_of(type);
    const auto part = items_of(eval, map);
    items.insert(items.end(), part.begin(), part.end());
  }
  return of_pairs(eval, "map_concat", type, std::move(items));
}

// Keys (0) or values (1).
template <size_t kPart>
Value map_part(Eval& eval, Arguments arguments, const void*) {
  if (!map_argument(eval, kPart == 0 ? "map_keys" : "map_values", arguments, 0)) return {};
  const SqlType type = array_of(part_of(full_type(arguments[0]), kPart));
  if (!arguments[0].valid()) return missing_of(type);
  const auto pairs = items_of(eval, arguments[0]);
  std::vector<Value> items;
  for (size_t i = kPart; i < pairs.size(); i += 2) items.push_back(pairs[i]);
  return of_items(eval, type, std::move(items));
}

Value map_entries(Eval& eval, Arguments arguments, const void*) {
  if (!map_argument(eval, "map_entries", arguments, 0)) return {};
  const SqlType map = full_type(arguments[0]);
  const SqlType entry = struct_of({"key", "value"}, {part_of(map, 0), part_of(map, 1)});
  if (!arguments[0].valid()) return missing_of(array_of(entry));
  const auto pairs = items_of(eval, arguments[0]);
  std::vector<Value> items;
  for (size_t i = 0; i + 1 < pairs.size() && !eval.failed(); i += 2) {
    items.push_back(of_items(eval, entry, {pairs[i], pairs[i + 1]}));
  }
  return of_items(eval, array_of(entry), std::move(items));
}

Value map_contains_key(Eval& eval, Arguments arguments, const void*) {
  if (!map_argument(eval, "map_contains_key", arguments, 0)) return {};
  const SqlType key = part_of(full_type(arguments[0]), 0);
  const auto type = tightest_type(key, full_type(arguments[1]));
  if (!type) return bad_argument(eval, "map_contains_key", 1, type_text(key), arguments[1]);
  const Value wanted = cast(eval, arguments[1], *type);
  if (!arguments[0].valid() || !wanted.valid()) return missing_of(kBool);
  const auto pairs = items_of(eval, arguments[0]);
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (compare_items(eval, cast(eval, pairs[i], *type), wanted) == 0) return Value::of_bool(true);
  }
  return Value::of_bool(false);
}

// named_struct(name, value, ...): names are constants, which the importer checks.
Value named_struct(Eval& eval, Arguments arguments, const void*) {
  if (arguments.size() % 2 != 0) {
    return eval.fail("named_struct(): expected names and values in pairs");
  }
  std::vector<std::string> names;
  std::vector<SqlType> parts;
  std::vector<Value> items;
  for (size_t i = 0; i < arguments.size(); i += 2) {
    if (arguments[i].type != Type::String || !arguments[i].valid()) {
      return bad_argument(eval, "named_struct", i, "a field's name", arguments[i]);
    }
    names.emplace_back(eval.text(arguments[i]));
    parts.push_back(full_type(arguments[i + 1]));
    items.push_back(arguments[i + 1]);
  }
  return of_items(eval, struct_of(std::move(names), std::move(parts)), std::move(items));
}

constexpr Function kMapsFunctions[] = {
    function(fn::sql_map, make_map),
    function(fn::sql_map_from_arrays, map_from_arrays),
    function(fn::sql_map_from_entries, map_from_entries),
    function(fn::sql_map_concat, map_concat),
    function(fn::sql_map_keys, map_part<0>),
    function(fn::sql_map_values, map_part<1>),
    function(fn::sql_map_entries, map_entries),
    function(fn::sql_map_contains_key, map_contains_key),
    function(fn::sql_named_struct, named_struct),
};

}  // namespace

std::span<const Function> map_functions() { return kMapsFunctions; }

Value of_pairs(Eval& eval, std::string_view function, SqlType type, std::vector<Value> items) {
  const auto before = [&eval](const Value& a, const Value& b) {
    return compare_items(eval, a, b) < 0;
  };
  std::set<Value, decltype(before)> keys(before);
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (!items[i].valid()) return eval.fail(std::string(function) + "(): a key is NULL");
    if (!keys.insert(items[i]).second) {
      return eval.fail(std::string(function) + "(): the key " + text_of(eval, items[i]) +
                       " occurs twice");
    }
  }
  return of_items(eval, type, std::move(items));
}

}  // namespace serval::tabular::sql
