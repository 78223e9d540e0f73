// Linear models: linear_scores, linear_regression, glm, aft. Hot path; any thread.
// Source: tabular.md 5.3
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tabular/dense/stage.h"
#include "tabular/java/number_text.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

// coefficients [classes, features] x + intercepts -> Vector of scores.
class LinearScores final : public DenseStage {
 public:
  explicit LinearScores(StageSpec& spec)
      : DenseStage(spec),
        mirror_(spec.flag(stages::linear_scores::mirror)),
        minus_log_sum_exp_(spec.flag(stages::linear_scores::minusLogSumExp)) {
    const auto coefficients = spec.reals(stages::linear_scores::coefficients),
               intercepts = spec.reals(stages::linear_scores::intercepts);
    rule_ = spec.choice(stages::linear_scores::rule);
    const size_t classes = intercepts.size();
    if (classes == 0 || coefficients.size() % classes != 0) {
      spec.fail("expected as many coefficients for each intercept");
    }
    if (mirror_ && classes != 1) spec.fail("expected one class to mirror");
    if (spec.failed()) return;
    std::span<const double> weights = coefficients;
    if (classes > 1) weights = by_feature_ = transposed(coefficients, classes);
    use(spec, {{coefficients.size() / classes, classes, weights, intercepts}},
        mirror_ ? 2 : classes);
  }

 private:
  using Rule = stages::FeatureRule;

  std::string fault_of(const VectorRow& in) const override {
    return rule_ == Rule::Any ? std::string() : against_rule(in);
  }

  void finish(std::span<double> scores) const override {
    if (mirror_) {
      scores[1] = scores[0];
      scores[0] = -scores[1];
    }
    if (minus_log_sum_exp_) normalize(scores);
  }

  std::string against_rule(const VectorRow& in) const {
    std::string fault;
    in.for_each([&](size_t feature, double value) {
      if (value == 0 || (rule_ == Rule::Nonnegative ? value > 0 : value == 1)) return;
      fault = "feature " + std::to_string(feature) + " is " + java_double(value) + ", expected " +
              (rule_ == Rule::Nonnegative ? "0 or more" : "0 or 1");
    });
    return fault;
  }

  static void normalize(std::span<double> scores) {
    const double greatest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - greatest);
    const double log_sum = std::log(sum) + greatest;
    for (double& score : scores) score -= log_sum;
  }

  std::vector<double> by_feature_;  // [features, classes], if there are several classes
  Rule rule_ = Rule::Any;
  bool mirror_, minus_log_sum_exp_;
};

class LinearRegression final : public VectorToNumberStage {
 public:
  explicit LinearRegression(StageSpec& spec)
      : VectorToNumberStage(spec, Type::Double),
        coefficients_(spec.reals(stages::linear_regression::coefficients)),
        intercept_(spec.real(stages::linear_regression::intercept)) {}

 private:
  std::string answer(const VectorRow& in, double& out) const override {
    std::string fault = wrong_size(coefficients_.size(), in);
    if (!fault.empty()) return fault;
    out = in.dot(coefficients_.data()) + intercept_;
    return {};
  }
  std::span<const double> coefficients_;
  double intercept_;
};

// A generalized linear model: applies the link to its linear part.
class Glm final : public ColumnStage {
 public:
  explicit Glm(StageSpec& spec)
      : ColumnStage(spec),
        coefficients_(spec.reals(stages::glm::coefficients)),
        intercept_(spec.real(stages::glm::intercept)),
        link_power_(spec.real(stages::glm::linkPower)) {
    using Role = stages::GlmRole;
    const Roles<Role> roles(spec, stages::glm::roles);
    prediction_ = roles[Role::Prediction];
    link_prediction_ = roles[Role::LinkPrediction];
    spec.expect_inputs(1, 2);
    link_ = spec.choice(stages::glm::link);
    family_ = spec.choice(stages::glm::family);
  }

