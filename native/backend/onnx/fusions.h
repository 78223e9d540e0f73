// Graph optimizers of ONNX Runtime that are wrong for an element type, or produce nodes that have
// no kernel for it. Control plane, the loading thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/onnx/model.h"

namespace serval::ort {

// One optimizer by the runtime's name, and its fault with tensors of double.
struct UnsafeFusion {
  std::string_view optimizer;
  // It only changes a graph in which one of these computes in double.
  std::vector<std::string_view> operators;
  std::string_view reason;
};

// The list, as of ONNX Runtime 1.30.0.
std::span<const UnsafeFusion> unsafe_fusions();

// The optimizers that must not run on a model, in the form of
// optimization.disable_specified_optimizers: names separated by ";". Empty for a model without
// tensors of double where they matter.
std::string fusions_to_disable(Bytes model);

}  // namespace serval::ort
