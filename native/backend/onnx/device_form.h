// Imported graphs for a GPU: operators of ours that differ from ONNX's in NaN, or only check their
// inputs, run on the CPU and would fetch activations from the device. There ONNX's own are in their
// place. Control plane, the loading thread.
#pragma once

#include <string>

#include "backend/onnx/model.h"

namespace serval::ort {

// Treatment of index checks: they are small and fed from the host, but a CUDA graph holds
// no operator of the CPU.
enum class IndexChecks : uint8_t { Keep, Drop };

// The model with ONNX's operators; empty where it has none of ours that are replaced, or cannot be
// read.
std::string device_form(Bytes model, IndexChecks checks);

}  // namespace serval::ort
