// Stage kind pmml.neural_network: layers of neurons in the order of their calculation. Hot path.
// Source: tabular.md 3.2.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "tabular/dense/island.h"
#include "tabular/pmml/models/inputs.h"
#include "tabular/pmml/models/kinds.h"
#include "tabular/pmml/models/links.h"

namespace serval::tabular::pmml {
namespace {

using Activation = stages::Activation;
using stages::LayerNormalization;

double activate(Activation function, double x, double threshold, double leakage) {
  constexpr double kPi = 3.14159265358979323846;
  switch (function) {
    case Activation::Threshold: return x > threshold ? 1 : 0;
    case Activation::Logistic: return logistic(x);
    case Activation::Tanh: return std::tanh(x);
    case Activation::Exponential: return std::exp(x);
    case Activation::Reciprocal: return 1 / x;
    case Activation::Square: return x * x;
    case Activation::Gauss: return std::exp(-(x * x));
    case Activation::Sine: return std::sin(x);
    case Activation::Cosine: return std::cos(x);
    case Activation::Elliott: return x / (1 + std::abs(x));
    case Activation::Arctan: return 2 * std::atan(x) / kPi;
    case Activation::Rectifier: return leakage == 0 ? java_max(x, 0) : x > 0 ? x : leakage * x;
    case Activation::Identity:
    case Activation::RadialBasis: return x;
  }
  return x;
}

struct Layer {
  Activation activation;
  LayerNormalization normalization;
  double threshold, leakage;
  uint32_t begin, end;  // neurons
};

// The value that a piecewise linear function maps to a neuron's output: from norms back to origs.
struct Back {
  std::span<const double> norms, origs;
  double operator()(double value) const {
    if (norms.size() < 2) return value;
    size_t start = 0, end = norms.size() - 1;
    for (size_t i = 1; i + 1 < norms.size(); ++i) {
      if (value >= norms[i]) {
        start = i;
      } else if (value <= norms[i]) {
        end = i;
        break;
      }
    }
    return (value - norms[start]) / (norms[end] - norms[start]) * (origs[end] - origs[start]) +
           origs[start];
  }
};

class NeuralNetwork final : public Stage {
 public:
  explicit NeuralNetwork(StageSpec& spec)
      : inputs_(spec),
        place_(spec.place),
        outputs_(spec.outputs.begin(), spec.outputs.end()),
        classification_(spec.flag(stages::pmml_neural_network::classification)) {
    read_neurons(spec);
    read_layers(spec);
    read_outputs(spec);
    if (!spec.failed()) read_dense(spec);
  }

  OnFailure on_failure() const override { return OnFailure::Own; }
  Status run(Run& run, Rows rows) const override {
    Inputs inputs;
    if (Status opened = inputs.open(run, inputs_); !opened.ok()) return opened;
    return classification_ ? run_classes(run, rows, inputs) : run_numbers(run, rows, inputs);
  }

 private:
  void read_neurons(StageSpec& spec) {
    biases_ = spec.reals(stages::pmml_neural_network::biases);
    widths_ = spec.reals(stages::pmml_neural_network::widths);
    altitudes_ = spec.reals(stages::pmml_neural_network::altitudes);
    connections_ = spec.integers(stages::pmml_neural_network::connection_rows);
    sources_ = spec.integers(stages::pmml_neural_network::connection_sources);
    weights_ = spec.reals(stages::pmml_neural_network::connection_weights);
    if (!good_offsets(connections_, biases_.size(), sources_.size()) ||
        weights_.size() != sources_.size() || widths_.size() != biases_.size() ||
        altitudes_.size() != biases_.size()) {
      return spec.fail("the neurons' parts do not fit each other");
    }
    if (!good_indices(sources_, 0, inputs_.count() + biases_.size())) {
      spec.fail("the source of a connection does not exist");
    }
  }

