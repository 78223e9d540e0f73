// Functions that search arrays and take parts of them. Hot path; any thread. Source: Spark's
// collectionOperations.scala.
#include <algorithm>

#include "tabular/sql/composite/items.h"
#include "tabular/sql/composite/lookup.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

constexpr size_t kTextBytesMax = 64 << 20;

Value int_of(int64_t value) { return Value::of_integer(value, Type::Int32); }

Value failed_as(SqlType type) { return missing_of(type); }

Value make_array(Eval& eval, Arguments arguments, const void*) {
  std::vector<SqlType> types;
  for (const Value& value : arguments) types.push_back(full_type(value));
  const auto element = common_type(eval, types);
  if (!element) return eval.fail("array(): its values have types that have no type in common");
  std::vector<Value> items;
  for (const Value& value : arguments) items.push_back(cast(eval, value, *element));
  if (eval.failed()) return failed_as(array_of(*element));
  return of_items(eval, array_of(*element), std::move(items));
}

// How many items, or pairs of a map. size() of NULL is -1, array_size() of it NULL.
template <bool kNullIsMinusOne>
Value size(Eval& eval, Arguments arguments, const void*) {
  const Value& value = arguments[0];
  const SqlType type = full_type(value);
  const bool map = is_form(type, Form::Map) && kNullIsMinusOne;
  if (value.type != Type::Any && !map && !is_form(type, Form::Array)) {
    return bad_argument(eval, kNullIsMinusOne ? "size" : "array_size", 0,
                        kNullIsMinusOne ? "an array or a map" : "an array", value);
  }
  // NULL has size -1 unless Spark is in ANSI mode.
  if (!value.valid()) return kNullIsMinusOne && !eval.ansi ? int_of(-1) : missing_of(kInt32);
  const size_t count = items_of(eval, value).size();
  return int_of(static_cast<int64_t>(map ? count / 2 : count));
}

// element_at() and [], of arrays and maps.
Value element_at(Eval& eval, Arguments arguments, const void*) {
  return look_up(eval, "element_at", arguments, 1);
}
Value try_element_at(Eval& eval, Arguments arguments, const void*) {
  return look_up(eval, "try_element_at", arguments, 1);
}
Value item(Eval& eval, Arguments arguments, const void*) {
  return look_up(eval, "[]", arguments, 0);
}
Value get(Eval& eval, Arguments arguments, const void*) {
  Array array;
  if (!array_argument(eval, "get", arguments, 0, array)) return {};
  return look_up(eval, "get", arguments, 0);
}

// An array and a value in their common type. Texts are not made of other types here.
bool with_value(Eval& eval, std::string_view function, Arguments arguments, Array& array,
                Value& value, std::vector<Value>& kept) {
  if (!array_argument(eval, function, arguments, 0, array)) return false;
  value = arguments[1];
  const auto element = tightest_type(array.element, full_type(value));
  if (!element) {
    bad_argument(eval, function, 1, type_text(array.element), value);
    return false;
  }
  if (!array_as(eval, *element, array, kept)) return false;
  value = cast(eval, value, *element);
  return !eval.failed();
}

Value array_contains(Eval& eval, Arguments arguments, const void*) {
  Array array;
  Value value;
  std::vector<Value> kept;
  if (!with_value(eval, "array_contains", arguments, array, value, kept)) return missing_of(kBool);
  if (!array.valid || !value.valid()) return missing_of(kBool);
  bool unknown = false;
  for (const Value& each : array.items) {
    if (!each.valid()) unknown = true;
    else if (compare_values(eval, each, value) == 0) return Value::of_bool(true);
  }
  return unknown ? missing_of(kBool) : Value::of_bool(false);
}

Value array_position(Eval& eval, Arguments arguments, const void*) {
  Array array;
  Value value;
  std::vector<Value> kept;
  if (!with_value(eval, "array_position", arguments, array, value, kept)) return missing_of(kInt64);
  if (!array.valid || !value.valid()) return missing_of(kInt64);
  for (size_t i = 0; i < array.items.size(); ++i) {
    const Value& each = array.items[i];
    if (each.valid() && compare_values(eval, each, value) == 0) {
      return Value::of_integer(static_cast<int64_t>(i) + 1);
    }
  }
  return Value::of_integer(0);
}

Value array_remove(Eval& eval, Arguments arguments, const void*) {
  Array array;
  Value value;
  std::vector<Value> kept;
  if (!with_value(eval, "array_remove", arguments, array, value, kept)) return {};
  if (!array.valid || !value.valid()) return missing_of(array.type());
  std::vector<Value> items;
  for (const Value& each : array.items) {
    if (!each.valid() || compare_values(eval, each, value) != 0) items.push_back(each);
  }
  return of_items(eval, array.type(), std::move(items));
}

