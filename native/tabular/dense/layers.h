// Layers of products with matrices: what models of Spark, MLeap and PMML have in common where they
// are large. One description, answered row by row here or, of many rows, by a graph on ONNX Runtime
// (island.h). Made at load; immutable then; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tabular/features/columns.h"

namespace serval::tabular {

enum class Activation : uint8_t { Identity, Logistic, Tanh, Rectifier, Softmax };

// `inputs` values x weights [inputs, outputs] + biases (as many as outputs, or none), activated.
// Borrows the numbers.
struct DenseLayer {
  size_t inputs = 0, outputs = 0;
  std::span<const double> weights, biases;
  Activation activation = Activation::Identity;
};

// Of all layers: multiplications of a row.
size_t products_of(std::span<const DenseLayer> layers);

// Hot path. `in` has as many values as the first layer's inputs; `out` gets the last one's outputs.
// Sums are in the order of the inputs, the bias last, each rounded.
void run_layers(std::span<const DenseLayer> layers, const VectorRow& in, double* out);

// A matrix [rows, columns] -> [columns, rows].
std::vector<double> transposed(std::span<const double> matrix, size_t rows);

}  // namespace serval::tabular
