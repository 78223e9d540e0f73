// ONNX Runtime with GPU providers that run on the CPU: the real library (FAKE_ORT_REAL), except for
// functions that name a GPU. A value at a device address is one over the bytes that fake_cudart.cc
// has there, so that a session runs on the very bytes that were copied to the device. Outputs that
// are requested on a device are returned there.
#include <dlfcn.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/onnxruntime/api.h"
#include "fake_contexts.h"
#include "fake_plans.h"

namespace {

const OrtApiBase* real_base = nullptr;
const OrtApi* real = nullptr;
OrtApi table;

using Options = std::vector<std::pair<std::string, std::string>>;

OrtStatus* update(Options& options, const char* const* keys, const char* const* values,
                  size_t count) {
  for (size_t i = 0; i < count; ++i) options.emplace_back(keys[i], values[i]);
  return nullptr;
}

// The device memory of a model's weights: FAKE_ORT_DEVICE_BYTES, never freed.
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

// The device work of loads and runs, which must not meet a recording on another thread. Nullptr, or
// the error that CUDA's provider makes of it.
OrtStatus* synchronize_device() {
  void* const cuda = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (cuda == nullptr) return nullptr;
  const int status = reinterpret_cast<int (*)()>(dlsym(cuda, "cudaDeviceSynchronize"))();
  dlclose(cuda);
  if (status == 0) return nullptr;
  const std::string text = "CUDA failure " + std::to_string(status) +
                           ": operation not permitted when stream is capturing ; GPU=0 ; "
                           "expr=cudaDeviceSynchronize()";
  return real->CreateStatus(ORT_RUNTIME_EXCEPTION, text.c_str());
}

// Session options to which a GPU provider was added.
struct OnDevices {
  std::mutex mutex;
  std::set<const OrtSessionOptions*> options;

  void add(const OrtSessionOptions* one) {
    const std::lock_guard<std::mutex> lock(mutex);
    options.insert(one);
  }
  bool has(const OrtSessionOptions* one) {
    const std::lock_guard<std::mutex> lock(mutex);
    return options.contains(one);
  }
  void forget(const OrtSessionOptions* one) {
    const std::lock_guard<std::mutex> lock(mutex);
    options.erase(one);
  }
};
OnDevices& on_devices() {
  static auto* one = new OnDevices;
  return *one;
}

// A limit of one byte gives the error of a device without memory.
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

OrtStatus* available(char*** list, int* count) noexcept {
  *list = const_cast<char**>(kProviders);
  *count = 3;
  return nullptr;
}

// A session's device information: which memory belongs to a device, which outputs of a binding are
// requested there (in the order of the results), and the memory of those outputs.
struct Outputs {
  std::mutex mutex;
  std::set<const OrtMemoryInfo*> of_devices;
  std::map<const OrtIoBinding*, std::vector<std::pair<std::string, bool>>> asked;
  std::map<const OrtValue*, void*> memory;
};
Outputs& outputs() {
  static auto* one = new Outputs;
  return *one;
}

OrtStatus* memory_info(const char* name, OrtAllocatorType type, int id, OrtMemType mem_type,
                       OrtMemoryInfo** out) noexcept {
  if (std::strncmp(name, "Cuda", 4) != 0)
    return real->CreateMemoryInfo(name, type, id, mem_type, out);
  OrtStatus* failed = real->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, out);
  Outputs& all = outputs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (failed == nullptr) all.of_devices.insert(*out);
  return failed;
}

// Asks fake_cudart.cc about an address or a number of bytes; `fallback` if it is not loaded.
template <typename Answer, typename Argument>
Answer ask_cuda(const char* which, Argument argument, Answer fallback) {
  void* const cuda = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (cuda == nullptr) return fallback;
  const Answer answer = reinterpret_cast<Answer (*)(Argument)>(dlsym(cuda, which))(argument);
  dlclose(cuda);
  return answer;
}

// fake_cudart.cc's other name for an address: of a device's bytes, or on a device.
void* other_view(const char* which, void* address) { return ask_cuda(which, address, address); }

OrtStatus* value_over(const OrtMemoryInfo* info, void* data, size_t bytes, const int64_t* dims,
                      size_t rank, ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return real->CreateTensorWithDataAsOrtValue(info, other_view("fake_cuda_host_view", data), bytes,
                                              dims, rank, type, out);
}

