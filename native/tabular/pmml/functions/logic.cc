// PMML's functions of truth values and comparisons, `if`, and what Apply adds around a function.
// Hot path, any thread. Source: tabular.md 3.3
#include <algorithm>
#include <vector>

#include "tabular/plan_reading.h"
#include "tabular/pmml/functions/functions.h"

namespace serval::tabular::pmml {
namespace {

Value compare(Eval& eval, std::span<const Value> arguments, const char* name, bool (*test)(int)) {
  const Value& left = arguments[0];
  Value right = arguments[1];
  if (left.missing() || right.missing()) return fail_missing(eval, name);
  if (is_number(left) && is_number(right)) {
    if (!is_real(left.type) && !is_real(right.type)) {
      return Value::of_bool(test((left.integer > right.integer) - (left.integer < right.integer)));
    }
    return Value::of_bool(test(java_order(real_of(left), real_of(right))));
  }
  if (is_text(left.type)) return fail_type(eval, name, "values that have an order", left);
  if (right.type != left.type) right = cast(eval, right, left.type);
  if (eval.failed()) return {};
  if (storage_of(left.type) == Storage::Real) {
    return Value::of_bool(test(java_order(left.real, right.real)));
  }
  return Value::of_bool(test((left.integer > right.integer) - (left.integer < right.integer)));
}

Value less_than(Eval& eval, std::span<const Value> arguments, const void*) {
  return compare(eval, arguments, "lessThan", [](int order) { return order < 0; });
}
Value less_or_equal(Eval& eval, std::span<const Value> arguments, const void*) {
  return compare(eval, arguments, "lessOrEqual", [](int order) { return order <= 0; });
}
Value greater_than(Eval& eval, std::span<const Value> arguments, const void*) {
  return compare(eval, arguments, "greaterThan", [](int order) { return order > 0; });
}
Value greater_or_equal(Eval& eval, std::span<const Value> arguments, const void*) {
  return compare(eval, arguments, "greaterOrEqual", [](int order) { return order >= 0; });
}

Value equal(Eval& eval, std::span<const Value> arguments, const void*) {
  if (arguments[0].missing() || arguments[1].missing()) return fail_missing(eval, "equal");
  return Value::of_bool(equal_values(eval, arguments[0], arguments[1]));
}
Value not_equal(Eval& eval, std::span<const Value> arguments, const void*) {
  if (arguments[0].missing() || arguments[1].missing()) return fail_missing(eval, "notEqual");
  return Value::of_bool(!equal_values(eval, arguments[0], arguments[1]));
}

// A missing value is in no set.
bool among(Eval& eval, std::span<const Value> arguments) {
  if (arguments[0].missing()) return false;
  for (const Value& each : arguments.subspan(1)) {
    if (!each.missing() && equal_values(eval, arguments[0], each)) return true;
    if (eval.failed()) return false;
  }
  return false;
}

Value is_in(Eval& eval, std::span<const Value> arguments, const void*) {
  return Value::of_bool(among(eval, arguments));
}
Value is_not_in(Eval& eval, std::span<const Value> arguments, const void*) {
  return Value::of_bool(!among(eval, arguments));
}

// Evaluates all arguments; none may be missing.
Value fold(Eval& eval, std::span<const Value> arguments, const char* name, bool stops_at) {
  bool found = false;
  for (const Value& each : arguments) {
    if (each.missing()) return fail_missing(eval, name);
    if (each.type != Type::Bool) return fail_type(eval, name, "boolean values", each);
    found = found || (each.integer != 0) == stops_at;
  }
  return Value::of_bool(found == stops_at);
}

Value and_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return fold(eval, arguments, "and", false);
}
Value or_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return fold(eval, arguments, "or", true);
}
Value not_of(Eval& eval, std::span<const Value> arguments, const void*) {
  if (arguments[0].missing()) return fail_missing(eval, "not");
  if (arguments[0].type != Type::Bool) {
    return fail_type(eval, "not", "a boolean value", arguments[0]);
  }
  return Value::of_bool(arguments[0].integer == 0);
}

