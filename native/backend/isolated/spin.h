// Decides whether an end of a channel spins for a moment before it sleeps. A wake-up costs 2 to 5
// us on the same core, and on another, idle core 10 to 50 (an interrupt; more in a virtual
// machine): more than a small model runs. Spinning occupies a core, so it happens only if recent
// waits were short, on more than one core, never on the other end's core, and not if another thread
// needed the core. Both ends; hot path, the waiting thread.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/cpu/cores.h"
#include "base/cpu/cpu.h"

namespace serval::isolated {

// Waits with a longer mean sleep at once.
inline constexpr uint64_t kSpinMeanNsMax = 150'000;
inline constexpr uint64_t kSpinNsMax = 200'000;
// Two polls are a third of a microsecond apart; after a gap this long another thread had the core.
inline constexpr uint64_t kDisplacedNs = 30'000;
// Displacement happens now and then on any machine. Each vain spin weighs as much as kVainWeight
// waits without one; at kVainMax the next waits sleep at once, more of them if it happens again
// soon.
inline constexpr uint32_t kVainWeight = 16;
inline constexpr uint32_t kVainMax = 64;
inline constexpr uint32_t kRestFirst = 64;
inline constexpr uint32_t kRestMax = 1024;

// The CPU on which this thread runs.
uint32_t this_cpu();

// The decisions, based on past waits. One thread.
class SpinPolicy {
 public:
  explicit SpinPolicy(uint32_t cores) : cores_(cores) {}

  // How long the next wait spins; 0 = it sleeps at once. `here`, `there`: the CPUs of both ends as
  // last reported.
  uint64_t budget_ns(uint32_t here, uint32_t there) const;
  // Records a finished wait. `in_vain`: it spun, and nothing arrived or another thread had the core
  // meanwhile.
  void note(uint64_t waited_ns, bool in_vain);

 private:
  const uint32_t cores_;
  uint64_t mean_ns_ = 2 * kSpinMeanNsMax;
  uint32_t rest_ = 0;  // number of waits that sleep at once
  uint32_t next_rest_ = kRestFirst;
  uint32_t vain_ = 0;      // weight of vain spins, less the waits since
  uint32_t unrested_ = 0;  // waits since the last rest
};

// The waits of one end.
class Spin {
 public:
  Spin() : policy_(usable_cores()) {}

  // Spins as long as the policy allows until `come()` returns true, otherwise calls `sleep()`,
  // which returns after it has arrived. `there`: the CPU of the other end.
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
  // A short pause between two polls.
  static void relax() {
    for (int i = 0; i < 16; ++i) cpu::pause();
  }
  // Limits the spinning threads of this process so that as many cores remain for the threads they
  // wait for.
  static bool begin_looking();
  static void end_looking();

  SpinPolicy policy_;
};

}  // namespace serval::isolated
