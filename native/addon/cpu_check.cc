// Checks the CPU's features. Control plane, module start. Must not use anything compiled for AVX2.
#include "addon/cpu_check.h"

namespace serval {

const char* missing_cpu_feature() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) return "AVX2";
  if (!__builtin_cpu_supports("bmi2")) return "BMI2";
  if (!__builtin_cpu_supports("fma")) return "FMA";
#endif
  return nullptr;
}

}  // namespace serval
