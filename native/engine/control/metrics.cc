// The metrics of the engine as Prometheus text. Control plane; thread: sv-quick.
#include "engine/control/metrics.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/isolated/isolated.h"
#include "engine/control/request_log/batch.h"
#include "engine/model/model.h"
#include "gpu/pinned_pool.h"
#include "stats/metrics_text.h"
#include "stats/metrics_writer.h"

namespace serval {

namespace {

// One model of each name and version: while a version's new content replaces the old, both are
// loaded. Counts the one that gets requests, before the switch the older one.
std::vector<Model*> counted_models(const Published& published) {
  std::vector<Model*> models;
  std::map<std::pair<std::string_view, int64_t>, size_t> places;
  published.models.each([&](Model& model) {
    // Thousands may be absent, most without a request.
    if (model.is_absent() && model.counters().requests_queued.load() == 0) return;
    const ModelSpec& spec = model.spec();
    const auto [place, fresh] = places.try_emplace({spec.name, spec.version}, models.size());
    if (fresh) {
      models.push_back(&model);
    } else if (published.routes->leads_to(spec.name, spec.version, model.handle())) {
      models[place->second] = &model;
    }
  });
  return models;
}

void write_memory_metrics(const MemoryBudget& budget, MetricsWriter& writer) {
  writer.plain_family("serval_memory_limit_bytes", "gauge",
                      "Limit of the memory of all requests and responses", budget.limit());
  writer.plain_family("serval_memory_used_bytes", "gauge",
                      "Memory in use by requests and responses", budget.used());
  writer.plain_family("serval_memory_refused_total", "counter",
                      "Allocations refused because of the memory limit", budget.refused());
}

// Writes the response cache, which all models share; nothing if there is none.
void write_cache_metrics(ResponseCache* cache, MetricsWriter& writer) {
  if (cache == nullptr) return;
  const ResponseCache::Reading reading = cache->read();
  writer.plain_family("serval_response_cache_limit_bytes", "gauge", "Size of the response cache",
                      reading.limit);
  writer.plain_family("serval_response_cache_bytes", "gauge", "Memory of the cached responses",
                      reading.bytes);
  writer.plain_family("serval_response_cache_entries", "gauge", "Cached responses",
                      reading.entries);
  writer.plain_family("serval_response_cache_evicted_total", "counter",
                      "Responses that left the cache to make space", reading.evicted);
}

// Writes the sums over this process and those of isolated models; nothing before a model runs on a
// GPU. Source: v2-protocol.md 10.
void write_pinned_metrics(const std::vector<IsolatedReading>& processes, MetricsWriter& writer) {
  gpu::PinnedReading pool = gpu::PinnedPool::process().read();
  pool.fallbacks += isolated_fallbacks();
  for (const IsolatedReading& one : processes) {
    pool.total_bytes += one.pinned.total_bytes;
    pool.used_bytes += one.pinned.used_bytes;
    pool.fallbacks += one.pinned.fallbacks;
  }
  if (pool.total_bytes == 0 && pool.fallbacks == 0) return;
  writer.plain_family("nv_pinned_memory_pool_total_bytes", "gauge",
                      "Pinned memory pool total memory size", pool.total_bytes);
  writer.plain_family("nv_pinned_memory_pool_used_bytes", "gauge",
                      "Pinned memory pool used memory size", pool.used_bytes);
  writer.plain_family("serval_pinned_memory_fallbacks_total", "counter",
                      "Allocations from ordinary memory because the pinned memory pool was full",
                      pool.fallbacks);
}

// Model memory is separate from the budget: weights are not part of any request's memory.
void write_model_bytes(const Published& published, MetricsWriter& writer) {
  uint64_t bytes = 0;
  published.models.each(
      [&](Model& model) { bytes += static_cast<uint64_t>(model.info().file_bytes); });
  writer.plain_family("serval_model_file_bytes", "gauge",
                      "Files of all loaded models, including separate weight files", bytes);
}

// Writes the memory of models on GPUs; nothing if there are none.
void write_device_bytes(const Published& published, MetricsWriter& writer) {
  bool began = false;
  published.models.each([&](Model& model) {
    int64_t bytes = 0;
    for (size_t i = 0; i < model.replica_count(); ++i) {
      bytes += model.replica(i).backend().info().device_bytes;
    }
    if (bytes <= 0) return;
    if (!std::exchange(began, true)) {
      writer.family("serval_model_device_memory_bytes", "gauge",
                    "GPU memory allocated while a model loaded");
    }
    writer.sample("serval_model_device_memory_bytes",
                  metric_label("model", model.spec().name) + "," +
                      metric_label("version", model.version_text()),
                  static_cast<uint64_t>(bytes));
  });
}

// Writes the CUDA graphs that models recorded when they loaded, for each of their devices; nothing
// if no model runs on a GPU.
void write_graphs(const Published& published, MetricsWriter& writer) {
  const auto family = [&](std::string_view name, std::string_view help, const auto& value) {
    bool began = false;
    published.models.each([&](Model& model) {
      if (!model.info().on_gpu) return;
      uint64_t sum = 0;
      for (size_t i = 0; i < model.replica_count(); ++i) {
        sum += static_cast<uint64_t>(value(model.replica(i).backend().info().device_runs));
      }
      if (!std::exchange(began, true)) writer.family(name, "gauge", help);
      writer.sample(name,
                    metric_label("model", model.spec().name) + "," +
                        metric_label("version", model.version_text()),
                    sum);
    });
  };
  family("serval_cuda_graphs", "CUDA graphs that an instance of the model recorded at load",
         [](const DeviceRuns& runs) { return runs.graph_rows.size(); });
  family("serval_cuda_graph_bytes", "GPU memory allocated while these graphs were recorded",
         [](const DeviceRuns& runs) { return runs.graph_bytes; });
}

void write_trace_metrics(const Tracer& tracer, MetricsWriter& writer) {
  writer.plain_family("serval_trace_requests_total", "counter", "Requests that were traced",
                      tracer.recorded());
  writer.plain_family("serval_trace_dropped_total", "counter",
                      "Traces dropped because the buffer was full or its reader too slow",
                      tracer.dropped());
}

// Writes how many requests of isolated models waited for a process or ran twice.
void write_isolated_waits(const Published& published, MetricsWriter& writer) {
  const auto counter = [&](std::string_view name, std::string_view help, const auto& value) {
    bool began = false;
    published.models.each([&](Model& model) {
      if (model.spec().backend != kIsolatedBackend) return;
      if (!std::exchange(began, true)) writer.family(name, "counter", help);
      writer.sample(name,
                    metric_label("model", model.spec().name) + "," +
                        metric_label("version", model.version_text()),
                    static_cast<uint64_t>(value(model)));
    });
  };
  counter("serval_isolated_waited_total",
          "Requests that waited because the process of their model was down",
          [](Model& model) { return model.queue().waited_for_process(); });
  counter("serval_isolated_retried_total",
          "Requests that were in flight when their process ended and were run again",
          [](Model& model) { return model.counters().retried.load(); });
}

// Writes the sequences of models that have some; nothing if there is no such model.
void write_sequences(const std::vector<Model*>& models, MetricsWriter& writer) {
  const auto gauge = [&](std::string_view name, std::string_view help, const auto& value) {
    bool began = false;
    for (const Model* model : models) {
      if (model->loop() == nullptr) continue;
      if (!std::exchange(began, true)) writer.family(name, "gauge", help);
      writer.sample(name,
                    metric_label("model", model->spec().name) + "," +
                        metric_label("version", model->version_text()),
                    uint64_t{value(*model->loop())});
    }
  };
  gauge("serval_sequences_active", "Sequences that have a slot",
        [](const RequestLoop& loop) { return loop.active(); });
  gauge("serval_sequences_waiting", "Sequences that wait for a slot",
        [](const RequestLoop& loop) { return loop.waiting(); });
}

// Writes the processes of isolated models, if there are or were any; a model on several devices has
// one process per device. While a model is reloaded, two entries have the same name: the newer one
// counts.
void write_isolated_metrics(const std::vector<IsolatedReading>& readings, MetricsWriter& writer) {
  const auto deaths = isolated_deaths();
  if (readings.empty() && deaths.empty()) return;
  std::map<std::string, const IsolatedReading*> processes;
  for (const IsolatedReading& one : readings) {
    if (one.models.empty()) continue;
    const std::string models = metric_label("models", one.models);
    processes[one.device.empty() ? models : models + "," + metric_label("device", one.device)] =
        &one;
  }
  const auto gauge = [&](std::string_view name, std::string_view help, const auto& value) {
    writer.family(name, "gauge", help);
    for (const auto& [labels, one] : processes) {
      writer.sample(name, labels, static_cast<uint64_t>(value(*one)));
    }
  };
  gauge("serval_isolated_up", "Whether the process of these models is running",
        [](const IsolatedReading& one) { return one.up; });
  gauge("serval_isolated_pid", "Process id of the process of these models; 0 if it is not running",
        [](const IsolatedReading& one) { return one.pid; });
  gauge("serval_isolated_resident_bytes", "Resident memory of the process of these models",
        [](const IsolatedReading& one) { return one.resident_bytes; });
  writer.family("serval_isolated_deaths_total", "counter",
                "Deaths of model processes, by signal (exit: it exited by itself)");
  for (const auto& [key, count] : deaths) {
    writer.sample("serval_isolated_deaths_total",
                  metric_label("model", key.first) + "," + metric_label("signal", key.second),
                  count);
  }
}

// Writes the limits of models, or of keys; nothing if there are none.
void write_limits(const std::vector<std::shared_ptr<RequestLimits>>& limits, const std::string& of,
                  const std::string& what, MetricsWriter& writer) {
  if (limits.empty()) return;
  const std::string refused = "serval_" + of + "_requests_limited_total";
  writer.family(refused, "counter", "Requests that a limit of " + what + " refused, by limit");
  for (const std::shared_ptr<RequestLimits>& one : limits) {
    for (size_t kind = 0; kind < kLimitKinds; ++kind) {
      const auto limit = static_cast<LimitKind>(kind);
      writer.sample(refused,
                    metric_label(of, one->name()) + "," + metric_label("limit", name_of(limit)),
                    one->refused(limit));
    }
  }
  const std::string in_flight = "serval_" + of + "_requests_in_flight";
  writer.family(in_flight, "gauge", "Admitted and not yet answered requests of " + what);
  for (const std::shared_ptr<RequestLimits>& one : limits) {
    writer.sample(in_flight, metric_label(of, one->name()),
                  static_cast<uint64_t>(one->in_flight()));
  }
}

}  // namespace

bool write_metrics(MetricsKind kind, const MetricsSources& from, ByteBuffer& out) {
  std::vector<ModelMetrics> models;
  const std::vector<Model*> counted = counted_models(from.published);
  for (Model* model : counted) {
    ModelMetrics& one = models.emplace_back();
    one.name = model->spec().name;
    one.version = model->spec().version;
    one.load_us = model->load_us();
    one.caches = model->cache() != nullptr;
    one.reading = model->read_stats();
  }
  if (kind != MetricsKind::Triton) return write_tensorflow_metrics(models, out);
  const bool written = write_triton_metrics(models, from.latencies, out);
  MetricsWriter writer(out);
  write_memory_metrics(from.budget, writer);
  write_cache_metrics(from.response_cache, writer);
  const std::vector<IsolatedReading> processes = isolated_readings();
  write_pinned_metrics(processes, writer);
  write_request_log_metrics(from.logged, writer);
  write_model_bytes(from.published, writer);
  write_device_bytes(from.published, writer);
  write_graphs(from.published, writer);
  if (from.tracer.was_on()) write_trace_metrics(from.tracer, writer);
  write_isolated_metrics(processes, writer);
  write_isolated_waits(from.published, writer);
  write_sequences(counted, writer);
  write_limits(from.limited_models, "model", "a model that has limits", writer);
  write_limits(from.published.callers->all(), "key", "a key that has limits", writer);
  from.server_stats.write(writer);
  return written && writer.ok();
}

}  // namespace serval
