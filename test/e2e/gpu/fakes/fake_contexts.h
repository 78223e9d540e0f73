// EPContext nodes as ONNX Runtime's TensorRT provider handles them, on the CPU: an "engine" is
// "ftrt" followed by an ONNX model, from which the session is made in place of the whole model.
// Only if the provider is in the session's options, with the provider's rules for paths and its
// messages. Part of fake_gpu_runtime.cc. Source:
// onnxruntime/core/providers/tensorrt/onnx_ctx_model_helper.cc.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "backend/onnx/model.h"
#include "backend/onnxruntime/api.h"

namespace fake_contexts {

using namespace serval::ort;  // NOLINT: reads ONNX files
using serval::WireField;

struct State {
  std::mutex mutex;
  std::set<const OrtSessionOptions*> tensorrt;
  std::map<const OrtSessionOptions*, std::string> folders;  // of models given as bytes
  OrtApi below;                                             // the table's original entries
};
inline State& state() {
  static auto* one = new State;
  return *one;
}

using Attributes = std::map<std::string, std::string>;

inline void add_attribute(Bytes attribute, Attributes& attributes) {
  std::string name, value;
  for_fields(attribute, [&](const WireField& field) {
    if (field.number() == 1) name = text_of(field);
    if (field.number() == 3) value = std::to_string(field.value);
    if (field.number() == 4) value = text_of(field);
    return true;
  });
  attributes[name] = value;
}

// The attributes of an EPContext node of the top-level graph.
inline std::optional<Attributes> find_node(Bytes model) {
  std::optional<Attributes> found;
  const auto node = [&found](Bytes bytes) {
    std::string op;
    Attributes attributes;
    for_fields(bytes, [&](const WireField& field) {
      if (field.number() == 4) op = text_of(field);
      if (field.number() == 5) add_attribute(field.bytes, attributes);
      return true;
    });
    if (op == "EPContext") found = attributes;
  };
  for_fields(model, [&node](const WireField& graph) {
    return graph.number() != 7 || for_fields(graph.bytes, [&node](const WireField& field) {
             if (field.number() == 1) node(field.bytes);
             return true;
           });
  });
  return found;
}

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads the engine's ONNX model, or returns the provider's error.
inline OrtStatus* read_engine(Attributes& node, const std::string& folder, std::string& engine) {
  const OrtApi& api = state().below;
  const auto fail = [&api](const std::string& text) {
    return api.CreateStatus(ORT_EP_FAIL, text.c_str());
  };
  const std::string source = node["source"], text = node["ep_cache_context"];
  if (!source.empty() && source != "TensorrtExecutionProvider") {
    return fail("Could not find an implementation for EPContext(1) node");
  }
  if (node["embed_mode"] != "0") {
    engine = text;
  } else {
    if (text.starts_with('/')) return fail("it is an absolute path: " + text);
    if (text.find("..") != std::string::npos) return fail("ep_cache_context attribute has '..'");
    const auto path = std::filesystem::path(folder) / text;
    if (!std::filesystem::exists(path)) {
      return fail("TensorRT EP can't find engine cache: " + path.string());
    }
    engine = content_of(path);
  }
  if (!engine.starts_with("ftrt")) return fail("TensorRT EP could not deserialize engine");
  engine.erase(0, 4);
  return nullptr;
}

// Makes a session from the engine that `model` contains; false if it contains none, or if TensorRT
// is missing.
inline bool create(const OrtEnv* env, Bytes model, const std::string& folder,
                   const OrtSessionOptions* options, OrtSession** out, OrtStatus*& failed) {
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    if (!state().tensorrt.contains(options)) return false;
  }
  auto node = find_node(model);
  if (!node) return false;
  std::string engine;
  failed = read_engine(*node, folder, engine);
  if (failed == nullptr) {
    failed = state().below.CreateSessionFromArray(env, engine.data(), engine.size(), options, out);
  }
  return true;
}

// Must be called together with the other changes to the table.
inline void fill_table(OrtApi& table) {
  state().below = table;
  table.SessionOptionsAppendExecutionProvider_TensorRT_V2 =
      [](OrtSessionOptions* options, const OrtTensorRTProviderOptionsV2* provider) noexcept {
        const std::lock_guard<std::mutex> lock(state().mutex);
        state().tensorrt.insert(options);
        return state().below.SessionOptionsAppendExecutionProvider_TensorRT_V2(options, provider);
      };
  table.AddSessionConfigEntry = [](OrtSessionOptions* options, const char* key,
                                   const char* value) noexcept {
    const std::lock_guard<std::mutex> lock(state().mutex);
    const std::string folder = "session.model_external_initializers_file_folder_path";
    if (key == folder) state().folders[options] = value;
    return state().below.AddSessionConfigEntry(options, key, value);
  };
  table.ReleaseSessionOptions = [](OrtSessionOptions* options) {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().tensorrt.erase(options);
    state().folders.erase(options);
    state().below.ReleaseSessionOptions(options);
  };
  table.CreateSession = [](const OrtEnv* env, const char* path, const OrtSessionOptions* options,
                           OrtSession** out) noexcept {
    const std::string model = content_of(path);
    const auto folder = std::filesystem::path(path).parent_path();
    OrtStatus* failed = nullptr;
    if (create(env, bytes_of(model), folder, options, out, failed)) return failed;
    return state().below.CreateSession(env, path, options, out);
  };
  table.CreateSessionFromArray = [](const OrtEnv* env, const void* data, size_t bytes,
                                    const OrtSessionOptions* options, OrtSession** out) noexcept {
    std::string folder;
    {
      const std::lock_guard<std::mutex> lock(state().mutex);
      const auto known = state().folders.find(options);
      if (known != state().folders.end()) folder = known->second;
    }
    OrtStatus* failed = nullptr;
    const Bytes model(static_cast<const uint8_t*>(data), bytes);
    if (create(env, model, folder, options, out, failed)) return failed;
    return state().below.CreateSessionFromArray(env, data, bytes, options, out);
  };
}

}  // namespace fake_contexts
