// Reads and writes the tables of models and statistics. Control plane, any thread.
#include "engine/control/spec/codec.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/copies.h"
#include "codec/serving/wire.h"
#include "engine/control/spec/options.h"
#include "engine/control/spec/unpack.h"

namespace serval {

namespace {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename T>
using Tables = flatbuffers::Vector<flatbuffers::Offset<T>>;

Error bad_spec(const std::string& member, const std::string& what) {
  return invalid_argument("model spec: " + member + " " + what);
}

// "batch.mode is 7, expected ..."
Error out_of_range(const std::string& member, int64_t got, const std::string& expected) {
  return bad_spec(member, "is " + std::to_string(got) + ", expected " + expected);
}

// A default's tensor with the memory that holds its elements.
struct DefaultTensor {
  Arena arena;
  std::vector<uint8_t> proto;
  TensorView view;
};

Status read_default(const flatbuffers::Vector<uint8_t>& bytes, TensorSpec& spec) {
  auto kept = std::make_shared<DefaultTensor>();
  kept->proto.assign(bytes.begin(), bytes.end());
  Status read = decode_tensor_proto(kept->proto, spec.name, kept->arena, kept->view);
  if (!read.ok()) return read;
  if (kept->view.dtype != spec.dtype) {
    return bad_spec("default of '" + spec.name + "'",
                    "is " + std::string(dtype_name(kept->view.dtype)) + ", expected " +
                        std::string(dtype_name(spec.dtype)));
  }
  const TensorView* view = &kept->view;
  spec.default_value = std::shared_ptr<const TensorView>(std::move(kept), view);
  return ok_status();
}

std::string at(const std::string& member, size_t index) {
  return member + "[" + std::to_string(index) + "]";
}

Result<TensorSpec> read_tensor(const fb::TensorSpec& from) {
  TensorSpec spec;
  unpack(from.name(), spec.name);
  spec.dtype = from.datatype();
  unpack(from.shape(), spec.dims);
  unpack(from.symbols(), spec.symbols);
  spec.symbols.resize(spec.dims.size());
  spec.unknown_rank = from.unknown_rank();
  spec.unchecked = from.unchecked().value_or(false);
  if (const fb::RankRule* ranks = from.ranks(); ranks != nullptr) {
    spec.rank_min = ranks->min();
    spec.rank_max = ranks->max().value_or(0);
    unpack(ranks->of(), spec.rank_of);
  }
  if (from.default_proto() != nullptr) {
    Status read = read_default(*from.default_proto(), spec);
    if (!read.ok()) return std::move(read.error());
  }
  return spec;
}

Status read_specs(const Tables<fb::TensorSpec>* from, std::vector<TensorSpec>& specs) {
  if (from == nullptr) return ok_status();
  for (const fb::TensorSpec* one : *from) {
    Result<TensorSpec> spec = read_tensor(*one);
    if (!spec.ok()) return std::move(spec.error());
    specs.push_back(std::move(spec.value()));
  }
  return ok_status();
}

// Checks batch sizes: none is 0, ascending, none larger than the largest batch.
Status check_sizes(const std::vector<uint32_t>& sizes, const std::string& member,
                   uint32_t rows_max) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint32_t size = sizes[i];
    if (size == 0) return out_of_range(at(member, i), size, "at least 1");
    if (i > 0 && size <= sizes[i - 1]) {
      return out_of_range(at(member, i), size,
                          "more than the one before, " + std::to_string(sizes[i - 1]));
    }
    if (size > rows_max) {
      return out_of_range(at(member, i), size,
                          "at most batch.rows_max, " + std::to_string(rows_max));
    }
  }
  return ok_status();
}

Status check_batch(const BatchPolicy& batch) {
  if (batch.mode > BatchMode::MAX) {
    return out_of_range("batch.mode", static_cast<int64_t>(batch.mode), "0, 1 or 2");
  }
  if (batch.mode == BatchMode::On && batch.rows_max == 0) {
    return out_of_range("batch.rows_max", 0, "at least 1 where batch.mode is On");
  }
  Status fits = check_sizes(batch.preferred_rows, "batch.preferred_rows", batch.rows_max);
  if (fits.ok()) fits = check_sizes(batch.allowed_rows, "batch.allowed_rows", batch.rows_max);
  if (!fits.ok()) return fits;
  // Source: tfserving.md 3.5 (allowed_batch_sizes).
  if (batch.allowed_rows.empty() || batch.allowed_rows.back() == batch.rows_max) return fits;
  return out_of_range(at("batch.allowed_rows", batch.allowed_rows.size() - 1),
                      batch.allowed_rows.back(),
                      "the last one to be batch.rows_max, " + std::to_string(batch.rows_max));
}

