// Reads GPUs through NVML. The library is opened once, under the lock that every reading takes.
#include "stats/nvml.h"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>

namespace serval {

namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr int kSuccess = 0;
constexpr unsigned kDevicesMax = 1024;
constexpr size_t kTextBytes = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE

using Device = void*;
struct Utilization {
  unsigned gpu, memory;  // percent
};
struct Memory {
  unsigned long long total, free, used;  // used includes what the driver reserved
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | (2U << 24U);  // NVML_STRUCT_VERSION(Memory, 2)

struct Calls {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*memory_v2)(Device, MemoryV2*) = nullptr;         // absent before driver 510
  int (*power)(Device, unsigned*) = nullptr;             // milliwatts
  int (*power_limit)(Device, unsigned*) = nullptr;       // milliwatts
  int (*energy)(Device, unsigned long long*) = nullptr;  // millijoules since the driver started
};

template <typename Call>
void find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
}

// nullptr if it is missing, or fails to initialize.
const Calls* open_nvml() {
  void* library = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  static Calls calls;
  find(library, "nvmlInit_v2", calls.init);
  find(library, "nvmlDeviceGetCount_v2", calls.count);
  find(library, "nvmlDeviceGetHandleByIndex_v2", calls.device);
  find(library, "nvmlDeviceGetUUID", calls.uuid);
  find(library, "nvmlDeviceGetName", calls.name);
  find(library, "nvmlDeviceGetUtilizationRates", calls.utilization);
  find(library, "nvmlDeviceGetMemoryInfo", calls.memory);
  find(library, "nvmlDeviceGetMemoryInfo_v2", calls.memory_v2);
  find(library, "nvmlDeviceGetPowerUsage", calls.power);
  find(library, "nvmlDeviceGetEnforcedPowerLimit", calls.power_limit);
  find(library, "nvmlDeviceGetTotalEnergyConsumption", calls.energy);
  const bool whole = calls.init != nullptr && calls.count != nullptr && calls.device != nullptr &&
                     calls.uuid != nullptr;
  if (!whole || calls.init() != kSuccess) return nullptr;
  return &calls;
}

std::string text_of(int (*call)(Device, char*, unsigned), Device device) {
  std::array<char, kTextBytes> text{};
  if (call == nullptr || call(device, text.data(), text.size() - 1) != kSuccess) return {};
  return text.data();
}

// Converts thousandths of a unit.
template <typename Number>
std::optional<double> thousandths(int (*call)(Device, Number*), Device device) {
  Number value = 0;
  if (call == nullptr || call(device, &value) != kSuccess) return std::nullopt;
  return static_cast<double>(value) / 1000;
}

// Reads the second version of the call, else the first, whose used memory includes the reserved.
void read_memory(const Calls& calls, Device device, GpuReading& reading) {
  MemoryV2 memory{};
  memory.version = kMemoryV2;
  if (calls.memory_v2 != nullptr && calls.memory_v2(device, &memory) == kSuccess) {
    reading.memory_total_bytes = memory.total;
    reading.memory_used_bytes = memory.used;
    reading.memory_reserved_bytes = memory.reserved;
    return;
  }
  Memory first{};
  if (calls.memory == nullptr || calls.memory(device, &first) != kSuccess) return;
  reading.memory_total_bytes = first.total;
  reading.memory_used_bytes = first.used;
}

GpuReading read_gpu(const Calls& calls, Device device) {
  GpuReading reading;
  reading.uuid = text_of(calls.uuid, device);
  reading.name = text_of(calls.name, device);
  Utilization used{};
  if (calls.utilization != nullptr && calls.utilization(device, &used) == kSuccess) {
    reading.utilization = static_cast<double>(used.gpu) / 100;
  }
  read_memory(calls, device, reading);
  reading.power_watts = thousandths(calls.power, device);
  reading.power_limit_watts = thousandths(calls.power_limit, device);
  reading.energy_joules = thousandths(calls.energy, device);
  return reading;
}

}  // namespace

std::vector<GpuReading> read_gpus() {
  static std::mutex mutex;
  static std::map<std::string, double> first_joules;  // by uuid; guarded by mutex
  const std::lock_guard<std::mutex> lock(mutex);
  static const Calls* const calls = open_nvml();
  std::vector<GpuReading> readings;
  unsigned count = 0;
  if (calls == nullptr || calls->count(&count) != kSuccess) return readings;
  for (unsigned i = 0; i < count && i < kDevicesMax; ++i) {
    Device device = nullptr;
    if (calls->device(i, &device) != kSuccess) continue;
    GpuReading reading = read_gpu(*calls, device);
    if (reading.energy_joules) {
      const double now = *reading.energy_joules;
      reading.energy_joules = now - first_joules.try_emplace(reading.uuid, now).first->second;
    }
    readings.push_back(std::move(reading));
  }
  return readings;
}

}  // namespace serval
