// Operating system statistics of this process and machine, for the metrics page. Control plane, any
// thread. Values missing from /proc are omitted.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "stats/metrics_writer.h"

namespace serval {

// For all processors, since the machine started.
struct CpuTicks {
  uint64_t busy = 0, total = 0;
};

struct ProcessReading {
  std::optional<double> cpu_seconds;
  std::optional<uint64_t> resident_bytes;
  std::optional<double> start_seconds;  // since 1970
  std::optional<uint64_t> open_fds;
  std::optional<double> machine_busy;  // 0..1, see CpuShare
  std::optional<uint64_t> machine_memory_bytes, machine_memory_used_bytes;
};

// First line of /proc/stat. Waiting for disks counts as idle.
std::optional<CpuTicks> parse_cpu_ticks(std::string_view proc_stat);
// Field 22 of /proc/self/stat, in ticks after the machine's start. The program's name, field 2, may
// contain spaces and brackets.
std::optional<uint64_t> parse_start_ticks(std::string_view self_stat);
// The number after `key` at the start of a line: "MemTotal:" of /proc/meminfo, "btime" of
// /proc/stat.
std::optional<uint64_t> parse_keyed(std::string_view text, std::string_view key);

// The share of all processor time that was busy since the last call; 0 at the first.
class CpuShare {
 public:
  double next(CpuTicks now);

 private:
  std::mutex mutex_;
  bool started_ = false;  // guarded by mutex_, like the rest
  CpuTicks last_;
  double share_ = 0;
};

ProcessReading read_process();

// The machine's load, 0..1.
struct MachineLoad {
  std::optional<double> cpu, memory;
};
// Returns the share of processor time since `last`, which it sets; at first, since the machine's
// start.
MachineLoad read_load(CpuTicks& last);

void write_process_metrics(const ProcessReading& reading, MetricsWriter& writer);

}  // namespace serval
