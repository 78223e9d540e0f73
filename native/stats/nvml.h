// NVIDIA's management library, opened at first use and never closed: the current state of each GPU
// of the machine. Without the library there is none. Control plane, any thread; guarded inside.
// Source: nvml.h of CUDA's toolkit (names and units of the calls).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace serval {

// Values that a device does not report are absent.
struct GpuReading {
  std::string uuid;  // "GPU-..."
  std::string name;
  std::optional<double> utilization;  // 0..1
  // Used memory is that of processes, as nvidia-smi shows it. If the driver does not report
  // reserved memory, used memory includes it.
  std::optional<uint64_t> memory_total_bytes, memory_used_bytes, memory_reserved_bytes;
  std::optional<double> power_watts, power_limit_watts;
  std::optional<double> energy_joules;  // since the first reading
};

// Empty if there is no library, driver or device.
std::vector<GpuReading> read_gpus();

}  // namespace serval
