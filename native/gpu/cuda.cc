// Opens the CUDA runtime library and classifies its errors. The library is opened under a lock, and
// stays open.
#include "gpu/cuda.h"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace serval::gpu {

namespace {

constexpr const char* kLibraries[] = {"libcudart.so.13", "libcudart.so.12"};
constexpr const char* kDriver = "libcuda.so.1";
constexpr CudaStatus kOutOfMemory = 2;  // cudaErrorMemoryAllocation
// Errors after which "the process must be terminated and relaunched": those of kernels, and of
// hardware. Source: CUDA Runtime API, cudaError_t.
constexpr CudaStatus kFirstOfKernels = 700, kLastOfKernels = 799;
constexpr CudaStatus kOfHardware[] = {214, 220, 999};  // ECC, NVLink, unknown
constexpr int kThreadLocal = 1;                        // cudaStreamCaptureModeThreadLocal
// The texts of cudaErrorStreamCaptureUnsupported and ...Invalidated, in ONNX Runtime's form and in
// that of cuda_error().
constexpr std::string_view kOfRecordings[] = {"CUDA failure 900:", "CUDA failure 901:", " (900)",
                                              " (901)"};
// Queries per check: an error of an earlier call is reported once, a lasting one each time.
constexpr int kAsked = 2;

bool is_lasting(CudaStatus status) {
  return (status >= kFirstOfKernels && status <= kLastOfKernels) ||
         std::ranges::find(kOfHardware, status) != std::end(kOfHardware);
}

struct Opened {
  std::mutex mutex;
  std::string folder;  // guarded by mutex, like the rest
  CudaCalls calls;
  bool open = false;
};
Opened& opened() {
  static Opened one;
  return one;
}

// Looks up `name`; the first missing one is stored in `missing`.
template <typename Call>
void find(void* library, const char* name, Call& call, const char*& missing) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  if (call == nullptr && missing == nullptr) missing = name;
}

// Returns nullptr, or the name of the missing function.
const char* read_calls(void* library, CudaCalls& calls) {
  const char* missing = nullptr;
  find(library, "cudaGetDeviceCount", calls.get_device_count, missing);
  find(library, "cudaSetDevice", calls.set_device, missing);
  find(library, "cudaHostAlloc", calls.host_alloc, missing);
  find(library, "cudaFreeHost", calls.free_host, missing);
  find(library, "cudaHostRegister", calls.pin, missing);
  find(library, "cudaHostUnregister", calls.unpin, missing);
  find(library, "cudaMalloc", calls.allocate, missing);
  find(library, "cudaFree", calls.free, missing);
  find(library, "cudaMemcpyAsync", calls.copy_async, missing);
  find(library, "cudaStreamCreateWithFlags", calls.create_stream, missing);
  find(library, "cudaStreamDestroy", calls.destroy_stream, missing);
  find(library, "cudaStreamSynchronize", calls.wait_stream, missing);
  find(library, "cudaIpcOpenMemHandle", calls.open_ipc, missing);
  find(library, "cudaIpcCloseMemHandle", calls.close_ipc, missing);
  find(library, "cudaMemGetInfo", calls.memory_info, missing);
  find(library, "cudaGetLastError", calls.last_error, missing);
  find(library, "cudaGetErrorString", calls.error_text, missing);
  const char* optional = nullptr;
  find(library, "cudaThreadExchangeStreamCaptureMode", calls.exchange_capture_mode, optional);
  return missing;
}

// Resolves driver functions that the runtime library does not wrap.
void read_driver_calls(CudaCalls& calls) {
  void* driver = dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL);
  const char* missing = nullptr;
  calls.address_range = nullptr;
  if (driver != nullptr) find(driver, "cuMemGetAddressRange_v2", calls.address_range, missing);
}

Error unavailable(std::string message) {
  return make_error(ErrorCode::RuntimeUnavailable, std::move(message));
}

}  // namespace

void set_cuda_folder(std::string folder) {
  Opened& all = opened();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.folder = std::move(folder);
}

Result<const CudaCalls*> open_cuda() {
  Opened& all = opened();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.open) return &all.calls;
  std::vector<std::string> paths(std::begin(kLibraries), std::end(kLibraries));
  for (const char* name : kLibraries) {
    if (!all.folder.empty()) paths.push_back(all.folder + "/" + name);
  }
  std::string reason;
  for (const std::string& path : paths) {
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      const char* text = dlerror();
      if (reason.empty()) reason = text == nullptr ? "no reason given" : text;
      continue;
    }
    if (const char* missing = read_calls(library, all.calls); missing != nullptr) {
      return unavailable(path + " has no function " + missing);
    }
    read_driver_calls(all.calls);
    all.open = true;
    return &all.calls;
  }
  return unavailable("CUDA's runtime library cannot be loaded: " + reason);
}

void enter_cuda(const CudaCalls& calls) {
  static thread_local bool entered = false;
  if (entered || calls.exchange_capture_mode == nullptr) return;
  int mode = kThreadLocal;
  calls.exchange_capture_mode(&mode);
  entered = true;
}

CudaStatus use_device(const CudaCalls& calls, int device) {
  enter_cuda(calls);
  return calls.set_device(device);
}

bool met_recording(std::string_view text) {
  return std::ranges::any_of(kOfRecordings, [text](std::string_view one) {
    return text.find(one) != std::string_view::npos;
  });
}

std::string lasting_fault(const CudaCalls& calls, int device) {
  CudaStatus status = 0;
  for (int i = 0; i < kAsked; ++i) {
    calls.last_error();
    size_t free = 0, total = 0;
    status = use_device(calls, device);
    if (status == 0) status = calls.memory_info(&free, &total);
    if (!is_lasting(status)) return "";
  }
  return cuda_error(calls, status, "GPU " + std::to_string(device)).message;
}

Error cuda_error(const CudaCalls& calls, CudaStatus status, const std::string& what) {
  const char* text = calls.error_text(status);
  calls.last_error();
  const ErrorCode code = status == kOutOfMemory ? ErrorCode::MemoryFull : ErrorCode::BackendFailed;
  return make_error(code, what + ": " + (text == nullptr ? "unknown error" : text) + " (" +
                              std::to_string(status) + ")");
}

}  // namespace serval::gpu
