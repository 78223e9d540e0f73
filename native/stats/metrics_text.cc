// Writes the metrics page. The format requires a family's lines to be adjacent, so every family
// iterates over all models.
#include "stats/metrics_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <vector>

#include "base/generated/grpc_code.h"
#include "stats/gpu_metrics.h"
#include "stats/histogram.h"
#include "stats/metrics_writer.h"
#include "stats/process_metrics.h"

namespace serval {

namespace {

struct CountFamily {
  std::string_view name, type, help;
  uint64_t (*value)(const ModelMetrics& model);
  bool is_latency = false;
};

uint64_t successes(const StatsReading& reading) {
  return reading.outcomes[static_cast<size_t>(Outcome::Success)];
}

// Whole numbers of microseconds and items, as in Triton. Source: v2-protocol.md 4.
constexpr CountFamily kTritonFamilies[] = {
    {"nv_inference_request_success", "counter", "Successful inference requests",
     [](const ModelMetrics& model) { return successes(model.reading); }},
    {"nv_inference_count", "counter", "Inferences: batched rows of successful requests",
     [](const ModelMetrics& model) { return model.reading.inference_count; }},
    {"nv_inference_exec_count", "counter", "Model executions: batches",
     [](const ModelMetrics& model) { return model.reading.execution_count; }},
    {"nv_inference_pending_request_count", "gauge", "Requests waiting to be executed",
     [](const ModelMetrics& model) { return model.reading.pending; }},
    {"nv_inference_request_duration_us", "counter",
     "Time of successful requests from arrival to response, microseconds",
     [](const ModelMetrics& model) { return model.reading.success.ns / 1000; }, true},
    {"nv_inference_queue_duration_us", "counter",
     "Time of successful requests in the queue, microseconds",
     [](const ModelMetrics& model) { return model.reading.queue.ns / 1000; }, true},
    {"nv_inference_compute_input_duration_us", "counter",
     "Time of successful requests spent on inputs, microseconds",
     [](const ModelMetrics& model) { return model.reading.input.ns / 1000; }, true},
    {"nv_inference_compute_infer_duration_us", "counter",
     "Time of successful requests in the model, microseconds",
     [](const ModelMetrics& model) { return model.reading.infer.ns / 1000; }, true},
    {"nv_inference_compute_output_duration_us", "counter",
     "Time of successful requests spent on outputs, microseconds",
     [](const ModelMetrics& model) { return model.reading.output.ns / 1000; }, true},
    {"serval_batch_padding_rows", "counter", "Rows added to batches to reach an allowed size",
     [](const ModelMetrics& model) { return model.reading.padding_rows; }},
};

// Written for the models whose responses are cached. Source: Triton's metrics of the response
// cache.
constexpr CountFamily kCacheFamilies[] = {
    {"nv_cache_num_hits_per_model", "counter", "Requests answered from the response cache",
     [](const ModelMetrics& model) { return model.reading.cache_hit.count; }},
    {"nv_cache_hit_duration_per_model", "counter",
     "Time of look-ups that found a response, microseconds",
     [](const ModelMetrics& model) { return model.reading.cache_hit.ns / 1000; }},
    {"nv_cache_num_misses_per_model", "counter",
     "Successful requests that the response cache could not answer",
     [](const ModelMetrics& model) { return model.reading.cache_miss.count; }},
    {"nv_cache_miss_duration_per_model", "counter",
     "Time of their look-ups and of storing their responses, microseconds",
     [](const ModelMetrics& model) { return model.reading.cache_miss.ns / 1000; }},
};

struct Reason {
  Outcome outcome;
  std::string_view label;
};

constexpr Reason kTritonReasons[] = {{Outcome::Rejected, "reason=\"REJECTED\""},
                                     {Outcome::Cancelled, "reason=\"CANCELED\""},
                                     {Outcome::BackendFailed, "reason=\"BACKEND\""},
                                     {Outcome::Other, "reason=\"OTHER\""}};

struct LatencyFamily {
  std::string_view name, help;
  const HistogramReading& (*reading)(const StatsReading& reading);
};

constexpr LatencyFamily kLatencyFamilies[] = {
    {"serval_request_duration_seconds", "Successful requests from arrival to response",
     [](const StatsReading& from) -> const HistogramReading& { return from.request_us; }},
    {"serval_queue_duration_seconds", "Successful requests: time in the queue",
     [](const StatsReading& from) -> const HistogramReading& { return from.queue_us; }},
    {"serval_compute_input_duration_seconds", "Successful requests: decode and gather",
     [](const StatsReading& from) -> const HistogramReading& { return from.input_us; }},
    {"serval_compute_infer_duration_seconds", "Successful requests: time in the model",
     [](const StatsReading& from) -> const HistogramReading& { return from.infer_us; }},
    {"serval_compute_output_duration_seconds", "Successful requests: scatter and encode",
     [](const StatsReading& from) -> const HistogramReading& { return from.output_us; }},
};

// A model and its labels, formatted once for all families.
struct LabelledModel {
  const ModelMetrics* model;
  std::string labels;
};

std::vector<LabelledModel> labelled(std::span<const ModelMetrics> models) {
  std::vector<LabelledModel> out;
  out.reserve(models.size());
  for (const ModelMetrics& model : models) {
    out.push_back({&model, metric_label("model", model.name) + "," +
                               metric_label("version", std::to_string(model.version))});
  }
  return out;
}

void write_counts(const std::vector<LabelledModel>& models, bool latencies, MetricsWriter& writer) {
  for (const CountFamily& family : kTritonFamilies) {
    if (family.is_latency && !latencies) continue;
    writer.family(family.name, family.type, family.help);
    for (const auto& [model, labels] : models) {
      writer.sample(family.name, labels, family.value(*model));
    }
  }
}

void write_cache_counts(const std::vector<LabelledModel>& models, MetricsWriter& writer) {
  const auto caches = [](const LabelledModel& one) { return one.model->caches; };
  if (!std::ranges::any_of(models, caches)) return;
  for (const CountFamily& family : kCacheFamilies) {
    writer.family(family.name, family.type, family.help);
    for (const auto& [model, labels] : models) {
      if (model->caches) writer.sample(family.name, labels, family.value(*model));
    }
  }
}

void write_failures(const std::vector<LabelledModel>& models, MetricsWriter& writer) {
  constexpr std::string_view kName = "nv_inference_request_failure";
  writer.family(kName, "counter", "Failed inference requests by reason");
  for (const auto& [model, labels] : models) {
    for (const Reason& reason : kTritonReasons) {
      const uint64_t count = model->reading.outcomes[static_cast<size_t>(reason.outcome)];
      writer.sample(kName, labels + "," + std::string(reason.label), count);
    }
  }
}

void write_load_times(const std::vector<LabelledModel>& models, MetricsWriter& writer) {
  constexpr std::string_view kName = "nv_model_load_duration_secs";
  writer.family(kName, "gauge", "Time taken to load the model, seconds");
  for (const auto& [model, labels] : models) {
    writer.sample(kName, labels, static_cast<double>(model->load_us) / 1e6);
  }
}

void write_latencies(const std::vector<LabelledModel>& models, MetricsWriter& writer) {
  std::vector<std::string> bounds;
  for (const double bound_us : kLatencyBoundsUs) bounds.push_back(metric_number(bound_us / 1e6));
  for (const LatencyFamily& family : kLatencyFamilies) {
    writer.family(family.name, "histogram", family.help);
    for (const auto& [model, labels] : models) {
      const HistogramReading& reading = family.reading(model->reading);
      if (reading.count == 0) continue;  // would be most of the page with a thousand idle models
      const std::string sum = metric_number(static_cast<double>(reading.sum_ns) / 1e9);
      writer.histogram(family.name, labels, bounds, reading.counts, sum);
    }
  }
}

struct SummaryFamily {
  std::string_view name, help;
  Duration StatsReading::*duration;
};

// Source: Triton's metrics.md "Summaries"; in the order of Summary.
constexpr SummaryFamily kSummaryFamilies[kSummaries] = {
    {"nv_inference_request_summary_us",
     "Successful requests from arrival to response, microseconds", &StatsReading::success},
    {"nv_inference_queue_summary_us", "Successful requests: time in the queue, microseconds",
     &StatsReading::queue},
    {"nv_inference_compute_input_summary_us", "Successful requests: time on inputs, microseconds",
     &StatsReading::input},
    {"nv_inference_compute_infer_summary_us",
     "Successful requests: time in the model, microseconds", &StatsReading::infer},
    {"nv_inference_compute_output_summary_us", "Successful requests: time on outputs, microseconds",
     &StatsReading::output},
    {"nv_cache_hit_summary_us", "Time of look-ups that found a response, microseconds",
     &StatsReading::cache_hit},
    {"nv_cache_miss_summary_us",
     "Time of look-ups that found none and of storing their responses, microseconds",
     &StatsReading::cache_miss},
};

struct Quantile {
  std::string label;
  double value = 0;
};

std::vector<Quantile> quantiles_of(std::string_view text) {
  std::vector<Quantile> out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    Quantile& one = out.emplace_back(metric_label("quantile", word));
    std::from_chars(word.data(), word.data() + word.size(), one.value);
  }
  return out;
}

// The quantiles are of about the last minute, sum and count of all requests.
void write_summaries(const std::vector<LabelledModel>& models, std::string_view quantiles,
                     MetricsWriter& writer) {
  const std::vector<Quantile> wanted = quantiles_of(quantiles);
  for (size_t i = 0; !wanted.empty() && i < kSummaries; ++i) {
    const auto& [name, help, duration] = kSummaryFamilies[i];
    writer.family(name, "summary", help);
    for (const auto& [model, labels] : models) {
      const Duration& all = model->reading.*duration;
      if (all.count == 0) continue;
      for (const Quantile& one : wanted) {
        const double value = quantile_us(model->reading.recent[i], one.value);
        const std::string own = labels + "," + one.label;
        if (std::isnan(value)) writer.sample(name, own, std::string_view("NaN"));
        else writer.sample(name, own, value);
      }
      writer.sample(std::string(name) + "_sum", labels, all.ns / 1000);
      writer.sample(std::string(name) + "_count", labels, all.count);
    }
  }
}

void write_batch_rows(const std::vector<LabelledModel>& models, MetricsWriter& writer) {
  constexpr std::string_view kName = "serval_batch_rows";
  std::vector<std::string> bounds;
  for (size_t i = 0; i < kBatchRowsBounds; ++i) bounds.push_back(std::to_string(1 << i));
  writer.family(kName, "histogram", "Rows of each executed batch, padding not counted");
  for (const auto& [model, labels] : models) {
    const StatsReading& reading = model->reading;
    if (reading.batch_rows.count == 0) continue;
    writer.histogram(kName, labels, bounds, reading.batch_rows.counts,
                     std::to_string(reading.batch_rows_sum));
  }
}

// The APIs that TensorFlow Serving counts, by entry. REST's label is lower case for requests but
// not for runs: the runs of both entry points are one series, kept at `runtime`.
// Source: tfserving.md 3.7.
struct TensorFlowEntry {
  size_t entry, runtime;
  std::string_view request_labels, runtime_labels;
};

constexpr TensorFlowEntry kTensorFlowEntries[] = {
    {0, 4, R"(API="predict",entrypoint="REST")", R"(API="Predict",runtime="TF1")"},
    {7, 5, R"(API="classify",entrypoint="REST")", R"(API="Classify",runtime="TF1")"},
    {8, 6, R"(API="regress",entrypoint="REST")", R"(API="Regress",runtime="TF1")"},
    {4, 4, R"(API="Predict",entrypoint="GRPC")", R"(API="Predict",runtime="TF1")"},
    {5, 5, R"(API="Classify",entrypoint="GRPC")", R"(API="Classify",runtime="TF1")"},
    {6, 6, R"(API="Regress",entrypoint="GRPC")", R"(API="Regress",runtime="TF1")"},
};

struct OutcomeStatus {
  Outcome outcome;
  int code;
};

constexpr OutcomeStatus kTensorFlowStatuses[] = {{Outcome::Success, grpc_code::kOk},
                                                 {Outcome::Rejected, grpc_code::kUnavailable},
                                                 {Outcome::Cancelled, grpc_code::kCancelled},
                                                 {Outcome::BackendFailed, grpc_code::kInternal},
                                                 {Outcome::Other, grpc_code::kInvalidArgument}};

// Totals over all versions of one model: TensorFlow Serving's only label is the name.
struct TensorFlowTotals {
  std::array<uint64_t, kOutcomes> outcomes{};
  std::array<HistogramReading, kEntries> request, runtime;
};

void add_histogram(const HistogramReading& from, HistogramReading& to) {
  if (to.counts.size() < from.counts.size()) to.counts.resize(from.counts.size());
  for (size_t i = 0; i < from.counts.size(); ++i) to.counts[i] += from.counts[i];
  to.count += from.count;
  to.sum_ns += from.sum_ns;
}

using TotalsByLabel = std::map<std::string, TensorFlowTotals>;

TotalsByLabel totals_by_name(std::span<const ModelMetrics> models) {
  TotalsByLabel out;
  for (const ModelMetrics& model : models) {
    TensorFlowTotals& totals = out[metric_label("model_name", model.name)];
    for (const TensorFlowEntry& entry : kTensorFlowEntries) {
      const auto& outcomes = model.reading.outcomes_by_entry[entry.entry];
      for (size_t i = 0; i < kOutcomes; ++i) totals.outcomes[i] += outcomes[i];
      add_histogram(model.reading.tensorflow_request_us[entry.entry], totals.request[entry.entry]);
      add_histogram(model.reading.tensorflow_runtime_us[entry.entry],
                    totals.runtime[entry.runtime]);
    }
  }
  return out;
}

// Formatted as by TensorFlow: six digits, which is the full precision of our bounds.
std::vector<std::string> tensorflow_bounds() {
  std::vector<std::string> out;
  for (const uint64_t bound_ns : kTensorFlowBoundsNs) {
    std::array<char, 32> text;
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), static_cast<double>(bound_ns) / 1e3,
                      std::chars_format::general, 6);
    out.emplace_back(text.data(), end.ptr);
  }
  return out;
}

