// Functions of arrays as sets, and arrays of what they are made from: sequences, parts of texts.
// Hot path; any thread.
// Source: Spark's collectionOperations.scala.
#include <algorithm>
#include <array>
#include <set>

#include "tabular/sql/composite/interval.h"
#include "tabular/sql/composite/items.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

// Values that were seen, NULL among them.
class Seen {
 public:
  explicit Seen(Eval& eval) : values_(Before{&eval}) {}
  bool add(const Value& value) { return values_.insert(value).second; }
  bool has(const Value& value) const { return values_.contains(value); }

 private:
  struct Before {
    Eval* eval;
    bool operator()(const Value& a, const Value& b) const {
      const int order = compare_items(*eval, a, b);
      // 0.0 and -0.0 are two.
      if (order != 0 || !a.valid() || !is_real(a.type) || a.real != 0) return order < 0;
      return std::signbit(a.real) && !std::signbit(b.real);
    }
  };
  std::set<Value, Before> values_;
};

// Two arrays with the same type of items.
struct Pair {
  Array arrays[2];
  std::vector<Value> kept[2];
  SqlType type() const { return arrays[0].type(); }
  bool valid() const { return arrays[0].valid && arrays[1].valid; }
};

bool pair_of(Eval& eval, std::string_view function, Arguments arguments, Pair& out) {
  for (size_t i = 0; i < 2; ++i) {
    if (!array_argument(eval, function, arguments, i, out.arrays[i])) return false;
  }
  const auto element = tightest_type(out.arrays[0].element, out.arrays[1].element);
  if (!element) {
    bad_argument(eval, function, 1, type_text(out.arrays[0].type()), arguments[1]);
    return false;
  }
  return array_as(eval, *element, out.arrays[0], out.kept[0]) &&
         array_as(eval, *element, out.arrays[1], out.kept[1]);
}

Value array_distinct(Eval& eval, Arguments arguments, const void*) {
  Array array;
  if (!array_argument(eval, "array_distinct", arguments, 0, array)) return {};
  if (!array.valid) return missing_of(array.type());
  Seen seen(eval);
  std::vector<Value> items;
  for (const Value& each : array.items) {
    if (seen.add(each)) items.push_back(each);
  }
  return of_items(eval, array.type(), std::move(items));
}

Value array_union(Eval& eval, Arguments arguments, const void*) {
  Pair pair;
  if (!pair_of(eval, "array_union", arguments, pair)) return {};
  if (!pair.valid()) return missing_of(pair.type());
  Seen seen(eval);
  std::vector<Value> items;
  for (const Array& array : pair.arrays) {
    for (const Value& each : array.items) {
      if (seen.add(each)) items.push_back(each);
    }
  }
  return of_items(eval, pair.type(), std::move(items));
}

// Items of the first array that the second one has, or lacks, each once.
template <bool kHas>
Value array_filter(Eval& eval, Arguments arguments, const void*) {
  Pair pair;
  if (!pair_of(eval, kHas ? "array_intersect" : "array_except", arguments, pair)) return {};
  if (!pair.valid()) return missing_of(pair.type());
  Seen others(eval), seen(eval);
  for (const Value& each : pair.arrays[1].items) others.add(each);
  std::vector<Value> items;
  for (const Value& each : pair.arrays[0].items) {
    if (others.has(each) == kHas && seen.add(each)) items.push_back(each);
  }
  return of_items(eval, pair.type(), std::move(items));
}

Value arrays_overlap(Eval& eval, Arguments arguments, const void*) {
  Pair pair;
  if (!pair_of(eval, "arrays_overlap", arguments, pair)) return missing_of(kBool);
  if (!pair.valid()) return missing_of(kBool);
  bool unknown = false;
  Seen others(eval);
  for (const Value& each : pair.arrays[1].items) {
    if (each.valid()) others.add(each);
    else unknown = true;
  }
  for (const Value& each : pair.arrays[0].items) {
    if (!each.valid()) unknown = true;
    else if (others.has(each)) return Value::of_bool(true);
  }
  const bool both = !pair.arrays[0].items.empty() && !pair.arrays[1].items.empty();
  return unknown && both ? missing_of(kBool) : Value::of_bool(false);
}

constexpr int64_t kSequenceMax = 1 << 20;

Value too_long(Eval& eval, SqlType type) {
  Value none = eval.fail("sequence(): the array would have more than " +
                         std::to_string(kSequenceMax) + " items");
  none.type = type.type;
  return none;
}

