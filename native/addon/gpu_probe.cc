// Probes the GPU driver and libraries. Never closes a library that it opened: another call may be
// using it.
#include "addon/gpu_probe.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <string_view>

namespace serval {

namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
constexpr int kProbedDevicesMax = 1024;

template <typename Call>
Call find(void* library, const char* name) {
  return reinterpret_cast<Call>(dlsym(library, name));
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (code < 0x20) out += ' ';
    else out += c;
  }
  return out + '"';
}

std::string device_json(void* library, int device) {
  std::array<char, 256> name{};
  size_t bytes = 0;
  int major = 0, minor = 0;
  const auto get_name = find<int (*)(char*, int, int)>(library, "cuDeviceGetName");
  const auto get_bytes = find<int (*)(size_t*, int)>(library, "cuDeviceTotalMem_v2");
  const auto get_attribute = find<int (*)(int*, int, int)>(library, "cuDeviceGetAttribute");
  if (get_name != nullptr) get_name(name.data(), static_cast<int>(name.size()) - 1, device);
  if (get_bytes != nullptr) get_bytes(&bytes, device);
  if (get_attribute != nullptr) {
    get_attribute(&major, kMajor, device);
    get_attribute(&minor, kMinor, device);
  }
  return "{\"name\":" + quoted(name.data()) + ",\"memory\":" + std::to_string(bytes) +
         ",\"major\":" + std::to_string(major) + ",\"minor\":" + std::to_string(minor) + "}";
}

}  // namespace

std::string probe_library(const std::string& path) {
  if (dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) return {};
  const char* reason = dlerror();
  return reason == nullptr ? "no reason given" : reason;
}

std::string probe_driver() {
  const std::string reason = probe_library(kDriver);
  int init_code = -1, version = 0, count = 0;
  std::string devices;
  if (reason.empty()) {
    void* library = dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL);
    const auto init = find<int (*)(unsigned)>(library, "cuInit");
    const auto get_version = find<int (*)(int*)>(library, "cuDriverGetVersion");
    const auto get_count = find<int (*)(int*)>(library, "cuDeviceGetCount");
    const auto get_device = find<int (*)(int*, int)>(library, "cuDeviceGet");
    if (get_version != nullptr) get_version(&version);
    if (init != nullptr) init_code = init(0);
    if (init_code == 0 && get_count != nullptr) get_count(&count);
    for (int i = 0; i < count && i < kProbedDevicesMax && get_device != nullptr; ++i) {
      int device = 0;
      if (get_device(&device, i) != 0) continue;
      devices += (devices.empty() ? "" : ",") + device_json(library, device);
    }
  }
  return "{\"library\":" + quoted(reason) + ",\"init\":" + std::to_string(init_code) +
         ",\"version\":" + std::to_string(version) + ",\"devices\":[" + devices + "]}";
}

}  // namespace serval