void write_tensorflow_latency(const TotalsByLabel& models, std::string_view name,
                              std::array<HistogramReading, kEntries> TensorFlowTotals::*readings,
                              std::string_view TensorFlowEntry::*labels, MetricsWriter& writer) {
  const std::vector<std::string> bounds = tensorflow_bounds();
  writer.family(name, "histogram", "");
  for (const auto& [label, totals] : models) {
    for (const TensorFlowEntry& entry : kTensorFlowEntries) {
      const HistogramReading& reading = (totals.*readings)[entry.entry];
      if (reading.count == 0) continue;
      writer.histogram(name, label + "," + std::string(entry.*labels), bounds, reading.counts,
                       metric_number(static_cast<double>(reading.sum_ns) / 1e3));
    }
  }
}

}  // namespace

bool write_triton_metrics(std::span<const ModelMetrics> models, const LatencyMetrics& latencies,
                          ByteBuffer& out) {
  const std::vector<LabelledModel> with_labels = labelled(models);
  MetricsWriter writer(out);
  write_counts(with_labels, latencies.counters, writer);
  write_cache_counts(with_labels, writer);
  write_failures(with_labels, writer);
  write_load_times(with_labels, writer);
  write_latencies(with_labels, writer);
  write_summaries(with_labels, latencies.summary_quantiles, writer);
  write_batch_rows(with_labels, writer);
  write_process_metrics(read_process(), writer);
  write_gpu_metrics(read_gpus(), writer);
  return writer.ok();
}

bool write_tensorflow_metrics(std::span<const ModelMetrics> models, ByteBuffer& out) {
  constexpr std::string_view kCount = ":tensorflow:serving:request_count";
  const TotalsByLabel totals = totals_by_name(models);
  MetricsWriter writer(out);
  writer.family(kCount, "counter", "");
  for (const auto& [label, each] : totals) {
    for (const auto& [outcome, code] : kTensorFlowStatuses) {
      const uint64_t count = each.outcomes[static_cast<size_t>(outcome)];
      const std::string status =
          metric_label("status", grpc_code::kNames[static_cast<size_t>(code)]);
      if (count != 0) writer.sample(kCount, label + "," + status, count);
    }
  }
  write_tensorflow_latency(totals, ":tensorflow:serving:request_latency",
                           &TensorFlowTotals::request, &TensorFlowEntry::request_labels, writer);
  write_tensorflow_latency(totals, ":tensorflow:serving:runtime_latency",
                           &TensorFlowTotals::runtime, &TensorFlowEntry::runtime_labels, writer);
  return writer.ok();
}

}  // namespace serval
