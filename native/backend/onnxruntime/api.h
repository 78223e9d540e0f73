// ONNX Runtime's C ABI by its official header, and the versions of its function table that we
// request. Data only, for hot and control plane. The table is append-only, so the header may be
// newer than the library. A call that is newer than kOrtApiVersion needs the table of
// kOrtShapeApiVersion (OrtRuntime::has_shape_calls), which test/tidy/rules/third-party.mjs checks.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstdint>

namespace serval::ort {

// 1.17 is the oldest library that we request and test.
inline constexpr uint32_t kOrtApiVersion = 17;
// The first version with TensorTypeAndShape_HasShape and GetTensorElementTypeAndShapeDataReference.
inline constexpr uint32_t kOrtShapeApiVersion = 24;

// The library is opened at run time: nothing links to its entry point.
using OrtGetApiBaseFunction = decltype(&OrtGetApiBase);

}  // namespace serval::ort
