// The ONNX Runtime library and its one environment: loaded at first use, kept to the end of the
// process (its threads and arena serve every session). Its telemetry is disabled: set
// ORT_DISABLE_TELEMETRY=1 before other threads start, or the first load does it. Control plane; any
// thread, guarded inside.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "backend/onnxruntime/api.h"
#include "base/error.h"

namespace serval::ort {

// The state shared by all sessions. Immutable after it was made; never freed.
struct OrtRuntime {
  const OrtApi* api = nullptr;
  bool has_shape_calls = false;  // the two calls since 1.24 may be used
  std::string version;           // "1.30.0"
  std::string path;
  int intra_op_threads = 0;  // of the shared pool, including the calling thread
  OrtEnv* env = nullptr;
  OrtMemoryInfo* cpu_memory = nullptr;
  OrtAllocator* allocator = nullptr;  // for names, metadata, string tensors
};

// Returns the runtime of `library_path` (empty: SERVAL_ORT_LIBRARY), loaded at the first call. The
// first call sets the pool size (0: the cores that this process may use).
// Errors: runtime_unavailable naming the path, the loader's text, or the required and the actual
// version.
Result<const OrtRuntime*> acquire_runtime(const std::string& library_path, int intra_op_threads);

struct OrtVersion {
  const OrtApi* api = nullptr;
  bool has_shape_calls = false;
};

// Chooses the function table from a library's entry point. Requests no version that the library's
// own text rules out, because the library would print to stderr.
// Errors: runtime_unavailable naming `path`, the required and the actual version.
Result<OrtVersion> choose_api(const OrtApiBase& base, const std::string& path);

// Disables graph optimizers (names separated by ";", or none) in addition to those that a model's
// own session options (`config`) disable. Errors: model_invalid.
Status disable_optimizers(const OrtApi& api,
                          std::span<const std::pair<std::string, std::string>> config,
                          std::string names, OrtSessionOptions* options);

}  // namespace serval::ort
