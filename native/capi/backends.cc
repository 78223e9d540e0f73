// Makes the backends of this process. Control plane, any thread.
#include "capi/backends.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "gpu/cuda.h"

namespace serval::capi {

namespace {

constexpr const char* kRuntimeFile = "libonnxruntime.so.1";

// The runtime beside the library that contains this code; "" if there is none.
std::string runtime_beside() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&acquire_backends), &found) == 0) return {};
  if (found.dli_fname == nullptr) return {};
  std::error_code failed;
  const std::filesystem::path own = std::filesystem::absolute(found.dli_fname, failed);
  if (failed) return {};
  const std::filesystem::path beside = own.parent_path() / kRuntimeFile;
  return std::filesystem::exists(beside, failed) ? beside.string() : std::string();
}

std::string library_path(std::string given) {
  if (!given.empty()) return given;
  const char* variable = std::getenv("SERVAL_ORT_LIBRARY");
  return variable != nullptr && *variable != '\0' ? variable : runtime_beside();
}

}  // namespace

Result<Backend*> Backends::find(const std::string& name) const {
  if (name == "onnxruntime") return onnxruntime.get();
  if (name == "tabular") return tabular.get();
  if (name == "null") return null.get();
  return make_error(ErrorCode::Unimplemented,
                    "backend: expected 'onnxruntime', 'tabular' or 'null', got '" + name + "'");
}

std::shared_ptr<const Backends> acquire_backends(std::string library) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const Backends>> known;  // guarded by mutex
  const std::string path = library_path(std::move(library));
  const std::lock_guard lock(mutex);
  std::weak_ptr<const Backends>& place = known[path];
  if (std::shared_ptr<const Backends> same = place.lock()) return same;
  const size_t slash = path.rfind('/');  // `serval gpu install` puts CUDA's libraries beside it
  if (slash != std::string::npos) gpu::set_cuda_folder(path.substr(0, slash));
  auto made = std::make_shared<Backends>();
  made->onnxruntime = make_onnxruntime_backend(path, 0);
  made->tabular = make_tabular_backend(made->onnxruntime.get());
  made->null = make_null_backend();
  place = made;
  return made;
}

}  // namespace serval::capi