  Status run(Run& run, Rows rows) const override {
    const Column* offsets = inputs_.size() > 1 ? &run.in(inputs_[1]) : nullptr;
    if (offsets != nullptr && !Numbers::reads(*offsets) && !all_missing(*offsets, rows)) {
      return mismatch(1, *offsets, "a number");
    }
    Column* prediction = prediction_ ? &run.out(*prediction_, Type::Double, rows) : nullptr;
    Column* link = link_prediction_ ? &run.out(*link_prediction_, Type::Double, rows) : nullptr;
    const auto each = [&](uint32_t row, const VectorRow& in) -> std::string {
      std::string fault = wrong_size(coefficients_.size(), in);
      if (!fault.empty()) return fault;
      if (offsets != nullptr && !offsets->valid(row)) return missing(1);
      double eta = in.dot(coefficients_.data()) + intercept_;
      if (offsets != nullptr) eta += Numbers(*offsets)[row];
      if (link != nullptr) link->reals[row] = eta;
      if (prediction != nullptr) prediction->reals[row] = within(mean_of(eta));
      return {};
    };
    const auto none = [&](uint32_t row) {
      if (prediction != nullptr) prediction->set_missing(row);
      if (link != nullptr) link->set_missing(row);
    };
    return each_vector(run, rows, each, none);
  }

 private:
  using Link = stages::GlmLink;
  using Family = stages::GlmFamily;

  double mean_of(double eta) const {
    switch (link_) {
      case Link::Identity: return eta;
      case Link::Log: return std::exp(eta);
      case Link::Inverse: return 1 / eta;
      case Link::Logit: return 1 / (1 + std::exp(-eta));
      case Link::Probit: return 0.5 * (1 + std::erf(eta / std::numbers::sqrt2));
      case Link::Cloglog: return 1 - std::exp(-std::exp(eta));
      case Link::Sqrt: return eta * eta;
      case Link::Power: return link_power_ == 0 ? std::exp(eta) : std::pow(eta, 1 / link_power_);
    }
    return eta;
  }

  // Clamps to the range of the family's means, as Spark does.
  double within(double mean) const {
    constexpr double kLeast = 1e-16, kMax = std::numeric_limits<double>::max();
    switch (family_) {
      case Family::Gaussian: return std::isinf(mean) ? std::copysign(kMax, mean) : mean;
      case Family::Binomial: return mean < kLeast ? kLeast : mean > 1 - kLeast ? 1 - kLeast : mean;
      default: return mean < kLeast ? kLeast : std::isinf(mean) ? kMax : mean;
    }
  }

  std::span<const double> coefficients_;
  double intercept_, link_power_;
  std::optional<uint32_t> prediction_, link_prediction_;
  Link link_ = Link::Identity;
  Family family_ = Family::Gaussian;
};

// Accelerated failure time, of a Weibull distribution.
class Aft final : public ColumnStage {
 public:
  explicit Aft(StageSpec& spec)
      : ColumnStage(spec),
        coefficients_(spec.reals(stages::aft::coefficients)),
        intercept_(spec.real(stages::aft::intercept)) {
    using Role = stages::AftRole;
    const Roles<Role> roles(spec, stages::aft::roles);
    prediction_ = roles[Role::Prediction];
    quantiles_ = roles[Role::Quantiles];
    spec.expect_inputs(1, 1);
    const double scale = spec.real(stages::aft::scale);
    for (const double probability : spec.reals(stages::aft::probabilities)) {
      factors_.push_back(std::exp(std::log(-std::log1p(-probability)) * scale));
    }
  }

  Status run(Run& run, Rows rows) const override {
    Column* prediction = prediction_ ? &run.out(*prediction_, Type::Double, rows) : nullptr;
    Column* quantiles = quantiles_ ? &run.out(*quantiles_, Type::Vector, rows) : nullptr;
    const auto each = [&](uint32_t row, const VectorRow& in) -> std::string {
      std::string fault = wrong_size(coefficients_.size(), in);
      if (!fault.empty()) return fault;
      const double mean = std::exp(in.dot(coefficients_.data()) + intercept_);
      if (prediction != nullptr) prediction->reals[row] = mean;
      if (quantiles == nullptr) return {};
      quantiles->start_row(row);
      for (const double factor : factors_) quantiles->reals.push_back(factor * mean);
      quantiles->end_row();
      return {};
    };
    const auto none = [&](uint32_t row) {
      if (prediction != nullptr) prediction->set_missing(row);
    };
    return each_vector(run, rows, each, none);
  }

 private:
  std::span<const double> coefficients_;
  double intercept_;
  std::vector<double> factors_;
  std::optional<uint32_t> prediction_, quantiles_;
};

constexpr StageKind kLinearKinds[] = {
    {stages::linear_scores::kind, make_stage<LinearScores>},
    {stages::linear_regression::kind, make_stage<LinearRegression>},
    {stages::glm::kind, make_stage<Glm>},
    {stages::aft::kind, make_stage<Aft>},
};

}  // namespace

std::span<const StageKind> linear_kinds() { return kLinearKinds; }

}  // namespace serval::tabular
