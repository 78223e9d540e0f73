// The options of a session: its providers, threads and settings. Control plane; the thread that
// loads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/onnxruntime/library.h"
#include "base/model_spec.h"

namespace serval::ort {

// Whether CUDA or TensorRT is among these providers.
bool runs_on_gpu(std::span<const std::string> providers);

// The library's providers in its own order, best first. Empty if the call fails.
std::vector<std::string> available_providers(const OrtApi& api);

// Applies the spec to a session's options; `providers` receives the library's names of the
// providers in use, the CPU's last. `records`: the first GPU provider records CUDA graphs.
// Errors: model_invalid naming the option or provider, and those that the library has.
Status set_options(const OrtRuntime& runtime, const ModelSpec& spec, bool records,
                   OrtSessionOptions* options, std::vector<std::string>& providers);

}  // namespace serval::ort
