// Applies trace rules and keeps trace records. Traced requests and control plane; any thread.
#include "engine/observe/tracer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/bytes/utf8.h"
#include "base/clock.h"
#include "base/generated/engine_generated.h"

namespace serval {

namespace {

using Builder = flatbuffers::FlatBufferBuilder;
constexpr uint64_t kNsPerSecond = 1'000'000'000;

uint64_t since_1970_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
}

void begin_now(Trace& trace) {
  make_span_id(trace.span_id);
  trace.start_ns = now_ns();
  trace.start_since_1970_ns = since_1970_ns();
}

template <typename Id>
auto id_vector(Builder& builder, const Id& id) {
  return builder.CreateVector(id.data(), id.size());
}

auto text_of(Builder& builder, std::string_view text) {
  return builder.CreateString(text.data(), text.size());
}

auto rule_of(Builder& builder, std::string_view model, const TraceRate& rate) {
  return fb::CreateTraceRule(builder, text_of(builder, model), true, rate.on, rate.one_in,
                             rate.count, rate.tensors);
}

auto tensor_rows(Builder& builder, const std::vector<TracedTensor>& tensors) {
  std::vector<flatbuffers::Offset<fb::TracedTensor>> rows;
  rows.reserve(tensors.size());
  for (const TracedTensor& one : tensors) {
    const auto name = text_of(builder, one.name);
    const auto dims = builder.CreateVector(one.dims);
    const auto data = builder.CreateVector(one.data);
    const auto missing = builder.CreateVector(one.missing);
    rows.push_back(fb::CreateTracedTensor(builder, name, one.output, one.dtype, dims, data, missing,
                                          one.left_out));
  }
  return builder.CreateVector(rows);
}

size_t traced_bytes(const Trace& trace) {
  size_t bytes = 0;
  for (const TracedTensor& one : trace.tensors) bytes += one.data.size() + one.missing.size();
  return bytes;
}

}  // namespace

Result<TraceRules> TraceRules::parse(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!verifier.VerifyBuffer<fb::TraceRules>(nullptr)) {
    return invalid_argument("trace rules: not a valid flatbuffer");
  }
  const auto* root = flatbuffers::GetRoot<fb::TraceRules>(bytes.data());
  TraceRules read;
  read.parents = root->parents();
  if (root->rules() == nullptr) return read;
  for (const fb::TraceRule* rule : *root->rules()) {
    if (rule->count() < -1) {
      return invalid_argument("trace rule of '" + rule->model()->str() + "': count is " +
                              std::to_string(rule->count()) + ", expected -1 or more");
    }
    const TraceRate rate{rule->on(), rule->rate(), rule->count(), rule->tensors()};
    read.rules.push_back({rule->model()->str(), rule->own(), rate});
  }
  return read;
}

Tracer::Tracer() = default;

void Tracer::set(const TraceRules& rules) {
  const std::lock_guard lock(rules_mutex_);
  reads_parents_.store(rules.parents, std::memory_order_relaxed);
  for (const TraceRule& rule : rules.rules) {
    if (rule.model.empty()) {
      all_.set(rule.rate);
      continue;
    }
    std::unique_ptr<Named>& named = named_[rule.model];
    if (named == nullptr) named = std::make_unique<Named>();
    named->own = rule.own;
    named->sampler.set(rule.own ? rule.rate : TraceRate());
  }
  const bool on = all_.on() || std::any_of(named_.begin(), named_.end(), [](const auto& one) {
                    return one.second->sampler.on();
                  });
  if (on_.exchange(on, std::memory_order_relaxed) && !on) {
    generation_.fetch_add(1, std::memory_order_relaxed);
  }
  if (on) was_on_.store(true, std::memory_order_relaxed);
}

TraceSampler* Tracer::sampler_of(std::string_view model) {
  const std::lock_guard lock(rules_mutex_);
  const auto found = named_.find(model);
  return found != named_.end() && found->second->own ? &found->second->sampler : &all_;
}

std::unique_ptr<Trace> Tracer::begin(TraceSampler& sampler, std::optional<TraceParent>& parent) {
  if (!sampler.on()) return nullptr;
  const bool heeded = parent.has_value() && reads_parents();
  if (!(heeded ? parent->sampled : sampler.sample())) return nullptr;
  auto trace = std::make_unique<Trace>();
  trace->has_tensors = sampler.tensors();
  if (heeded) {
    trace->trace_id = parent->trace_id;
    trace->parent = parent->span_id;
    trace->state = std::move(parent->state);
  } else {
    make_trace_id(trace->trace_id);
  }
  begin_now(*trace);
  return trace;
}