// Limits a timeout that is practically infinite.
Status check_queue_policy(const std::string& member, QueuePolicy& policy) {
  policy.default_timeout_us = std::min(policy.default_timeout_us, kTimeoutUsMax);
  if (policy.timeout_action <= TimeoutAction::MAX) return ok_status();
  return out_of_range(member + ".timeout_action", static_cast<int64_t>(policy.timeout_action),
                      "0 or 1");
}

Status check_priorities(QueueSettings& queue) {
  const std::string levels = std::to_string(queue.priority_levels);
  if (queue.priority_levels > kPriorityLevelsMax) {
    return out_of_range("priority_levels", queue.priority_levels,
                        "at most " + std::to_string(kPriorityLevelsMax));
  }
  if (queue.default_priority > queue.priority_levels) {
    return out_of_range("default_priority", queue.default_priority,
                        "at most priority_levels, " + levels);
  }
  std::set<uint32_t> seen;
  for (size_t i = 0; i < queue.priority_policies.size(); ++i) {
    const std::string place = at("priority_policies", i);
    PriorityQueuePolicy& one = queue.priority_policies[i];
    if (one.level == 0 || one.level > queue.priority_levels) {
      return out_of_range(place + ".level", one.level, "1 to priority_levels, " + levels);
    }
    if (!seen.insert(one.level).second) {
      return out_of_range(place + ".level", one.level, "each level once");
    }
    Status fits = check_queue_policy(place + ".policy", one.policy);
    if (!fits.ok()) return fits;
  }
  return ok_status();
}

Status read_queue(const fb::ModelSpec& from, QueueSettings& queue) {
  if (from.queue_requests_max() < 1) {
    return out_of_range("queue_requests_max", from.queue_requests_max(), "at least 1");
  }
  queue.requests_max = static_cast<uint32_t>(from.queue_requests_max());
  queue.priority_levels = from.priority_levels();
  queue.default_priority = from.default_priority();
  unpack(from.queue_policy(), queue.policy);
  unpack(from.priority_policies(), queue.priority_policies);
  Status fits = check_queue_policy("queue_policy", queue.policy);
  return fits.ok() ? check_priorities(queue) : std::move(fits);
}

// "inputs has 9 tensors, expected at most 8"
Status check_count(const std::string& member, size_t count, size_t max, const std::string& what) {
  if (count <= max) return ok_status();
  return bad_spec(member, "has " + std::to_string(count) + " " + what + ", expected at most " +
                              std::to_string(max));
}

Status check_dims(const std::string& member, const std::vector<int64_t>& dims) {
  Status fits = check_count(member, dims.size(), kRankMax, "dims");
  for (size_t i = 0; fits.ok() && i < dims.size(); ++i) {
    if (dims[i] < -1) return out_of_range(at(member, i), dims[i], "a size or -1");
  }
  return fits;
}

Status check_override(const std::string& member, const TensorOverride& tensor) {
  if (tensor.name.empty()) return bad_spec(member + ".name", "is empty, expected a tensor's name");
  Status fits = check_dims(member + ".dims", tensor.dims);
  if (fits.ok()) fits = check_dims(member + ".model_dims", tensor.model_dims);
  const std::string labels = member + ".labels";
  if (fits.ok()) fits = check_count(labels, tensor.labels.size(), kLabelsMax, "labels");
  for (size_t i = 0; fits.ok() && i < tensor.labels.size(); ++i) {
    fits = check_count(at(labels, i), tensor.labels[i].size(), kNameBytesMax, "bytes");
  }
  return fits;
}

Status check_overrides(const std::string& member, const std::vector<TensorOverride>& overrides) {
  Status fits = check_count(member, overrides.size(), kInputsMax, "tensors");
  std::set<std::string> seen;
  for (size_t i = 0; fits.ok() && i < overrides.size(); ++i) {
    const std::string& name = overrides[i].name;
    fits = check_override(at(member, i), overrides[i]);
    if (fits.ok() && !seen.insert(name).second) {
      return bad_spec(at(member, i) + ".name", "is '" + name + "', expected each tensor once");
    }
  }
  return fits;
}