OrtStatus* data_of(OrtValue* value, void** out) noexcept {
  OrtStatus* failed = real->GetTensorMutableData(value, out);
  if (failed == nullptr) *out = other_view("fake_cuda_device_view", *out);
  return failed;
}

// 0: text, or a type that CUDA's provider does not return.
size_t element_bytes(ONNXTensorElementDataType type) {
  constexpr size_t kBytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2};
  return static_cast<size_t>(type) < std::size(kBytes) ? kBytes[type] : 0;
}

// Moves memory that a session allocated on the host to the device on which it should be.
OrtStatus* move_to_device(OrtValue*& value) {
  ONNXTensorElementDataType type{};
  const int64_t* dims = nullptr;
  size_t rank = 0;
  void* data = nullptr;
  OrtStatus* failed = real->GetTensorElementTypeAndShapeDataReference(value, &type, &dims, &rank);
  if (failed == nullptr) failed = real->GetTensorMutableData(value, &data);
  if (failed != nullptr) return failed;
  size_t bytes = element_bytes(type);
  for (size_t i = 0; i < rank; ++i) bytes *= static_cast<size_t>(dims[i]);
  if (bytes == 0 || other_view("fake_cuda_device_view", data) != data) return nullptr;
  void* const memory = ask_cuda("fake_cuda_take", bytes, static_cast<void*>(nullptr));
  if (memory == nullptr) return real->CreateStatus(ORT_RUNTIME_EXCEPTION, "CUDA failure 2");
  void* const there = other_view("fake_cuda_host_view", memory);
  std::memcpy(there, data, bytes);
  OrtMemoryInfo* info = nullptr;
  OrtValue* moved = nullptr;
  failed = real->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info);
  if (failed == nullptr) {
    failed = real->CreateTensorWithDataAsOrtValue(info, there, bytes, dims, rank, type, &moved);
  }
  if (info != nullptr) real->ReleaseMemoryInfo(info);
  if (failed != nullptr) return failed;
  real->ReleaseValue(value);
  value = moved;
  Outputs& all = outputs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.memory[moved] = memory;
  return nullptr;
}

// In the runtime's order: by name, in the order of their first binding.
void ask_for(const OrtIoBinding* binding, const char* name, bool on_device) {
  Outputs& all = outputs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  auto& asked = all.asked[binding];
  for (auto& [known, where] : asked) {
    if (known == name) return static_cast<void>(where = on_device);
  }
  asked.emplace_back(name, on_device);
}

bool is_of_device(const OrtMemoryInfo* info) {
  Outputs& all = outputs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.of_devices.contains(info);
}

void forget(const OrtIoBinding* binding) {
  Outputs& all = outputs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.asked.erase(binding);
}

OrtStatus* bound_values(const OrtIoBinding* binding, OrtAllocator* allocator, OrtValue*** list,
                        size_t* count) noexcept {
  OrtStatus* failed = real->GetBoundOutputValues(binding, allocator, list, count);
  Outputs& all = outputs();
  std::vector<std::pair<std::string, bool>> asked;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    asked = all.asked[binding];
  }
  for (size_t i = 0; failed == nullptr && i < *count && i < asked.size(); ++i) {
    if (asked[i].second) failed = move_to_device((*list)[i]);
  }
  return failed;
}

void release_value(OrtValue* value) {
  Outputs& all = outputs();
  void* memory = nullptr;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.memory.extract(value);
    if (!found.empty()) memory = found.mapped();
  }
  real->ReleaseValue(value);
  if (memory != nullptr) ask_cuda("fake_cuda_give", memory, 0);
}

void fill_output_table() {
  table.GetBoundOutputValues = bound_values;
  table.ReleaseValue = release_value;
  table.ReleaseMemoryInfo = [](OrtMemoryInfo* info) {
    Outputs& all = outputs();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.of_devices.erase(info);
    real->ReleaseMemoryInfo(info);
  };
  table.ClearBoundOutputs = [](OrtIoBinding* binding) noexcept {
    forget(binding);
    real->ClearBoundOutputs(binding);
  };
}

template <typename Opaque>
Options& options_of(Opaque* options) {
  return *reinterpret_cast<Options*>(options);
}

