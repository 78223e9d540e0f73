// Libraries with custom operators (config.pbtxt's model_operations). Their code runs where they are
// opened, so only a model's own process does that. Control plane, the thread that loads.
#pragma once

#include "backend/onnxruntime/library.h"
#include "base/model_spec.h"

namespace serval::ort {

// Opens spec.operator_libraries and registers their operators with a session's options. Libraries
// stay open until the process ends: their destructors could run beside their threads. Errors:
// model_invalid naming the library: no such file, no library for this machine, a dependency is
// missing, no function RegisterCustomOps, the error that this function returns.
Status add_operator_libraries(const OrtRuntime& runtime, const ModelSpec& spec,
                              OrtSessionOptions* options);

// The runtime's error of a session extended by what to do, if the runtime lacks an operator.
Error about_operators(Error error, const ModelSpec& spec);

}  // namespace serval::ort
