// Java's comparing, rounding and power of doubles. Hot path; pure, any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace serval::tabular {

// Double.compare: NaN is the largest number, and -0.0 is less than 0.0.
inline int java_order(double left, double right) {
  if (left < right) return -1;
  if (left > right) return 1;
  const bool left_nan = std::isnan(left), right_nan = std::isnan(right);
  if (left_nan || right_nan) return static_cast<int>(left_nan) - static_cast<int>(right_nan);
  return static_cast<int>(std::signbit(right)) - static_cast<int>(std::signbit(left));
}

// Math.max and Math.min: NaN if either is NaN.
inline double java_max(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::numeric_limits<double>::quiet_NaN();
  return java_order(left, right) >= 0 ? left : right;
}
inline double java_min(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::numeric_limits<double>::quiet_NaN();
  return java_order(left, right) <= 0 ? left : right;
}

// Math.pow: 1 to the power of NaN or infinity is NaN.
inline double java_pow(double base, double exponent) {
  if (std::isnan(exponent) || (std::isinf(exponent) && std::fabs(base) == 1)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return std::pow(base, exponent);
}

// Math.round: halves round upwards, NaN becomes 0, and values beyond a long are clamped.
inline double java_round(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::isnan(value)) return 0;
  const double below = std::floor(value);
  const double whole = value - below >= 0.5 ? below + 1 : below;
  return std::clamp(whole, -kLimit, kLimit) + 0.0;
}

// -0.0 becomes 0.0, as in every value of a field that JPMML-Evaluator makes.
inline double without_sign_of_zero(double value) { return value + 0.0; }

// Index of the largest number by Double.compare, the first of equal ones; 0 for an empty list.
inline size_t java_largest(std::span<const double> values) {
  size_t best = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    if (java_order(values[i], values[best]) > 0) best = i;
  }
  return best;
}

// The 50th percentile as Commons Math estimates it: NaNs are the largest, and the result between
// two numbers is NaN if the upper one is infinite. Sorts the values. NaN for an empty list.
inline double java_median(std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  if (values.size() == 1) return values[0];
  std::sort(values.begin(), values.end(),
            [](double left, double right) { return java_order(left, right) < 0; });
  const double position = static_cast<double>(values.size() + 1) / 2;
  const double whole = std::floor(position);
  const auto at = static_cast<size_t>(whole);
  const double lower = values[at - 1], upper = values[at];
  return lower + (position - whole) * (upper - lower);
}

}  // namespace serval::tabular
