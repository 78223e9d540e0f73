// The metrics of the engine as Prometheus text. Control plane; thread: sv-quick.
#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/memory_budget.h"
#include "engine/cache/response_cache.h"
#include "engine/observe/request_log.h"
#include "engine/observe/tracer.h"
#include "engine/published/published.h"
#include "stats/metrics_text.h"
#include "stats/server_stats.h"

namespace serval {

// The server whose metric names a text uses.
using MetricsKind = fb::MetricsKind;

// Borrows all but the totals.
struct MetricsSources {
  const Published& published;
  const MemoryBudget& budget;
  LogTotals logged;
  const Tracer& tracer;
  const ServerStats& server_stats;
  ResponseCache* response_cache;  // null if there is none
  std::vector<std::shared_ptr<RequestLimits>> limited_models;
  const LatencyMetrics& latencies;
};

// Appends the metrics of all models; in Triton's names, those of the process too. False: out of
// memory.
bool write_metrics(MetricsKind kind, const MetricsSources& from, ByteBuffer& out);

}  // namespace serval
