// The GPU lines of the metrics page, with Triton's names. Control plane, any thread.
#pragma once

#include <span>

#include "stats/metrics_writer.h"
#include "stats/nvml.h"

namespace serval {

// Writes a family for each value that some device reports; nothing if there is no device.
// Source: v2-protocol.md 10.
void write_gpu_metrics(std::span<const GpuReading> gpus, MetricsWriter& writer);

}  // namespace serval
