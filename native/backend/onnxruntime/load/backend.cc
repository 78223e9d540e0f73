// The ONNX Runtime backend: makes a loaded model from a ModelSpec. Control plane, the loading
// thread. The hot path is session.cc.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "backend/backend.h"
#include "backend/onnx/contexts.h"
#include "backend/onnx/device_form.h"
#include "backend/onnx/fusions.h"
#include "backend/onnx/guards.h"
#include "backend/onnxruntime/arena.h"
#include "backend/onnxruntime/custom_ops.h"
#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/graphs.h"
#include "backend/onnxruntime/library.h"
#include "backend/onnxruntime/load/graph_choice.h"
#include "backend/onnxruntime/load/node_counts.h"
#include "backend/onnxruntime/load/operator_libraries.h"
#include "backend/onnxruntime/load/session_options.h"
#include "backend/onnxruntime/session.h"
#include "backend/onnxruntime/signature.h"
#include "backend/onnxruntime/weights.h"

namespace serval::ort {
namespace {

Error model_invalid(std::string message) {
  return make_error(ErrorCode::ModelInvalid, std::move(message));
}

// Returns the model file's size; external data next to it is counted when it is read.
Result<int64_t> check_file(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return model_invalid("model file " + path + ": " + std::strerror(errno));
  }
  if (S_ISDIR(info.st_mode)) {
    return model_invalid("model file " + path + ": is a directory, expected an ONNX file");
  }
  if (!S_ISREG(info.st_mode))
    return model_invalid("model file " + path + ": is not a regular file");
  if (access(path.c_str(), R_OK) != 0) {
    return model_invalid("model file " + path + ": " + std::strerror(errno));
  }
  if (info.st_size == 0) return model_invalid("model file " + path + ": is empty");
  return static_cast<int64_t>(info.st_size);
}

// A model and the memory that its session reads, which has to be freed after it.
struct ModelWithWeights {
  std::unique_ptr<SharedWeights> weights;
  std::unique_ptr<OrtModel> model;
};

// The error of a refused model: the runtime's text, without the path that our text begins with.
Error refused(const OrtApi& api, OrtStatus* failed, const std::string& path) {
  const bool no_protobuf = api.GetErrorCode(failed) == ORT_INVALID_PROTOBUF;
  Error error = take_error(api, failed, ErrorCode::ModelInvalid, "model file " + path);
  const std::string repeated = "Load model from " + path + " failed:";
  const size_t at = error.message.find(repeated);
  if (at != std::string::npos) error.message.erase(at, repeated.size());
  if (no_protobuf) error.message += " The file is not ONNX, or it is cut short.";
  return error;
}

// Makes a session with `create`; retries once if other work of the device made it fail (see
// gpu::met_recording).
template <typename Create>
OrtStatus* create_twice(const OrtApi& api, const Create& create) {
  OrtStatus* failed = create();
  if (failed == nullptr || !gpu::met_recording(api.GetErrorMessage(failed))) return failed;
  drop_status(api, failed);
  return create();
}

OrtStatus* create_session(const OrtRuntime& runtime, const std::string& path,
                          const ReadModel& model, OrtSessionOptions* options,
                          SessionHandle& session) {
  const OrtApi& api = *runtime.api;
  SessionTurn turn(model.custom_ops);
  OrtStatus* failed = create_twice(api, [&] {
    return model.bytes.empty()
               ? api.CreateSession(runtime.env, path.c_str(), options, session.out())
               : api.CreateSessionFromArray(runtime.env, model.bytes.data(), model.bytes.size(),
                                            options, session.out());
  });
  if (failed == nullptr) turn.made();
  return failed;
}

void name_classes(ReadModel& model, Signature& signature) {
  for (ClassOutput& output : model.classes) {
    const int index = signature.find_output(output.name);
    if (index >= 0) signature.outputs[static_cast<size_t>(index)].labels = std::move(output.labels);
  }
}

// Sets up what precompiled parts of the model need: their provider, and the model's folder, which a
// session made from bytes would not know.
Status admit_contexts(const OrtRuntime& runtime, const ModelSpec& spec, const ReadModel& model,
                      OrtSessionOptions* options) {
  if (model.contexts.empty()) return ok_status();
  const OrtApi& api = *runtime.api;
  std::vector<std::string> asked;
  for (const Provider& provider : spec.providers) asked.push_back(provider.name);
  Status status = check_contexts(model.contexts, spec.path, asked, available_providers(api));
  if (!status.ok() || model.bytes.empty()) return status;
  const size_t end = spec.path.find_last_of('/');
  const std::string folder = end == std::string::npos ? "." : spec.path.substr(0, end + 1);
  OrtStatus* failed = api.AddSessionConfigEntry(
      options, "session.model_external_initializers_file_folder_path", folder.c_str());
  if (failed == nullptr) return ok_status();
  return take_error(api, failed, ErrorCode::ModelInvalid, "model file " + spec.path);
}

// Extends an error of the providers' options with the node of the model that needs one of them.
Status about_contexts(Status status, const ReadModel& model, const std::string& path) {
  if (status.ok() || model.contexts.empty()) return status;
  const ContextNode& node = model.contexts.front();
  Error& error = status.error();
  error.message = context_text(node, path) + ": " + error.message;
  error.message += context_remedy(node);
  return status;
}

// `choice`: whether graphs are out of the question; receives how the model runs on a GPU.
Result<std::shared_ptr<BackendModel>> load_file(const OrtRuntime& runtime, const ModelSpec& spec,
                                                GraphChoice& choice) {
  const OrtApi& api = *runtime.api;
  const std::string where = "model file " + spec.path;
  BackendModelInfo info;
  Result<int64_t> file_bytes = check_file(spec.path);
  if (!file_bytes.ok()) return std::move(file_bytes.error());
  info.file_bytes = file_bytes.value();

  std::unique_ptr<GpuDevice> gpu = GpuDevice::of(runtime, spec.providers);
  const DeviceMemory memory(gpu.get());
  SessionOptionsHandle options(&api);
  OrtStatus* failed = api.CreateSessionOptions(options.out());
  if (failed != nullptr) return take_error(api, failed, ErrorCode::ModelInvalid, where);
  Result<ReadModel> model = read_model(spec.path);
  if (!model.ok()) return std::move(model.error());
  choice.decide(spec, gpu != nullptr, model.value().shapes);
  Status status = admit_contexts(runtime, spec, model.value(), options.get());
  if (status.ok()) {
    status = about_contexts(
        set_options(runtime, spec, !choice.graph_rows.empty(), options.get(), info.providers),
        model.value(), spec.path);
  }
  if (status.ok()) {
    status = disable_optimizers(api, spec.session_config, model.value().fusions_off, options.get());
  }
  if (!status.ok()) return std::move(status.error());
  auto loaded = std::make_shared<ModelWithWeights>();
  loaded->weights = std::make_unique<SharedWeights>(runtime);
  status = loaded->weights->read_all(model.value(), options.get());
  if (!status.ok()) return std::move(status.error());
  info.file_bytes += loaded->weights->bytes();
  if (model.value().custom_ops) status = add_custom_ops(runtime, options.get());
  if (status.ok()) status = add_operator_libraries(runtime, spec, options.get());
  if (!status.ok()) return std::move(status.error());
  const auto create = [&](SessionHandle& session) {
    return create_session(runtime, spec.path, model.value(), options.get(), session);
  };
  SessionHandle session(&api);
  failed = create(session);
  if (failed != nullptr) return about_operators(refused(api, failed, spec.path), spec);
  std::vector<SizedSession> sizes = choice.make_sizes(api, create);
  loaded->weights->drop_copied();
  Result<Signature> signature = read_signature(runtime, *session.get(), info.notes);
  if (!signature.ok()) status = std::move(signature.error());
  if (status.ok()) status = read_metadata(runtime, *session.get(), info);
  if (!status.ok()) {
    status.error().message = where + ": " + status.error().message;
    return std::move(status.error());
  }
  info.signatures.push_back(std::move(signature.value()));
  info.rows.push_back(model.value().rows);
  name_classes(model.value(), info.signatures[0]);
  const bool cpu_only = info.providers.size() == 1;
  info.on_gpu = runs_on_gpu(info.providers);
  info.device_bytes = memory.taken();
  if (!cpu_only) count_nodes(runtime, *session.get(), info.nodes);
  loaded->model =
      std::make_unique<OrtModel>(runtime, std::move(session), std::move(info), cpu_only,
                                 GraphNames{}, nullptr, std::move(gpu), choice.graph_rows);
  choice.prepare(std::move(sizes), *loaded->model);
  return std::shared_ptr<BackendModel>(loaded, loaded->model.get());
}

Result<std::shared_ptr<BackendModel>> load_model(const OrtRuntime& runtime, const ModelSpec& spec) {
  return load_by_choice<std::shared_ptr<BackendModel>>(
      spec, [&](GraphChoice& choice) { return load_file(runtime, spec, choice); });
}

// The initial values of the state: copies, because a run replaces them.
Result<std::shared_ptr<StateSet>> make_states(const OrtRuntime& runtime, const ModelSpec& spec,
                                              const SharedWeights& weights) {
  auto set = std::make_shared<StateSet>();
  const OrtApi& api = *runtime.api;
  for (const uint32_t index : spec.states) {
    const Weight& weight = spec.weights[index];
    ValueHandle& value = set->values.emplace_back(&api);
    void *to = nullptr, *from = nullptr;
    OrtStatus* failed =
        api.CreateTensorAsOrtValue(runtime.allocator, weight.dims.data(), weight.dims.size(),
                                   element_type_of(weight.datatype), value.out());
    if (failed == nullptr) failed = api.GetTensorMutableData(value.get(), &to);
    if (failed == nullptr) {
      failed = api.GetTensorMutableData(const_cast<OrtValue*>(weights.at(index)), &from);
    }
    if (failed != nullptr) {
      return take_error(api, failed, ErrorCode::ModelInvalid, "state '" + weight.name + "'");
    }
    if (weight.bytes > 0) std::memcpy(to, from, weight.bytes);
  }
  return set;
}

Result<std::unique_ptr<OrtModel>> load_graph(const OrtRuntime& runtime, const ModelSpec& spec,
                                             const GraphSpec& graph, const SharedWeights& weights,
                                             const std::shared_ptr<StateSet>& states,
                                             GraphChoice& choice) {
  const OrtApi& api = *runtime.api;
  const std::string where = "signature '" + graph.signature.name + "'";
  BackendModelInfo info;
  std::unique_ptr<GpuDevice> gpu = GpuDevice::of(runtime, spec.providers);
  if (gpu != nullptr) gpu::use_device(*gpu->calls, gpu->device);
  SessionOptionsHandle options(&api);
  OrtStatus* failed = api.CreateSessionOptions(options.out());
  if (failed != nullptr) return take_error(api, failed, ErrorCode::ModelInvalid, where);
  choice.decide(spec, gpu != nullptr, device_shapes(graph.model, graph.signature));
  const bool records = !choice.graph_rows.empty();
  Status status = set_options(runtime, spec, records, options.get(), info.providers);
  const auto checks = records ? IndexChecks::Drop : IndexChecks::Keep;
  const std::string form = runs_on_gpu(info.providers) ? device_form(graph.model, checks) : "";
  const Bytes given = form.empty() ? Bytes(graph.model) : bytes_of(form);
  Result<GuardedModel> guarded = guard_model(given, Divisions::AreSafe);
  if (!guarded.ok()) return std::move(guarded.error());
  const Bytes model = guarded.value().guards > 0 ? bytes_of(guarded.value().bytes) : given;
  const bool custom = guarded.value().custom_ops;
  const std::string off = fusions_to_disable(model);
  if (status.ok()) status = disable_optimizers(api, spec.session_config, off, options.get());
  if (status.ok() && custom) status = add_custom_ops(runtime, options.get());
  if (status.ok()) status = weights.add_to(spec, graph, options.get());
  if (!status.ok()) return std::move(status.error());
  const auto create = [&](SessionHandle& session) {
    SessionTurn turn(custom);
    OrtStatus* const problem = create_twice(api, [&] {
      return api.CreateSessionFromArray(runtime.env, model.data(), model.size(), options.get(),
                                        session.out());
    });
    if (problem == nullptr) turn.made();
    return problem;
  };
  SessionHandle session(&api);
  failed = create(session);
  if (failed != nullptr) return take_error(api, failed, ErrorCode::ModelInvalid, where);
  std::vector<SizedSession> sizes = choice.make_sizes(api, create);
  info.signatures.push_back(graph.signature);
  const bool cpu_only = info.providers.size() == 1;
  if (!cpu_only) count_nodes(runtime, *session.get(), info.nodes);
  std::unique_ptr<StateUses> uses;
  if (!graph.states.empty()) uses = std::make_unique<StateUses>(states, graph.states);
  if (uses != nullptr) gpu.reset();  // states stay on the host
  auto loaded = std::make_unique<OrtModel>(runtime, std::move(session), std::move(info), cpu_only,
                                           GraphNames{graph.input_names, graph.output_names},
                                           std::move(uses), std::move(gpu), choice.graph_rows);
  choice.prepare(std::move(sizes), *loaded);
  return loaded;
}

// Whether a session of one can serve the other: same names and datatypes in the same order.
bool same_tensors(const Signature& a, const Signature& b) {
  const auto same = [](const TensorSpec& x, const TensorSpec& y) {
    return x.name == y.name && x.dtype == y.dtype;
  };
  return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), same) &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), same);
}

