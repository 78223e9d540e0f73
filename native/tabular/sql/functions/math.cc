// Functions of doubles. Hot path; any thread.
// Source: tabular.md 10
#include <numbers>

#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

using Unary = double (*)(double);

template <Unary kFunction>
Value unary(Eval& eval, Arguments arguments, const void*) {
  const Value value = convert(eval, arguments[0], kDouble);
  return value.valid() ? Value::of_real(kFunction(value.real)) : missing_of(kDouble);
}

// Logarithms have no value at their pole and below.
template <Unary kFunction, int kPole>
Value logarithm(Eval& eval, Arguments arguments, const void*) {
  const Value value = convert(eval, arguments[0], kDouble);
  if (!value.valid() || value.real <= kPole) return missing_of(kDouble);
  return Value::of_real(kFunction(value.real));
}

using Binary = double (*)(double, double);

template <Binary kFunction>
Value binary(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[2] = {kDouble, kDouble};
  Value made[2];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kDouble);
  return Value::of_real(kFunction(made[0].real, made[1].real));
}

double sqrt_of(double x) { return std::sqrt(x); }
double cbrt_of(double x) { return std::cbrt(x); }
double exp_of(double x) { return std::exp(x); }
double expm1_of(double x) { return std::expm1(x); }
double log_of(double x) { return std::log(x); }
double log10_of(double x) { return std::log10(x); }
// Spark's formula, by natural logarithms.
double log2_of(double x) { return std::log(x) / std::log(2.0); }
double log1p_of(double x) { return std::log1p(x); }
double sign_of(double x) { return x > 0 ? 1.0 : (x < 0 ? -1.0 : x); }
double rint_of(double x) { return std::nearbyint(x); }
double sin_of(double x) { return std::sin(x); }
double cos_of(double x) { return std::cos(x); }
double tan_of(double x) { return std::tan(x); }
double cot_of(double x) { return 1 / std::tan(x); }
double asin_of(double x) { return std::asin(x); }
double acos_of(double x) { return std::acos(x); }
double atan_of(double x) { return std::atan(x); }
double sinh_of(double x) { return std::sinh(x); }
double cosh_of(double x) { return std::cosh(x); }
double tanh_of(double x) { return std::tanh(x); }
double asinh_of(double x) { return std::asinh(x); }
double acosh_of(double x) { return std::acosh(x); }
double atanh_of(double x) { return std::atanh(x); }
double degrees_of(double x) { return x * (180.0 / std::numbers::pi); }
double radians_of(double x) { return x / 180.0 * std::numbers::pi; }
// Java's pow is NaN if |x| is 1 and y is not finite, or y is NaN.
double pow_of(double x, double y) {
  if (std::isnan(y) && x == 1) return y;
  if (std::isinf(y) && std::fabs(x) == 1) return std::nan("");
  return std::pow(x, y);
}
double atan2_of(double y, double x) { return std::atan2(y + 0.0, x + 0.0); }
double hypot_of(double x, double y) { return std::hypot(x, y); }

// log(x), log(base, x)
Value log_to_base(Eval& eval, Arguments arguments, const void* state) {
  if (arguments.size() == 1) return logarithm<log_of, 0>(eval, arguments, state);
  constexpr SqlType kTypes[2] = {kDouble, kDouble};
  Value made[2];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kDouble);
  if (made[0].real <= 0 || made[1].real <= 0) return missing_of(kDouble);
  return Value::of_real(std::log(made[1].real) / std::log(made[0].real));
}

Value pi(Eval&, Arguments, const void*) { return Value::of_real(std::numbers::pi); }
Value e(Eval&, Arguments, const void*) { return Value::of_real(std::numbers::e); }

constexpr Function kMathFunctions[] = {
    function(fn::sql_sqrt, unary<sqrt_of>),
    function(fn::sql_cbrt, unary<cbrt_of>),
    function(fn::sql_exp, unary<exp_of>),
    function(fn::sql_expm1, unary<expm1_of>),
    function(fn::sql_ln, logarithm<log_of, 0>),
    function(fn::sql_log, log_to_base),
    function(fn::sql_log10, logarithm<log10_of, 0>),
    function(fn::sql_log2, logarithm<log2_of, 0>),
    function(fn::sql_log1p, logarithm<log1p_of, -1>),
    function(fn::sql_pow, binary<pow_of>),
    function(fn::sql_sign, unary<sign_of>),
    function(fn::sql_rint, unary<rint_of>),
    function(fn::sql_sin, unary<sin_of>),
    function(fn::sql_cos, unary<cos_of>),
    function(fn::sql_tan, unary<tan_of>),
    function(fn::sql_cot, unary<cot_of>),
    function(fn::sql_asin, unary<asin_of>),
    function(fn::sql_acos, unary<acos_of>),
    function(fn::sql_atan, unary<atan_of>),
    function(fn::sql_atan2, binary<atan2_of>),
    function(fn::sql_sinh, unary<sinh_of>),
    function(fn::sql_cosh, unary<cosh_of>),
    function(fn::sql_tanh, unary<tanh_of>),
    function(fn::sql_asinh, unary<asinh_of>),
    function(fn::sql_acosh, unary<acosh_of>),
    function(fn::sql_atanh, unary<atanh_of>),
    function(fn::sql_hypot, binary<hypot_of>),
    function(fn::sql_degrees, unary<degrees_of>),
    function(fn::sql_radians, unary<radians_of>),
    function(fn::sql_pi, pi),
    function(fn::sql_e, e),
};

}  // namespace

std::span<const Function> math_functions() { return kMathFunctions; }

}  // namespace serval::tabular::sql
