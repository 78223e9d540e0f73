// Graph optimizers of ONNX Runtime that are wrong for a type of elements, or make nodes of it that
// have no kernel. Control plane, the loading thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/onnx/model.h"

namespace serval::ort {

// One optimizer by the runtime's name, and what it does wrong to tensors of double.
struct UnsafeFusion {
  std::string_view optimizer;
  // It changes a graph only where one of these computes in double.
  std::vector<std::string_view> operators;
  std::string_view reason;
};

// The list, as of ONNX Runtime 1.30.0.
std::span<const UnsafeFusion> unsafe_fusions();

// The optimizers that must leave a model alone, as optimization.disable_specified_optimizers wants
// them: names with ";" between. Empty for a model without tensors of double where they matter.
std::string fusions_to_disable(Bytes model);

}  // namespace serval::ort
