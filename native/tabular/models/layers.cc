// Classifiers whose scores are not linear: gaussian_bayes, perceptron. Hot path; any thread.
// Source: tabular.md 5.3
#include <cmath>

#include "tabular/dense/stage.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

// Normal distributions of independent features. -> scores
class GaussianBayes final : public VectorStage {
 public:
  explicit GaussianBayes(StageSpec& spec)
      : VectorStage(spec, false),
        priors_(spec.reals(stages::gaussian_bayes::pi)),
        means_(spec.reals(stages::gaussian_bayes::theta)),
        variances_(spec.reals(stages::gaussian_bayes::sigma)) {
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
    if (!fault.empty()) return fault;
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

// Layers with a function between them; the last one's values are the scores.
class Perceptron final : public DenseStage {
 public:
  explicit Perceptron(StageSpec& spec) : DenseStage(spec) {
    std::vector<DenseLayer> layers = read_layers(spec);
    if (spec.failed()) return;
    const size_t width = layers.back().outputs;
    use(spec, std::move(layers), width);
  }

 private:
  static Activation hidden_of(stages::HiddenFunction function) {
    switch (function) {
      case stages::HiddenFunction::Logistic: return Activation::Logistic;
      case stages::HiddenFunction::Tanh: return Activation::Tanh;
      case stages::HiddenFunction::Rectifier: return Activation::Rectifier;
      case stages::HiddenFunction::Identity: return Activation::Identity;
    }
    return Activation::Identity;
  }

  // Reads for each layer the weights [inputs, outputs], then the biases.
  static std::vector<DenseLayer> read_layers(StageSpec& spec) {
    std::vector<DenseLayer> layers;
    const auto sizes = spec.integers(stages::perceptron::layers);
    const auto weights = spec.reals(stages::perceptron::weights);
    const Activation hidden = hidden_of(spec.choice(stages::perceptron::hidden));
    size_t expected = 0;
    for (size_t l = 0; l < sizes.size(); ++l) {
      if (sizes[l] < 1) spec.fail("a layer of " + std::to_string(sizes[l]) + " values");
      if (l == 0 || spec.failed()) continue;
      const auto inputs = static_cast<size_t>(sizes[l - 1]),
                 outputs = static_cast<size_t>(sizes[l]);
      layers.push_back({inputs, outputs, {}, {}, hidden});
      expected += (inputs + 1) * outputs;
    }
    if (sizes.size() < 2) spec.fail("expected two layers or more");
    if (!spec.failed() && weights.size() != expected) {
      spec.fail("expected " + std::to_string(expected) + " weights, got " +
                std::to_string(weights.size()));
    }
    if (spec.failed()) return layers;
    size_t at = 0;
    for (DenseLayer& layer : layers) {
      layer.weights = weights.subspan(at, layer.inputs * layer.outputs);
      layer.biases = weights.subspan(at + layer.weights.size(), layer.outputs);
      at += layer.weights.size() + layer.outputs;
    }
    layers.back().activation = Activation::Identity;
    return layers;
  }
};

constexpr StageKind kLayersKinds[] = {
    {stages::gaussian_bayes::kind, make_stage<GaussianBayes>},
    {stages::perceptron::kind, make_stage<Perceptron>},
};

}  // namespace

std::span<const StageKind> layer_kinds() { return kLayersKinds; }

}  // namespace serval::tabular