template <bool kFront>
Value array_add(Eval& eval, Arguments arguments, const void*) {
  Array array;
  Value value;
  std::vector<Value> kept;
  const std::string_view name = kFront ? "array_prepend" : "array_append";
  if (!with_value(eval, name, arguments, array, value, kept)) return {};
  if (!array.valid) return missing_of(array.type());
  std::vector<Value> items(array.items.begin(), array.items.end());
  items.insert(kFront ? items.begin() : items.end(), value);
  return of_items(eval, array.type(), std::move(items));
}

// array_insert(array, position, value): fills a gap before the position with NULL.
Value array_insert(Eval& eval, Arguments arguments, const void*) {
  constexpr std::string_view kName = "array_insert";
  Array array;
  Value value;
  std::vector<Value> kept;
  const Value swapped[2] = {arguments[0], arguments[2]};
  if (!with_value(eval, kName, swapped, array, value, kept)) return {};
  const Value given = argument(eval, kName, arguments, 1, kInt32);
  if (!array.valid || !given.valid()) return missing_of(array.type());
  constexpr int64_t kLengthMax = 1 << 20;
  const int64_t at = given.integer, count = static_cast<int64_t>(array.items.size());
  if (at == 0) return eval.fail("array_insert(): argument 2: positions count from 1, got 0");
  if (at > kLengthMax || at < -kLengthMax) {
    return eval.fail("array_insert(): argument 2: the array would have more than " +
                     std::to_string(kLengthMax) + " items");
  }
  std::vector<Value> items(array.items.begin(), array.items.end());
  if (at > 0) {
    while (static_cast<int64_t>(items.size()) < at - 1) items.push_back(missing_of(array.element));
    items.insert(items.begin() + (at - 1), value);
  } else if (-at <= count + 1) {
    items.insert(items.end() + (at + 1), value);
  } else {
    items.insert(items.begin(), static_cast<size_t>(-at - count - 1), missing_of(array.element));
    items.insert(items.begin(), value);
  }
  return of_items(eval, array.type(), std::move(items));
}

Value array_compact(Eval& eval, Arguments arguments, const void*) {
  Array array;
  if (!array_argument(eval, "array_compact", arguments, 0, array)) return {};
  if (!array.valid) return missing_of(array.type());
  std::vector<Value> items;
  for (const Value& each : array.items) {
    if (each.valid()) items.push_back(each);
  }
  return of_items(eval, array.type(), std::move(items));
}

Value array_join(Eval& eval, Arguments arguments, const void*) {
  constexpr std::string_view kName = "array_join";
  const Value array = argument(eval, kName, arguments, 0, array_of(kString));
  const Value between = argument(eval, kName, arguments, 1, kString);
  Value null;
  if (arguments.size() > 2) null = argument(eval, kName, arguments, 2, kString);
  const bool none = !array.valid() || !between.valid() || (arguments.size() > 2 && !null.valid());
  if (none || eval.failed()) return missing_of(kString);
  std::string text;
  bool first = true;
  for (const Value& each : items_of(eval, array)) {
    if (!each.valid() && !null.valid()) continue;
    if (!first) text += eval.text(between);
    text += eval.text(each.valid() ? each : null);
    if (text.size() > kTextBytesMax) {
      return eval.fail("array_join(): a text would have more than " +
                       std::to_string(kTextBytesMax) + " bytes");
    }
    first = false;
  }
  return text_value(eval, text);
}

template <int kSign>
Value array_extreme(Eval& eval, Arguments arguments, const void*) {
  Array array;
  const std::string_view name = kSign > 0 ? "array_max" : "array_min";
  if (!array_argument(eval, name, arguments, 0, array)) return {};
  Value best = missing_of(array.element);
  for (const Value& each : array.items) {
    if (!each.valid()) continue;
    if (!best.valid() || kSign * compare_values(eval, each, best) > 0) best = each;
  }
  return best;
}

// sort_array() puts NULL first, or last in descending order; array_sort() puts it last.
template <bool kNullLast>
Value sort_array(Eval& eval, Arguments arguments, const void*) {
  Array array;
  const std::string_view name = kNullLast ? "array_sort" : "sort_array";
  if (!array_argument(eval, name, arguments, 0, array)) return {};
  bool falling = false;
  if (arguments.size() > 1) {
    const Value rising = argument(eval, name, arguments, 1, kBool);
    if (!rising.valid()) return missing_of(array.type());
    falling = rising.integer == 0;
  }
  if (!array.valid) return missing_of(array.type());
  std::vector<Value> items(array.items.begin(), array.items.end());
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    if (kNullLast && (!a.valid() || !b.valid())) return a.valid() && !b.valid();
    return falling ? compare_items(eval, a, b) > 0 : compare_items(eval, a, b) < 0;
  });
  return of_items(eval, array.type(), std::move(items));
}

