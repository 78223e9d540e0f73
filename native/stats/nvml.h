// NVIDIA's management library, opened when it is first asked for and never closed: what each GPU
// of the machine does now. Where it is not there, there is nothing. Control plane, any thread;
// guarded inside.
// Source: nvml.h of CUDA's toolkit (names and units of the calls).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace serval {

// What a device does not tell is left out.
struct GpuReading {
  std::string uuid;  // "GPU-..."
  std::string name;
  std::optional<double> utilization;  // 0..1
  std::optional<uint64_t> memory_total_bytes, memory_used_bytes;
  std::optional<double> power_watts, power_limit_watts;
  std::optional<double> energy_joules;  // since the first reading
};

// Empty where no library, no driver or no device is there.
std::vector<GpuReading> read_gpus();

}  // namespace serval