  void read_layers(StageSpec& spec) {
    const auto rows = spec.integers(stages::pmml_neural_network::layer_rows);
    const auto activations = spec.choices(stages::pmml_neural_network::activations);
    const auto normalizations = spec.choices(stages::pmml_neural_network::normalizations);
    const auto thresholds = spec.reals(stages::pmml_neural_network::thresholds);
    const auto leakages = spec.reals(stages::pmml_neural_network::leakages);
    const size_t count = activations.size();
    if (!good_offsets(rows, count, biases_.size()) || normalizations.size() != count ||
        thresholds.size() != count || connections_.size() != biases_.size() + 1 ||
        (!leakages.empty() && leakages.size() != count)) {
      return spec.fail("the layers' parts do not fit each other");
    }
    for (size_t i = 0; i < count; ++i) {
      const double leakage = leakages.empty() ? 0 : leakages[i];
      layers_.push_back({activations[i], normalizations[i], thresholds[i], leakage,
                         static_cast<uint32_t>(rows[i]), static_cast<uint32_t>(rows[i + 1])});
      check_sources(spec, layers_.back());
    }
  }

  // A layer reads what was calculated before it.
  void check_sources(StageSpec& spec, const Layer& layer) {
    const auto limit = static_cast<int32_t>(inputs_.count() + layer.begin);
    const auto begin = static_cast<size_t>(connections_[layer.begin]);
    for (auto c = begin; c < static_cast<size_t>(connections_[layer.end]); ++c) {
      if (sources_[c] >= limit)
        return spec.fail("a connection comes from its own or a later layer");
    }
  }

  void read_outputs(StageSpec& spec) {
    neurons_ = spec.integers(stages::pmml_neural_network::output_neurons);
    const auto rows = spec.integers(stages::pmml_neural_network::output_rows);
    const auto norms = spec.reals(stages::pmml_neural_network::output_norms);
    const auto origs = spec.reals(stages::pmml_neural_network::output_origs);
    if (neurons_.empty() || !good_indices(neurons_, 0, inputs_.count() + biases_.size())) {
      return spec.fail("the source of an output does not exist");
    }
    if (classification_ ? outputs_.size() != 1 : outputs_.size() != neurons_.size()) {
      return spec.fail("there are " + std::to_string(neurons_.size()) + " output neurons");
    }
    backs_.resize(neurons_.size());
    if (rows.empty()) return;
    if (!good_offsets(rows, neurons_.size(), norms.size()) || origs.size() != norms.size()) {
      return spec.fail("the outputs' parts do not fit each other");
    }
    for (size_t o = 0; o < neurons_.size(); ++o) {
      const auto begin = static_cast<size_t>(rows[o]);
      const auto count = static_cast<size_t>(rows[o + 1]) - begin;
      backs_[o] = {norms.subspan(begin, count), origs.subspan(begin, count)};
    }
  }

  // Uses matrices for layers that read the whole previous layer in its order, if the last layer
  // produces the outputs.
  void read_dense(StageSpec& spec) {
    places_.assign(neurons_.begin(), neurons_.end());
    std::vector<DenseLayer> layers;
    size_t from = 0, width = inputs_.count();
    for (const Layer& layer : layers_) {
      const auto activation = dense_activation(layer);
      if (!activation || !reads_all(layer, from, width)) return;
      const auto begin = static_cast<size_t>(connections_[layer.begin]);
      const size_t outputs = layer.end - layer.begin;
      by_input_.push_back(transposed(weights_.subspan(begin, width * outputs), outputs));
      layers.push_back({width, outputs, {}, biases_.subspan(layer.begin, outputs), *activation});
      from = inputs_.count() + layer.begin;
      width = outputs;
    }
    const auto in_last = [&](uint32_t place) { return place >= from && place < from + width; };
    if (layers.empty() || !std::all_of(places_.begin(), places_.end(), in_last)) return;
    for (size_t l = 0; l < layers.size(); ++l) layers[l].weights = by_input_[l];
    for (uint32_t& place : places_) place -= static_cast<uint32_t>(from);
    dense_ = std::move(layers);
    island_ = spec.island(dense_);
  }

