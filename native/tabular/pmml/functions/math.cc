// PMML's mathematical functions. They take no missing value, as in JPMML. Hot path, any
// thread. Source: tabular.md 3.3
#include "tabular/pmml/functions/functions.h"

namespace serval::tabular::pmml {
namespace {

constexpr double kSqrt2 = 1.4142135623730951;
constexpr double kPi = 3.141592653589793;

// One number to a double.
template <double (*Compute)(double)>
Value to_double(Eval& eval, std::span<const Value> arguments, const char* name) {
  if (arguments[0].missing()) return fail_missing(eval, name);
  if (!is_number(arguments[0])) return fail_type(eval, name, "a number", arguments[0]);
  return number_of(eval, Type::Double, Compute(real_of(arguments[0])), name);
}

double std_normal_cdf(double x) { return 0.5 * std::erfc(-x / kSqrt2); }
double std_normal_pdf(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * kPi); }

// By Newton's method from a rational first guess, until a step changes nothing.
double std_normal_idf(double p) {
  if (!(p >= 0 && p <= 1)) return std::nan("");
  if (p == 0) return -std::numeric_limits<double>::infinity();
  if (p == 1) return std::numeric_limits<double>::infinity();
  // Abramowitz and Stegun 26.2.23.
  const double tail = p < 0.5 ? p : 1 - p;
  const double t = std::sqrt(-2 * std::log(tail));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                     (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  if (p < 0.5) x = -x;
  for (int i = 0; i < 60; ++i) {
    const double density = std_normal_pdf(x);
    if (density == 0) break;
    // Computed in the smaller tail, where the difference keeps its digits.
    const double error = p < 0.5 ? std_normal_cdf(x) - p : (1 - p) - 0.5 * std::erfc(x / kSqrt2);
    const double step = error / density;
    const double next = x - step / (1 + x * step / 2);
    if (next == x) break;
    x = next;
  }
  return x;
}

#define SERVAL_PMML_MATH(function, name, expression)                          \
  double function##_value(double x) { return expression; }                    \
  Value function(Eval& eval, std::span<const Value> arguments, const void*) { \
    return to_double<function##_value>(eval, arguments, name);                \
  }

SERVAL_PMML_MATH(log10_of, "log10", std::log10(x))
SERVAL_PMML_MATH(ln_of, "ln", std::log(x))
SERVAL_PMML_MATH(ln1p_of, "ln1p", std::log1p(x))
SERVAL_PMML_MATH(sqrt_of, "sqrt", std::sqrt(x))
SERVAL_PMML_MATH(exp_of, "exp", std::exp(x))
SERVAL_PMML_MATH(expm1_of, "expm1", std::expm1(x))
SERVAL_PMML_MATH(sin_of, "sin", std::sin(x))
SERVAL_PMML_MATH(asin_of, "asin", std::asin(x))
SERVAL_PMML_MATH(sinh_of, "sinh", std::sinh(x))
SERVAL_PMML_MATH(cos_of, "cos", std::cos(x))
SERVAL_PMML_MATH(acos_of, "acos", std::acos(x))
SERVAL_PMML_MATH(cosh_of, "cosh", std::cosh(x))
SERVAL_PMML_MATH(tan_of, "tan", std::tan(x))
SERVAL_PMML_MATH(atan_of, "atan", std::atan(x))
SERVAL_PMML_MATH(tanh_of, "tanh", std::tanh(x))
SERVAL_PMML_MATH(erf_of, "erf", std::erf(x))
SERVAL_PMML_MATH(std_cdf_of, "stdNormalCDF", std_normal_cdf(x))
SERVAL_PMML_MATH(std_pdf_of, "stdNormalPDF", std_normal_pdf(x))
SERVAL_PMML_MATH(std_idf_of, "stdNormalIDF", std_normal_idf(x))
#undef SERVAL_PMML_MATH

// Java's Math.round: the nearest integer, halves upwards.
double round_half_up(double x) {
  const double below = std::floor(x);
  return x - below >= 0.5 ? below + 1 : below;
}

template <double (*Compute)(double)>
Value to_integer(Eval& eval, std::span<const Value> arguments, const char* name) {
  if (arguments[0].missing()) return fail_missing(eval, name);
  if (!is_number(arguments[0])) return fail_type(eval, name, "a number", arguments[0]);
  const double value = Compute(real_of(arguments[0]));
  return number_of(eval, Type::Int32, std::isnan(value) ? 0 : value, name);  // Java's (int) NaN
}

Value floor_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return to_integer<std::floor>(eval, arguments, "floor");
}
Value ceil_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return to_integer<std::ceil>(eval, arguments, "ceil");
}
Value round_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return to_integer<round_half_up>(eval, arguments, "round");
}

template <double (*Compute)(double)>
Value to_same(Eval& eval, std::span<const Value> arguments, const char* name) {
  if (arguments[0].missing()) return fail_missing(eval, name);
  if (!is_number(arguments[0])) return fail_type(eval, name, "a number", arguments[0]);
  const Type type = is_real(arguments[0].type) ? arguments[0].type : Type::Int32;
  return number_of(eval, type, Compute(real_of(arguments[0])), name);
}

double even_integer(double x) { return std::nearbyint(x); }

