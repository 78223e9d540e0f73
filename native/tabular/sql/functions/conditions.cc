// Comparisons, AND and OR of three values, CASE and what is done about NULL. All arguments are
// looked at, those that are not chosen too: the result's type follows from all. Hot path; any
// thread.
// Source: tabular.md 10; Spark's TypeCoercion.
#include <array>
#include <vector>

#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

enum class Test { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, NullSafeEqual };

bool holds(Test test, int order) {
  switch (test) {
    case Test::NotEqual: return order != 0;
    case Test::Less: return order < 0;
    case Test::LessEqual: return order <= 0;
    case Test::Greater: return order > 0;
    case Test::GreaterEqual: return order >= 0;
    default: return order == 0;
  }
}

Value incomparable(Eval& eval, const Value& a, const Value& b) {
  return eval.fail("cannot compare " + type_text(type_of(a)) + " with " + type_text(type_of(b)));
}

Value compare(Eval& eval, Test test, Value a, Value b) {
  const auto type =
      eval.ansi_types ? ansi_type(type_of(a), type_of(b)) : comparison_type(type_of(a), type_of(b));
  if (!type) return incomparable(eval, a, b);
  // A missing one on the left: the other one is not read.
  if (eval.ansi && !a.valid() && test != Test::NullSafeEqual) return missing_of(kBool);
  // Decimals are compared by value, whatever their precision and scale.
  if (type->type == Type::Decimal) {
    for (Value* value : {&a, &b}) {
      if (value->type != Type::Decimal) {
        *value = cast(eval, *value, is_integer(value->type) ? decimal_for(value->type) : *type);
      }
    }
  } else {
    a = cast(eval, a, *type);
    b = cast(eval, b, *type);
  }
  if (eval.failed()) return missing_of(kBool);
  if (!a.valid() || !b.valid()) {
    if (test != Test::NullSafeEqual) return missing_of(kBool);
    return Value::of_bool(!a.valid() && !b.valid());
  }
  return Value::of_bool(holds(test, compare_values(eval, a, b)));
}

template <Test kTest>
Value comparison(Eval& eval, Arguments arguments, const void*) {
  return compare(eval, kTest, arguments[0], arguments[1]);
}

// -1 unknown, 0 false, 1 true; fails if the value is not a boolean.
int truth(Eval& eval, const Value& value) {
  if (value.type != Type::Bool && value.type != Type::String && value.type != Type::Any) {
    eval.fail("expected boolean, got " + type_text(type_of(value)));
    return -1;
  }
  const Value made = cast(eval, value, kBool);
  return made.valid() ? static_cast<int>(made.integer != 0) : -1;
}

Value of_truth(int value) { return value < 0 ? missing_of(kBool) : Value::of_bool(value != 0); }

Value logical_and(Eval& eval, Arguments arguments, const void*) {
  const int a = truth(eval, arguments[0]), b = truth(eval, arguments[1]);
  if (a == 0 || b == 0) return Value::of_bool(false);
  return of_truth(a < 0 || b < 0 ? -1 : 1);
}

Value logical_or(Eval& eval, Arguments arguments, const void*) {
  const int a = truth(eval, arguments[0]), b = truth(eval, arguments[1]);
  if (a == 1 || b == 1) return Value::of_bool(true);
  return of_truth(a < 0 || b < 0 ? -1 : 0);
}

Value logical_not(Eval& eval, Arguments arguments, const void*) {
  const int value = truth(eval, arguments[0]);
  return of_truth(value < 0 ? -1 : 1 - value);
}

// Common type of every `step`th argument from `first`, and of the last one if `with_last`.
std::optional<SqlType> type_of_all(const Eval& eval, Arguments arguments, size_t first, size_t step,
                                   bool with_last) {
  std::array<SqlType, 16> few;
  std::vector<SqlType> many;
  const size_t most = arguments.size() + 1;
  std::span<SqlType> types;
  if (most <= few.size()) {
    types = few;
  } else {
    many.resize(most);
    types = many;
  }
  size_t count = 0;
  for (size_t i = first; i < arguments.size(); i += step) types[count++] = type_of(arguments[i]);
  if (with_last) types[count++] = type_of(arguments.back());
  return common_type(eval, types.first(count));
}

Value no_common_type(Eval& eval, std::string_view what) {
  return eval.fail(std::string(what) + ": its values have types that have no type in common");
}

