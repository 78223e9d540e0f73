// Whether an end of a slot looks for a moment before it sleeps. To be woken costs 2 to 5 us on the
// same core, and on another that is idle 10 to 50 (an interrupt; more in a virtual machine): more
// than a small model runs. Looking costs a core, so it is done only where waits were short lately,
// on more than one core, never on the other end's, and not where somebody else wanted the core.
// Both ends; hot path, the thread that waits.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace serval::isolated {

// A mean wait above this is slept through.
inline constexpr uint64_t kSpinMeanNsMax = 150'000;
inline constexpr uint64_t kSpinNsMax = 200'000;
// Between two looks there is a third of a microsecond: with so much somebody else had the core.
inline constexpr uint64_t kDisplacedNs = 30'000;
// That happens now and then on any machine. Each look in vain weighs as much as so many waits
// without; with kVainMax the next ones are slept through, more of them where that comes soon again.
inline constexpr uint32_t kVainWeight = 16;
inline constexpr uint32_t kVainMax = 64;
inline constexpr uint32_t kRestFirst = 64;
inline constexpr uint32_t kRestMax = 1024;

// What this process may use, by affinity and its control group's quota: at least 1.
uint32_t usable_cores();
// The CPU that this thread is on.
uint32_t this_cpu();

// The decisions, of what the waits were. One thread.
class SpinPolicy {
 public:
  explicit SpinPolicy(uint32_t cores) : cores_(cores) {}

  // How long the next wait looks; 0 = it sleeps at once. Both CPUs as last told.
  uint64_t budget_ns(uint32_t here, uint32_t there) const;
  // A wait is over. `in_vain`: it looked, and nothing came or somebody else had the core meanwhile.
  void note(uint64_t waited_ns, bool in_vain);

 private:
  const uint32_t cores_;
  uint64_t mean_ns_ = 2 * kSpinMeanNsMax;
  uint32_t rest_ = 0;  // waits that are slept through
  uint32_t next_rest_ = kRestFirst;
  uint32_t vain_ = 0;      // weight of looks in vain, less the waits since
  uint32_t unrested_ = 0;  // waits since the last rest
};

// Waits of one end.
class Spin {
 public:
  Spin() : policy_(usable_cores()) {}

  // Looks as long as it may for what `come()` answers true to, and sleeps by `sleep()` otherwise,
  // which answers when it has come. `there`: the CPU of the other end.
  template <typename Come, typename Sleep>
  auto wait(uint32_t there, const Come& come, const Sleep& sleep) -> decltype(sleep()) {
    const Stopwatch watch;
    bool in_vain = false;
    const uint64_t budget = policy_.budget_ns(this_cpu(), there);
    if (budget > 0 && begin_looking()) {
      for (uint64_t last = 0;;) {
        if (come()) break;
        const uint64_t now = watch.elapsed_ns();
        in_vain |= now - last > kDisplacedNs || now > budget;
        if (now > budget) break;
        last = now;
        relax();
      }
      end_looking();
    }
    const auto outcome = sleep();
    policy_.note(watch.elapsed_ns(), in_vain);
    return outcome;
  }

 private:
  // A moment between two looks.
  static void relax() {
    for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#else
      std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
    }
  }
  // Of this process no more threads look than leave as many cores for whom they look for.
  static bool begin_looking();
  static void end_looking();

  SpinPolicy policy_;
};

}  // namespace serval::isolated
