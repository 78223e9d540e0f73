// Measures how many cores are free: used neither by this process nor by others. Control plane; one
// thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sched.h>

namespace serval {

// Processor time of the cores in a set, in ticks since the machine started.
struct CoreTicks {
  uint64_t all = 0, idle = 0;
  uint32_t cores = 0;
};

// Reads the lines "cpu<N> ..." of /proc/stat for the cores of `allowed`. Pure. Source: proc(5).
CoreTicks core_ticks(std::string_view stat, const cpu_set_t& allowed);

class FreeCores {
 public:
  // `cores`: the number of cores that the process may use. If it is larger than the number that the
  // process is bound to (tests), the rest counts as idle.
  explicit FreeCores(uint32_t cores) : cores_(cores) {}

  // Returns the mean since the previous reading, nothing if that is missing or old. Readings that
  // follow each other too closely return the same.
  std::optional<double> read(uint64_t now_ns);

 private:
  struct Reading {
    uint64_t at_ns = 0;
    uint64_t process_ns = 0;  // processor time of this process
    CoreTicks ticks;
  };
  static Reading take(uint64_t now_ns);
  double between(const Reading& before, const Reading& now) const;

  const uint32_t cores_;
  std::optional<Reading> before_;
  std::optional<double> last_;
};

}  // namespace serval
