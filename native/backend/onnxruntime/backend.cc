// The ONNX Runtime backend: makes a loaded model from a ModelSpec. Control plane, the loading
// thread. The hot path is session.cc.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "backend/backend.h"
#include "backend/onnx/contexts.h"
#include "backend/onnx/device_form.h"
#include "backend/onnx/fusions.h"
#include "backend/onnx/guards.h"
#include "backend/onnxruntime/custom_ops.h"
#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/gpu_libraries.h"
#include "backend/onnxruntime/graphs.h"
#include "backend/onnxruntime/library.h"
#include "backend/onnxruntime/node_counts.h"
#include "backend/onnxruntime/session.h"
#include "backend/onnxruntime/signature.h"
#include "backend/onnxruntime/weights.h"

namespace serval::ort {
namespace {

constexpr const char* kCpuProvider = "CPUExecutionProvider";

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

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return copy;
}

bool runs_on_gpu(std::span<const std::string> providers) {
  return std::any_of(providers.begin(), providers.end(), [](const std::string& name) {
    const std::string known = short_provider(name);
    return known == "cuda" || known == "tensorrt";
  });
}

// The library's providers in its own order, best first. Empty if the call fails.
std::vector<std::string> available_providers(const OrtApi& api) {
  std::vector<std::string> names;
  char** list = nullptr;
  int count = 0;
  OrtStatus* failed = api.GetAvailableProviders(&list, &count);
  if (failed == nullptr) {
    names.assign(list, list + count);
    failed = api.ReleaseAvailableProviders(list, count);
  }
  drop_status(api, failed);
  return names;
}

struct OptionList {
  explicit OptionList(const Provider& provider) {
    for (const auto& [key, value] : provider.options) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
  }
  std::vector<const char*> keys, values;
};

OrtStatus* append_cuda(const OrtApi& api, OrtSessionOptions* session, const OptionList& list) {
  OrtHandle<OrtCUDAProviderOptionsV2, &OrtApi::ReleaseCUDAProviderOptions> options(&api);
  OrtStatus* failed = api.CreateCUDAProviderOptions(options.out());
  if (failed == nullptr) {
    failed = api.UpdateCUDAProviderOptions(options.get(), list.keys.data(), list.values.data(),
                                           list.keys.size());
  }
  if (failed != nullptr) return failed;
  return api.SessionOptionsAppendExecutionProvider_CUDA_V2(session, options.get());
}

OrtStatus* append_tensorrt(const OrtApi& api, OrtSessionOptions* session, const OptionList& list) {
  OrtHandle<OrtTensorRTProviderOptionsV2, &OrtApi::ReleaseTensorRTProviderOptions> options(&api);
  OrtStatus* failed = api.CreateTensorRTProviderOptions(options.out());
  if (failed == nullptr) {
    failed = api.UpdateTensorRTProviderOptions(options.get(), list.keys.data(), list.values.data(),
                                               list.keys.size());
  }
  if (failed != nullptr) return failed;
  return api.SessionOptionsAppendExecutionProvider_TensorRT_V2(session, options.get());
}

// The spelling that SessionOptionsAppendExecutionProvider accepts (case-sensitive).
const char* generic_name(const std::string& short_form) {
  constexpr const char* kNames[] = {"QNN",   "SNPE",     "XNNPACK", "OpenVINO", "CoreML",
                                    "AZURE", "VitisAI",  "WebGPU",  "JS",       "DML",
                                    "ACL",   "MIGraphX", "Dnnl"};
  for (const char* name : kNames) {
    if (lower(name) == short_form) return name;
  }
  return nullptr;
}

// Adds one provider; `used` receives the library's name for it.
// Errors: model_invalid naming the provider, and those that the library has.
Status append_provider(const OrtRuntime& runtime, OrtSessionOptions* session,
                       const Provider& provider, std::vector<std::string>& used) {
  const OrtApi& api = *runtime.api;
  const std::string name = short_provider(provider.name);
  const std::vector<std::string> available = available_providers(api);
  const auto known =
      std::find_if(available.begin(), available.end(),
                   [&name](const std::string& other) { return short_provider(other) == name; });
  if (known == available.end()) {
    std::string list;
    for (const std::string& other : available) list += (list.empty() ? "" : ", ") + other;
    return model_invalid("execution provider \"" + provider.name +
                         "\" is not in this ONNX Runtime library; available: " + list);
  }
  if (*known == kCpuProvider) {
    if (provider.options.empty()) return ok_status();  // always present, always last
    return model_invalid("execution provider \"" + provider.name + "\" takes no options, got \"" +
                         provider.options.front().first + "\"");
  }
  const OptionList list(provider);
  OrtStatus* failed = nullptr;
  if (name == "cuda" || name == "tensorrt") open_gpu_libraries(runtime.path, name == "tensorrt");
  if (name == "cuda") {
    failed = append_cuda(api, session, list);
  } else if (name == "tensorrt") {
    failed = append_tensorrt(api, session, list);
  } else {
    const char* generic = generic_name(name);
    failed = api.SessionOptionsAppendExecutionProvider(
        session, generic == nullptr ? provider.name.c_str() : generic, list.keys.data(),
        list.values.data(), list.keys.size());
  }
  if (failed != nullptr) {
    return take_error(api, failed, ErrorCode::ModelInvalid,
                      "execution provider \"" + provider.name + "\"");
  }
  used.push_back(*known);
  return ok_status();
}

// Adds the provider's option for CUDA graphs, unless the configuration sets it itself.
Provider recording(Provider provider) {
  const bool tensorrt = short_provider(provider.name) == "tensorrt";
  provider.options.insert(provider.options.begin(),
                          {tensorrt ? "trt_cuda_graph_enable" : "enable_cuda_graph", "1"});
  return provider;
}

// Sets the session's threads: the shared pool, or its own if the spec sets a number.
OrtStatus* set_threads(const OrtRuntime& runtime, const ModelSpec& spec,
                       OrtSessionOptions* options) {
  const OrtApi& api = *runtime.api;
  if (spec.intra_op_threads == 0 && spec.inter_op_threads == 0) {
    return api.DisablePerSessionThreads(options);
  }
  const int intra = spec.intra_op_threads > 0 ? spec.intra_op_threads : runtime.intra_op_threads;
  OrtStatus* failed = api.SetIntraOpNumThreads(options, intra);
  if (failed == nullptr && spec.inter_op_threads > 0) {
    failed = api.SetSessionExecutionMode(options, ORT_PARALLEL);
    if (failed == nullptr) failed = api.SetInterOpNumThreads(options, spec.inter_op_threads);
  }
  const char* const spin[] = {"session.intra_op.allow_spinning", "session.inter_op.allow_spinning"};
  for (const char* key : spin) {
    if (failed == nullptr) failed = api.AddSessionConfigEntry(options, key, "0");
  }
  return failed;
}

// Applies a configuration's session options: two switches with Triton's names, and ONNX Runtime's
// keys, which contain a dot ("session.set_denormal_as_zero"). Source: Triton's backend.
Status set_session_config(const OrtApi& api, const ModelSpec& spec, OrtSessionOptions* options) {
  for (const auto& [key, value] : spec.session_config) {
    OrtStatus* failed = nullptr;
    const bool on = value == "1" || value == "true";
    if (key == "enable_mem_arena") {
      if (!on) {
        failed = api.DisableCpuMemArena(options);
        if (failed == nullptr) {
          failed = api.AddSessionConfigEntry(options, "session.use_env_allocators", "0");
        }
      }
    } else if (key == "enable_mem_pattern") {
      if (on) failed = api.EnableMemPattern(options);
    } else if (key.find('.') != std::string::npos) {
      failed = api.AddSessionConfigEntry(options, key.c_str(), value.c_str());
    } else {
      return model_invalid("unknown session option '" + key +
                           "': expected enable_mem_arena, enable_mem_pattern or a key of ONNX "
                           "Runtime's own, such as session.set_denormal_as_zero");
    }
    if (failed != nullptr) {
      return take_error(api, failed, ErrorCode::ModelInvalid, "session option '" + key + "'");
    }
  }
  return ok_status();
}

// Disables the memory pattern: the runtime keeps one for each combination of input shapes, forever,
// and clients choose the shapes. It costs nothing (AMD EPYC, ORT 1.30: half_plus_three 1502 ns
// without, 1616 with; MLP 784-512-10 at batch 32 117 us both).
Status set_options(const OrtRuntime& runtime, const ModelSpec& spec, OrtSessionOptions* options,
                   std::vector<std::string>& providers) {
  const OrtApi& api = *runtime.api;
  const int level = spec.graph_optimization;
  if (level != ORT_DISABLE_ALL && level != ORT_ENABLE_BASIC && level != ORT_ENABLE_EXTENDED &&
      level != ORT_ENABLE_ALL) {
    return model_invalid("graph optimization level: expected 0, 1, 2 or 99, got " +
                         std::to_string(level));
  }
  if (spec.intra_op_threads < 0 || spec.inter_op_threads < 0) {
    return model_invalid("threads: expected 0 or more, got intra " +
                         std::to_string(spec.intra_op_threads) + ", inter " +
                         std::to_string(spec.inter_op_threads));
  }
  OrtStatus* failed =
      api.SetSessionGraphOptimizationLevel(options, static_cast<GraphOptimizationLevel>(level));
  if (failed == nullptr) failed = set_threads(runtime, spec, options);
  if (failed == nullptr) failed = api.DisableMemPattern(options);
  if (failed == nullptr) {
    failed = api.AddSessionConfigEntry(options, "session.use_env_allocators", "1");
  }
  if (failed != nullptr) {
    return take_error(api, failed, ErrorCode::ModelInvalid, "session options");
  }
  if (Status set = set_session_config(api, spec, options); !set.ok()) return set;
  bool records = !spec.graph_rows.empty();
  for (const Provider& provider : spec.providers) {
    // The first GPU provider records its runs; the runtime requires that it runs the whole model.
    const bool first = records && runs_on_gpu({&provider.name, 1});
    Status status =
        append_provider(runtime, options, first ? recording(provider) : provider, providers);
    if (!status.ok()) return status;
    if (first) records = false;
  }
  if (!providers.empty()) {
    failed = record_nodes(runtime, options);
    if (failed != nullptr) {
      return take_error(api, failed, ErrorCode::ModelInvalid, "session options");
    }
  }
  providers.push_back(kCpuProvider);
  return ok_status();
}

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

Result<std::shared_ptr<BackendModel>> load_model(const OrtRuntime& runtime, const ModelSpec& spec) {
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
  Status status = admit_contexts(runtime, spec, model.value(), options.get());
  if (status.ok()) {
    status = about_contexts(set_options(runtime, spec, options.get(), info.providers),
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
  if (!status.ok()) return std::move(status.error());
  SessionHandle session(&api);
  failed = create_session(runtime, spec.path, model.value(), options.get(), session);
  if (failed != nullptr) return refused(api, failed, spec.path);
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
                                 GraphNames{}, nullptr, std::move(gpu), spec.graph_rows);
  return std::shared_ptr<BackendModel>(loaded, loaded->model.get());
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
                                             const std::shared_ptr<StateSet>& states) {
  const OrtApi& api = *runtime.api;
  const std::string where = "signature '" + graph.signature.name + "'";
  BackendModelInfo info;
  std::unique_ptr<GpuDevice> gpu = GpuDevice::of(runtime, spec.providers);
  if (gpu != nullptr) gpu::use_device(*gpu->calls, gpu->device);
  SessionOptionsHandle options(&api);
  OrtStatus* failed = api.CreateSessionOptions(options.out());
  if (failed != nullptr) return take_error(api, failed, ErrorCode::ModelInvalid, where);
  Status status = set_options(runtime, spec, options.get(), info.providers);
  const auto checks = spec.graph_rows.empty() ? IndexChecks::Keep : IndexChecks::Drop;
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
  SessionHandle session(&api);
  {
    SessionTurn turn(custom);
    failed = create_twice(api, [&] {
      return api.CreateSessionFromArray(runtime.env, model.data(), model.size(), options.get(),
                                        session.out());
    });
    if (failed == nullptr) turn.made();
  }
  if (failed != nullptr) return take_error(api, failed, ErrorCode::ModelInvalid, where);
  info.signatures.push_back(graph.signature);
  const bool cpu_only = info.providers.size() == 1;
  if (!cpu_only) count_nodes(runtime, *session.get(), info.nodes);
  std::unique_ptr<StateUses> uses;
  if (!graph.states.empty()) uses = std::make_unique<StateUses>(states, graph.states);
  if (uses != nullptr) gpu.reset();  // states stay on the host
  return std::make_unique<OrtModel>(runtime, std::move(session), std::move(info), cpu_only,
                                    GraphNames{graph.input_names, graph.output_names},
                                    std::move(uses), std::move(gpu), spec.graph_rows);
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
        load_graph(runtime, spec, graph, *weights, states.value());
    if (!loaded.ok()) return std::move(loaded.error());
    info.file_bytes += static_cast<int64_t>(graph.model.size());
    info.providers = loaded.value()->info().providers;
    add_nodes(loaded.value()->info().nodes, info.nodes);
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
    if (!spec.graphs.empty()) return load_graphs(*runtime.value(), spec);
    return load_model(*runtime.value(), spec);
  }

 private:
  const std::string library_path_;
  const int intra_op_threads_;
};

}  // namespace
}  // namespace serval::ort

namespace serval {

std::unique_ptr<Backend> make_onnxruntime_backend(std::string library_path, int intra_op_threads) {
  return std::make_unique<ort::OnnxRuntimeBackend>(std::move(library_path), intra_op_threads);
}

}  // namespace serval
