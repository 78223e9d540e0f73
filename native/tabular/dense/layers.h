// Dense layers (matrix products), which large models of Spark, MLeap and PMML have in common. One
// description is computed row by row here or, for many rows, by a graph on ONNX Runtime (island.h).
// Made at load; immutable then; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tabular/features/columns.h"

namespace serval::tabular {

enum class Activation : uint8_t { Identity, Logistic, Tanh, Rectifier, Softmax };

// activation(values [inputs] x weights [inputs, outputs] + biases); `biases` has one value per
// output or is empty. Borrows the numbers.
struct DenseLayer {
  size_t inputs = 0, outputs = 0;
  std::span<const double> weights, biases;
  Activation activation = Activation::Identity;
};

// Multiplications per row, over all layers.
size_t products_of(std::span<const DenseLayer> layers);

// Hot path. `in` has the first layer's inputs; `out` receives the last layer's outputs. Sums run in
// the order of the inputs, the bias last, each step rounded.
void run_layers(std::span<const DenseLayer> layers, const VectorRow& in, double* out);

// Transposes a matrix [rows, columns] to [columns, rows].
std::vector<double> transposed(std::span<const double> matrix, size_t rows);

}  // namespace serval::tabular