// The first graph that equals graph `index`, or `index`: Keras writes two identical signatures,
// serve and serving_default.
size_t same_graph(const ModelSpec& spec, size_t index) {
  const GraphSpec& graph = spec.graphs[index];
  for (size_t i = 0; i < index; ++i) {
    const GraphSpec& other = spec.graphs[i];
    const bool same = other.model == graph.model && other.weights == graph.weights &&
                      other.input_names == graph.input_names &&
                      other.output_names == graph.output_names && graph.states.empty() &&
                      other.states.empty() && same_tensors(other.signature, graph.signature);
    if (same) return i;
  }
  return index;
}

Result<std::shared_ptr<BackendModel>> load_graphs(const OrtRuntime& runtime,
                                                  const ModelSpec& spec) {
  if (!spec.states.empty() && spec.devices.size() > 1) {
    return model_invalid("the model keeps state between requests: it can run on one device only");
  }
  auto weights = std::make_unique<SharedWeights>(runtime);
  Status read = weights->read(spec);
  if (!read.ok()) return std::move(read.error());
  Result<std::shared_ptr<StateSet>> states = make_states(runtime, spec, *weights);
  if (!states.ok()) return std::move(states.error());
  BackendModelInfo info;
  info.file_bytes = weights->bytes();
  info.stateful = !spec.states.empty();
  const std::unique_ptr<GpuDevice> gpu = GpuDevice::of(runtime, spec.providers);
  const DeviceMemory memory(gpu.get());
  std::vector<std::shared_ptr<OrtModel>> graphs;
  for (size_t i = 0; i < spec.graphs.size(); ++i) {
    const GraphSpec& graph = spec.graphs[i];
    info.signatures.push_back(graph.signature);
    info.rows.push_back(weights->prove_rows(spec, graph));
    if (const size_t twin = same_graph(spec, i); twin < i) {
      graphs.push_back(graphs[twin]);
      continue;
    }
    Result<std::unique_ptr<OrtModel>> loaded =
        load_by_choice<std::unique_ptr<OrtModel>>(spec, [&](GraphChoice& choice) {
          return load_graph(runtime, spec, graph, *weights, states.value(), choice);
        });
    if (!loaded.ok()) return std::move(loaded.error());
    info.file_bytes += static_cast<int64_t>(graph.model.size());
    info.providers = loaded.value()->info().providers;
    add_nodes(loaded.value()->info().nodes, info.nodes);
    add_device_runs(loaded.value()->info().device_runs, info.device_runs);
    info.on_gpu = runs_on_gpu(info.providers);
    info.takes_device_memory =
        loaded.value()->info().takes_device_memory && (i == 0 || info.takes_device_memory);
    graphs.push_back(std::move(loaded.value()));
  }
  info.device_bytes = memory.taken();
  return std::shared_ptr<BackendModel>(
      std::make_shared<OrtGraphs>(std::move(info), std::move(weights), std::move(graphs)));
}

