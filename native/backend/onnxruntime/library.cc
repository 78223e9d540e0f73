// Loads the library and makes its environment. Control plane.
#include "backend/onnxruntime/library.h"

#include <dlfcn.h>
#include <sched.h>

#include <charconv>
#include <climits>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "backend/onnxruntime/error.h"

namespace serval::ort {
namespace {

constexpr const char* kPathVariable = "SERVAL_ORT_LIBRARY";
constexpr const char* kTelemetryVariable = "ORT_DISABLE_TELEMETRY";

Error unavailable(std::string message) {
  return make_error(ErrorCode::RuntimeUnavailable, std::move(message));
}

// The minor number of "1.30.0", or -1 if the text is not of major version 1.
int minor_version(std::string_view version) {
  int minor = -1;
  if (!version.starts_with("1.")) return -1;
  const std::from_chars_result parsed =
      std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return parsed.ec == std::errc() ? minor : -1;
}

Result<std::string> resolve_path(const std::string& given) {
  std::string path = given;
  if (path.empty()) {
    const char* variable = std::getenv(kPathVariable);
    if (variable == nullptr || *variable == '\0') {
      return unavailable(std::string("no ONNX Runtime library was named: give its path or set ") +
                         kPathVariable);
    }
    path = variable;
  }
  // A bare name is left to the loader. A path is made canonical, so that two spellings of one file
  // are one runtime; one that does not exist is left to dlopen, whose error text is the best.
  if (path.find('/') == std::string::npos) return path;
  char* canonical = realpath(path.c_str(), nullptr);
  if (canonical == nullptr) return path;
  path = canonical;
  std::free(canonical);
  return path;
}

// The number of cores that this process may use; containers and taskset reduce it.
int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  const unsigned hardware = std::thread::hardware_concurrency();  // over 1024 cores
  return hardware == 0 ? 1 : static_cast<int>(hardware);
}

// Disables telemetry. Official Linux builds since 1.29 send model names, graph hashes and machine
// data to their maker unless this variable is set before the library makes its environment, and
// queue them in the user's cache directory. A server must not do that unasked: always off. setenv()
// is unsafe while other threads call getenv(), so a variable that the process itself has set early
// is left alone.
// Source: ONNX Runtime's docs/Privacy.md, "Disabling telemetry".
void forbid_telemetry() {
  const char* value = std::getenv(kTelemetryVariable);
  if (value == nullptr || std::string_view(value) != "1") setenv(kTelemetryVariable, "1", 1);
}

// Symbols stay local: the process may contain another ONNX Runtime (that of a Python or Node
// binding).
Result<const OrtApiBase*> open_library(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return unavailable("cannot load the ONNX Runtime library " + path + ": " +
                       (reason == nullptr ? "no reason given" : reason));
  }
  const auto entry = reinterpret_cast<OrtGetApiBaseFunction>(dlsym(library, "OrtGetApiBase"));
  if (entry == nullptr) {
    dlclose(library);
    return unavailable("not an ONNX Runtime library: " + path + " has no function OrtGetApiBase");
  }
  const OrtApiBase* base = entry();
  if (base == nullptr || base->GetApi == nullptr || base->GetVersionString == nullptr) {
    return unavailable("not a usable ONNX Runtime library: OrtGetApiBase of " + path +
                       " gives no function table");
  }
  return base;
}

