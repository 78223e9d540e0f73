// The ONNX Runtime library and its one environment: loaded at the first use, kept to the end of the
// process (its threads and arena serve every session). Its telemetry is switched off: set
// ORT_DISABLE_TELEMETRY=1 before other threads start, or the first load does. Control plane; any
// thread, guarded inside.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "backend/onnxruntime/api.h"
#include "base/error.h"

namespace serval::ort {

// What all sessions share. Immutable after it was made; never freed.
struct OrtRuntime {
  const OrtApi* api = nullptr;
  bool has_shape_calls = false;  // the two calls since 1.24 may be used
  std::string version;           // "1.30.0"
  std::string path;
  int intra_op_threads = 0;  // of the shared pool, the calling thread included
  OrtEnv* env = nullptr;
  OrtMemoryInfo* cpu_memory = nullptr;
  OrtAllocator* allocator = nullptr;  // names, metadata, string tensors
};

// The runtime of `library_path` (empty: SERVAL_ORT_LIBRARY), loaded at the first call. The pool
// size is that of the first call (0: the cores that this process may use).
// Errors: runtime_unavailable naming the path, the loader's text, or the version wanted and got.
Result<const OrtRuntime*> acquire_runtime(const std::string& library_path, int intra_op_threads);

struct OrtVersion {
  const OrtApi* api = nullptr;
  bool has_shape_calls = false;
};

// Chooses the function table from a library's entry point. Asks for no version that the library's
// own text rules out, because the library prints to stderr then.
// Errors: runtime_unavailable naming `path`, the version wanted and got.
Result<OrtVersion> choose_api(const OrtApiBase& base, const std::string& path);

// Switches graph optimizers off (names with ";" between, or none) beside those that a model's own
// session options (`config`) switch off. Errors: model_invalid.
Status disable_optimizers(const OrtApi& api,
                          std::span<const std::pair<std::string, std::string>> config,
                          std::string names, OrtSessionOptions* options);

}  // namespace serval::ort
