// Time for measurements. Hot path, any thread.
//
// clock_gettime takes about 25 ns here; four calls are 4 % of a small request. If the CPU's counter
// is invariant (constant rate, never stops: every server CPU since 2008) it is read directly, in a
// third of that time, and scaled by a factor that is measured once; otherwise the steady clock is
// used.
#pragma once

#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace serval {

// Monotonic nanoseconds.
inline uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// Nanoseconds per tick; 0 = the counter cannot be used. Measured at the first call (0.2 ms).
double tick_period_ns();

// A stopwatch for spans of at most hours.
class Stopwatch {
 public:
  Stopwatch() : start_(read()) {}
  // Nanoseconds since construction.
  uint64_t elapsed_ns() const {
    const uint64_t ticks = read() - start_;
    if (period_ == 0) return ticks;
    return static_cast<uint64_t>(static_cast<double>(ticks) * period_);
  }

 private:
  static uint64_t read() {
#if defined(__x86_64__)
    if (period_ != 0) return __rdtsc();
#endif
    return now_ns();
  }
  inline static const double period_ = tick_period_ns();
  uint64_t start_;
};

}  // namespace serval