class OnnxRuntimeBackend final : public Backend {
 public:
  OnnxRuntimeBackend(std::string library_path, int intra_op_threads)
      : library_path_(std::move(library_path)), intra_op_threads_(intra_op_threads) {}

  Result<std::shared_ptr<BackendModel>> load(const ModelSpec& spec) override {
    Result<const OrtRuntime*> runtime = acquire_runtime(library_path_, intra_op_threads_);
    if (!runtime.ok()) return std::move(runtime.error());
    runtime_.store(runtime.value());
    if (!spec.graphs.empty()) return load_graphs(*runtime.value(), spec);
    return load_model(*runtime.value(), spec);
  }

  // The first load starts the threads that all sessions share.
  bool loads_quietly(const ModelSpec& spec) const override {
    return runtime_.load() != nullptr && spec.providers.empty() && spec.intra_op_threads == 0 &&
           spec.inter_op_threads == 0;
  }

  void release_unused() override {
    if (const OrtRuntime* runtime = runtime_.load()) release_arena(*runtime);
  }

 private:
  const std::string library_path_;
  const int intra_op_threads_;
  std::atomic<const OrtRuntime*> runtime_{nullptr};  // once it is loaded
};

}  // namespace
}  // namespace serval::ort

namespace serval {

std::unique_ptr<Backend> make_onnxruntime_backend(std::string library_path, int intra_op_threads) {
  return std::make_unique<ort::OnnxRuntimeBackend>(std::move(library_path), intra_op_threads);
}

}  // namespace serval
