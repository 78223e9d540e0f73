// A CUDA runtime whose devices are host memory: a test loads it instead of libcudart.so.13, and of
// the driver's libcuda.so.1. A device address cannot be read or written (the bytes are mapped a
// second time, for copies only), so that code which forgets a copy crashes. Copies are made when
// their stream is synchronized, and not before, so that code which forgets to wait reads old bytes;
// pageable memory is read at once. Calls are counted. Source: CUDA Runtime API.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fake_recording.h"

namespace {

constexpr int kOk = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidDevice = 101;
constexpr int kInvalidContext = 201, kInvalidHandle = 400;
constexpr int kIllegalAddress = 700;
constexpr int kDevices = 2;

struct Copy {
  void* to;
  const void* from;  // null: the bytes are in `staged`
  std::size_t bytes;
  std::vector<std::uint8_t> staged;

  void make() const { std::memmove(to, from == nullptr ? staged.data() : from, bytes); }
};
// Used by any number of threads.
struct Stream {
  std::mutex mutex;
  std::vector<Copy> copies;

  void add(Copy copy) {
    const std::lock_guard<std::mutex> lock(mutex);
    copies.push_back(std::move(copy));
  }
  void wait() {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const Copy& copy : copies) copy.make();
    copies.clear();
  }
};

// One allocation, made here or opened from another process: a memory file, mapped twice.
struct Allocation {
  std::uint8_t* device = nullptr;  // its address, which cannot be accessed
  std::uint8_t* host = nullptr;    // its bytes
  std::size_t bytes = 0;
  std::size_t mapped = 0;
  int file = -1;         // for allocations made here
  std::uint64_t of = 0;  // for opened ones: the file's number
  int opened = 0;        // number of opens
};

struct State {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> calls;
  std::map<std::uint8_t*, Allocation> memory;   // by address
  std::map<std::uint8_t*, std::size_t> pinned;  // by original address
  std::map<std::uint8_t*, std::size_t> pages;   // pages that the first pin covers
  int refused_handles = 0;
  std::size_t device_bytes = 0;
  std::uint64_t limit = UINT64_MAX;
  int fail_next = 0;                  // the next copy fails with this
  int stuck = 0;                      // all calls fail with this
  const void* last_source = nullptr;  // of the latest copy to a device
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

// The caller holds the mutex. Null: not a device address.
const Allocation* allocation_of(const void* address) {
  State& all = state();
  const auto* at = static_cast<const std::uint8_t*>(address);
  auto after = all.memory.upper_bound(const_cast<std::uint8_t*>(at));
  if (after == all.memory.begin()) return nullptr;
  const Allocation& one = (--after)->second;
  return at < one.device + one.mapped ? &one : nullptr;
}

// The caller holds the mutex. The location of the bytes of [address, address + bytes); null: beyond
// the allocation.
void* bytes_at(const void* address, std::size_t bytes, bool& on_device) {
  const Allocation* one = allocation_of(address);
  on_device = one != nullptr;
  if (one == nullptr) return const_cast<void*>(address);
  const auto lead =
      static_cast<std::size_t>(static_cast<const std::uint8_t*>(address) - one->device);
  return lead <= one->bytes && bytes <= one->bytes - lead ? one->host + lead : nullptr;
}

bool lies_in(const std::map<std::uint8_t*, std::size_t>& ranges, const void* address,
             std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const auto* at = static_cast<const std::uint8_t*>(address);
  auto after = ranges.upper_bound(const_cast<std::uint8_t*>(at));
  if (after == ranges.begin()) return false;
  --after;
  return at + bytes <= after->first + after->second;
}

// Pageable memory is read before the call returns; pinned memory when the copy is made.
Copy copy_of(void* to, const void* from, std::size_t bytes, bool staged) {
  Copy copy{to, staged ? nullptr : from, bytes, {}};
  const auto* at = static_cast<const std::uint8_t*>(from);
  if (staged) copy.staged.assign(at, at + bytes);
  return copy;
}

// Device addresses, each followed at a fixed distance by the bytes: code that keeps one of the two
// may rely on the other, as with a real address that is allocated again.
constexpr std::size_t kPage = 4096, kSpaceBytes = std::size_t{1} << 36;

std::uint8_t* space() {
  static auto* const begin = static_cast<std::uint8_t*>(mmap(
      nullptr, 2 * kSpaceBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return begin;
}

// The caller holds the mutex. The first gap of that many bytes.
std::uint8_t* gap_of(std::size_t bytes) {
  std::uint8_t* at = space();
  for (const auto& [address, one] : state().memory) {
    if (address >= at + bytes) break;
    at = address + one.mapped;
  }
  return at;
}

// The caller holds the mutex. Maps `file` twice. False: out of memory.
bool map_twice(int file, std::size_t bytes, Allocation& one) {
  one.bytes = bytes;
  one.mapped = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  if (space() == MAP_FAILED || one.mapped > kSpaceBytes / 4) return false;
  one.device = gap_of(one.mapped);
  one.host = one.device + kSpaceBytes;
  if (one.host + one.mapped > space() + 2 * kSpaceBytes) return false;
  return mmap(one.host, one.mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) !=
         MAP_FAILED;
}

void unmap(const Allocation& one) {
  mmap(one.host, one.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
  if (one.file >= 0) close(one.file);
}

std::uint64_t limit_of(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

// The effect of a kernel with an invalid read: an error that all later calls return, until the
// process ends.
int stuck() {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.stuck;
}

// A tensor that begins with this number makes such a kernel fail (FAKE_CUDA_POISON).
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

// The caller holds the mutex. FAKE_CUDA_REPORT: a folder where each process writes its counts.
void report() {
  static const char* const folder = std::getenv("FAKE_CUDA_REPORT");
  if (folder == nullptr) return;
  State& all = state();
  std::uint64_t open = 0;
  for (const auto& [address, one] : all.memory) open += static_cast<std::uint64_t>(one.opened);
  const std::string path = std::string(folder) + "/" + std::to_string(getpid());
  std::ofstream file(path + ".part", std::ios::trunc);
  for (const auto& [name, calls] : all.calls) file << name << ' ' << calls << '\n';
  file << "ipc open " << open << '\n';
  file.close();
  std::rename((path + ".part").c_str(), path.c_str());
}

int allocate(void** memory, std::size_t bytes) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.limit == UINT64_MAX) all.limit = limit_of("FAKE_CUDA_LIMIT", UINT64_MAX - 1);
  if (all.device_bytes + bytes > all.limit) return kOutOfMemory;
  Allocation one;
  one.file = memfd_create("fake-device", MFD_CLOEXEC);
  if (one.file < 0 ||
      ftruncate(one.file, static_cast<off_t>(std::max<std::size_t>(bytes, 1))) != 0 ||
      !map_twice(one.file, bytes, one)) {
    return kOutOfMemory;
  }
  all.memory[one.device] = one;
  all.device_bytes += bytes;
  *memory = one.device;
  return kOk;
}

int give_back(void* memory) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.memory.find(static_cast<std::uint8_t*>(memory));
  if (found == all.memory.end() || found->second.opened > 0) return kInvalidValue;
  all.device_bytes -= found->second.bytes;
  unmap(found->second);
  all.memory.erase(found);
  return kOk;
}

}  // namespace

extern "C" {

// Functions for tests.
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
// Refuses that many of the next handles; 0 = none.
void fake_cuda_refuse_handles(int count) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.refused_handles = count;
}
void fake_cuda_fail_copy(int status) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.fail_next = status;
}