  static std::optional<tabular::Activation> dense_activation(const Layer& layer) {
    using Of = tabular::Activation;
    if (layer.normalization == LayerNormalization::Softmax && layer.begin < layer.end) {
      if (layer.activation == Activation::Identity) return Of::Softmax;
    } else if (layer.normalization == LayerNormalization::None) {
      switch (layer.activation) {
        case Activation::Identity: return Of::Identity;
        case Activation::Logistic: return Of::Logistic;
        case Activation::Tanh: return Of::Tanh;
        case Activation::Rectifier:
          if (layer.leakage == 0) return Of::Rectifier;
          break;
        default: break;
      }
    }
    return std::nullopt;
  }

  // Whether each neuron of the layer reads the values [from, from + width), in order.
  bool reads_all(const Layer& layer, size_t from, size_t width) const {
    for (uint32_t n = layer.begin; n < layer.end; ++n) {
      const auto begin = static_cast<size_t>(connections_[n]);
      if (static_cast<size_t>(connections_[n + 1]) != begin + width) return false;
      for (size_t k = 0; k < width; ++k) {
        if (static_cast<size_t>(sources_[begin + k]) != from + k) return false;
      }
    }
    return true;
  }

  // emit(row, values) for each row: values at places_, null where an input is missing.
  template <typename Emit>
  Status each(Run& run, Rows rows, Inputs& inputs, Emit&& emit) const {
    if (island_ != nullptr && island_->is_worth(rows.count)) {
      return each_on_island(run, rows, inputs, emit);
    }
    std::vector<double>& values = run.frame.scratch;
    values.resize(inputs_.count() + biases_.size());
    for (uint32_t i = 0; i < rows.count; ++i) {
      if (Status done = one_row(run, rows[i], inputs, values, emit); !done.ok()) return done;
    }
    return {};
  }

  // `values` has space for the inputs and the neurons.
  template <typename Emit>
  Status one_row(Run& run, uint32_t row, Inputs& inputs, std::vector<double>& values,
                 Emit&& emit) const {
    const size_t missing = inputs.first_missing(row);
    const bool there = missing == inputs.count();
    const bool answered = there && calculate(inputs, row, values);
    emit(row, answered ? values.data() : nullptr);
    if (there) return answered ? Status() : run.refuse(row, place_, std::string(kNoShares));
    const Failure* failure = inputs.failure(missing, row);
    return failure == nullptr ? Status() : run.refuse(*failure);
  }

  // Whether the runtime computes the row as this processor does: its operators differ in what they
  // make of NaN and infinity.
  static bool is_moderate(std::span<const double> values) {
    constexpr double kMost = 1e100;
    return std::all_of(values.begin(), values.end(),
                       [](double value) { return std::abs(value) < kMost; });
  }

  template <typename Emit>
  Status each_on_island(Run& run, Rows rows, Inputs& inputs, Emit&& emit) const {
    const size_t width = inputs_.count(), outputs = dense_.back().outputs;
    const auto block = static_cast<uint32_t>(std::min<size_t>(island_->rows_max(), rows.count));
    std::vector<double>& room = run.frame.scratch;
    room.resize(block * (width + outputs));
    double* const answers = room.data() + block * width;
    std::vector<double> values(inputs_.count() + biases_.size());
    const auto goes = [&](uint32_t row) {
      return inputs.first_missing(row) == width && is_moderate(inputs.load(row));
    };
    for (uint32_t begin = 0; begin < rows.count; begin += block) {
      const uint32_t end = std::min(begin + block, rows.count);
      size_t count = 0;
      for (uint32_t i = begin; i < end; ++i) {
        if (!goes(rows[i])) continue;
        const std::span<const double> loaded = inputs.load(rows[i]);
        std::copy(loaded.begin(), loaded.end(), room.data() + width * count++);
      }
      Status done =
          count == 0 ? Status() : island_->run(run.frame, run.cancel, room.data(), count, answers);
      if (!done.ok()) return done;
      const double* next = answers;
      for (uint32_t i = begin; i < end; ++i) {
        if (goes(rows[i])) {
          emit(rows[i], next);
          next += outputs;
        } else if (done = one_row(run, rows[i], inputs, values, emit); !done.ok()) {
          return done;
        }
      }
    }
    return {};
  }

