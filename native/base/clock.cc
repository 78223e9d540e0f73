// Determines whether the CPU's counter can be used, and its period. Start-up only.
#include "base/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace serval {

#if defined(__x86_64__)

namespace {

// AMD and Intel: leaf 0x80000007, EDX bit 8.
bool counter_is_invariant() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}

double measure_period_ns() {
  if (!counter_is_invariant()) return 0;
  constexpr uint64_t kSpanNs = 200'000;
  const uint64_t start_ns = now_ns();
  const uint64_t start = __rdtsc();
  uint64_t end_ns = start_ns;
  while (end_ns - start_ns < kSpanNs) end_ns = now_ns();
  const uint64_t ticks = __rdtsc() - start;
  return ticks == 0 ? 0 : static_cast<double>(end_ns - start_ns) / static_cast<double>(ticks);
}

}  // namespace

double tick_period_ns() {
  static const double period = measure_period_ns();
  return period;
}

#else

double tick_period_ns() { return 0; }

#endif

}  // namespace serval
