// NVIDIA's libraries in the folder of ONNX Runtime's library: opened before its GPU providers,
// which search for them by name only. Control plane, the loading thread; guarded inside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace serval::ort {

// Whether this is the name of an NVIDIA library that a provider needs; those of TensorRT only if
// `tensorrt` is set.
bool is_gpu_library(std::string_view file_name, bool tensorrt);

// Opens every is_gpu_library() in the folder of `library_path`, once per process; returns the names
// of those that could not be opened, sorted. They are never closed.
std::vector<std::string> open_gpu_libraries(const std::string& library_path, bool tensorrt);

}  // namespace serval::ort
