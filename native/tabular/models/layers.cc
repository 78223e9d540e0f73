// Classifiers whose scores are not linear: gaussian_bayes, perceptron. Hot path; any thread.
// Source: tabular.md 5.3
#include <cmath>

#include "tabular/features/columns.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

// Normal distributions of independent features. -> scores
class GaussianBayes final : public VectorStage {
 public:
  explicit GaussianBayes(StageSpec& spec)
      : VectorStage(spec, false),
        priors_(spec.reals("pi")),
        means_(spec.reals("theta")),
        variances_(spec.reals("sigma")) {
    if (priors_.empty() || means_.size() % priors_.size() != 0 ||
        means_.size() != variances_.size()) {
      spec.fail("expected as many means and variances for each class");
      return;
    }
    features_ = means_.size() / priors_.size();
    for (size_t k = 0; k < priors_.size(); ++k) {
      double sum = 0;
      for (size_t i = 0; i < features_; ++i) sum += std::log(variances_[k * features_ + i]);
      log_variances_.push_back(sum);
    }
  }

 private:
  std::string answer(const VectorRow& in, Column& out, size_t& size) const override {
    std::string fault = wrong_size(features_, in);
    if (!fault.empty()) return "column '" + names_[0] + "': " + fault;
    thread_local std::vector<double> room;
    const double* values = dense_values(in, room);
    size = priors_.size();
    for (size_t k = 0; k < size; ++k) {
      const double* means = means_.data() + k * features_;
      const double* variances = variances_.data() + k * features_;
      double sum = 0;
      for (size_t i = 0; i < features_; ++i) {
        const double off = values[i] - means[i];
        sum += off * off / variances[i];
      }
      out.reals.push_back(priors_[k] - (sum + log_variances_[k]) / 2);
    }
    return {};
  }

  std::span<const double> priors_, means_, variances_;
  std::vector<double> log_variances_;
  size_t features_ = 0;
};

// Layers with sigmoids between them; the last one's values are the scores.
class Perceptron final : public VectorStage {
 public:
  explicit Perceptron(StageSpec& spec)
      : VectorStage(spec, false), sizes_(spec.integers("layers")), weights_(spec.reals("weights")) {
    size_t expected = 0;
    for (size_t l = 0; l < sizes_.size(); ++l) {
      if (sizes_[l] < 1) spec.fail("a layer of " + std::to_string(sizes_[l]) + " values");
      if (l > 0) expected += (size_at(l - 1) + 1) * size_at(l);
    }
    if (sizes_.size() < 2) spec.fail("expected two layers or more");
    if (!spec.failed() && weights_.size() != expected) {
      spec.fail("expected " + std::to_string(expected) + " weights, got " +
                std::to_string(weights_.size()));
    }
  }

 private:
  size_t size_at(size_t layer) const { return static_cast<size_t>(std::max(sizes_[layer], 0)); }

  std::string answer(const VectorRow& in, Column& out, size_t& size) const override {
    std::string fault = wrong_size(size_at(0), in);
    if (!fault.empty()) return "column '" + names_[0] + "': " + fault;
    thread_local std::vector<double> from, to;
    from.assign(in.size, 0);
    in.for_each([&](size_t index, double value) { from[index] = value; });
    const double* weights = weights_.data();
    for (size_t l = 1; l < sizes_.size(); ++l) {
      const size_t inputs = size_at(l - 1), outputs = size_at(l);
      to.assign(outputs, 0);
      for (size_t i = 0; i < inputs; ++i) {
        const double value = from[i];
        for (size_t o = 0; o < outputs; ++o) to[o] += weights[i * outputs + o] * value;
      }
      const double* biases = weights + inputs * outputs;
      const bool last = l + 1 == sizes_.size();
      for (size_t o = 0; o < outputs; ++o) {
        to[o] += biases[o];
        if (!last) to[o] = 1 / (1 + std::exp(-to[o]));
      }
      weights = biases + outputs;
      from.swap(to);
    }
    size = from.size();
    out.reals.insert(out.reals.end(), from.begin(), from.end());
    return {};
  }

  std::span<const int32_t> sizes_;
  std::span<const double> weights_;
};

constexpr StageKind kKinds[] = {
    {"gaussian_bayes", make_stage<GaussianBayes>},
    {"perceptron", make_stage<Perceptron>},
};

}  // namespace

std::span<const StageKind> layer_kinds() { return kKinds; }

}  // namespace serval::tabular