Status read_tensors(const fb::ModelSpec& from, ModelSpec& spec) {
  spec.batch_dim = from.batch_dim();
  spec.extended_v2 = from.extended_v2();
  spec.retry = from.retry();
  spec.response_cache = from.response_cache();
  spec.decoupled = from.decoupled();
  unpack(from.inputs(), spec.inputs);
  unpack(from.outputs(), spec.outputs);
  Status fits = check_overrides("inputs", spec.inputs);
  if (!fits.ok()) return fits;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (!spec.inputs[i].labels.empty()) {
      return bad_spec(at("inputs", i) + ".labels", "is set, expected labels of outputs only");
    }
  }
  return check_overrides("outputs", spec.outputs);
}

Status read_devices(const fb::ModelSpec& from, std::vector<int>& devices) {
  unpack(from.devices(), devices);
  Status fits = check_count("devices", devices.size(), kDevicesMax, "entries");
  for (size_t i = 0; fits.ok() && i < devices.size(); ++i) {
    if (devices[i] < 0) return out_of_range(at("devices", i), devices[i], "at least 0");
  }
  return fits;
}

// Each CUDA graph costs device memory.
constexpr size_t kGraphRowsMax = 32;
constexpr uint32_t kGraphRowMax = 1u << 20;

Status read_graph_rows(const fb::ModelSpec& from, std::vector<uint32_t>& rows) {
  unpack(from.graph_rows(), rows);
  Status fits = check_count("graph_rows", rows.size(), kGraphRowsMax, "entries");
  for (size_t i = 0; fits.ok() && i < rows.size(); ++i) {
    const bool alone = rows[i] == 0 && rows.size() > 1;
    if (alone || rows[i] > kGraphRowMax) {
      return out_of_range(at("graph_rows", i), rows[i],
                          "1 to " + std::to_string(kGraphRowMax) + ", or 0 alone");
    }
  }
  return fits;
}

ServerOptions server_options(const fb::ModelSpec& from) {
  ServerOptions options;
  if (from.server_options() == nullptr) return options;
  for (const fb::ServerOptions* one : *from.server_options()) {
    auto& [provider, names] = options.emplace_back();
    unpack(one->provider(), provider);
    unpack(one->options(), names);
  }
  return options;
}

constexpr uint32_t kInFlightLimitMax = 1'000'000;
constexpr uint32_t kTurnWeightMax = 1000;
constexpr double kRateLimitMax = 1e9;

Status check_rate(const std::string& member, double value) {
  if (value >= 0 && value <= kRateLimitMax) return ok_status();
  return bad_spec(member, "is " + std::to_string(value) + ", expected a rate from 0 to 1e9");
}

Status read_limits(const fb::ModelSpec& from, LimitSpec& limits) {
  unpack(from.limits(), limits);
  if (limits.max_in_flight > kInFlightLimitMax) {
    return out_of_range("limits.max_in_flight", limits.max_in_flight,
                        "at most " + std::to_string(kInFlightLimitMax));
  }
  Status fits = check_rate("limits.requests_per_second", limits.requests_per_second);
  return fits.ok() ? check_rate("limits.rows_per_second", limits.rows_per_second) : std::move(fits);
}

Status read_turns(const fb::ModelSpec& from, ModelSpec& spec) {
  spec.turn_weight = from.turn_weight();
  if (spec.turn_weight < 1 || spec.turn_weight > kTurnWeightMax) {
    return out_of_range("turn_weight", spec.turn_weight, "1 to " + std::to_string(kTurnWeightMax));
  }
  unpack(from.rate_resources(), spec.rate_resources);
  spec.rate_priority = std::max(from.rate_priority(), 1u);
  for (size_t i = 0; i < spec.rate_resources.size(); ++i) {
    const RateResource& one = spec.rate_resources[i];
    const std::string member = "rate_resources[" + std::to_string(i) + "]";
    if (one.name.empty()) return bad_spec(member, "has no name");
    for (size_t earlier = 0; earlier < i; ++earlier) {
      if (spec.rate_resources[earlier].name != one.name) continue;
      return bad_spec(member, "is '" + one.name + "' for the second time");
    }
  }
  return {};
}