  // values: the inputs, then the neurons; or of dense layers the last one's. False: a layer's sum
  // is 0, and has no shares.
  bool calculate(Inputs& inputs, uint32_t row, std::vector<double>& values) const {
    const std::span<const double> loaded = inputs.load(row);
    if (!dense_.empty()) {
      run_layers(dense_, {loaded.data(), nullptr, loaded.size(), loaded.size()}, values.data());
      return true;
    }
    std::copy(loaded.begin(), loaded.end(), values.begin());
    double* const neurons = values.data() + inputs_.count();
    for (const Layer& layer : layers_) {
      for (uint32_t n = layer.begin; n < layer.end; ++n) {
        neurons[n] = layer.activation == Activation::RadialBasis
                         ? radial_basis(n, values.data())
                         : activate(layer.activation, weighted(n, values.data()), layer.threshold,
                                    layer.leakage);
      }
      const std::span<double> all(neurons + layer.begin, neurons + layer.end);
      if (all.empty()) continue;
      if (layer.normalization == LayerNormalization::Simplemax && !simplemax(all)) return false;
      if (layer.normalization == LayerNormalization::Softmax && !softmax(all)) return false;
    }
    return true;
  }

  double weighted(uint32_t neuron, const double* values) const {
    double sum = 0;
    const auto end = static_cast<size_t>(connections_[neuron + 1]);
    for (auto c = static_cast<size_t>(connections_[neuron]); c < end; ++c) {
      sum += weights_[c] * values[sources_[c]];
    }
    return sum + biases_[neuron];
  }

  double radial_basis(uint32_t neuron, const double* values) const {
    double sum = 0;
    const auto begin = static_cast<size_t>(connections_[neuron]);
    const auto end = static_cast<size_t>(connections_[neuron + 1]);
    for (auto c = begin; c < end; ++c) {
      const double difference = values[sources_[c]] - weights_[c];
      sum += difference * difference;
    }
    sum /= widths_[neuron] * widths_[neuron] * -2;
    if (altitudes_[neuron] != 1) {
      sum += std::log(altitudes_[neuron]) * static_cast<double>(end - begin);
    }
    return std::exp(sum);
  }

  Status run_numbers(Run& run, Rows rows, Inputs& inputs) const {
    for (const uint32_t output : outputs_) run.out(output, Type::Double, rows);
    return each(run, rows, inputs, [&](uint32_t row, const double* values) {
      for (size_t o = 0; o < outputs_.size(); ++o) {
        Column& out = run.frame.columns[outputs_[o]];
        if (values == nullptr) out.set_missing(row);
        else out.reals[row] = backs_[o](values[places_[o]]);
      }
    });
  }

  Status run_classes(Run& run, Rows rows, Inputs& inputs) const {
    Column& out = run.out(outputs_[0], Type::Vector, rows);
    return each(run, rows, inputs, [&](uint32_t row, const double* values) {
      if (values == nullptr) return;
      const std::span<double> answer = add_row(out, row, places_.size());
      for (size_t o = 0; o < places_.size(); ++o) answer[o] = values[places_[o]];
    });
  }

  InputNames inputs_;
  std::string place_;
  std::vector<uint32_t> outputs_;
  bool classification_;
  std::vector<Layer> layers_;
  std::span<const double> biases_, widths_, altitudes_, weights_;
  std::span<const int32_t> connections_, sources_, neurons_;
  std::vector<Back> backs_;
  std::vector<uint32_t> places_;               // positions of the output neurons in the values
  std::vector<std::vector<double>> by_input_;  // weights of dense_
  std::vector<DenseLayer> dense_;              // the layers, if they are matrices; else empty
  std::unique_ptr<Island> island_;             // of dense_, or null
};

}  // namespace

std::unique_ptr<Stage> make_neural_network(StageSpec& spec) {
  return std::make_unique<NeuralNetwork>(spec);
}

}  // namespace serval::tabular::pmml
