// See codec.h. Control plane, any thread.
#include "engine/spec/codec.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/copies.h"
#include "codec/serving/wire.h"

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

// A default's tensor with the memory that it lies in.
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

std::string text(const flatbuffers::String* string) {
  return string != nullptr ? string->str() : std::string();
}

Result<TensorSpec> read_tensor(const fb::TensorSpec& from) {
  TensorSpec spec;
  spec.name = from.name()->str();
  spec.dtype = from.dtype();
  if (from.dims() != nullptr) spec.dims.assign(from.dims()->begin(), from.dims()->end());
  spec.symbols.resize(spec.dims.size());
  if (from.symbols() != nullptr) {
    for (size_t i = 0; i < spec.symbols.size() && i < from.symbols()->size(); ++i) {
      spec.symbols[i] = text(from.symbols()->Get(static_cast<uint32_t>(i)));
    }
  }
  spec.unknown_rank = from.unknown_rank();
  spec.unchecked = from.unchecked();
  spec.rank_min = from.rank_min();
  spec.rank_max = from.rank_max();
  spec.rank_of = text(from.rank_of());
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

std::vector<std::pair<std::string, std::string>> read_pairs(const Tables<fb::KeyValue>* from) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (from == nullptr) return pairs;
  for (const fb::KeyValue* pair : *from) {
    pairs.emplace_back(pair->key()->str(), pair->value()->str());
  }
  return pairs;
}

void read_providers(const fb::ModelSpec& from, ModelSpec& spec) {
  if (from.providers() == nullptr) return;
  for (const fb::Provider* provider : *from.providers()) {
    spec.providers.push_back({provider->name()->str(), read_pairs(provider->options())});
  }
}

// Batch sizes: not 0, ascending, no larger than the largest batch.
Status read_sizes(const flatbuffers::Vector<uint32_t>* from, const std::string& member,
                  uint32_t rows_max, std::vector<uint32_t>& sizes) {
  if (from == nullptr) return ok_status();
  for (const uint32_t size : *from) {
    const std::string place = at(member, sizes.size());
    if (size == 0) return out_of_range(place, size, "at least 1");
    if (!sizes.empty() && size <= sizes.back()) {
      return out_of_range(place, size, "more than the one before, " + std::to_string(sizes.back()));
    }
    if (size > rows_max) {
      return out_of_range(place, size, "at most batch.rows_max, " + std::to_string(rows_max));
    }
    sizes.push_back(size);
  }
  return ok_status();
}

Status read_batch(const fb::BatchPolicy* from, BatchPolicy& batch) {
  if (from == nullptr) return ok_status();
  if (from->mode() > BatchMode::MAX) {
    return out_of_range("batch.mode", static_cast<int64_t>(from->mode()), "0, 1 or 2");
  }
  batch.mode = from->mode();
  batch.rows_max = from->rows_max();
  if (batch.mode == BatchMode::On && batch.rows_max == 0) {
    return out_of_range("batch.rows_max", 0, "at least 1 where batch.mode is On");
  }
  batch.request_rows_max = from->request_rows_max();
  Status read = read_sizes(from->preferred_rows(), "batch.preferred_rows", batch.rows_max,
                           batch.preferred_rows);
  if (!read.ok()) return read;
  read = read_sizes(from->allowed_rows(), "batch.allowed_rows", batch.rows_max, batch.allowed_rows);
  if (!read.ok()) return read;
  // Source: tfserving.md 3.5 (allowed_batch_sizes).
  if (!batch.allowed_rows.empty() && batch.allowed_rows.back() != batch.rows_max) {
    return out_of_range(at("batch.allowed_rows", batch.allowed_rows.size() - 1),
                        batch.allowed_rows.back(),
                        "the last one to be batch.rows_max, " + std::to_string(batch.rows_max));
  }
  batch.delay_us = from->delay_us();
  batch.split = from->split();
  batch.pad_inner = from->pad_inner();
  batch.preserve_ordering = from->preserve_ordering();
  batch.only_if_batchable = from->only_if_batchable();
  return ok_status();
}

Status read_queue_policy(const fb::QueuePolicy* from, const std::string& member,
                         QueuePolicy& policy) {
  if (from == nullptr) return ok_status();
  if (from->timeout_action() > TimeoutAction::MAX) {
    return out_of_range(member + ".timeout_action", static_cast<int64_t>(from->timeout_action()),
                        "0 or 1");
  }
  policy.timeout_action = from->timeout_action();
  policy.default_timeout_us = std::min(from->default_timeout_us(), kTimeoutUsMax);
  policy.allow_timeout_override = from->allow_timeout_override();
  policy.requests_max = from->requests_max();
  return ok_status();
}