// Reads the model's configuration: batching, queueing, tensors, devices.
Status read_settings(const fb::ModelSpec& from, ModelSpec& spec) {
  if (from.exec_mode() > ExecMode::MAX) {
    return out_of_range("exec_mode", static_cast<int64_t>(from.exec_mode()), "0, 1 or 2");
  }
  spec.exec_mode = from.exec_mode();
  unpack(from.batch(), spec.batch);
  Status read = check_batch(spec.batch);
  if (read.ok()) read = read_queue(from, spec.queue);
  if (read.ok()) read = read_tensors(from, spec);
  if (read.ok()) read = read_devices(from, spec.devices);
  if (read.ok()) read = read_graph_rows(from, spec.graph_rows);
  if (read.ok()) read = read_limits(from, spec.limits);
  if (read.ok()) read = read_turns(from, spec);
  if (read.ok() && from.graph_use() > GraphUse::MAX) {
    read = out_of_range("graph_use", static_cast<int64_t>(from.graph_use()), "0, 1 or 2");
  }
  spec.graph_use = from.graph_use();
  unpack(from.session_config(), spec.session_config);
  return read;
}

}  // namespace

Result<Signature> read_signature(const fb::Signature& from) {
  Signature signature;
  unpack(from.name(), signature.name);
  unpack(from.method_name(), signature.method_name);
  Status read = read_specs(from.inputs(), signature.inputs);
  if (read.ok()) read = read_specs(from.outputs(), signature.outputs);
  const size_t required = signature.inputs.size();
  if (read.ok()) read = read_specs(from.optional_inputs(), signature.inputs);
  if (!read.ok()) return std::move(read.error());
  for (size_t i = required; i < signature.inputs.size(); ++i) {
    signature.inputs[i].may_be_absent = true;
  }
  return signature;
}