Value abs_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return to_same<std::fabs>(eval, arguments, "abs");
}
Value rint_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return to_same<even_integer>(eval, arguments, "rint");
}

template <typename Compute>
Value of_two(Eval& eval, std::span<const Value> arguments, const char* name, bool common,
             Compute compute) {
  for (const Value& each : arguments) {
    if (each.missing()) return fail_missing(eval, name);
    if (!is_number(each)) return fail_type(eval, name, "numbers", each);
  }
  const Type type = common ? wider(arguments[0].type, arguments[1].type) : Type::Double;
  return number_of(eval, type, compute(real_of(arguments[0]), real_of(arguments[1])), name);
}

Value pow_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return of_two(eval, arguments, "pow", true, java_pow);
}
Value threshold_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return of_two(eval, arguments, "threshold", true,
                [](double x, double y) { return java_order(x, y) > 0 ? 1.0 : 0.0; });
}
Value hypot_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return of_two(eval, arguments, "hypot", false,
                [](double x, double y) { return std::hypot(x, y); });
}

Value atan2_of(Eval& eval, std::span<const Value> arguments, const void*) {
  return of_two(eval, arguments, "x-atan2", false,
                [](double y, double x) { return std::atan2(y, x); });
}

// x, mean, standard deviation.
template <typename Compute>
Value of_normal(Eval& eval, std::span<const Value> arguments, const char* name, Compute compute) {
  for (const Value& each : arguments) {
    if (each.missing()) return fail_missing(eval, name);
    if (!is_number(each)) return fail_type(eval, name, "numbers", each);
  }
  const double mean = real_of(arguments[1]), deviation = real_of(arguments[2]);
  if (!(deviation > 0)) {
    return eval.fail("function " + std::string(name) + ": the standard deviation must be positive");
  }
  return number_of(eval, Type::Double, compute(real_of(arguments[0]), mean, deviation), name);
}

Value normal_cdf(Eval& eval, std::span<const Value> arguments, const void*) {
  return of_normal(eval, arguments, "normalCDF",
                   [](double x, double m, double d) { return std_normal_cdf((x - m) / d); });
}
Value normal_pdf(Eval& eval, std::span<const Value> arguments, const void*) {
  return of_normal(eval, arguments, "normalPDF",
                   [](double x, double m, double d) { return std_normal_pdf((x - m) / d) / d; });
}
Value normal_idf(Eval& eval, std::span<const Value> arguments, const void*) {
  return of_normal(eval, arguments, "normalIDF",
                   [](double p, double m, double d) { return m + d * std_normal_idf(p); });
}

constexpr Function kMathFunctions[] = {
    {fn::pmml_log10, log10_of, nullptr, nullptr, true},
    {fn::pmml_ln, ln_of, nullptr, nullptr, true},
    {fn::pmml_ln1p, ln1p_of, nullptr, nullptr, true},
    {fn::pmml_sqrt, sqrt_of, nullptr, nullptr, true},
    {fn::pmml_exp, exp_of, nullptr, nullptr, true},
    {fn::pmml_expm1, expm1_of, nullptr, nullptr, true},
    {fn::pmml_sin, sin_of, nullptr, nullptr, true},
    {fn::pmml_asin, asin_of, nullptr, nullptr, true},
    {fn::pmml_sinh, sinh_of, nullptr, nullptr, true},
    {fn::pmml_cos, cos_of, nullptr, nullptr, true},
    {fn::pmml_acos, acos_of, nullptr, nullptr, true},
    {fn::pmml_cosh, cosh_of, nullptr, nullptr, true},
    {fn::pmml_tan, tan_of, nullptr, nullptr, true},
    {fn::pmml_atan, atan_of, nullptr, nullptr, true},
    {fn::pmml_tanh, tanh_of, nullptr, nullptr, true},
    {fn::pmml_erf, erf_of, nullptr, nullptr, true},
    {fn::pmml_stdNormalCDF, std_cdf_of, nullptr, nullptr, true},
    {fn::pmml_stdNormalPDF, std_pdf_of, nullptr, nullptr, true},
    {fn::pmml_stdNormalIDF, std_idf_of, nullptr, nullptr, true},
    {fn::pmml_normalCDF, normal_cdf, nullptr, nullptr, true},
    {fn::pmml_normalPDF, normal_pdf, nullptr, nullptr, true},
    {fn::pmml_normalIDF, normal_idf, nullptr, nullptr, true},
    {fn::pmml_floor, floor_of, nullptr, nullptr, true},
    {fn::pmml_ceil, ceil_of, nullptr, nullptr, true},
    {fn::pmml_round, round_of, nullptr, nullptr, true},
    {fn::pmml_abs, abs_of, nullptr, nullptr, true},
    {fn::pmml_rint, rint_of, nullptr, nullptr, true},
    {fn::pmml_pow, pow_of, nullptr, nullptr, true},
    {fn::pmml_threshold, threshold_of, nullptr, nullptr, true},
    {fn::pmml_x_atan2, atan2_of, nullptr, nullptr, true},
    {fn::pmml_hypot, hypot_of, nullptr, nullptr, true},
};

}  // namespace

std::span<const Function> math_functions() { return kMathFunctions; }

}  // namespace serval::tabular::pmml
