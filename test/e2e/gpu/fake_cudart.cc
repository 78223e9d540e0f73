// A CUDA runtime whose devices are memory of the host: what a test loads instead of
// libcudart.so.13. Copies are made when their stream is waited for, and not before, so that who
// forgets to wait reads old bytes. Calls are counted. Source: CUDA Runtime API.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int kOk = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidDevice = 101;
constexpr int kIllegalAddress = 700;
constexpr int kDevices = 2;

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};
struct Stream {
  std::vector<Copy> copies;
};

struct State {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> calls;
  std::map<void*, std::size_t> device_memory;
  std::size_t device_bytes = 0;
  std::uint64_t limit = UINT64_MAX;
  int fail_next = 0;  // the next copy answers with this
  int stuck = 0;      // all calls do
};

State& state() {
  static auto* one = new State;
  return *one;
}

thread_local int current_device = 0;

void count(const char* name) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  ++all.calls[name];
}

std::uint64_t limit_of(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

// What a kernel that reads where nothing is leaves behind: an error that all later calls answer
// with, until the process ends.
int stuck() {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.stuck;
}

// A tensor that begins with this number is what such a kernel fails on (FAKE_CUDA_POISON).
void look_for_poison(const void* from, std::size_t bytes) {
  static const char* const text = std::getenv("FAKE_CUDA_POISON");
  float first = 0;
  if (text == nullptr || bytes < sizeof first) return;
  std::memcpy(&first, from, sizeof first);
  if (first != std::strtof(text, nullptr)) return;
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.stuck = kIllegalAddress;
}

}  // namespace

extern "C" {

// What tests ask and set.
std::uint64_t fake_cuda_calls(const char* name) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.calls[name];
}
std::uint64_t fake_cuda_device_bytes() {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.device_bytes;
}
void fake_cuda_limit(std::uint64_t bytes) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.limit = bytes;
}
void fake_cuda_stick(int status) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.stuck = status;
}
void fake_cuda_fail_copy(int status) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.fail_next = status;
}

int cudaGetDeviceCount(int* devices) {
  *devices = kDevices;
  return kOk;
}
int cudaSetDevice(int device) {
  count("cudaSetDevice");
  if (device < 0 || device >= kDevices) return kInvalidDevice;
  current_device = device;
  return stuck();
}
int cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  count("cudaHostAlloc");
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *memory == nullptr ? kOutOfMemory : kOk;
}
int cudaFreeHost(void* memory) {
  count("cudaFreeHost");
  std::free(memory);
  return kOk;
}
int cudaHostRegister(void*, std::size_t, unsigned) {
  count("cudaHostRegister");
  return kOk;
}
int cudaHostUnregister(void*) {
  count("cudaHostUnregister");
  return kOk;
}
int cudaMalloc(void** memory, std::size_t bytes) {
  count("cudaMalloc");
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.limit == UINT64_MAX) all.limit = limit_of("FAKE_CUDA_LIMIT", UINT64_MAX - 1);
  if (all.device_bytes + bytes > all.limit) return kOutOfMemory;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*memory == nullptr) return kOutOfMemory;
  all.device_memory[*memory] = bytes;
  all.device_bytes += bytes;
  return kOk;
}
int cudaFree(void* memory) {
  count("cudaFree");
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.device_memory.find(memory);
  if (found == all.device_memory.end()) return kInvalidValue;
  all.device_bytes -= found->second;
  all.device_memory.erase(found);
  std::free(memory);
  return kOk;
}
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  count(kind == 1 ? "to device" : "from device");
  if (kind == 1) look_for_poison(from, bytes);
  if (stuck() != kOk) return stuck();
  {
    State& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.fail_next != 0) {
      const int status = all.fail_next;
      all.fail_next = 0;
      return status;
    }
  }
  static_cast<Stream*>(stream)->copies.push_back({to, from, bytes});
  return kOk;
}
int cudaStreamCreateWithFlags(void** stream, unsigned) {
  count("cudaStreamCreateWithFlags");
  *stream = new Stream;
  return kOk;
}
int cudaStreamDestroy(void* stream) {
  count("cudaStreamDestroy");
  delete static_cast<Stream*>(stream);
  return kOk;
}
int cudaStreamSynchronize(void* stream) {
  count("cudaStreamSynchronize");
  std::vector<Copy>& copies = static_cast<Stream*>(stream)->copies;
  for (const Copy& copy : copies) std::memcpy(copy.to, copy.from, copy.bytes);
  copies.clear();
  return kOk;
}
int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (stuck() != kOk) return stuck();
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  *total = std::size_t{8} << 30;
  *free = *total - all.device_bytes;
  return kOk;
}
int cudaGetLastError() { return stuck(); }
const char* cudaGetErrorString(int status) {
  if (status == kIllegalAddress) return "an illegal memory access was encountered";
  return status == kOutOfMemory ? "out of memory" : status == kOk ? "no error" : "fake error";
}

// A handle is an address of this process, and how many bytes lie there.
struct FakeIpcHandle {
  char reserved[64];
};
int cudaIpcGetMemHandle(FakeIpcHandle* handle, void* memory) {
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle->reserved, "fake", 4);
  std::memcpy(handle->reserved + 8, &memory, sizeof memory);
  return kOk;
}
int cudaIpcOpenMemHandle(void** memory, FakeIpcHandle handle, unsigned) {
  count("cudaIpcOpenMemHandle");
  if (std::memcmp(handle.reserved, "fake", 4) != 0) return kInvalidValue;
  std::memcpy(memory, handle.reserved + 8, sizeof *memory);
  return kOk;
}
int cudaIpcCloseMemHandle(void*) {
  count("cudaIpcCloseMemHandle");
  return kOk;
}
}