// Makes the environment with the pool and the arena that all sessions share. Spinning is off: an
// idle server's threads sleep, and a listener on the same core is not starved. Measured (AMD EPYC,
// ORT 1.30): the shared arena costs a session nothing compared with its own arena (half_plus_three
// 1616 ns and 1617 ns per bare Run). No arena at all would save 100 ns there, but a chain of
// operators on 8 MB tensors takes 2.5 ms instead of 2.1, on 64 MB 130 ms instead of 50.
OrtStatus* make_environment(OrtRuntime& runtime) {
  const OrtApi& api = *runtime.api;
  ThreadingOptionsHandle threading(&api);
  OrtStatus* status = api.CreateThreadingOptions(threading.out());
  if (status == nullptr) {
    status = api.SetGlobalIntraOpNumThreads(threading.get(), runtime.intra_op_threads);
  }
  if (status == nullptr) status = api.SetGlobalInterOpNumThreads(threading.get(), 1);
  if (status == nullptr) status = api.SetGlobalSpinControl(threading.get(), 0);
  if (status == nullptr) {
    status = api.CreateEnvWithCustomLoggerAndGlobalThreadPools(
        collect_log, nullptr, ORT_LOGGING_LEVEL_ERROR, "serval", threading.get(), &runtime.env);
  }
  if (status == nullptr) status = api.DisableTelemetryEvents(runtime.env);
  if (status == nullptr) {
    status = api.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &runtime.cpu_memory);
  }
  if (status == nullptr) {
    status = api.CreateAndRegisterAllocator(runtime.env, runtime.cpu_memory, nullptr);
  }
  if (status == nullptr) status = api.GetAllocatorWithDefaultOptions(&runtime.allocator);
  return status;
}

Result<const OrtRuntime*> make_runtime(const std::string& path, int intra_op_threads) {
  forbid_telemetry();
  Result<const OrtApiBase*> base = open_library(path);
  if (!base.ok()) return std::move(base.error());
  Result<OrtVersion> version = choose_api(*base.value(), path);
  if (!version.ok()) return std::move(version.error());
  auto runtime = std::make_unique<OrtRuntime>();
  runtime->api = version.value().api;
  runtime->has_shape_calls = version.value().has_shape_calls;
  runtime->version = base.value()->GetVersionString();
  runtime->path = path;
  runtime->intra_op_threads = intra_op_threads > 0 ? intra_op_threads : usable_cores();
  OrtStatus* status = make_environment(*runtime);
  if (status != nullptr) {
    return take_error(*runtime->api, status, ErrorCode::RuntimeUnavailable,
                      "cannot set up the ONNX Runtime library " + path);
  }
  return runtime.release();
}

}  // namespace

Result<OrtVersion> choose_api(const OrtApiBase& base, const std::string& path) {
  const char* text = base.GetVersionString();
  const std::string version = text == nullptr ? "unknown" : text;
  const int minor = minor_version(version);
  OrtVersion chosen;
  if (minor >= static_cast<int>(kOrtShapeApiVersion)) {
    chosen.api = base.GetApi(kOrtShapeApiVersion);
    chosen.has_shape_calls = chosen.api != nullptr;
  }
  if (chosen.api == nullptr && (minor < 0 || minor >= static_cast<int>(kOrtApiVersion))) {
    chosen.api = base.GetApi(kOrtApiVersion);
  }
  if (chosen.api != nullptr) return chosen;
  return unavailable("the ONNX Runtime library " + path + " is version " + version + "; wanted 1." +
                     std::to_string(kOrtApiVersion) + " or newer");
}

Result<const OrtRuntime*> acquire_runtime(const std::string& library_path, int intra_op_threads) {
  // Never destroyed: sessions may be freed after static destructors have run.
  static auto* mutex = new std::mutex;
  static auto* runtimes = new std::map<std::string, const OrtRuntime*>;
  Result<std::string> path = resolve_path(library_path);
  if (!path.ok()) return std::move(path.error());
  const std::lock_guard<std::mutex> lock(*mutex);
  const auto known = runtimes->find(path.value());
  if (known != runtimes->end()) return known->second;
  Result<const OrtRuntime*> runtime = make_runtime(path.value(), intra_op_threads);
  if (runtime.ok()) runtimes->emplace(path.value(), runtime.value());
  return runtime;
}

Status disable_optimizers(const OrtApi& api,
                          std::span<const std::pair<std::string, std::string>> config,
                          std::string names, OrtSessionOptions* options) {
  constexpr const char* kKey = "optimization.disable_specified_optimizers";
  if (names.empty()) return ok_status();
  for (const auto& [key, value] : config) {
    if (key == kKey && !value.empty()) names += ";" + value;
  }
  OrtStatus* failed = api.AddSessionConfigEntry(options, kKey, names.c_str());
  if (failed == nullptr) return ok_status();
  return take_error(api, failed, ErrorCode::ModelInvalid, "session options");
}

}  // namespace serval::ort
