// Prometheus text of all models: Triton's nv_* names with Serval's histograms, and TensorFlow
// Serving's names. Control plane, any thread. Source: v2-protocol.md 4, tfserving.md 3.7.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "stats/model_stats.h"

namespace serval {

struct ModelMetrics {
  std::string_view name;
  int64_t version = 0;
  int64_t load_us = 0;
  StatsReading reading;
  bool caches = false;  // its responses are cached
};

// Parts of Triton's page that --metrics-config chooses.
struct LatencyMetrics {
  bool counters = true;  // nv_inference_*_duration_us
  // Quantiles of summaries as written, "0.5,0.99", from 0 to 1; "" = no summaries.
  std::string summary_quantiles;
};

// Both append and return false if memory is out. Label values are escaped as the format requires.
bool write_triton_metrics(std::span<const ModelMetrics> models, const LatencyMetrics& latencies,
                          ByteBuffer& out);
bool write_tensorflow_metrics(std::span<const ModelMetrics> models, ByteBuffer& out);

}  // namespace serval
