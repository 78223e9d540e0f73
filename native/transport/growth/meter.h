// Measures the load of one listener thread: the part of each interval that it spent outside of its
// wait for events. Counts time and not processor time, because a thread that is inside a model's
// run serves nobody else, even while others compute. Pure: the caller passes the time. Hot path;
// that thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "transport/growth/policy.h"

namespace serval {

class LoadMeter {
 public:
  static constexpr uint64_t kIntervalNs = 200 * kNsPerMs;

  void waits(uint64_t now_ns) { wait_began_ns_ = now_ns; }
  // Begins an interval if none is running.
  void woke(uint64_t now_ns) {
    if (is_running_) {
      waited_ns_ += now_ns - std::min(wait_began_ns_, now_ns);
      return;
    }
    is_running_ = true;
    began_ns_ = now_ns;
    waited_ns_ = 0;
  }
  // When the interval ends; UINT64_MAX while the thread is idle, which then need not wake up.
  uint64_t due_ns() const { return is_running_ ? began_ns_ + kIntervalNs : UINT64_MAX; }
  // Ends the interval and returns its load. An idle thread begins the next one when it wakes.
  uint32_t end(uint64_t now_ns) {
    const uint64_t all_ns = std::max<uint64_t>(now_ns - std::min(began_ns_, now_ns), 1);
    const uint64_t waited_ns = std::min(waited_ns_, all_ns);
    const auto load = static_cast<uint32_t>(kFullLoad - waited_ns * kFullLoad / all_ns);
    is_running_ = load >= kIdleLoad;
    began_ns_ = now_ns;
    waited_ns_ = 0;
    return is_running_ ? load : 0;
  }

 private:
  static constexpr uint32_t kIdleLoad = 20;

  uint64_t wait_began_ns_ = 0;
  uint64_t began_ns_ = 0;
  uint64_t waited_ns_ = 0;
  bool is_running_ = false;
};

}  // namespace serval
