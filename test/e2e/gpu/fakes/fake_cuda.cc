// A driver with two devices that computes nothing: a test loads it instead of libcuda.so.1. Source:
// CUDA's driver API.
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

bool told(const char* name) { return std::getenv(name) != nullptr; }

}  // namespace

extern "C" {

int cuInit(unsigned) { return told("FAKE_CUDA_NO_DEVICE") ? 100 : 0; }
int cuDriverGetVersion(int* version) {
  *version = told("FAKE_CUDA_OLD") ? 12080 : 13000;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index + 10;
  return 0;
}
int cuDeviceGetName(char* name, int bytes, int device) {
  std::strncpy(name, device == 10 ? "Fake \"A\"" : "Fake B", static_cast<std::size_t>(bytes));
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{8} << 30;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;
  return 0;
}
}
