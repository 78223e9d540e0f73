// PMML's predicates as functions: a Bool, or missing for PMML's unknown. Hot path, any thread.
// Source: tabular.md 3.3
#include <algorithm>
#include <vector>

#include "tabular/pmml/functions/functions.h"

namespace serval::tabular::pmml {
namespace {

// The constant has the field's type, or both are numbers.
int order_of(const Value& left, const Value& right) {
  if (is_real(left.type) || is_real(right.type)) {
    return java_order(real_of(left), real_of(right));
  }
  return (left.integer > right.integer) - (left.integer < right.integer);
}

bool same(const Value& left, const Value& right) {
  if (is_text(left.type)) return is_text(right.type) && left.text == right.text;
  return !is_text(right.type) && order_of(left, right) == 0;
}

template <bool (*Test)(const Value&, const Value&)>
Value compared(Eval& eval, std::span<const Value> arguments, const void*) {
  if (is_text(arguments[0].type) != is_text(arguments[1].type)) {
    return fail_type(eval, "predicate", "a value of the field's type", arguments[0]);
  }
  return Value::of_bool(Test(arguments[0], arguments[1]));
}

bool differs(const Value& a, const Value& b) { return !same(a, b); }
bool less(const Value& a, const Value& b) { return order_of(a, b) < 0; }
bool less_equal(const Value& a, const Value& b) { return order_of(a, b) <= 0; }
bool greater(const Value& a, const Value& b) { return order_of(a, b) > 0; }
bool greater_equal(const Value& a, const Value& b) { return order_of(a, b) >= 0; }

Value value_is_in(Eval&, std::span<const Value> arguments, const void*) {
  const auto rest = arguments.subspan(1);
  return Value::of_bool(std::any_of(rest.begin(), rest.end(),
                                    [&](const Value& each) { return same(arguments[0], each); }));
}
Value value_is_not_in(Eval& eval, std::span<const Value> arguments, const void* state) {
  return Value::of_bool(value_is_in(eval, arguments, state).integer == 0);
}

Value value_is_missing(Eval&, std::span<const Value> arguments, const void*) {
  return Value::of_bool(arguments[0].missing());
}
Value value_is_not_missing(Eval&, std::span<const Value> arguments, const void*) {
  return Value::of_bool(!arguments[0].missing());
}

// Three-valued logic: the result is `decides` if one argument is, else unknown if one is unknown.
// All arguments are evaluated, as in JPMML.
Value fold(Eval& eval, const CallNode& call, bool decides) {
  bool unknown = false, decided = false;
  for (size_t i = 0; i < call.count(); ++i) {
    const Value each = call.argument(eval, i);
    if (eval.failed()) return {};
    if (each.missing()) unknown = true;
    else if ((each.integer != 0) == decides) decided = true;
  }
  if (decided) return Value::of_bool(decides);
  return unknown ? Value() : Value::of_bool(!decides);
}

Value and_of(Eval& eval, const CallNode& call) { return fold(eval, call, false); }
Value or_of(Eval& eval, const CallNode& call) { return fold(eval, call, true); }

Value xor_of(Eval&, std::span<const Value> arguments, const void*) {
  bool result = false;
  for (const Value& each : arguments) result = result != (each.integer != 0);
  return Value::of_bool(result);
}

// The first one that is known.
Value surrogate(Eval& eval, const CallNode& call) {
  for (size_t i = 0; i < call.count(); ++i) {
    const Value each = call.argument(eval, i);
    if (eval.failed() || !each.missing()) return each;
  }
  return {};
}

// All are true: what is unknown is not.
Value all_true(Eval& eval, const CallNode& call) {
  for (size_t i = 0; i < call.count(); ++i) {
    const Value each = call.argument(eval, i);
    if (eval.failed()) return {};
    if (each.missing() || each.integer == 0) return Value::of_bool(false);
  }
  return Value::of_bool(true);
}

constexpr Function kPredicatesFunctions[] = {
    {fn::pmml_p_equal, compared<same>, nullptr, nullptr},
    {fn::pmml_p_notEqual, compared<differs>, nullptr, nullptr},
    {fn::pmml_p_lessThan, compared<less>, nullptr, nullptr},
    {fn::pmml_p_lessOrEqual, compared<less_equal>, nullptr, nullptr},
    {fn::pmml_p_greaterThan, compared<greater>, nullptr, nullptr},
    {fn::pmml_p_greaterOrEqual, compared<greater_equal>, nullptr, nullptr},
    {fn::pmml_p_isIn, value_is_in, nullptr, nullptr},
    {fn::pmml_p_isNotIn, value_is_not_in, nullptr, nullptr},
    {fn::pmml_p_isMissing, value_is_missing, nullptr, nullptr, true},
    {fn::pmml_p_isNotMissing, value_is_not_missing, nullptr, nullptr, true},
    {fn::pmml_p_and, nullptr, and_of, nullptr},
    {fn::pmml_p_or, nullptr, or_of, nullptr},
    {fn::pmml_p_xor, xor_of, nullptr, nullptr},
    {fn::pmml_p_surrogate, nullptr, surrogate, nullptr},
    {fn::pmml_p_all_true, nullptr, all_true, nullptr},
};

}  // namespace

std::span<const Function> predicate_functions() { return kPredicatesFunctions; }

}  // namespace serval::tabular::pmml
