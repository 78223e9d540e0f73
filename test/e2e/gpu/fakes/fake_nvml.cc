// A management library with two devices, the second of which reports little: a test loads it
// instead of libnvidia-ml.so.1. With FAKE_NVML_OLD, it is that of an old driver, without the second
// version of the call for memory; with the variable FAKE_NVML_REFUSES, that call fails. Energy
// grows by 1.5 J with each reading. Source: nvml.h of CUDA's toolkit.
#include <cstdio>
#include <cstdlib>

extern "C" {

struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static int devices[2];
  *device = &devices[index];
  devices[index] = static_cast<int>(index);
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned bytes) {
  std::snprintf(text, bytes, "GPU-%d", *static_cast<int*>(device));
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, Utilization* used) {
  *used = {37, 12};
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  if (*static_cast<int*>(device) == 1) return 3;  // NVML_ERROR_NOT_SUPPORTED
  *memory = {1000, 400, 600};
  return 0;
}
#ifndef FAKE_NVML_OLD
int nvmlDeviceGetMemoryInfo_v2(void* device, MemoryV2* memory) {
  constexpr unsigned kVersion = sizeof(MemoryV2) | (2U << 24U);
  if (memory->version != kVersion || std::getenv("FAKE_NVML_REFUSES") != nullptr) return 25;
  if (*static_cast<int*>(device) == 1) return 3;
  *memory = {kVersion, 1000, 50, 400, 550};
  return 0;
}
#endif
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 71500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  static unsigned long long total[2] = {5000000, 9000000};
  *millijoules = total[*static_cast<int*>(device)] += 1500;
  return 0;
}
}