Value is_missing(Eval&, std::span<const Value> arguments, const void*) {
  return Value::of_bool(arguments[0].missing());
}
Value is_not_missing(Eval&, std::span<const Value> arguments, const void*) {
  return Value::of_bool(!arguments[0].missing());
}
Value is_valid(Eval&, std::span<const Value> arguments, const void*) {
  return Value::of_bool(!arguments[0].missing() && !is_invalid(arguments[0]));
}
Value is_not_valid(Eval&, std::span<const Value> arguments, const void*) {
  return Value::of_bool(is_invalid(arguments[0]));
}

// `at`: index of its first argument: the condition, then, else.
Value branch(Eval& eval, const CallNode& call, size_t at, const Value* fallback) {
  const Value flag = call.argument(eval, at);
  if (eval.failed()) return {};
  if (flag.missing()) return fallback == nullptr ? fail_missing(eval, "if") : *fallback;
  if (flag.type != Type::Bool) return fail_type(eval, "if", "a boolean condition", flag);
  const size_t chosen = at + (flag.integer != 0 ? 1 : 2);
  if (chosen >= call.count()) return {};
  const Value value = call.argument(eval, chosen);
  return value.missing() && fallback != nullptr && !eval.failed() ? *fallback : value;
}

Value if_of(Eval& eval, const CallNode& call) { return branch(eval, call, 0, nullptr); }

// mapMissingTo, condition, then, else.
Value if_mapped(Eval& eval, const CallNode& call) {
  const Value fallback = call.argument(eval, 0);
  return branch(eval, call, 1, &fallback);
}

// PMML's invalidValueTreatment, by number: ts/importers/pmml/expressions/expression.ts has the
// same.
enum class Treatment : int64_t { ReturnInvalid, AsIs, AsMissing };

Treatment treatment_of(const Value& number) {
  const bool known = is_integer(number.type) && number.integer >= 0 && number.integer <= 2;
  return known ? static_cast<Treatment>(number.integer) : Treatment::ReturnInvalid;
}

// Applies Apply's treatments to a function's result. `otherwise`: its defaultValue, or a missing
// value.
Value treated(Eval& eval, const Value& result, Treatment treatment, const Value& otherwise) {
  if (eval.failed()) {
    if (!eval.undefined || treatment == Treatment::AsIs) return {};
    eval.undefined = false;
    if (treatment == Treatment::ReturnInvalid) return {};
    eval.take_failure({});
    return otherwise;
  }
  if (result.missing()) return otherwise;
  if (treatment == Treatment::AsIs || !is_invalid(result)) return result;
  if (treatment == Treatment::AsMissing) return otherwise;
  return eval.fail("a function returned an invalid value");
}

// treatment, defaultValue, a call that they do not apply to (if).
Value treat_call(Eval& eval, const CallNode& call) {
  const Value treatment = call.argument(eval, 0), otherwise = call.argument(eval, 1);
  return treated(eval, call.argument(eval, 2), treatment_of(treatment), otherwise);
}

// A function that the document defines: treatment, defaultValue, mapMissingTo (missing: there is
// none), its body, and its arguments, which are all evaluated first.
Value defined(Eval& eval, const CallNode& call) {
  const Value mapped = call.argument(eval, 2);
  for (size_t i = 4; i < call.count(); ++i) {
    const Value given = call.argument(eval, i);
    if (eval.failed()) return {};
    if (given.missing() && !mapped.missing()) return mapped;
  }
  const Value treatment = call.argument(eval, 0), otherwise = call.argument(eval, 1);
  return treated(eval, call.argument(eval, 3), treatment_of(treatment), otherwise);
}

// JPMML's X-Error: refuses the rows that read it, with its text.
Value error_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return eval.fail("<X-Error>: " + std::string(eval.text(arguments[0])));
}

// value, replacement for a missing one.
Value default_of(Eval& eval, const CallNode& call) {
  const Value value = call.argument(eval, 0);
  return value.missing() && !eval.failed() ? call.argument(eval, 1) : value;
}

// A function inside pmml.apply.
struct Applied {
  const Function* function = nullptr;
  std::shared_ptr<const void> state;
  bool mapped = false;
  Treatment treatment = Treatment::ReturnInvalid;
};
constexpr size_t kAppliedOwn = 5;  // arguments of pmml.apply before the function's