// The source of the latest copy to a device.
const void* fake_cuda_last_source() {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.last_source;
}

int cudaGetDeviceCount(int* devices) {
  *devices = kDevices;
  return kOk;
}
int cudaGetDevice(int* device) {
  *device = current_device;
  return kOk;
}
int cudaDeviceGetAttribute(int* value, int, int) {
  *value = 1;
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
  if (const int met = fake_recording::unsafe_call(); met != kOk) return met;
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (*memory != nullptr) all.pages[static_cast<std::uint8_t*>(*memory)] = bytes;
  return *memory == nullptr ? kOutOfMemory : kOk;
}
int cudaFreeHost(void* memory) {
  count("cudaFreeHost");
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.pages.erase(static_cast<std::uint8_t*>(memory));
  std::free(memory);
  return kOk;
}
int cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  count("cudaHostRegister");
  if (const int met = fake_recording::unsafe_call(); met != kOk) return met;
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.pinned[static_cast<std::uint8_t*>(memory)] = bytes;
  return kOk;
}
int cudaHostUnregister(void* memory) {
  count("cudaHostUnregister");
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.pinned.erase(static_cast<std::uint8_t*>(memory)) == 1 ? kOk : kInvalidValue;
}
int cudaMalloc(void** memory, std::size_t bytes) {
  count("cudaMalloc");
  if (const int met = fake_recording::unsafe_call(); met != kOk) return met;
  return allocate(memory, bytes);
}
int cudaFree(void* memory) {
  count("cudaFree");
  if (const int met = fake_recording::unsafe_call(); met != kOk) return met;
  return give_back(memory);
}
// The same for a runtime that allocates device memory itself: not counted.
void* fake_cuda_take(std::size_t bytes) {
  void* memory = nullptr;
  return allocate(&memory, bytes) == kOk ? memory : nullptr;
}
int fake_cuda_give(void* memory) { return give_back(memory); }
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void* stream) {
  if (stuck() != kOk) return stuck();
  State& all = state();
  bool to_device = false, from_device = false;
  void* target = nullptr;
  const void* source = nullptr;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    target = bytes_at(to, bytes, to_device);
    source = bytes_at(from, bytes, from_device);
    if (target == nullptr || source == nullptr) return kInvalidValue;
    if (to_device) all.last_source = source;
    if (all.fail_next != 0) {
      const int status = all.fail_next;
      all.fail_next = 0;
      return status;
    }
  }
  count(to_device ? from_device ? "within device" : "to device" : "from device");
  const bool pinned = lies_in(all.pinned, source, bytes);
  if (to_device && pinned) count("to device of pinned");
  if (to_device) look_for_poison(source, bytes);
  if (stuck() != kOk) return stuck();
  const bool staged = !from_device && !pinned && !lies_in(all.pages, source, bytes);
  static_cast<Stream*>(stream)->add(copy_of(target, source, bytes, staged));
  return kOk;
}
// Copies at once.
int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  Stream stream;
  const int status = cudaMemcpyAsync(to, from, bytes, kind, &stream);
  stream.wait();
  return status;
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
  static_cast<Stream*>(stream)->wait();
  const std::lock_guard<std::mutex> lock(state().mutex);
  report();
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
const char* cudaGetErrorName(int status) { return status == kOk ? "cudaSuccess" : "cudaErrorFake"; }
const char* cudaGetErrorString(int status) {
  if (status == kIllegalAddress) return "an illegal memory access was encountered";
  if (status == fake_recording::kUnsupported)
    return "operation not permitted when stream is capturing";
  return status == kOutOfMemory ? "out of memory" : status == kOk ? "no error" : "fake error";
}

