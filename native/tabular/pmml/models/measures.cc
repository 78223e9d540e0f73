// Comparison measures: distances and similarities. Hot path. Source: tabular.md 3.2.
#include "tabular/pmml/models/measures.h"

#include <cmath>
#include <string>

#include "tabular/java/doubles.h"

namespace serval::tabular::pmml {

Measure::Measure(StageSpec& spec, size_t fields) {
  read_kind(spec);
  const auto functions = spec.choices(stages::pmml_comparison::compare);
  const auto weights = spec.reals(stages::pmml_comparison::field_weights);
  const auto scales = spec.reals(stages::pmml_comparison::similarity_scales);
  const auto missing = spec.reals(stages::pmml_comparison::missing_weights);
  if (functions.size() != fields || weights.size() != fields || scales.size() != fields ||
      missing.size() != fields) {
    spec.fail("the comparison's fields do not fit each other");
    return;
  }
  for (size_t i = 0; i < fields; ++i) {
    fields_.push_back({functions[i], weights[i], scales[i], missing[i]});
  }
}

void Measure::read_kind(StageSpec& spec) {
  kind_ = spec.choice(stages::pmml_comparison::measure);
  if (kind_ == Kind::Minkowski) {
    p_ = spec.real(stages::pmml_comparison::minkowski_p);
    if (!(p_ > 0)) spec.fail("minkowski: expected a positive p-parameter");
  }
  if (kind_ == Kind::BinarySimilarity) {
    const auto parameters = spec.reals(stages::pmml_comparison::binary_parameters);
    parameters_.assign(parameters.begin(), parameters.end());
    if (parameters_.size() != 8) spec.fail("binarySimilarity: expected 8 parameters");
  }
}

double Measure::adjustment(std::span<const double> x) const {
  double all = 0, there = 0;
  for (size_t i = 0; i < fields_.size(); ++i) {
    all += fields_[i].missing_weight;
    if (!is_absent(x[i])) there += fields_[i].missing_weight;
  }
  return all / there;
}

double Measure::compare(std::span<const double> x, std::span<const double> reference,
                        double adjustment) const {
  return similarity() ? similarity_of(x, reference) : distance(x, reference, adjustment);
}

double Measure::field_distance(const Field& field, double x, double reference) const {
  const double difference = x - reference;
  switch (field.function) {
    case Function::AbsDiff: return std::abs(difference);
    case Function::GaussSim:
      return std::exp(-std::log(2.0) * (difference * difference) / (field.scale * field.scale));
    case Function::Delta: return x == reference ? 0 : 1;
    case Function::Equal: return x == reference ? 1 : 0;
  }
  return 0;
}

double Measure::distance(std::span<const double> x, std::span<const double> reference,
                         double adjustment) const {
  double sum = 0;
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (is_absent(x[i])) continue;
    const Field& field = fields_[i];
    const double distance = field_distance(field, x[i], reference[i]);
    switch (kind_) {
      case Kind::Euclidean:
      case Kind::SquaredEuclidean: sum += distance * distance * field.weight; break;
      case Kind::Chebychev: sum = java_max(sum, distance * field.weight); break;
      case Kind::Minkowski: sum += std::pow(distance, p_) * field.weight; break;
      default: sum += distance * field.weight; break;
    }
  }
  sum *= adjustment;
  if (kind_ == Kind::Euclidean) return java_pow(sum, 0.5);
  return kind_ == Kind::Minkowski ? std::pow(sum, 1.0 / p_) : sum;
}

double Measure::similarity_of(std::span<const double> x, std::span<const double> reference) const {
  double a11 = 0, a10 = 0, a01 = 0, a00 = 0;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const bool one = x[i] == 1, other = reference[i] == 1;
    (one ? (other ? a11 : a10) : (other ? a01 : a00)) += 1;
  }
  const auto share = [](double part, double whole) {
    return whole == 0 ? std::numeric_limits<double>::quiet_NaN() : part / whole;
  };
  switch (kind_) {
    case Kind::SimpleMatching: return share(a11 + a00, a11 + a10 + a01 + a00);
    case Kind::Jaccard: return share(a11, a11 + a10 + a01);
    case Kind::Tanimoto: return share(a11 + a00, a11 + 2 * (a10 + a01) + a00);
    default: break;
  }
  const auto weighed = [&](size_t at) {
    return parameters_[at] * a11 + parameters_[at + 1] * a10 + parameters_[at + 2] * a01 +
           parameters_[at + 3] * a00;
  };
  return share(weighed(0), weighed(4));
}

size_t Measure::first_not_binary(std::span<const double> x) {
  size_t i = 0;
  while (i < x.size() && (x[i] == 0 || x[i] == 1)) ++i;
  return i;
}

}  // namespace serval::tabular::pmml
