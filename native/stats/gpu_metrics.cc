// Writes GPU metrics.
#include "stats/gpu_metrics.h"

#include <optional>
#include <string>
#include <string_view>

namespace serval {

namespace {

template <typename Number>
void write_family(std::span<const GpuReading> gpus, std::optional<Number> GpuReading::*member,
                  std::string_view name, std::string_view type, std::string_view help,
                  MetricsWriter& writer) {
  bool begun = false;
  for (const GpuReading& gpu : gpus) {
    if (!(gpu.*member).has_value()) continue;
    if (!begun) writer.family(name, type, help);
    begun = true;
    writer.sample(name, metric_label("gpu_uuid", gpu.uuid), *(gpu.*member));
  }
}

}  // namespace

void write_gpu_metrics(std::span<const GpuReading> gpus, MetricsWriter& writer) {
  write_family(gpus, &GpuReading::utilization, "nv_gpu_utilization", "gauge",
               "GPU utilization rate [0.0 - 1.0)", writer);
  write_family(gpus, &GpuReading::memory_total_bytes, "nv_gpu_memory_total_bytes", "gauge",
               "GPU total memory, in bytes", writer);
  write_family(gpus, &GpuReading::memory_used_bytes, "nv_gpu_memory_used_bytes", "gauge",
               "GPU used memory, in bytes", writer);
  write_family(gpus, &GpuReading::memory_reserved_bytes, "serval_gpu_memory_reserved_bytes",
               "gauge", "GPU memory reserved by the driver, not part of the used memory, in bytes",
               writer);
  write_family(gpus, &GpuReading::power_watts, "nv_gpu_power_usage", "gauge",
               "GPU power usage in watts", writer);
  write_family(gpus, &GpuReading::power_limit_watts, "nv_gpu_power_limit", "gauge",
               "GPU power management limit in watts", writer);
  write_family(gpus, &GpuReading::energy_joules, "nv_energy_consumption", "counter",
               "GPU energy consumption in joules since the page was first read", writer);
}

}  // namespace serval
