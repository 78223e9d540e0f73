// Link functions of regressions, and conversion of scores to probabilities. Hot path; pure. Source:
// tabular.md 3.2; the formulas are those of the PMML standard's pages on regression.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include "tabular/generated/stages.h"
#include "tabular/java/doubles.h"

namespace serval::tabular::pmml {

// Named after the link; inverse_link computes its inverse: Logit gives 1 / (1 + e^-x).
using Link = stages::PmmlLink;

inline double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// The mean that the link maps to x. `parameter` is used by Negbin, Oddspower and Power.
inline double inverse_link(Link link, double x, double parameter = 0) {
  constexpr double kPi = 3.14159265358979323846;
  switch (link) {
    case Link::Identity: return x;
    case Link::Logit: return logistic(x);
    case Link::Probit: return 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Link::Cloglog: return 1.0 - std::exp(-std::exp(x));
    case Link::Loglog: return std::exp(-std::exp(-x));
    case Link::Cauchit: return 0.5 + (1.0 / kPi) * std::atan(x);
    case Link::Log: return std::exp(x);
    case Link::Logc: return 1.0 - std::exp(x);
    case Link::Negbin: return 1.0 / (parameter * (std::exp(-x) - 1.0));
    case Link::Oddspower:
      if (parameter == 0) return logistic(x);
      return 1.0 / (1.0 + std::pow(1.0 + parameter * x, -(1.0 / parameter)));
    case Link::Power:
      if (parameter == 0) return std::exp(x);
      return std::pow(x, 1.0 / parameter);
  }
  return x;
}

constexpr std::string_view kNoShares = "its scores add up to 0 and cannot be normalized";

// Divides the values by their sum. False: the sum is 0, and the row must be refused.
[[nodiscard]] inline bool simplemax(std::span<double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  if (sum == 0) return false;
  for (double& value : values) value /= sum;
  return true;
}

// Softmax without overflow: all results are NaN if one value is NaN, or the largest is infinite.
// `values` must not be empty. False: as for simplemax.
[[nodiscard]] inline bool softmax(std::span<double> values) {
  const double most = values[java_largest(values)];
  for (double& value : values) value = std::exp(value - most);
  return simplemax(values);
}

}  // namespace serval::tabular::pmml
