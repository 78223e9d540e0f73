// Layers as an ONNX graph of doubles. Control plane, the loading thread; pure.
#pragma once

#include <cstdint>
#include <vector>

#include "tabular/dense/layers.h"

namespace serval::tabular {

inline constexpr const char* kGraphInput = "values";    // [rows, inputs]
inline constexpr const char* kGraphOutput = "answers";  // [rows, outputs]

// A ModelProto, weights included. There is a layer or more.
std::vector<uint8_t> write_graph(std::span<const DenseLayer> layers);

}  // namespace serval::tabular