Status read_priorities(const fb::ModelSpec& from, QueueSettings& queue) {
  const std::string levels = std::to_string(from.priority_levels());
  if (from.priority_levels() > kPriorityLevelsMax) {
    return out_of_range("priority_levels", from.priority_levels(),
                        "at most " + std::to_string(kPriorityLevelsMax));
  }
  if (from.default_priority() > from.priority_levels()) {
    return out_of_range("default_priority", from.default_priority(),
                        "at most priority_levels, " + levels);
  }
  queue.priority_levels = from.priority_levels();
  queue.default_priority = from.default_priority();
  if (from.priority_policies() == nullptr) return ok_status();
  std::set<uint32_t> seen;
  for (const fb::PriorityQueuePolicy* one : *from.priority_policies()) {
    const std::string place = at("priority_policies", queue.priority_policies.size());
    if (one->level() == 0 || one->level() > queue.priority_levels) {
      return out_of_range(place + ".level", one->level(), "1 to priority_levels, " + levels);
    }
    if (!seen.insert(one->level()).second) {
      return out_of_range(place + ".level", one->level(), "each level once");
    }
    PriorityQueuePolicy& out = queue.priority_policies.emplace_back();
    out.level = one->level();
    Status read = read_queue_policy(one->policy(), place + ".policy", out.policy);
    if (!read.ok()) return read;
  }
  return ok_status();
}

Status read_queue(const fb::ModelSpec& from, QueueSettings& queue) {
  if (from.queue_requests_max() < 1) {
    return out_of_range("queue_requests_max", from.queue_requests_max(), "at least 1");
  }
  queue.requests_max = static_cast<uint32_t>(from.queue_requests_max());
  Status read = read_queue_policy(from.queue_policy(), "queue_policy", queue.policy);
  return read.ok() ? read_priorities(from, queue) : std::move(read);
}

Status read_dims(const flatbuffers::Vector<int64_t>* from, const std::string& member,
                 std::vector<int64_t>& dims) {
  if (from == nullptr) return ok_status();
  if (from->size() > kRankMax) {
    return bad_spec(member, "has " + std::to_string(from->size()) + " dims, expected at most " +
                                std::to_string(kRankMax));
  }
  for (const int64_t dim : *from) {
    if (dim < -1) return out_of_range(at(member, dims.size()), dim, "a size or -1");
    dims.push_back(dim);
  }
  return ok_status();
}

Status read_labels(const Tables<flatbuffers::String>* from, const std::string& member,
                   std::vector<std::string>& labels) {
  if (from == nullptr) return ok_status();
  if (from->size() > kLabelsMax) {
    return bad_spec(member, "has " + std::to_string(from->size()) + " labels, expected at most " +
                                std::to_string(kLabelsMax));
  }
  for (const flatbuffers::String* label : *from) {
    if (label->size() > kNameBytesMax) {
      return bad_spec(at(member, labels.size()), "has " + std::to_string(label->size()) +
                                                     " bytes, expected at most " +
                                                     std::to_string(kNameBytesMax));
    }
    labels.push_back(label->str());
  }
  return ok_status();
}

Status read_override(const fb::TensorOverride& from, const std::string& member,
                     TensorOverride& out) {
  out.name = from.name()->str();
  if (out.name.empty()) return bad_spec(member + ".name", "is empty, expected a tensor's name");
  Status read = read_dims(from.dims(), member + ".dims", out.dims);
  if (!read.ok()) return read;
  read = read_dims(from.model_dims(), member + ".model_dims", out.model_dims);
  if (!read.ok()) return read;
  return read_labels(from.labels(), member + ".labels", out.labels);
}

Status read_overrides(const Tables<fb::TensorOverride>* from, const std::string& member,
                      std::vector<TensorOverride>& overrides) {
  if (from == nullptr) return ok_status();
  if (from->size() > kInputsMax) {
    return bad_spec(member, "has " + std::to_string(from->size()) + " tensors, expected at most " +
                                std::to_string(kInputsMax));
  }
  std::set<std::string> seen;
  for (const fb::TensorOverride* one : *from) {
    const std::string place = at(member, overrides.size());
    TensorOverride& out = overrides.emplace_back();
    Status read = read_override(*one, place, out);
    if (!read.ok()) return read;
    if (!seen.insert(out.name).second) {
      return bad_spec(place + ".name", "is '" + out.name + "', expected each tensor once");
    }
  }
  return ok_status();
}

Status read_tensors(const fb::ModelSpec& from, ModelSpec& spec) {
  spec.batch_dim = from.batch_dim();
  Status read = read_overrides(from.inputs(), "inputs", spec.inputs);
  if (!read.ok()) return read;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (!spec.inputs[i].labels.empty()) {
      return bad_spec(at("inputs", i) + ".labels", "is set, expected labels of outputs only");
    }
  }
  return read_overrides(from.outputs(), "outputs", spec.outputs);
}

