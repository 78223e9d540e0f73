// Counts the cores of this process. Any thread.
#include "base/cpu/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace serval {

namespace {

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

}  // namespace serval
