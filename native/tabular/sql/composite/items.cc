// Items of composite values: creation, comparison and texts. Hot path; one thread at a time.
#include "tabular/sql/composite/items.h"

#include <algorithm>

#include "tabular/sql/composite/interval.h"

namespace serval::tabular::sql {

namespace {

// The most items that the arrays and maps of one row may hold together: 32 bytes each.
constexpr size_t kItemsMax = 4 << 20;

Value item_of_column(const Column& column, size_t at) {
  Value item;
  item.type = column.element;
  item.state = State::Valid;
  switch (storage_of(column.element)) {
    case Storage::Real: item.real = column.reals[at]; break;
    case Storage::Integer: item.integer = column.integers[at]; break;
    case Storage::Text: item.text = column.texts[at]; break;
    case Storage::Decimal:
      item.decimal = column.decimals[at];
      item.precision = column.precision;
      item.scale = column.scale;
      break;
  }
  return item;
}

// The most bytes of a text that is made of items.
constexpr size_t kItemTextBytesMax = 64 << 20;

// How many items there are in a list and the lists in it; beyond kItemsMax it may stop counting.
size_t weight_of(Eval& eval, SqlType type, std::span<const Value> items) {
  const auto& parts = composite_of(type).parts;
  const bool nested =
      std::any_of(parts.begin(), parts.end(), [](SqlType part) { return part.type == Type::List; });
  size_t weight = items.size();
  if (!nested) return weight;
  for (const Value& item : items) {
    if (item.type != Type::List || !item.valid()) continue;
    if (item.list.column != nullptr) {
      weight += item.list.column->length(item.list.row);
    } else {
      weight += weight_of(eval, type_of(item), eval.run.frame.items.lists[item.list.row]);
    }
    if (weight > kItemsMax) break;
  }
  return weight;
}

Value too_many_items(Eval& eval, SqlType type) {
  Value none = eval.fail("the arrays of a row would have more than " + std::to_string(kItemsMax) +
                         " items in total");
  none.type = type.type;
  return none;
}

std::string item_text(Eval& eval, const Value& item) {
  return item.valid() ? text_of(eval, item) : "null";
}

// Arrays and maps by their items; a structure by its fields.
std::optional<Value> cast_items(Eval& eval, const Value& value, SqlType to) {
  const Composite &from = composite_of(full_type(value)), &wanted = composite_of(to);
  if (from.form != wanted.form || from.parts.size() != wanted.parts.size()) return std::nullopt;
  if (from.form != Form::Array && from.form != Form::Map && from.form != Form::Struct) {
    return std::nullopt;
  }
  if (!value.valid()) return missing_of(to);
  std::vector<Value> made;
  const auto items = items_of(eval, value);
  for (size_t i = 0; i < items.size(); ++i) {
    made.push_back(cast(eval, items[i], wanted.parts[i % wanted.parts.size()]));
    if (eval.failed()) return missing_of(to);
  }
  return of_items(eval, to, std::move(made));
}

}  // namespace

Value of_items(Eval& eval, SqlType type, std::vector<Value> items) {
  Items& all = eval.run.frame.items;
  if (all.held + weight_of(eval, type, items) > kItemsMax) return too_many_items(eval, type);
  all.held += items.size() + 1;
  Value made = missing_of(type);
  made.state = State::Valid;
  made.list = {nullptr, static_cast<uint32_t>(all.lists.size())};
  all.lists.push_back(std::move(items));
  return made;
}

std::span<const Value> items_of(Eval& eval, const Value& value) {
  Items& all = eval.run.frame.items;
  const Column* column = value.list.column;
  if (column == nullptr) return all.lists[value.list.row];
  if (column->type != Type::List) return {};
  std::vector<Value> made;
  const uint32_t row = value.list.row;
  if (all.held + column->length(row) > kItemsMax) {
    too_many_items(eval, array_of({column->element}));
    return {};
  }
  for (size_t at = column->offsets[row]; at < column->offsets[row + 1]; ++at) {
    made.push_back(item_of_column(*column, at));
  }
  all.held += made.size() + 1;
  all.lists.push_back(std::move(made));
  return all.lists.back();
}

SqlType full_type(const Value& value) {
  const SqlType type = type_of(value);
  if (type.type != Type::List || !value.valid() || value.list.column == nullptr) return type;
  const Column& column = *value.list.column;
  if (column.element != Type::Decimal) return type;
  return array_of(decimal_type(column.precision, column.scale));
}

Value cast_composite(Eval& eval, const Value& value, SqlType to) {
  const SqlType from = full_type(value);
  if (from.type == Type::Any) return missing_of(to);
  if (from == to) return value;
  if (from.type == Type::List && to.type == Type::String) {
    return value.valid() ? eval.of_text(items_text(eval, value)) : missing_of(to);
  }
  if (from.type == Type::List && to.type == Type::List) {
    if (auto made = cast_items(eval, value, to)) return *made;
  }
  if (auto made = cast_interval(eval, value, to)) return *made;
  Value none = eval.fail("cannot cast " + type_text(from) + " to " + type_text(to));
  none.type = to.type;
  return none;
}

std::string items_text(Eval& eval, const Value& value) {
  const SqlType type = full_type(value);
  const Composite& of = composite_of(type);
  if (of.form > Form::Struct) return interval_text(eval, value);
  const bool array = of.form == Form::Array, map = of.form == Form::Map;
  std::string text = array ? "[" : "{";
  const auto items = items_of(eval, value);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += map && i % 2 == 1 ? " -> " : ", ";
    text += item_text(eval, items[i]);
    if (text.size() <= kItemTextBytesMax) continue;
    eval.fail("a text would have more than " + std::to_string(kItemTextBytesMax) + " bytes");
    break;
  }
  return text + (array ? "]" : "}");
}