// Whole numbers, from start to stop.
Value number_sequence(Eval& eval, Arguments arguments, SqlType element) {
  const SqlType type = array_of(element);
  Int128 numbers[3] = {0, 0, 0};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Value made = cast(eval, arguments[i], element);
    if (!made.valid()) return missing_of(type);
    numbers[i] = made.integer;
  }
  const auto [start, stop, given] = numbers;
  const Int128 step = arguments.size() > 2 ? given : Int128{start <= stop ? 1 : -1};
  if ((step == 0 && start != stop) || (step > 0 && start > stop) || (step < 0 && start < stop)) {
    return eval.fail("sequence(): argument 3: the step does not lead from start to stop");
  }
  if (step != 0 && (stop - start) / step >= kSequenceMax) return too_long(eval, type);
  std::vector<Value> items;
  const Int128 count = step == 0 ? 1 : (stop - start) / step + 1;
  for (Int128 i = 0; i < count; ++i) {
    items.push_back(Value::of_integer(static_cast<int64_t>(start + i * step), element.type));
  }
  return of_items(eval, type, std::move(items));
}

// Days or instants, by an interval; of a day where none is given.
Value time_sequence(Eval& eval, Arguments arguments, SqlType element) {
  const SqlType type = array_of(element);
  Interval step{0, 1, 0};
  const Value first = cast(eval, arguments[0], element), last = cast(eval, arguments[1], element);
  if (arguments.size() > 2) {
    if (!is_interval(full_type(arguments[2]))) {
      return bad_argument(eval, "sequence", 2, "an interval", arguments[2]);
    }
    if (!arguments[2].valid()) return missing_of(type);
    step = interval_of(eval, arguments[2]);
  }
  if (!first.valid() || !last.valid()) return missing_of(type);
  const Int128 way = Int128{last.integer} - first.integer;
  if (arguments.size() < 3 && way < 0) step = {0, -1, 0};
  const int64_t sign = step.months + step.days != 0 ? step.months * 28 + step.days : step.micros;
  if (way != 0 && (sign == 0 || (sign > 0) != (way > 0))) {
    return eval.fail("sequence(): argument 3: the step does not lead from start to stop");
  }
  if (sign == 0) return of_items(eval, type, {first});
  std::vector<Value> items;
  for (int64_t i = 0;; ++i) {
    if (i == kSequenceMax) return too_long(eval, type);
    Interval far{step.months * i, step.days * i, 0};
    if (__builtin_mul_overflow(step.micros, i, &far.micros)) break;
    const Value made = time_after(eval, first, far);
    if (eval.failed()) return missing_of(type);
    if (sign > 0 ? made.integer > last.integer : made.integer < last.integer) break;
    items.push_back(made);
  }
  return of_items(eval, type, std::move(items));
}

Value sequence(Eval& eval, Arguments arguments, const void*) {
  for (size_t i = 0; i < 2; ++i) {
    const Type given = arguments[i].type;
    const bool time = given == Type::Date || given == Type::Timestamp;
    if (is_integer(given) || time || given == Type::Any) continue;
    return bad_argument(eval, "sequence", i, "a whole number, a date or a timestamp", arguments[i]);
  }
  const bool numbers = is_integer(arguments[0].type) && is_integer(arguments[1].type);
  const auto type = common_type(
      eval, std::array{type_of(arguments[0]), type_of(arguments[1]),
                       numbers && arguments.size() > 2 ? type_of(arguments[2]) : SqlType{}});
  if (!type)
    return bad_argument(eval, "sequence", 1, type_text(type_of(arguments[0])), arguments[1]);
  if (is_integer(type->type)) return number_sequence(eval, arguments, *type);
  if (type->type == Type::Any) return missing_of(array_of(kInt32));
  return time_sequence(eval, arguments, *type);
}

constexpr Function kSetsFunctions[] = {
    function(fn::sql_array_distinct, array_distinct),
    function(fn::sql_array_union, array_union),
    function(fn::sql_array_intersect, array_filter<true>),
    function(fn::sql_array_except, array_filter<false>),
    function(fn::sql_arrays_overlap, arrays_overlap),
    function(fn::sql_sequence, sequence),
};

}  // namespace

std::span<const Function> set_functions() { return kSetsFunctions; }

// concat() of arrays.
Value concat_arrays(Eval& eval, Arguments arguments) {
  std::vector<SqlType> types;
  for (const Value& value : arguments) types.push_back(full_type(value));
  const auto type = common_type(eval, types);
  if (!type || !is_form(*type, Form::Array)) {
    return eval.fail("concat(): its arguments have types that have no type in common");
  }
  std::vector<Value> items;
  bool valid = true;
  for (const Value& value : arguments) {
    const Value made = cast(eval, value, *type);
    if (eval.failed()) return missing_of(*type);
    valid = valid && made.valid();
    if (!valid) continue;
    const auto part = items_of(eval, made);
    items.insert(items.end(), part.begin(), part.end());
  }
  return valid ? of_items(eval, *type, std::move(items)) : missing_of(*type);
}

Value reverse_array(Eval& eval, const Value& value) {
  const SqlType type = full_type(value);
  if (!is_form(type, Form::Array))
    return bad_argument(eval, "reverse", 0, "a text or an array", value);
  if (!value.valid()) return missing_of(type);
  const auto items = items_of(eval, value);
  return of_items(eval, type, {items.rbegin(), items.rend()});
}

}  // namespace serval::tabular::sql
