// Computation of layers row by row. Hot path; any thread.
#include "tabular/dense/layers.h"

#include <algorithm>
#include <cmath>

namespace serval::tabular {
namespace {

void activate(Activation activation, std::span<double> values) {
  switch (activation) {
    case Activation::Identity: return;
    case Activation::Logistic:
      for (double& value : values) value = 1 / (1 + std::exp(-value));
      return;
    case Activation::Tanh:
      for (double& value : values) value = std::tanh(value);
      return;
    case Activation::Rectifier:
      for (double& value : values) value = value <= 0 ? 0 : value;  // NaN stays
      return;
    case Activation::Softmax: {
      const double most = *std::max_element(values.begin(), values.end());
      double sum = 0;
      for (double& value : values) sum += value = std::exp(value - most);
      for (double& value : values) value /= sum;
      return;
    }
  }
}

void run_layer(const DenseLayer& layer, const VectorRow& in, double* __restrict out) {
  if (layer.outputs == 1) {
    out[0] = in.dot(layer.weights.data());
  } else {
    std::fill_n(out, layer.outputs, 0.0);
    in.for_each([&](size_t input, double value) {
      const double* __restrict weights = layer.weights.data() + input * layer.outputs;
      for (size_t o = 0; o < layer.outputs; ++o) out[o] += weights[o] * value;
    });
  }
  for (size_t o = 0; o < layer.biases.size(); ++o) out[o] += layer.biases[o];
  activate(layer.activation, {out, layer.outputs});
}

}  // namespace

size_t products_of(std::span<const DenseLayer> layers) {
  size_t sum = 0;
  for (const DenseLayer& layer : layers) sum += layer.weights.size();
  return sum;
}

void run_layers(std::span<const DenseLayer> layers, const VectorRow& in, double* out) {
  thread_local std::vector<double> between[2];
  VectorRow from = in;
  for (size_t l = 0; l + 1 < layers.size(); ++l) {
    std::vector<double>& to = between[l % 2];
    to.resize(layers[l].outputs);
    run_layer(layers[l], from, to.data());
    from = {to.data(), nullptr, to.size(), to.size()};
  }
  run_layer(layers.back(), from, out);
}

std::vector<double> transposed(std::span<const double> matrix, size_t rows) {
  std::vector<double> made(matrix.size());
  const size_t columns = rows == 0 ? 0 : matrix.size() / rows;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      made[column * rows + row] = matrix[row * columns + column];
    }
  }
  return made;
}

}  // namespace serval::tabular