int compare_items(Eval& eval, const Value& a, const Value& b) {
  if (!a.valid() || !b.valid()) return static_cast<int>(a.valid()) - static_cast<int>(b.valid());
  return compare_values(eval, a, b);
}

int compare_composites(Eval& eval, const Value& a, const Value& b) {
  const auto left = items_of(eval, a), right = items_of(eval, b);
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (const int order = compare_items(eval, left[i], right[i]); order != 0) return order;
  }
  return left.size() < right.size() ? -1 : static_cast<int>(left.size() > right.size());
}

std::string column_fault(Eval& eval, const Value& value) {
  if (value.type != Type::List || (value.valid() && value.list.column != nullptr)) return {};
  const SqlType type = type_of(value);
  const Type element = element_of(type).type;
  if (!is_form(type, Form::Array) || element == Type::List || element == Type::Vector) {
    return "a column cannot hold " + type_text(type) +
           ": use it inside one expression, or cast it to a string";
  }
  if (!value.valid()) return {};
  if (element == Type::Any) return "a column cannot hold an array whose items have no type";
  const auto items = items_of(eval, value);
  const bool whole =
      std::all_of(items.begin(), items.end(), [](const Value& item) { return item.valid(); });
  if (whole) return {};
  return "a column cannot hold an array with NULL among its items: remove them with "
         "array_compact() or replace them";
}

Value bad_argument(Eval& eval, std::string_view function, size_t index, std::string_view expected,
                   const Value& got) {
  return eval.fail(std::string(function) + "(): argument " + std::to_string(index + 1) +
                   ": expected " + std::string(expected) + ", got " + type_text(full_type(got)));
}

Value argument(Eval& eval, std::string_view function, std::span<const Value> arguments,
               size_t index, SqlType to) {
  const Value made = convert(eval, arguments[index], to);
  if (eval.failed() && !eval.failure.starts_with(function)) {
    eval.failure =
        std::string(function) + "(): argument " + std::to_string(index + 1) + ": " + eval.failure;
  }
  return made;
}

bool array_argument(Eval& eval, std::string_view function, std::span<const Value> arguments,
                    size_t index, Array& out) {
  const Value& value = arguments[index];
  if (value.type == Type::Any) return true;
  const SqlType type = full_type(value);
  if (!is_form(type, Form::Array)) {
    bad_argument(eval, function, index, "an array", value);
    return false;
  }
  out.element = element_of(type);
  out.valid = value.valid();
  if (out.valid) out.items = items_of(eval, value);
  return true;
}

bool array_as(Eval& eval, SqlType element, Array& array, std::vector<Value>& kept) {
  if (element == array.element) return true;
  for (const Value& item : array.items) {
    kept.push_back(cast(eval, item, element));
    if (eval.failed()) return false;
  }
  array.items = kept;
  array.element = element;
  return true;
}

}  // namespace serval::tabular::sql