std::unique_ptr<Trace> Tracer::beside(const Trace& first) {
  auto trace = std::make_unique<Trace>(first);
  begin_now(*trace);
  return trace;
}

void Tracer::record(const Trace& trace, const std::string& model, const std::string& version,
                    const ServedRequest& served) {
  recorded_.fetch_add(1, std::memory_order_relaxed);
  const Progress& progress = served.progress;
  // From its arrival on: the time of a run that was given up before it was queued counts as
  // waiting.
  const uint64_t total_ns = std::max(now_ns() - trace.start_ns, served.total_ns);
  const uint64_t before_ns = progress.queue_ns != 0 ? total_ns - served.total_ns : 0;
  Record record{trace,
                model,
                version,
                std::string(cut_utf8(progress.id, kTraceIdBytesShown)),
                served.protocol,
                served.code,
                total_ns,
                progress.queue_ns + before_ns,
                progress.times.input_ns,
                progress.times.infer_ns,
                progress.times.output_ns,
                served.request_bytes,
                served.response_bytes,
                progress.times.rows};
  const size_t tensor_bytes = traced_bytes(record.trace);
  const std::lock_guard lock(records_mutex_);
  if (records_.size() < kTraceRecordsMax && tensor_bytes <= kTraceBytesMax - tensor_bytes_) {
    tensor_bytes_ += tensor_bytes;
    records_.push_back(std::move(record));
  } else {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool Tracer::take(ByteBuffer& out) {
  std::vector<Record> records;
  {
    const std::lock_guard lock(records_mutex_);
    records.swap(records_);
    tensor_bytes_ = 0;
  }
  Builder builder;
  std::vector<flatbuffers::Offset<fb::TraceRecord>> rows;
  rows.reserve(records.size());
  const std::span<const uint8_t> none;
  for (const Record& one : records) {
    const Trace& trace = one.trace;
    const TraceBatch& batch = trace.batch;
    const bool batched = batch.requests > 0;
    const auto trace_id = id_vector(builder, trace.trace_id);
    const auto span_id = id_vector(builder, trace.span_id);
    const auto parent = trace.parent ? id_vector(builder, *trace.parent) : id_vector(builder, none);
    const auto state = text_of(builder, trace.state);
    const auto model = text_of(builder, one.model);
    const auto version = text_of(builder, one.version);
    const auto id = text_of(builder, one.id);
    const auto batch_trace =
        batched ? id_vector(builder, batch.trace_id) : id_vector(builder, none);
    const auto batch_span = batched ? id_vector(builder, batch.span_id) : id_vector(builder, none);
    const auto tensors = tensor_rows(builder, trace.tensors);
    fb::TraceRecordBuilder row(builder);
    row.add_trace_id(trace_id);
    row.add_span_id(span_id);
    row.add_parent_id(parent);
    row.add_trace_state(state);
    row.add_model(model);
    row.add_version(version);
    row.add_request_id(id);
    row.add_protocol(static_cast<uint8_t>(one.protocol));
    row.add_code(static_cast<uint8_t>(one.code));
    row.add_start_s(trace.start_since_1970_ns / kNsPerSecond);
    row.add_start_ns(static_cast<uint32_t>(trace.start_since_1970_ns % kNsPerSecond));
    row.add_steady_ns(static_cast<int64_t>(trace.start_ns));
    row.add_total_ns(one.total_ns);
    row.add_queue_ns(one.queue_ns);
    row.add_load_wait_ns(trace.load_wait_ns);
    row.add_input_ns(one.input_ns);
    row.add_infer_ns(one.infer_ns);
    row.add_output_ns(one.output_ns);
    row.add_request_bytes(one.request_bytes);
    row.add_response_bytes(one.response_bytes);
    row.add_rows(one.rows);
    row.add_batch_trace_id(batch_trace);
    row.add_batch_span_id(batch_span);
    row.add_batch_requests(batch.requests);
    row.add_batch_rows(batch.rows);
    row.add_tensors(tensors);
    rows.push_back(row.Finish());
  }
  std::vector<flatbuffers::Offset<fb::TraceRule>> left{rule_of(builder, "", all_.get())};
  {
    const std::lock_guard lock(rules_mutex_);
    for (const auto& [name, named] : named_) {
      if (named->own) left.push_back(rule_of(builder, name, named->sampler.get()));
    }
  }
  const auto all_rows = builder.CreateVector(rows);
  const auto all_left = builder.CreateVector(left);
  builder.Finish(fb::CreateTraceTake(builder, all_rows, all_left));
  return out.append(builder.GetBufferPointer(), builder.GetSize());
}

}  // namespace serval
