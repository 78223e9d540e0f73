// ONNX Runtime with providers for GPUs that run on the CPU: the real library (FAKE_ORT_REAL), but
// for what names a GPU. "Cuda" memory is memory of the host, as fake_cudart.cc has it, so that a
// session runs on the very bytes that were copied to the device.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backend/onnxruntime/api.h"

namespace {

using namespace serval::ort;  // NOLINT: names of the ABI

const OrtApiBase* real_base = nullptr;
const OrtApi* real = nullptr;
OrtApi table;

using Options = std::vector<std::pair<std::string, std::string>>;

OrtStatus* update(Options& options, const char* const* keys, const char* const* values,
                  size_t count) {
  for (size_t i = 0; i < count; ++i) options.emplace_back(keys[i], values[i]);
  return nullptr;
}

// What a model's weights take of its device: FAKE_ORT_DEVICE_BYTES, never given back.
void take_device_memory(const Options& options) {
  const char* bytes = std::getenv("FAKE_ORT_DEVICE_BYTES");
  void* const cuda = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (bytes == nullptr || cuda == nullptr) return;
  int device = 0;
  for (const auto& [key, value] : options) {
    if (key == "device_id") device = std::atoi(value.c_str());
  }
  const auto set = reinterpret_cast<int (*)(int)>(dlsym(cuda, "cudaSetDevice"));
  const auto take = reinterpret_cast<int (*)(void**, size_t)>(dlsym(cuda, "cudaMalloc"));
  void* memory = nullptr;
  if (set(device) == 0) take(&memory, std::strtoull(bytes, nullptr, 10));
}

// A limit of one byte is what a device without memory would say.
OrtStatus* append(const Options& options) {
  for (const auto& [key, value] : options) {
    if (key == "gpu_mem_limit" && value == "1") {
      return real->CreateStatus(ORT_RUNTIME_EXCEPTION,
                                "CUDA failure 2: out of memory ; GPU=0 ; expr=cudaMalloc");
    }
  }
  take_device_memory(options);
  return nullptr;
}

constexpr const char* kProviders[] = {"TensorrtExecutionProvider", "CUDAExecutionProvider",
                                      "CPUExecutionProvider"};

OrtStatus* available(char*** list, int* count) {
  *list = const_cast<char**>(kProviders);
  *count = 3;
  return nullptr;
}

OrtStatus* memory_info(const char* name, OrtAllocatorType type, int id, OrtMemType mem_type,
                       OrtMemoryInfo** out) {
  if (std::strncmp(name, "Cuda", 4) != 0)
    return real->CreateMemoryInfo(name, type, id, mem_type, out);
  return real->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, out);
}

template <typename Opaque>
Options& options_of(Opaque* options) {
  return *reinterpret_cast<Options*>(options);
}

void fill_table() {
  table = *real;
  table.GetAvailableProviders = available;
  table.ReleaseAvailableProviders = [](char**, int) -> OrtStatus* { return nullptr; };
  table.CreateMemoryInfo = memory_info;
  table.CreateCUDAProviderOptions = [](OrtCUDAProviderOptionsV2** out) -> OrtStatus* {
    *out = reinterpret_cast<OrtCUDAProviderOptionsV2*>(new Options);
    return nullptr;
  };
  table.UpdateCUDAProviderOptions = [](OrtCUDAProviderOptionsV2* options, const char* const* keys,
                                       const char* const* values, size_t count) {
    return update(options_of(options), keys, values, count);
  };
  table.ReleaseCUDAProviderOptions = [](OrtCUDAProviderOptionsV2* options) {
    delete &options_of(options);
  };
  table.SessionOptionsAppendExecutionProvider_CUDA_V2 =
      [](OrtSessionOptions*, const OrtCUDAProviderOptionsV2* options) {
        return append(*reinterpret_cast<const Options*>(options));
      };
  table.CreateTensorRTProviderOptions = [](OrtTensorRTProviderOptionsV2** out) -> OrtStatus* {
    *out = reinterpret_cast<OrtTensorRTProviderOptionsV2*>(new Options);
    return nullptr;
  };
  table.UpdateTensorRTProviderOptions =
      [](OrtTensorRTProviderOptionsV2* options, const char* const* keys, const char* const* values,
         size_t count) { return update(options_of(options), keys, values, count); };
  table.ReleaseTensorRTProviderOptions = [](OrtTensorRTProviderOptionsV2* options) {
    delete &options_of(options);
  };
  table.SessionOptionsAppendExecutionProvider_TensorRT_V2 =
      [](OrtSessionOptions*, const OrtTensorRTProviderOptionsV2* options) {
        return append(*reinterpret_cast<const Options*>(options));
      };
}

const OrtApi* get_api(uint32_t version) {
  real = real_base->GetApi(version);
  if (real == nullptr) return nullptr;
  fill_table();
  return &table;
}

const char* version_text() { return real_base->GetVersionString(); }

const OrtApiBase kBase = {get_api, version_text};

}  // namespace

extern "C" const OrtApiBase* OrtGetApiBase() {
  const char* path = std::getenv("FAKE_ORT_REAL");
  if (path == nullptr) return nullptr;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto entry = reinterpret_cast<OrtGetApiBaseFunction>(dlsym(library, "OrtGetApiBase"));
  if (entry == nullptr) return nullptr;
  real_base = entry();
  return &kBase;
}