// c1, v1, c2, v2, ... [, else]
Value choose(Eval& eval, Arguments arguments, const void*) {
  const bool has_else = arguments.size() % 2 == 1;
  const auto type = type_of_all(eval, arguments, 1, 2, has_else);
  if (!type) return no_common_type(eval, "CASE");
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const int held = truth(eval, arguments[i]);
    if (eval.failed()) return missing_of(*type);
    if (held == 1) return cast(eval, arguments[i + 1], *type);
  }
  return has_else ? cast(eval, arguments.back(), *type) : missing_of(*type);
}

Value coalesce(Eval& eval, Arguments arguments, const void*) {
  const auto type = type_of_all(eval, arguments, 0, 1, false);
  if (!type) return no_common_type(eval, "coalesce()");
  for (const Value& value : arguments) {
    if (value.valid()) return cast(eval, value, *type);
  }
  return missing_of(*type);
}

Value in_list(Eval& eval, Arguments arguments, const void*) {
  const auto type = type_of_all(eval, arguments, 0, 1, false);
  if (!type) return no_common_type(eval, "IN");
  const Value value = cast(eval, arguments[0], *type);
  if (!value.valid()) return missing_of(kBool);
  bool unknown = false;
  for (const Value& each : arguments.subspan(1)) {
    const Value other = cast(eval, each, *type);
    if (eval.failed()) return missing_of(kBool);
    if (!other.valid()) {
      unknown = true;
    } else if (compare_values(eval, value, other) == 0) {
      return Value::of_bool(true);
    }
  }
  return unknown ? missing_of(kBool) : Value::of_bool(false);
}

// Skips missing values; text combines only with text.
template <int kSign>
Value extreme(Eval& eval, Arguments arguments, const void*) {
  std::optional<SqlType> type = SqlType{};
  for (const Value& value : arguments) {
    if (!type) break;
    type =
        eval.ansi_types ? ansi_type(*type, type_of(value)) : tightest_type(*type, type_of(value));
  }
  if (!type) return no_common_type(eval, kSign > 0 ? "greatest()" : "least()");
  Value best = missing_of(*type);
  for (const Value& each : arguments) {
    if (!each.valid()) continue;
    const Value value = cast(eval, each, *type);
    if (!value.valid()) continue;
    if (!best.valid() || kSign * compare_values(eval, value, best) > 0) best = value;
  }
  return best;
}

Value is_null(Eval&, Arguments arguments, const void*) {
  return Value::of_bool(!arguments[0].valid());
}

Value is_not_null(Eval&, Arguments arguments, const void*) {
  return Value::of_bool(arguments[0].valid());
}

Value is_nan(Eval& eval, Arguments arguments, const void*) {
  const Value& value = arguments[0];
  const bool real = is_real(value.type);
  const Value made = real ? value : convert(eval, value, kDouble);
  return Value::of_bool(made.valid() && std::isnan(made.real));
}

Value nan_value(Eval& eval, Arguments arguments, const void*) {
  const bool floats = arguments[0].type == Type::Float && arguments[1].type == Type::Float;
  const SqlType type = floats ? SqlType{Type::Float} : kDouble;
  const Value a = convert(eval, arguments[0], type);
  if (!a.valid()) return missing_of(type);
  return std::isnan(a.real) ? convert(eval, arguments[1], type) : a;
}

constexpr Function kConditionsFunctions[] = {
    function(fn::sql_equal, comparison<Test::Equal>),
    function(fn::sql_not_equal, comparison<Test::NotEqual>),
    reading(Reads::All, function(fn::sql_null_safe_equal, comparison<Test::NullSafeEqual>)),
    function(fn::sql_less, comparison<Test::Less>),
    function(fn::sql_less_equal, comparison<Test::LessEqual>),
    function(fn::sql_greater, comparison<Test::Greater>),
    function(fn::sql_greater_equal, comparison<Test::GreaterEqual>),
    reading(Reads::UntilFalse, function(fn::sql_and, logical_and)),
    reading(Reads::UntilTrue, function(fn::sql_or, logical_or)),
    function(fn::sql_not, logical_not),
    reading(Reads::UntilEqual, function(fn::sql_in, in_list)),
    reading(Reads::Branches, function(fn::sql_case, choose)),
    reading(Reads::UntilFound, function(fn::sql_coalesce, coalesce)),
    reading(Reads::All, function(fn::sql_greatest, extreme<1>)),
    reading(Reads::All, function(fn::sql_least, extreme<-1>)),
    function(fn::sql_isnull, is_null),
    function(fn::sql_isnotnull, is_not_null),
    function(fn::sql_isnan, is_nan),
    reading(Reads::WhereNan, function(fn::sql_nanvl, nan_value)),
};

}  // namespace

std::span<const Function> condition_functions() { return kConditionsFunctions; }

}  // namespace serval::tabular::sql
