// Implements the spin policy. Hot path, any thread; the cores are counted once.
#include "backend/isolated/spin.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace serval::isolated {

namespace {

std::atomic<uint32_t> looking{0};

uint32_t affine_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
    return static_cast<uint32_t>(CPU_COUNT(&cores));
  }
  return std::thread::hardware_concurrency();  // over 1024 cores
}

// Applies the quota of control groups v2; returns `cores` if there is no limit, or none can be
// read.
uint32_t within_quota(uint32_t cores) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    std::ifstream file("/sys/fs/cgroup" + line.substr(3) + "/cpu.max");
    uint64_t quota = 0, period = 0;
    if (!(file >> quota >> period) || period == 0) break;  // "max": no limit
    return static_cast<uint32_t>(std::min<uint64_t>(cores, quota / period));
  }
  return cores;
}

}  // namespace

uint32_t usable_cores() {
  static const uint32_t cores = std::max(within_quota(affine_cores()), 1u);
  return cores;
}

uint32_t this_cpu() { return static_cast<uint32_t>(sched_getcpu()); }

uint64_t SpinPolicy::budget_ns(uint32_t here, uint32_t there) const {
  if (cores_ < 2 || rest_ > 0 || here == there || mean_ns_ > kSpinMeanNsMax) return 0;
  return std::min(2 * mean_ns_, kSpinNsMax);
}

void SpinPolicy::note(uint64_t waited_ns, bool in_vain) {
  // Limits the sample, so that one long wait is forgotten after some short ones.
  const uint64_t sample = std::min(waited_ns, 8 * kSpinMeanNsMax);
  mean_ns_ = (7 * mean_ns_ + sample) / 8;
  if (rest_ > 0) {
    --rest_;
    return;
  }
  if (in_vain) vain_ += kVainWeight;
  else if (vain_ > 0) --vain_;
  if (vain_ >= kVainMax) {
    rest_ = next_rest_;
    next_rest_ = std::min(2 * next_rest_, kRestMax);
    vain_ = unrested_ = 0;
  } else if (++unrested_ >= kRestMax) {
    next_rest_ = kRestFirst;
  }
}

bool Spin::begin_looking() {
  if (looking.fetch_add(1) < usable_cores() / 2) return true;
  end_looking();
  return false;
}

void Spin::end_looking() { looking.fetch_sub(1); }

}  // namespace serval::isolated
