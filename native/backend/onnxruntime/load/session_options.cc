// Sets a session's providers, threads and options from a model's spec.
#include "backend/onnxruntime/load/session_options.h"

#include <algorithm>
#include <cctype>

#include "backend/onnx/contexts.h"
#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/gpu_libraries.h"
#include "backend/onnxruntime/load/node_counts.h"

namespace serval::ort {
namespace {

constexpr const char* kCpuProvider = "CPUExecutionProvider";

Error bad_option(std::string message) {
  return make_error(ErrorCode::ModelInvalid, std::move(message));
}

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return copy;
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
    return bad_option("execution provider \"" + provider.name +
                      "\" is not in this ONNX Runtime library; available: " + list);
  }
  if (*known == kCpuProvider) {
    if (provider.options.empty()) return ok_status();  // always present, always last
    return bad_option("execution provider \"" + provider.name + "\" takes no options, got \"" +
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
      return bad_option("unknown session option '" + key +
                        "': expected enable_mem_arena, enable_mem_pattern or a key of ONNX "
                        "Runtime's own, such as session.set_denormal_as_zero");
    }
    if (failed != nullptr) {
      return take_error(api, failed, ErrorCode::ModelInvalid, "session option '" + key + "'");
    }
  }
  return ok_status();
}

}  // namespace

bool runs_on_gpu(std::span<const std::string> providers) {
  return std::any_of(providers.begin(), providers.end(), [](const std::string& name) {
    const std::string known = short_provider(name);
    return known == "cuda" || known == "tensorrt";
  });
}

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

// Disables the memory pattern: the runtime keeps one for each combination of input shapes, forever,
// and clients choose the shapes. It costs nothing (AMD EPYC, ORT 1.30: half_plus_three 1502 ns
// without, 1616 with; MLP 784-512-10 at batch 32 117 us both).
Status set_options(const OrtRuntime& runtime, const ModelSpec& spec, bool records,
                   OrtSessionOptions* options, std::vector<std::string>& providers) {
  const OrtApi& api = *runtime.api;
  const int level = spec.graph_optimization;
  if (level != ORT_DISABLE_ALL && level != ORT_ENABLE_BASIC && level != ORT_ENABLE_EXTENDED &&
      level != ORT_ENABLE_ALL) {
    return bad_option("graph optimization level: expected 0, 1, 2 or 99, got " +
                      std::to_string(level));
  }
  if (spec.intra_op_threads < 0 || spec.inter_op_threads < 0) {
    return bad_option("threads: expected 0 or more, got intra " +
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

}  // namespace serval::ort
