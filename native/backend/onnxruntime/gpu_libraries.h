// NVIDIA's libraries that lie beside ONNX Runtime's: opened before its GPU providers are, which
// look for them by name only. Control plane, the loading thread; guarded inside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace serval::ort {

// Whether a file of this name is one of NVIDIA's that a provider needs; those of TensorRT where
// `tensorrt` says so.
bool is_gpu_library(std::string_view file_name, bool tensorrt);

// Opens what lies in the folder of `library_path` and is_gpu_library(), once per process; answers
// the names of those that could not be opened, sorted. What is opened stays so.
std::vector<std::string> open_gpu_libraries(const std::string& library_path, bool tensorrt);

}  // namespace serval::ort
