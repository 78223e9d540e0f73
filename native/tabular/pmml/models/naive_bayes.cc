// Stage kind pmml.naive_bayes: counts of categories and distributions of numbers, by target value.
// Hot path. Source: tabular.md 3.2.
#include <algorithm>
#include <cmath>
#include <string>

#include "tabular/pmml/models/inputs.h"
#include "tabular/pmml/models/kinds.h"
#include "tabular/pmml/models/links.h"

namespace serval::tabular::pmml {
namespace {

enum class Distribution : int32_t { None = 0, Gaussian = 1, Poisson = 2 };

struct Density {
  Distribution kind = Distribution::None;
  double mean = 0, deviation = 0, log_scale = 0;
};

// One predictor: rows of logarithms of shares by value, or densities.
struct Predictor {
  bool continuous = false;
  std::vector<double> codes;  // of its values
  // [codes, labels]; 0 if a value carries no information on a label
  std::vector<double> logs;
  std::vector<Density> densities;  // [labels]
};

class NaiveBayes final : public Stage {
 public:
  explicit NaiveBayes(StageSpec& spec)
      : inputs_(spec),
        place_(spec.place),
        output_(spec.outputs.empty() ? 0 : spec.outputs[0]),
        threshold_(spec.real(stages::pmml_naive_bayes::threshold)) {
    for (const double count : spec.reals(stages::pmml_naive_bayes::prior_counts))
      priors_.push_back(std::log(count));
    predictors_.resize(inputs_.count());
    if (priors_.empty()) {
      spec.fail("there is no target value");
      return;
    }
    read_continuous(spec);
    read_pairs(spec);
  }

  Status run(Run& run, Rows rows) const override {
    Inputs inputs;
    if (Status opened = inputs.open(run, inputs_); !opened.ok()) return opened;
    Column& out = run.out(output_, Type::Vector, rows);
    std::vector<double>& sums = run.frame.scratch;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      sums.assign(priors_.begin(), priors_.end());
      size_t refused = inputs.count();
      for (size_t p = 0; p < predictors_.size() && refused == inputs.count(); ++p) {
        if (inputs.missing(p, row)) continue;  // left out
        if (!add(predictors_[p], inputs.at(p, row), sums)) refused = p;
      }
      if (refused < inputs.count()) {
        Status status = run.refuse(row, place_, "'" + inputs_.name(refused) + "' is not a count");
        if (!status.ok()) return status;
        continue;
      }
      const std::span<double> shares = add_row(out, row, priors_.size());
      std::copy(sums.begin(), sums.end(), shares.begin());
      if (softmax(shares)) continue;
      drop_added(out, priors_.size());
      Status status = run.refuse(row, place_, std::string(kNoShares));
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  void read_continuous(StageSpec& spec) {
    const auto continuous = spec.integers(stages::pmml_naive_bayes::continuous);
    const auto kinds = spec.integers(stages::pmml_naive_bayes::distributions);
    const auto means = spec.reals(stages::pmml_naive_bayes::means);
    const auto variances = spec.reals(stages::pmml_naive_bayes::variances);
    const size_t labels = priors_.size();
    const size_t cells = predictors_.size() * labels;
    if (continuous.size() != predictors_.size() || kinds.size() != cells || means.size() != cells ||
        variances.size() != cells || !good_indices(kinds, 0, 3)) {
      return spec.fail("the distributions' parts do not fit each other");
    }
    for (size_t p = 0; p < predictors_.size(); ++p) {
      predictors_[p].continuous = continuous[p] != 0;
      if (!predictors_[p].continuous) continue;
      inputs_.number(spec, static_cast<int32_t>(p));
      for (size_t k = p * labels; k < (p + 1) * labels; ++k) {
        const double deviation = std::sqrt(variances[k]);
        predictors_[p].densities.push_back(
            {static_cast<Distribution>(kinds[k]), means[k], deviation,
             std::log(deviation) + 0.5 * std::log(2 * 3.14159265358979323846)});
      }
    }
  }

  // A count of 0 uses the threshold as its share; NaN carries no information on the label.
  void read_pairs(StageSpec& spec) {
    const auto rows = spec.integers(stages::pmml_naive_bayes::pair_rows);
    const auto values = spec.values(stages::pmml_naive_bayes::pair_values);
    const auto counts = spec.reals(stages::pmml_naive_bayes::pair_counts);
    const size_t labels = priors_.size();
    if (!good_offsets(rows, predictors_.size(), values.size()) ||
        counts.size() != values.size() * labels) {
      return spec.fail("the pair counts' parts do not fit each other");
    }
    for (size_t p = 0; p < predictors_.size(); ++p) {
      std::vector<double> sums(labels, 0);
      const auto begin = static_cast<size_t>(rows[p]), end = static_cast<size_t>(rows[p + 1]);
      for (size_t i = begin * labels; i < end * labels; ++i) {
        if (!std::isnan(counts[i])) sums[i % labels] += counts[i];
      }
      for (size_t v = begin; v < end; ++v) {
        inputs_.compare(spec, static_cast<int32_t>(p), values[v]);
        predictors_[p].codes.push_back(code_of(values[v]));
        for (size_t k = 0; k < labels; ++k) {
          const double count = counts[v * labels + k];
          const double share = std::abs(count) < kZero ? threshold_ : count / sums[k];
          predictors_[p].logs.push_back(std::isnan(count) ? 0 : std::log(share));
        }
      }
    }
  }

  // Returns false for a Poisson distribution of a number that is not whole.
  bool add(const Predictor& predictor, double x, std::vector<double>& sums) const {
    if (!predictor.continuous) {
      const auto found = std::find(predictor.codes.begin(), predictor.codes.end(), x);
      if (found == predictor.codes.end()) return true;
      const auto at = static_cast<size_t>(found - predictor.codes.begin()) * sums.size();
      for (size_t k = 0; k < sums.size(); ++k) sums[k] += predictor.logs[at + k];
      return true;
    }
    for (size_t k = 0; k < sums.size(); ++k) {
      const Density& density = predictor.densities[k];
      if (density.kind == Distribution::None) continue;
      double probability = 0;
      if (density.kind == Distribution::Gaussian) {
        const double z = (x - density.mean) / density.deviation;
        probability = std::exp(-0.5 * z * z - density.log_scale);
      } else {
        if (x != std::floor(x)) return false;
        if (x >= 0) {
          int sign = 0;
          probability =
              std::exp(x * std::log(density.mean) - density.mean - ::lgamma_r(x + 1, &sign));
        }
      }
      // A probability that is NaN is not below the threshold.
      sums[k] += std::log(probability < threshold_ ? threshold_ : probability);
    }
    return true;
  }

  static constexpr double kZero = 1e-16;
  InputNames inputs_;
  std::string place_;
  uint32_t output_;
  double threshold_;
  std::vector<double> priors_;  // logarithms
  std::vector<Predictor> predictors_;
};

}  // namespace

std::unique_ptr<Stage> make_naive_bayes(StageSpec& spec) {
  spec.expect_outputs(1, 1);
  return std::make_unique<NaiveBayes>(spec);
}

}  // namespace serval::tabular::pmml