// A handle names the process of the memory file, and the file: freed memory never matches
// another's.
struct FakeIpcHandle {
  char magic[8];
  std::int64_t pid;
  std::int64_t file;
  std::uint64_t bytes;
  std::uint64_t of;
  char reserved[24];
};
static_assert(sizeof(FakeIpcHandle) == 64);

int cudaIpcGetMemHandle(FakeIpcHandle* handle, void* memory) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const Allocation* one = allocation_of(memory);
  struct stat is {};
  if (one == nullptr || one->file < 0 || fstat(one->file, &is) != 0) return kInvalidValue;
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle->magic, "fakeipc", 8);
  handle->pid = getpid();
  handle->file = one->file;
  handle->bytes = one->bytes;
  handle->of = is.st_ino;
  return kOk;
}
// Not for the process that made it; a second open returns the existing mapping.
int cudaIpcOpenMemHandle(void** memory, FakeIpcHandle handle, unsigned) {
  count("cudaIpcOpenMemHandle");
  if (stuck() != kOk) return stuck();
  if (std::memcmp(handle.magic, "fakeipc", 8) != 0) return kInvalidHandle;
  if (handle.pid == getpid()) return kInvalidContext;
  const std::string path =
      "/proc/" + std::to_string(handle.pid) + "/fd/" + std::to_string(handle.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return kInvalidHandle;
  struct stat is {};
  const bool stands = fstat(file, &is) == 0 && is.st_ino == handle.of &&
                      is.st_size >= static_cast<off_t>(handle.bytes);
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (!stands || all.refused_handles > 0) {
    if (stands) --all.refused_handles;
    close(file);
    return kInvalidHandle;
  }
  for (auto& [address, one] : all.memory) {
    if (one.opened == 0 || one.of != is.st_ino) continue;
    ++one.opened;
    close(file);
    *memory = one.device;
    report();
    return kOk;
  }
  Allocation one;
  const bool mapped = map_twice(file, handle.bytes, one);
  close(file);
  if (!mapped) return kOutOfMemory;
  one.of = is.st_ino;
  one.opened = 1;
  all.memory[one.device] = one;
  *memory = one.device;
  report();
  return kOk;
}
int cudaIpcCloseMemHandle(void* memory) {
  count("cudaIpcCloseMemHandle");
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.memory.find(static_cast<std::uint8_t*>(memory));
  if (found == all.memory.end() || found->second.opened == 0) return kInvalidValue;
  if (--found->second.opened == 0) {
    unmap(found->second);
    all.memory.erase(found);
  }
  report();
  return kOk;
}
// The number of open handles.
std::uint64_t fake_cuda_ipc_open() {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::uint64_t open = 0;
  for (const auto& [address, one] : all.memory) open += static_cast<std::uint64_t>(one.opened);
  return open;
}

// Functions of the driver. Source: CUDA Driver API.
int cuDeviceGet(int* device, int index) {
  *device = index;
  return index >= 0 && index < kDevices ? kOk : kInvalidDevice;
}
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return kOk;
}
int cuMemGetAddressRange_v2(void** base, std::size_t* bytes, void* address) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const Allocation* one = allocation_of(address);
  if (one == nullptr) return kInvalidValue;
  *base = one->device;
  *bytes = one->bytes;
  return kOk;
}
// For a provider that computes on the host: the bytes at a device address; any other address is
// returned unchanged.
void* fake_cuda_host_view(void* address) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  bool on_device = false;
  return bytes_at(address, 0, on_device);
}
// The reverse.
void* fake_cuda_device_view(void* address) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto* at = static_cast<const std::uint8_t*>(address);
  for (const auto& [device, one] : all.memory) {
    if (at >= one.host && at < one.host + one.mapped) return device + (at - one.host);
  }
  return address;
}
}
