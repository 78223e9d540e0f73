// Imported graphs for a GPU: our operators that only differ from ONNX's in the handling of NaN, or
// only check their inputs, run on the CPU and would copy activations from the device. On a GPU,
// ONNX's own replace them. Control plane, the loading thread.
#pragma once

#include <string>

#include "backend/onnx/model.h"

namespace serval::ort {

// Treatment of index checks: they are small and run on the host, but a CUDA graph cannot contain
// CPU operators.
enum class IndexChecks : uint8_t { Keep, Drop };

// The model with ONNX's operators; empty if there is nothing to replace, or it cannot be read.
std::string device_form(Bytes model, IndexChecks checks);

}  // namespace serval::ort
