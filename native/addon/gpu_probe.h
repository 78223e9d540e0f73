// Probes the GPU support of this machine for `serval doctor`: the driver's state, and whether a
// library can be opened. Control plane; any thread.
#pragma once

#include <string>

namespace serval {

// Returns JSON: {"library": reason or "", "init": CUresult of cuInit, "version": 13000, "devices":
// [{"name", "memory": bytes, "major", "minor"}]}. Source: CUDA's driver API.
std::string probe_driver();

// Opens a library, which stays open. Returns "" on success, else the loader's reason. `path`: a
// path, or a name that the loader searches for.
std::string probe_library(const std::string& path);

}  // namespace serval