Value slice(Eval& eval, Arguments arguments, const void*) {
  constexpr std::string_view kName = "slice";
  Array array;
  if (!array_argument(eval, kName, arguments, 0, array)) return {};
  const Value start = argument(eval, kName, arguments, 1, kInt32);
  const Value length = argument(eval, kName, arguments, 2, kInt32);
  if (!array.valid || !start.valid() || !length.valid()) return missing_of(array.type());
  if (start.integer == 0) {
    return eval.fail("slice(): argument 2: positions count from 1, got 0");
  }
  if (length.integer < 0) {
    return eval.fail("slice(): argument 3: expected a length from 0 on, got " +
                     std::to_string(length.integer));
  }
  const auto count = static_cast<int64_t>(array.items.size());
  const int64_t from = start.integer < 0 ? count + start.integer : start.integer - 1;
  std::vector<Value> items;
  if (from >= 0 && from < count) {
    const auto taken = static_cast<size_t>(std::min(length.integer, count - from));
    const auto part = array.items.subspan(static_cast<size_t>(from), taken);
    items.assign(part.begin(), part.end());
  }
  return of_items(eval, array.type(), std::move(items));
}

Value array_repeat(Eval& eval, Arguments arguments, const void*) {
  const Value count = argument(eval, "array_repeat", arguments, 1, kInt32);
  const SqlType type = array_of(full_type(arguments[0]));
  if (!count.valid()) return missing_of(type);
  constexpr int64_t kMost = 1 << 20;
  if (count.integer > kMost) {
    return eval.fail("array_repeat(): argument 2: expected at most " + std::to_string(kMost) +
                     ", got " + std::to_string(count.integer));
  }
  const auto times = static_cast<size_t>(std::max<int64_t>(count.integer, 0));
  return of_items(eval, type, std::vector<Value>(times, arguments[0]));
}

Value flatten(Eval& eval, Arguments arguments, const void*) {
  Array array;
  if (!array_argument(eval, "flatten", arguments, 0, array)) return {};
  if (!is_form(array.element, Form::Array)) {
    return bad_argument(eval, "flatten", 0, "an array of arrays", arguments[0]);
  }
  if (!array.valid) return missing_of(array.element);
  std::vector<Value> items;
  for (const Value& each : array.items) {
    if (!each.valid()) return missing_of(array.element);
    const auto inner = items_of(eval, each);
    items.insert(items.end(), inner.begin(), inner.end());
  }
  return of_items(eval, array.element, std::move(items));
}

// arrays_zip(): the name of a field, an array, and so on; as many structures as the longest array
// has items.
Value arrays_zip(Eval& eval, Arguments arguments, const void*) {
  std::vector<Array> arrays(arguments.size() / 2);
  std::vector<std::string> names;
  std::vector<SqlType> parts;
  size_t most = 0;
  bool valid = true;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Value array[1] = {arguments[2 * i + 1]};
    if (!array_argument(eval, "arrays_zip", array, 0, arrays[i])) return {};
    names.emplace_back(eval.text(arguments[2 * i]));
    parts.push_back(arrays[i].element);
    most = std::max(most, arrays[i].items.size());
    valid = valid && arrays[i].valid;
  }
  const SqlType type = struct_of(std::move(names), std::move(parts));
  if (!valid) return missing_of(array_of(type));
  std::vector<Value> items;
  for (size_t at = 0; at < most && !eval.failed(); ++at) {
    std::vector<Value> row;
    for (const Array& array : arrays) {
      row.push_back(at < array.items.size() ? array.items[at] : missing_of(array.element));
    }
    items.push_back(of_items(eval, type, std::move(row)));
  }
  return of_items(eval, array_of(type), std::move(items));
}

constexpr Function kArraysFunctions[] = {
    function(fn::sql_array, make_array),
    function(fn::sql_size, size<true>),
    function(fn::sql_array_size, size<false>),
    function(fn::sql_element_at, element_at),
    function(fn::sql_try_element_at, try_element_at),
    function(fn::sql_item, item),
    function(fn::sql_get, get),
    function(fn::sql_array_contains, array_contains),
    function(fn::sql_array_position, array_position),
    function(fn::sql_array_remove, array_remove),
    function(fn::sql_array_append, array_add<false>),
    function(fn::sql_array_prepend, array_add<true>),
    function(fn::sql_array_insert, array_insert),
    function(fn::sql_array_compact, array_compact),
    function(fn::sql_array_join, array_join),
    function(fn::sql_array_max, array_extreme<1>),
    function(fn::sql_array_min, array_extreme<-1>),
    function(fn::sql_sort_array, sort_array<false>),
    function(fn::sql_array_sort, sort_array<true>),
    function(fn::sql_slice, slice),
    function(fn::sql_array_repeat, array_repeat),
    function(fn::sql_flatten, flatten),
    function(fn::sql_zip_arrays, arrays_zip),
};

}  // namespace

std::span<const Function> array_functions() { return kArraysFunctions; }

}  // namespace serval::tabular::sql
