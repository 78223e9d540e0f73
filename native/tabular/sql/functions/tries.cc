// try_add(), try_cast() and similar functions: run an operation in ANSI mode and return NULL if it
// raises an error. Hot path; any thread. Source: Spark's TryEval and EvalMode.TRY.
#include <algorithm>
#include <array>

#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

constexpr size_t kArgumentsMax = 8;

bool is_arithmetic(std::string_view name) {
  constexpr FunctionName kNames[] = {fn::sql_add, fn::sql_subtract, fn::sql_multiply,
                                     fn::sql_divide, fn::sql_mod};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [name](const FunctionName& each) { return each.name == name; });
}

// sql.try(call): errors of the call itself become NULL; errors of its arguments are raised, unless
// the arguments are first cast to numbers: then Spark tries both together.
Value attempt(Eval& eval, const CallNode& call) {
  const CallNode& inner = *call.arguments[0];
  if (inner.function == nullptr || inner.function->strict == nullptr ||
      inner.count() > kArgumentsMax) {
    return eval.fail("sql.try: expected a call to try");
  }
  std::array<Value, kArgumentsMax> values;
  bool is_numbers = true;
  std::string raised;
  for (size_t i = 0; i < inner.count(); ++i) {
    values[i] = inner.argument(eval, i);
    if (eval.failed()) return {};
    if (raised.empty()) raised = std::move(eval.raised);
    eval.raised.clear();
    is_numbers = is_numbers && is_numeric(values[i].type);
  }
  const bool ansi = eval.ansi;
  eval.ansi = true;  // and types as they are
  const Value made =
      inner.function->strict(eval, {values.data(), inner.count()}, inner.state.get());
  eval.ansi = ansi;
  const bool has_none = !eval.raised.empty() || !raised.empty();
  eval.raised.clear();
  const bool tries_all = is_arithmetic(inner.function->name) && !is_numbers;
  if (!raised.empty() && !tries_all) eval.raised = std::move(raised);
  return has_none ? missing_of(type_of(made)) : made;
}

constexpr Function kTriesFunctions[] = {{fn::sql_try, nullptr, attempt}};

}  // namespace

std::span<const Function> try_functions() { return kTriesFunctions; }

}  // namespace serval::tabular::sql
