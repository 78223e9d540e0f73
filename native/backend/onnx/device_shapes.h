// The shapes of a graph on a GPU: operators whose kernels are planned again whenever a shape
// changes, and inputs whose shapes are open. Control plane, the loading thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/onnx/model.h"
#include "base/signature.h"

namespace serval::ort {

// An open dim: the name of an input with a free dim, or "".
struct OpenDims {
  std::string batch;  // free in its first dim
  std::string inner;  // free in another dim, of unknown rank, or text
};

// The facts that decide how a model runs on a GPU. Borrows nothing.
struct DeviceShapes {
  // The first operator that cuDNN plans for each shape: a change of shape costs about 100 ms on an
  // H100 (ResNet50, ONNX Runtime 1.30). Empty: there is none.
  std::string planned_op;
  OpenDims open;
  // Size of a row of all inputs together; its free dims count as 1.
  uint64_t row_bytes = 0;
};

// Reads a ModelProto; an initializer is no input. Nothing is planned if the bytes cannot be read.
DeviceShapes device_shapes(Bytes model);
// Reads a ModelProto that is served with the inputs of `signature`.
DeviceShapes device_shapes(Bytes model, const Signature& signature);

}  // namespace serval::ort