Result<std::shared_ptr<const void>> prepare_apply(std::span<const Value* const> constants,
                                                  const Dictionary& dictionary) {
  const bool all = constants.size() >= kAppliedOwn && constants[0] != nullptr &&
                   constants[1] != nullptr && constants[3] != nullptr &&
                   is_text(constants[0]->type);
  if (!all) return invalid_argument("its first arguments are constants");
  auto applied = std::make_shared<Applied>();
  applied->function = find_function(dictionary.text(constants[0]->text));
  applied->mapped = constants[1]->integer != 0;
  applied->treatment = treatment_of(*constants[3]);
  if (applied->function == nullptr || applied->function->strict == nullptr) {
    return invalid_argument("there is no strict function of that name");
  }
  const auto count = static_cast<int>(constants.size() - kAppliedOwn);
  const Function& function = *applied->function;
  if (count < function.arguments_min ||
      (function.arguments_max >= 0 && count > function.arguments_max)) {
    return invalid_argument("function '" + std::string(function.name) + "' does not take " +
                            std::to_string(count) + " arguments");
  }
  if (function.prepare != nullptr) {
    auto state = function.prepare(constants.subspan(kAppliedOwn), dictionary);
    if (!state.ok()) return std::move(state.error());
    applied->state = std::move(state.value());
  }
  return std::shared_ptr<const void>(std::move(applied));
}

// function's name, whether there is a mapMissingTo, mapMissingTo, treatment, defaultValue; the
// arguments.
Value apply(Eval& eval, std::span<const Value> arguments, const void* state) {
  const Applied& applied = *static_cast<const Applied*>(state);
  const std::span<const Value> own = arguments.subspan(kAppliedOwn);
  const bool any_missing =
      std::any_of(own.begin(), own.end(), [](const Value& each) { return each.missing(); });
  if (any_missing && applied.mapped) return arguments[2];
  if (any_missing && !applied.function->takes_missing) return arguments[4];
  eval.keeps_nan = applied.treatment != Treatment::ReturnInvalid;
  const Value result = applied.function->strict(eval, own, applied.state.get());
  eval.keeps_nan = false;
  return treated(eval, result, applied.treatment, arguments[4]);
}

// text, the texts in order: which one it is.
Value ordinal(Eval& eval, std::span<const Value> arguments, const void*) {
  const Value& value = arguments[0];
  if (value.missing()) return {};
  if (!is_text(value.type)) return fail_type(eval, "ordinal", "a text", value);
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i].text == value.text) {
      return Value::of_integer(static_cast<int64_t>(i) - 1, Type::Int32);
    }
  }
  return eval.fail("\"" + std::string(eval.text(value)) +
                   "\" is not in the order of the field's values");
}

constexpr Function kLogicFunctions[] = {
    {fn::pmml_lessThan, less_than, nullptr, nullptr, true},
    {fn::pmml_lessOrEqual, less_or_equal, nullptr, nullptr, true},
    {fn::pmml_greaterThan, greater_than, nullptr, nullptr, true},
    {fn::pmml_greaterOrEqual, greater_or_equal, nullptr, nullptr, true},
    {fn::pmml_equal, equal, nullptr, nullptr, true},
    {fn::pmml_notEqual, not_equal, nullptr, nullptr, true},
    {fn::pmml_isIn, is_in, nullptr, nullptr, true},
    {fn::pmml_isNotIn, is_not_in, nullptr, nullptr, true},
    {fn::pmml_and, and_of, nullptr, nullptr, true},
    {fn::pmml_or, or_of, nullptr, nullptr, true},
    {fn::pmml_not, not_of, nullptr, nullptr, true},
    {fn::pmml_isMissing, is_missing, nullptr, nullptr, true},
    {fn::pmml_isNotMissing, is_not_missing, nullptr, nullptr, true},
    {fn::pmml_isValid, is_valid, nullptr, nullptr, true},
    {fn::pmml_isNotValid, is_not_valid, nullptr, nullptr, true},
    {fn::pmml_if, nullptr, if_of, nullptr},
    {fn::pmml_if_mapped, nullptr, if_mapped, nullptr},
    {fn::pmml_treat, nullptr, treat_call, nullptr},
    {fn::pmml_defined, nullptr, defined, nullptr},
    {fn::pmml_error, error_of},
    {fn::pmml_default, nullptr, default_of, nullptr},
    {fn::pmml_apply, apply, nullptr, prepare_apply, true},
    {fn::pmml_ordinal, ordinal, nullptr, nullptr, true},
};

}  // namespace

std::span<const Function> logic_functions() { return kLogicFunctions; }

}  // namespace serval::tabular::pmml