// A session on a device synchronizes with it during creation.
void fill_session_table() {
  table.CreateSession = [](const OrtEnv* env, const char* path, const OrtSessionOptions* options,
                           OrtSession** out) noexcept {
    const bool on_device = on_devices().has(options);
    OrtStatus* failed = on_device ? synchronize_device() : nullptr;
    if (failed == nullptr) failed = real->CreateSession(env, path, options, out);
    if (failed == nullptr && on_device) fake_plans::add_session_of(*out, path);
    return failed;
  };
  table.CreateSessionFromArray = [](const OrtEnv* env, const void* model, size_t bytes,
                                    const OrtSessionOptions* options, OrtSession** out) noexcept {
    const bool on_device = on_devices().has(options);
    OrtStatus* failed = on_device ? synchronize_device() : nullptr;
    if (failed == nullptr) failed = real->CreateSessionFromArray(env, model, bytes, options, out);
    if (failed == nullptr && on_device) {
      fake_plans::add_session(*out, {static_cast<const char*>(model), bytes});
    }
    return failed;
  };
  table.ReleaseSessionOptions = [](OrtSessionOptions* options) {
    on_devices().forget(options);
    real->ReleaseSessionOptions(options);
  };
}

void fill_table() {
  // The part that every library since 1.24 has; the header's whole table may be longer.
  constexpr size_t kLast = offsetof(OrtApi, GetTensorElementTypeAndShapeDataReference);
  std::memcpy(&table, real, kLast + sizeof(void*));
  table.GetAvailableProviders = available;
  table.ReleaseAvailableProviders = [](char**, int) noexcept -> OrtStatus* { return nullptr; };
  table.CreateMemoryInfo = memory_info;
  table.CreateTensorWithDataAsOrtValue = value_over;
  table.GetTensorMutableData = data_of;
  table.CreateCUDAProviderOptions = [](OrtCUDAProviderOptionsV2** out) noexcept -> OrtStatus* {
    *out = reinterpret_cast<OrtCUDAProviderOptionsV2*>(new Options);
    return nullptr;
  };
  table.UpdateCUDAProviderOptions = [](OrtCUDAProviderOptionsV2* options, const char* const* keys,
                                       const char* const* values, size_t count) noexcept {
    return update(options_of(options), keys, values, count);
  };
  table.ReleaseCUDAProviderOptions = [](OrtCUDAProviderOptionsV2* options) noexcept {
    delete &options_of(options);
  };
  table.SessionOptionsAppendExecutionProvider_CUDA_V2 =
      [](OrtSessionOptions* session, const OrtCUDAProviderOptionsV2* options) noexcept {
        on_devices().add(session);
        return append(*reinterpret_cast<const Options*>(options));
      };
  table.CreateTensorRTProviderOptions =
      [](OrtTensorRTProviderOptionsV2** out) noexcept -> OrtStatus* {
    *out = reinterpret_cast<OrtTensorRTProviderOptionsV2*>(new Options);
    return nullptr;
  };
  table.UpdateTensorRTProviderOptions =
      [](OrtTensorRTProviderOptionsV2* options, const char* const* keys, const char* const* values,
         size_t count) noexcept { return update(options_of(options), keys, values, count); };
  table.ReleaseTensorRTProviderOptions = [](OrtTensorRTProviderOptionsV2* options) noexcept {
    delete &options_of(options);
  };
  table.SessionOptionsAppendExecutionProvider_TensorRT_V2 =
      [](OrtSessionOptions* session, const OrtTensorRTProviderOptionsV2* options) noexcept {
        on_devices().add(session);
        return append(*reinterpret_cast<const Options*>(options));
      };
  fill_session_table();
}

// CUDA graphs: the first run of a number records the bound addresses, a later one may have no
// others; and no session runs twice at one time. Counted.
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
    OrtStatus* failed = nullptr;
    if (value != nullptr) failed = real->GetTensorMutableData(const_cast<OrtValue*>(value), &data);
    if (failed != nullptr) real->ReleaseStatus(failed);
    found.push_back(data);
  }
  return found;
}

OrtStatus* begin_graph(OrtSession* session, const OrtRunOptions* options,
                       const OrtIoBinding* binding, bool& records, bool& replays) {
  Graphs& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto id = all.ids.find(options);
  if (id == all.ids.end()) return synchronize_device();  // a session without graphs
  if (++all.running[session] > 1) {
    return real->CreateStatus(ORT_FAIL, "two runs of a session with graphs at one time");
  }
  if (id->second < 0) return synchronize_device();
  const auto addresses = addresses_of(all.bound[binding]);
  const auto [place, fresh] = all.recorded.try_emplace({session, id->second}, addresses);
  ++(fresh ? all.recordings : all.replays);
  records = fresh;
  replays = !fresh;
  if (place->second == addresses) return nullptr;
  return real->CreateStatus(ORT_FAIL, "a graph is replayed at other addresses");
}

