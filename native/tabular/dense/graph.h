// Writes layers as an ONNX graph of doubles. Control plane, on the loading thread; pure.
#pragma once

#include <cstdint>
#include <vector>

#include "tabular/dense/layers.h"

namespace serval::tabular {

inline constexpr const char* kGraphInput = "values";    // [rows, inputs]
inline constexpr const char* kGraphOutput = "answers";  // [rows, outputs]

// Returns a ModelProto with its weights included. `layers` must not be empty.
std::vector<uint8_t> write_graph(std::span<const DenseLayer> layers);

}  // namespace serval::tabular
