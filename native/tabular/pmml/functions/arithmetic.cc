// PMML's arithmetic and aggregate functions. Hot path, any thread. Source: tabular.md 3.3
#include <algorithm>
#include <vector>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/functions/functions.h"

namespace serval::tabular::pmml {
namespace {

// Operations on two present numbers; integers stay integers and are refused on overflow.
template <typename Integers, typename Reals>
Value binary(Eval& eval, std::span<const Value> arguments, std::string_view name, Integers integers,
             Reals reals) {
  const Value& left = arguments[0];
  const Value& right = arguments[1];
  for (const Value& each : arguments) {
    if (!is_number(each)) return fail_type(eval, name, "a number", each);
  }
  const Type type = wider(left.type, right.type);
  if (type != Type::Int32) return number_of(eval, type, reals(real_of(left), real_of(right)), name);
  int64_t result = 0;
  if (!integers(left.integer, right.integer, result)) {
    eval.undefined = eval.keeps_nan;
    return eval.fail("function " + std::string(name) + ": the result is undefined");
  }
  if (result != static_cast<int32_t>(result)) {
    eval.undefined = eval.keeps_nan;
    return eval.fail("function " + std::string(name) + ": the result is not a 32-bit integer");
  }
  return Value::of_integer(result, Type::Int32);
}

Value add(Eval& eval, std::span<const Value> arguments, const void*) {
  return binary(
      eval, arguments, "+",
      [](int64_t a, int64_t b, int64_t& r) { return !__builtin_add_overflow(a, b, &r); },
      [](double a, double b) { return a + b; });
}

Value subtract(Eval& eval, std::span<const Value> arguments, const void*) {
  return binary(
      eval, arguments, "-",
      [](int64_t a, int64_t b, int64_t& r) { return !__builtin_sub_overflow(a, b, &r); },
      [](double a, double b) { return a - b; });
}

Value multiply(Eval& eval, std::span<const Value> arguments, const void*) {
  return binary(
      eval, arguments, "*",
      [](int64_t a, int64_t b, int64_t& r) { return !__builtin_mul_overflow(a, b, &r); },
      [](double a, double b) { return a * b; });
}

Value divide(Eval& eval, std::span<const Value> arguments, const void*) {
  return binary(
      eval, arguments, "/",
      [](int64_t a, int64_t b, int64_t& r) {
        if (b == 0 || (a == INT64_MIN && b == -1)) return false;
        r = a / b;
        return true;
      },
      [](double a, double b) { return a / b; });
}

Value modulo(Eval& eval, std::span<const Value> arguments, const void*) {
  return binary(
      eval, arguments, "modulo",
      [](int64_t a, int64_t b, int64_t& r) {
        if (b == 0 || (a == INT64_MIN && b == -1)) return false;
        r = a % b;
        if (r != 0 && (r < 0) != (b < 0)) r += b;
        return true;
      },
      [](double a, double b) { return a - std::floor(a / b) * b; });
}

// Folds the present arguments; missing if there are none. `fold` receives the result so far, the
// next argument, and the number of arguments including it.
template <typename Fold>
Value aggregate(Eval& eval, std::span<const Value> arguments, std::string_view name, bool averages,
                Fold fold) {
  Type type = Type::Int32;
  double value = 0;
  int count = 0;
  for (const Value& each : arguments) {
    if (each.missing()) continue;
    if (!is_number(each)) return fail_type(eval, name, "numbers", each);
    type = wider(type, each.type);
    count += 1;
    value = count == 1 ? real_of(each) : fold(value, real_of(each), count);
  }
  if (count == 0) return {};
  if (averages && type == Type::Int32) type = Type::Double;
  return number_of(eval, type, value, name);
}

Value min_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return aggregate(eval, arguments, "min", false,
                   [](double a, double b, int) { return b < a || std::isnan(a) ? b : a; });
}
Value max_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return aggregate(eval, arguments, "max", false,
                   [](double a, double b, int) { return b > a || std::isnan(a) ? b : a; });
}
Value sum_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return aggregate(eval, arguments, "sum", false, [](double a, double b, int) { return a + b; });
}
// The running mean moves towards each argument: with an infinite one it becomes NaN, as in JPMML.
Value average_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return aggregate(eval, arguments, "avg", true,
                   [](double a, double b, int count) { return a + (b - a) / count; });
}
Value product_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return aggregate(eval, arguments, "product", false,
                   [](double a, double b, int) { return a * b; });
}

Value median_of(Eval& eval, std::span<const Value> arguments, const void*) {
  std::vector<double> values;
  Type type = Type::Int32;
  for (const Value& each : arguments) {
    if (each.missing()) continue;
    if (!is_number(each)) return fail_type(eval, "median", "numbers", each);
    type = wider(type, each.type);
    values.push_back(real_of(each));
  }
  if (values.empty()) return {};
  return number_of(eval, type == Type::Int32 ? Type::Double : type, java_median(values), "median");
}

constexpr Function kArithmeticFunctions[] = {
    {fn::pmml_plus, add, nullptr, nullptr},
    {fn::pmml_minus, subtract, nullptr, nullptr},
    {fn::pmml_times, multiply, nullptr, nullptr},
    {fn::pmml_over, divide, nullptr, nullptr},
    {fn::pmml_modulo, modulo, nullptr, nullptr},
    {fn::pmml_min, min_of, nullptr, nullptr, true},
    {fn::pmml_max, max_of, nullptr, nullptr, true},
    {fn::pmml_sum, sum_of, nullptr, nullptr, true},
    {fn::pmml_avg, average_of, nullptr, nullptr, true},
    {fn::pmml_product, product_of, nullptr, nullptr, true},
    {fn::pmml_median, median_of, nullptr, nullptr, true},
};

}  // namespace

std::span<const Function> arithmetic_functions() { return kArithmeticFunctions; }

}  // namespace serval::tabular::pmml