namespace {

flatbuffers::Offset<fb::TensorSpec> write_tensor(Builder& builder, const TensorSpec& spec) {
  const auto name = builder.CreateString(spec.name);
  const auto dims = builder.CreateVector(spec.dims);
  const auto symbols = builder.CreateVectorOfStrings(spec.symbols);
  const flatbuffers::Optional<bool> unchecked =
      spec.unchecked ? flatbuffers::Optional<bool>(true) : flatbuffers::nullopt;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> labels;
  if (!spec.labels.empty()) labels = builder.CreateVectorOfStrings(spec.labels);
  const flatbuffers::Optional<bool> in_config = spec.may_be_absent && spec.in_config
                                                    ? flatbuffers::Optional<bool>(true)
                                                    : flatbuffers::nullopt;
  return fb::CreateTensorSpec(builder, name, spec.dtype, dims, symbols, spec.unknown_rank,
                              unchecked, 0, 0, labels, in_config);
}

flatbuffers::Offset<fb::Signature> write_signature(Builder& builder, const Signature& signature) {
  std::vector<flatbuffers::Offset<fb::TensorSpec>> inputs, optional, outputs;
  for (const TensorSpec& input : signature.inputs) {
    // The default of a SavedModel's signature is part of its documents, which list all inputs.
    const bool listed = !input.may_be_absent || input.default_value != nullptr;
    (listed ? inputs : optional).push_back(write_tensor(builder, input));
  }
  for (const TensorSpec& output : signature.outputs) {
    outputs.push_back(write_tensor(builder, output));
  }
  const auto name = builder.CreateString(signature.name);
  const auto in = builder.CreateVector(inputs);
  const auto out = builder.CreateVector(outputs);
  flatbuffers::Offset<flatbuffers::String> method;  // absent if the format has no methods
  if (!signature.method_name.empty()) method = builder.CreateString(signature.method_name);
  flatbuffers::Offset<Tables<fb::TensorSpec>> absent;
  if (!optional.empty()) absent = builder.CreateVector(optional);
  return fb::CreateSignature(builder, name, in, out, method, absent);
}

flatbuffers::Offset<fb::DurationStat> write_duration(Builder& builder, const Duration& duration) {
  return fb::CreateDurationStat(builder, duration.count, duration.ns);
}

flatbuffers::Offset<fb::BatchStat> write_batch(Builder& builder, const BatchReading& batch) {
  const auto input = write_duration(builder, batch.input);
  const auto infer = write_duration(builder, batch.infer);
  const auto output = write_duration(builder, batch.output);
  return fb::CreateBatchStat(builder, batch.batch_size, input, infer, output);
}

Status read_ensemble(const fb::ModelSpec& from, ModelSpec& spec) {
  unpack(from.ensemble(), spec.ensemble);
  Status fits = check_count("ensemble", spec.ensemble.size(), kEnsembleStepsMax, "steps");
  for (size_t i = 0; fits.ok() && i < spec.ensemble.size(); ++i) {
    const EnsembleStep& step = spec.ensemble[i];
    fits = check_count(at("ensemble", i) + ".inputs", step.inputs.size(), kInputsMax, "tensors");
    if (!fits.ok()) break;
    fits = check_count(at("ensemble", i) + ".outputs", step.outputs.size(), kInputsMax, "tensors");
  }
  if (!fits.ok() || from.ensemble_signature() == nullptr) return fits;
  Result<Signature> signature = read_signature(*from.ensemble_signature());
  if (!signature.ok()) return std::move(signature.error());
  spec.ensemble_signature = std::move(signature.value());
  return {};
}

flatbuffers::Offset<fb::ModelStats> write_stats(Builder& builder, Model& model) {
  const ModelCounters& counters = model.counters();
  const StatsReading reading = model.read_stats();
  std::vector<flatbuffers::Offset<fb::BatchStat>> batches;
  for (const BatchReading& batch : reading.batches) batches.push_back(write_batch(builder, batch));
  const auto batches_at = builder.CreateVector(batches);
  const auto success = write_duration(builder, reading.success);
  const auto fail = write_duration(builder, reading.fail);
  const auto queue = write_duration(builder, reading.queue);
  const auto input = write_duration(builder, reading.input);
  const auto infer = write_duration(builder, reading.infer);
  const auto output = write_duration(builder, reading.output);
  const auto cache_hit = write_duration(builder, reading.cache_hit);
  const auto cache_miss = write_duration(builder, reading.cache_miss);
  const uint64_t rejected = reading.outcomes[static_cast<size_t>(Outcome::Rejected)];
  return fb::CreateModelStats(
      builder, model.handle(), counters.requests_inline.load(), counters.requests_queued.load(),
      counters.failures.load(), counters.cancelled.load(), counters.queue_full.load(),
      counters.queue_ns.load(), counters.compute_ns.load(), reading.last_inference_ms,
      reading.inference_count, reading.execution_count, success, fail, queue, input, infer, output,
      batches_at, rejected, reading.pending, cache_hit, cache_miss);
}

Status read_sequence(const fb::ModelSpec& from, ModelSpec& spec) {
  if (from.sequence() == nullptr) return {};
  SequenceSpec& sequence = spec.sequence.emplace();
  unpack(from.sequence(), sequence);
  if (sequence.strategy > fb::SequenceStrategy::MAX) {
    return out_of_range("sequence.strategy", static_cast<int64_t>(sequence.strategy), "0 or 1");
  }
  if (sequence.slots > kSequenceSlotsMax) {
    return out_of_range("sequence.slots", sequence.slots,
                        "at most " + std::to_string(kSequenceSlotsMax));
  }
  Status fits = check_count("sequence.controls", sequence.controls.size(), kInputsMax, "controls");
  for (size_t i = 0; fits.ok() && i < sequence.controls.size(); ++i) {
    const auto signal = sequence.controls[i].signal;
    if (signal <= fb::SequenceSignal::MAX) continue;
    return out_of_range(at("sequence.controls", i) + ".signal", static_cast<int64_t>(signal),
                        "0 to 3");
  }
  if (fits.ok())
    fits = check_count("sequence.states", sequence.states.size(), kInputsMax, "states");
  for (size_t i = 0; fits.ok() && i < sequence.states.size(); ++i) {
    fits = check_dims(at("sequence.states", i) + ".dims", sequence.states[i].dims);
  }
  return fits;
}

}  // namespace

Result<ModelSpec> parse_model_spec(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!verifier.VerifyBuffer<fb::ModelSpec>(nullptr)) {
    return invalid_argument("model spec: not a valid flatbuffer");
  }
  const auto* from = flatbuffers::GetRoot<fb::ModelSpec>(bytes.data());
  ModelSpec spec;
  Status read = read_settings(*from, spec);
  if (!read.ok()) return std::move(read.error());
  unpack(from->name(), spec.name);
  spec.version = from->version();
  unpack(from->backend(), spec.backend);
  unpack(from->path(), spec.path);
  spec.intra_op_threads = from->intra_op_threads();
  spec.inter_op_threads = from->inter_op_threads();
  spec.graph_optimization = from->graph_optimization();
  unpack(from->providers(), spec.providers);
  read = check_options(spec, server_options(*from));
  if (!read.ok()) return std::move(read.error());
  spec.instances = from->instances();
  spec.inline_us_max = from->inline_us_max();
  unpack(from->null_mode(), spec.null_mode);
  spec.null_delay_us = from->null_delay_us();
  if (from->null_signature() != nullptr) {
    Result<Signature> signature = read_signature(*from->null_signature());
    if (!signature.ok()) return std::move(signature.error());
    spec.null_signature = std::move(signature.value());
  }
  read = read_ensemble(*from, spec);
  if (read.ok()) read = read_sequence(*from, spec);
  if (read.ok()) read = read_ragged(*from, spec);
  if (read.ok()) read = read_graphs(*from, spec);
  if (!read.ok()) return std::move(read.error());
  return spec;
}

