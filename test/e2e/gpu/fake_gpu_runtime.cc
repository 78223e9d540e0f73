// ONNX Runtime with providers for GPUs that run on the CPU: the real library (FAKE_ORT_REAL), but
// for what names a GPU. A value at an address of a device is one over the bytes that fake_cudart.cc
// has there, so that a session runs on the very bytes that were copied to the device.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/onnxruntime/api.h"
#include "fake_contexts.h"

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
    const bool records = key == "enable_cuda_graph" || key == "trt_cuda_graph_enable";
    if (records && std::getenv("FAKE_ORT_NO_GRAPHS") != nullptr) {
      return real->CreateStatus(ORT_FAIL,
                                "This session cannot use the graph capture feature as requested");
    }
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

// The address that fake_cudart.cc has another name for: of a device's bytes, or of a device.
void* other_view(const char* which, void* address) {
  void* const cuda = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (cuda == nullptr) return address;
  address = reinterpret_cast<void* (*)(void*)>(dlsym(cuda, which))(address);
  dlclose(cuda);
  return address;
}

OrtStatus* value_over(const OrtMemoryInfo* info, void* data, size_t bytes, const int64_t* dims,
                      size_t rank, ONNXTensorElementDataType type, OrtValue** out) {
  return real->CreateTensorWithDataAsOrtValue(info, other_view("fake_cuda_host_view", data), bytes,
                                              dims, rank, type, out);
}

OrtStatus* data_of(OrtValue* value, void** out) {
  OrtStatus* failed = real->GetTensorMutableData(value, out);
  if (failed == nullptr) *out = other_view("fake_cuda_device_view", *out);
  return failed;
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
  table.CreateTensorWithDataAsOrtValue = value_over;
  table.GetTensorMutableData = data_of;
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

// What CUDA graphs come to: the first run of a number records which addresses are bound, a later
// one may have no others; and no session runs twice at one time. Counted.
struct Graphs {
  std::mutex mutex;
  std::map<const OrtRunOptions*, int> ids;
  std::map<const OrtIoBinding*, std::map<std::string, const OrtValue*>> bound;
  std::map<std::pair<const OrtSession*, int>, std::vector<const void*>> recorded;
  std::map<const OrtSession*, int> running;
  uint64_t recordings = 0, replays = 0;
};
Graphs& graphs() {
  static auto* one = new Graphs;
  return *one;
}

std::vector<const void*> addresses_of(const std::map<std::string, const OrtValue*>& values) {
  std::vector<const void*> found;
  for (const auto& [name, value] : values) {
    void* data = nullptr;
    if (value != nullptr) real->GetTensorMutableData(const_cast<OrtValue*>(value), &data);
    found.push_back(data);
  }
  return found;
}

OrtStatus* begin_graph(OrtSession* session, const OrtRunOptions* options,
                       const OrtIoBinding* binding) {
  Graphs& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto id = all.ids.find(options);
  if (id == all.ids.end()) return nullptr;  // a session without graphs
  if (++all.running[session] > 1) {
    return real->CreateStatus(ORT_FAIL, "two runs of a session with graphs at one time");
  }
  if (id->second < 0) return nullptr;
  const auto addresses = addresses_of(all.bound[binding]);
  const auto [place, fresh] = all.recorded.try_emplace({session, id->second}, addresses);
  ++(fresh ? all.recordings : all.replays);
  if (place->second == addresses) return nullptr;
  return real->CreateStatus(ORT_FAIL, "a graph is replayed at other addresses");
}

void end_graph(OrtSession* session, const OrtRunOptions* options) {
  Graphs& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.ids.contains(options)) --all.running[session];
}

void bind(const OrtIoBinding* binding, const char* name, const OrtValue* value) {
  Graphs& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.bound[binding][name] = value;
}

void fill_graph_table() {
  table.AddRunConfigEntry = [](OrtRunOptions* options, const char* key, const char* value) {
    Graphs& all = graphs();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (std::string(key) == "gpu_graph_id") all.ids[options] = std::atoi(value);
    return real->AddRunConfigEntry(options, key, value);
  };
  table.ReleaseRunOptions = [](OrtRunOptions* options) {
    Graphs& all = graphs();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.ids.erase(options);
    real->ReleaseRunOptions(options);
  };
  table.ReleaseSession = [](OrtSession* session) {
    Graphs& all = graphs();
    const std::lock_guard<std::mutex> lock(all.mutex);
    std::erase_if(all.recorded, [session](const auto& one) { return one.first.first == session; });
    all.running.erase(session);
    real->ReleaseSession(session);
  };
  table.BindInput = [](OrtIoBinding* binding, const char* name, const OrtValue* value) {
    bind(binding, name, value);
    return real->BindInput(binding, name, value);
  };
  table.BindOutput = [](OrtIoBinding* binding, const char* name, const OrtValue* value) {
    bind(binding, name, value);
    return real->BindOutput(binding, name, value);
  };
  table.BindOutputToDevice = [](OrtIoBinding* binding, const char* name,
                                const OrtMemoryInfo* info) {
    bind(binding, name, nullptr);
    return real->BindOutputToDevice(binding, name, info);
  };
  table.ReleaseIoBinding = [](OrtIoBinding* binding) {
    Graphs& all = graphs();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.bound.erase(binding);
    real->ReleaseIoBinding(binding);
  };
  table.RunWithBinding = [](OrtSession* session, const OrtRunOptions* options,
                            const OrtIoBinding* binding) {
    OrtStatus* failed = begin_graph(session, options, binding);
    if (failed == nullptr) failed = real->RunWithBinding(session, options, binding);
    end_graph(session, options);
    return failed;
  };
}

const OrtApi* get_api(uint32_t version) {
  real = real_base->GetApi(version);
  if (real == nullptr) return nullptr;
  fill_table();
  fill_graph_table();
  fake_contexts::fill_table(table);
  return &table;
}

const char* version_text() { return real_base->GetVersionString(); }

const OrtApiBase kBase = {get_api, version_text};

}  // namespace

// What tests ask.
extern "C" uint64_t fake_ort_recordings() {
  const std::lock_guard<std::mutex> lock(graphs().mutex);
  return graphs().recordings;
}
extern "C" uint64_t fake_ort_replays() {
  const std::lock_guard<std::mutex> lock(graphs().mutex);
  return graphs().replays;
}

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