void end_graph(OrtSession* session, const OrtRunOptions* options) {
  Graphs& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.ids.contains(options)) --all.running[session];
}

int ask_recording(const char* which) {
  void* const cuda = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (cuda == nullptr) return 0;
  const int status = reinterpret_cast<int (*)()>(dlsym(cuda, which))();
  dlclose(cuda);
  return status;
}

// A recording takes FAKE_ORT_RECORD_MS; it is lost if another thread's call meets it.
OrtStatus* end_recording(OrtSession* session, const OrtRunOptions* options, OrtStatus* failed) {
  if (const char* text = std::getenv("FAKE_ORT_RECORD_MS"); text != nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(text)));
  }
  if (ask_recording("fake_cuda_end_recording") == 0 || failed != nullptr) return failed;
  Graphs& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.recorded.erase({session, all.ids.at(options)});
  --all.recordings;
  return real->CreateStatus(ORT_RUNTIME_EXCEPTION,
                            "CUDA failure 901: operation failed due to a previous error during "
                            "capture ; GPU=0 ; expr=cudaStreamEndCapture()");
}

void bind(const OrtIoBinding* binding, const char* name, const OrtValue* value) {
  Graphs& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.bound[binding][name] = value;
}

void fill_graph_table() {
  table.AddRunConfigEntry = [](OrtRunOptions* options, const char* key,
                               const char* value) noexcept {
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
    fake_plans::drop_session(session);
    real->ReleaseSession(session);
  };
  table.BindInput = [](OrtIoBinding* binding, const char* name, const OrtValue* value) noexcept {
    bind(binding, name, value);
    fake_plans::bind_input(*real, binding, name, value);
    return real->BindInput(binding, name, value);
  };
  table.BindOutput = [](OrtIoBinding* binding, const char* name, const OrtValue* value) noexcept {
    bind(binding, name, value);
    ask_for(binding, name, false);
    return real->BindOutput(binding, name, value);
  };
  table.BindOutputToDevice = [](OrtIoBinding* binding, const char* name,
                                const OrtMemoryInfo* info) noexcept {
    bind(binding, name, nullptr);
    ask_for(binding, name, is_of_device(info));
    return real->BindOutputToDevice(binding, name, info);
  };
  table.ReleaseIoBinding = [](OrtIoBinding* binding) {
    Graphs& all = graphs();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.bound.erase(binding);
    fake_plans::drop_binding(binding);
    forget(binding);
    real->ReleaseIoBinding(binding);
  };
  table.RunWithBinding = [](OrtSession* session, const OrtRunOptions* options,
                            const OrtIoBinding* binding) noexcept {
    bool records = false, replays = false;
    OrtStatus* failed = begin_graph(session, options, binding, records, replays);
    fake_plans::run(session, binding, replays);
    if (records) ask_recording("fake_cuda_begin_recording");
    if (failed == nullptr) failed = real->RunWithBinding(session, options, binding);
    if (records) failed = end_recording(session, options, failed);
    end_graph(session, options);
    return failed;
  };
}

const OrtApi* get_api(uint32_t version) noexcept {
  real = real_base->GetApi(version);
  if (real == nullptr) return nullptr;
  fill_table();
  fill_graph_table();
  fill_output_table();
  fake_contexts::fill_table(table);
  return &table;
}

const char* version_text() noexcept { return real_base->GetVersionString(); }

const OrtApiBase kBase = {get_api, version_text};

}  // namespace

// Functions for tests.
extern "C" uint64_t fake_ort_recordings() {
  const std::lock_guard<std::mutex> lock(graphs().mutex);
  return graphs().recordings;
}
extern "C" uint64_t fake_ort_replays() {
  const std::lock_guard<std::mutex> lock(graphs().mutex);
  return graphs().replays;
}

extern "C" const OrtApiBase* OrtGetApiBase() noexcept {
  const char* path = std::getenv("FAKE_ORT_REAL");
  if (path == nullptr) return nullptr;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto entry =
      reinterpret_cast<serval::ort::OrtGetApiBaseFunction>(dlsym(library, "OrtGetApiBase"));
  if (entry == nullptr) return nullptr;
  real_base = entry();
  return &kBase;
}