bool write_model_info(Model& model, ByteBuffer& out) {
  const BackendModelInfo& info = model.info();
  Builder builder;
  std::vector<flatbuffers::Offset<fb::Signature>> signatures;
  for (const Signature& signature : model.signatures()) {
    signatures.push_back(write_signature(builder, signature));
  }
  std::vector<flatbuffers::Offset<fb::KeyValue>> metadata;
  for (const auto& [key, value] : info.metadata) {
    metadata.push_back(fb::CreateKeyValueDirect(builder, key.c_str(), value.c_str()));
  }
  const auto signatures_at = builder.CreateVector(signatures);
  const auto producer = builder.CreateString(info.producer);
  const auto graph_name = builder.CreateString(info.graph_name);
  const auto description = builder.CreateString(info.description);
  const auto domain = builder.CreateString(info.domain);
  const auto metadata_at = builder.CreateVector(metadata);
  const auto providers = builder.CreateVectorOfStrings(info.providers);
  const BatchFinding& finding = model.batch_finding();
  const auto found = builder.CreateString(finding.text);
  std::vector<std::string> all_notes = info.notes;
  std::string not_cached = model.why_not_cached();
  if (!not_cached.empty()) all_notes.push_back(std::move(not_cached));
  const auto notes = builder.CreateVectorOfStrings(all_notes);
  std::vector<flatbuffers::Offset<fb::ProviderNodes>> nodes;
  for (const auto& [provider, count] : info.nodes) {
    nodes.push_back(fb::CreateProviderNodesDirect(builder, provider.c_str(), count));
  }
  const auto nodes_at = builder.CreateVector(nodes);
  std::vector<flatbuffers::Offset<fb::RowsFinding>> rows;
  for (size_t i = 0; i < info.rows.size() && i < info.signatures.size(); ++i) {
    const auto& [verdict, why] = info.rows[i];
    rows.push_back(fb::CreateRowsFindingDirect(builder, info.signatures[i].name.c_str(), verdict,
                                               why.c_str()));
  }
  const auto rows_at = builder.CreateVector(rows);
  const DeviceRuns& runs = info.device_runs;
  flatbuffers::Offset<fb::DeviceRuns> device;
  if (info.on_gpu) {
    device = fb::CreateDeviceRunsDirect(builder, &runs.graph_rows, runs.graph_bytes,
                                        &runs.fixed_rows, runs.why.c_str());
  }
  builder.Finish(fb::CreateModelInfo(builder, model.handle(), signatures_at, producer, graph_name,
                                     description, domain, info.model_version, metadata_at,
                                     info.file_bytes, model.load_us(), providers,
                                     model.batch_mode(), model.inputs_batchable(), finding.proof,
                                     found, notes, nodes_at, rows_at, device));
  return out.append(builder.GetBufferPointer(), builder.GetSize());
}

bool write_engine_stats(const ModelsByHandle& models, std::span<const uint32_t> handles,
                        uint64_t bodies_open, uint64_t tickets_open, ByteBuffer& out) {
  Builder builder;
  std::vector<flatbuffers::Offset<fb::ModelStats>> stats;
  for (const uint32_t handle : handles) {
    const std::shared_ptr<Model>* model = models.find(handle);
    if (model != nullptr) stats.push_back(write_stats(builder, **model));
  }
  if (handles.empty()) {
    models.each([&](Model& model) { stats.push_back(write_stats(builder, model)); });
  }
  const auto models_at = builder.CreateVector(stats);
  builder.Finish(fb::CreateEngineStats(builder, models_at, copy_count().copied_bytes.load(),
                                       copy_count().viewed_bytes.load(), bodies_open,
                                       tickets_open));
  return out.append(builder.GetBufferPointer(), builder.GetSize());
}

}  // namespace serval
