// See spec_codec.h. Control plane, any thread.
#include "engine/spec_codec.h"

#include "base/copies.h"

namespace serval {

namespace {

using Strings = std::vector<flatbuffers::Offset<flatbuffers::String>>;

std::string text(const flatbuffers::String* string) {
  return string != nullptr ? string->str() : std::string();
}

TensorSpec read_tensor(const fb::TensorSpec& from) {
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
  return spec;
}

Signature read_signature(const fb::Signature& from) {
  Signature signature;
  signature.name = from.name()->str();
  if (from.inputs() != nullptr) {
    for (const fb::TensorSpec* input : *from.inputs()) {
      signature.inputs.push_back(read_tensor(*input));
    }
  }
  if (from.outputs() != nullptr) {
    for (const fb::TensorSpec* output : *from.outputs()) {
      signature.outputs.push_back(read_tensor(*output));
    }
  }
  return signature;
}

void read_providers(const fb::ModelSpec& from, ModelSpec& spec) {
  if (from.providers() == nullptr) return;
  for (const fb::Provider* provider : *from.providers()) {
    ProviderSpec out{provider->name()->str(), {}};
    if (provider->options() != nullptr) {
      for (const fb::KeyValue* option : *provider->options()) {
        out.options.emplace_back(option->key()->str(), option->value()->str());
      }
    }
    spec.providers.push_back(std::move(out));
  }
}

flatbuffers::Offset<fb::TensorSpec> write_tensor(flatbuffers::FlatBufferBuilder& builder,
                                                 const TensorSpec& spec) {
  const auto name = builder.CreateString(spec.name);
  const auto dims = builder.CreateVector(spec.dims);
  const auto symbols = builder.CreateVectorOfStrings(spec.symbols);
  return fb::CreateTensorSpec(builder, name, spec.dtype, dims, symbols, spec.unknown_rank);
}

flatbuffers::Offset<fb::Signature> write_signature(flatbuffers::FlatBufferBuilder& builder,
                                                   const Signature& signature) {
  std::vector<flatbuffers::Offset<fb::TensorSpec>> inputs, outputs;
  for (const TensorSpec& input : signature.inputs) inputs.push_back(write_tensor(builder, input));
  for (const TensorSpec& output : signature.outputs) {
    outputs.push_back(write_tensor(builder, output));
  }
  const auto name = builder.CreateString(signature.name);
  const auto in = builder.CreateVector(inputs);
  const auto out = builder.CreateVector(outputs);
  return fb::CreateSignature(builder, name, in, out);
}

}  // namespace

Result<ModelSpec> parse_model_spec(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!verifier.VerifyBuffer<fb::ModelSpec>(nullptr)) {
    return invalid_argument("model spec: not a valid flatbuffer");
  }
  const auto* from = flatbuffers::GetRoot<fb::ModelSpec>(bytes.data());
  if (from->exec_mode() > ExecMode::MAX) {
    return invalid_argument("model spec: exec_mode is out of range");
  }
  ModelSpec spec;
  spec.name = from->name()->str();
  spec.version = from->version();
  spec.backend = from->backend()->str();
  spec.path = text(from->path());
  spec.intra_op_threads = from->intra_op_threads();
  spec.inter_op_threads = from->inter_op_threads();
  spec.graph_optimization = from->graph_optimization();
  read_providers(*from, spec);
  spec.instances = from->instances();
  spec.queue_requests_max = from->queue_requests_max();
  spec.exec_mode = from->exec_mode();
  spec.inline_us_max = from->inline_us_max();
  spec.null_mode = text(from->null_mode());
  spec.null_delay_us = from->null_delay_us();
  if (from->null_signature() != nullptr) {
    spec.null_signature = read_signature(*from->null_signature());
  }
  return spec;
}

bool write_model_info(const Model& model, ByteBuffer& out) {
  const BackendModelInfo& info = model.info();
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::Signature>> signatures;
  for (const Signature& signature : info.signatures) {
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
  builder.Finish(fb::CreateModelInfo(builder, model.handle(), signatures_at, producer, graph_name,
                                     description, domain, info.model_version, metadata_at,
                                     info.file_bytes, model.load_us(), providers));
  return out.append(builder.GetBufferPointer(), builder.GetSize());
}

bool write_engine_stats(const std::vector<std::shared_ptr<Model>>& models, uint64_t bodies_open,
                        uint64_t tickets_open, ByteBuffer& out) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::ModelStats>> stats;
  for (const std::shared_ptr<Model>& model : models) {
    if (model == nullptr) continue;
    ModelCounters& from = model->counters();
    stats.push_back(fb::CreateModelStats(builder, model->handle(), from.requests_inline.load(),
                                         from.requests_queued.load(), from.failures.load(),
                                         from.cancelled.load(), from.queue_full.load(),
                                         from.queue_ns.load(), from.compute_ns.load()));
  }
  const auto models_at = builder.CreateVector(stats);
  builder.Finish(fb::CreateEngineStats(builder, models_at, copy_count().copied_bytes.load(),
                                       copy_count().viewed_bytes.load(), bodies_open,
                                       tickets_open));
  return out.append(builder.GetBufferPointer(), builder.GetSize());
}

}  // namespace serval