Status read_devices(const fb::ModelSpec& from, std::vector<int>& devices) {
  if (from.devices() == nullptr) return ok_status();
  if (from.devices()->size() > kDevicesMax) {
    return bad_spec("devices", "has " + std::to_string(from.devices()->size()) +
                                   " entries, expected at most " + std::to_string(kDevicesMax));
  }
  for (const int device : *from.devices()) {
    if (device < 0) return out_of_range(at("devices", devices.size()), device, "at least 0");
    devices.push_back(device);
  }
  return ok_status();
}

Status read_session_config(const fb::ModelSpec& from, ModelSpec& spec) {
  spec.session_config = read_pairs(from.session_config());
  for (size_t i = 0; i < spec.session_config.size(); ++i) {
    if (spec.session_config[i].first.empty()) {
      return bad_spec(at("session_config", i) + ".key", "is empty, expected an option's name");
    }
  }
  return ok_status();
}

// What a configuration says: batching, queueing, tensors, devices.
Status read_settings(const fb::ModelSpec& from, ModelSpec& spec) {
  if (from.exec_mode() > ExecMode::MAX) {
    return out_of_range("exec_mode", static_cast<int64_t>(from.exec_mode()), "0, 1 or 2");
  }
  spec.exec_mode = from.exec_mode();
  Status read = read_batch(from.batch(), spec.batch);
  if (read.ok()) read = read_queue(from, spec.queue);
  if (read.ok()) read = read_tensors(from, spec);
  if (read.ok()) read = read_devices(from, spec.devices);
  if (read.ok()) read = read_session_config(from, spec);
  return read;
}

}  // namespace

Result<Signature> read_signature(const fb::Signature& from) {
  Signature signature;
  signature.name = from.name()->str();
  signature.method_name = text(from.method_name());
  Status read = read_specs(from.inputs(), signature.inputs);
  if (read.ok()) read = read_specs(from.outputs(), signature.outputs);
  if (!read.ok()) return std::move(read.error());
  return signature;
}

namespace {

flatbuffers::Offset<fb::TensorSpec> write_tensor(Builder& builder, const TensorSpec& spec) {
  const auto name = builder.CreateString(spec.name);
  const auto dims = builder.CreateVector(spec.dims);
  const auto symbols = builder.CreateVectorOfStrings(spec.symbols);
  return fb::CreateTensorSpec(builder, name, spec.dtype, dims, symbols, spec.unknown_rank,
                              spec.unchecked);
}

flatbuffers::Offset<fb::Signature> write_signature(Builder& builder, const Signature& signature) {
  std::vector<flatbuffers::Offset<fb::TensorSpec>> inputs, outputs;
  for (const TensorSpec& input : signature.inputs) inputs.push_back(write_tensor(builder, input));
  for (const TensorSpec& output : signature.outputs) {
    outputs.push_back(write_tensor(builder, output));
  }
  const auto name = builder.CreateString(signature.name);
  const auto in = builder.CreateVector(inputs);
  const auto out = builder.CreateVector(outputs);
  const auto method = builder.CreateString(signature.method_name);
  return fb::CreateSignature(builder, name, in, out, method);
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
  const uint64_t rejected = reading.outcomes[static_cast<size_t>(Outcome::Rejected)];
  return fb::CreateModelStats(
      builder, model.handle(), counters.requests_inline.load(), counters.requests_queued.load(),
      counters.failures.load(), counters.cancelled.load(), counters.queue_full.load(),
      counters.queue_ns.load(), counters.compute_ns.load(), reading.last_inference_ms,
      reading.inference_count, reading.execution_count, success, fail, queue, input, infer, output,
      batches_at, rejected, reading.pending);
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
  spec.name = from->name()->str();
  spec.version = from->version();
  spec.backend = from->backend()->str();
  spec.path = text(from->path());
  spec.intra_op_threads = from->intra_op_threads();
  spec.inter_op_threads = from->inter_op_threads();
  spec.graph_optimization = from->graph_optimization();
  read_providers(*from, spec);
  spec.instances = from->instances();
  spec.inline_us_max = from->inline_us_max();
  spec.null_mode = text(from->null_mode());
  spec.null_delay_us = from->null_delay_us();
  if (from->null_signature() != nullptr) {
    Result<Signature> signature = read_signature(*from->null_signature());
    if (!signature.ok()) return std::move(signature.error());
    spec.null_signature = std::move(signature.value());
  }
  read = read_graphs(*from, spec);
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
  builder.Finish(fb::CreateModelInfo(
      builder, model.handle(), signatures_at, producer, graph_name, description, domain,
      info.model_version, metadata_at, info.file_bytes, model.load_us(), providers,
      model.batch_mode(), model.inputs_batchable(), finding.proof, found));
  return out.append(builder.GetBufferPointer(), builder.GetSize());
}

bool write_engine_stats(const ModelTable& models, std::span<const uint32_t> handles,
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
