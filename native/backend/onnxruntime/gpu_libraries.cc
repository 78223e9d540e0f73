// Opens NVIDIA's libraries beside ONNX Runtime. The loader resolves a needed library by its soname
// to one that is already open, so neither LD_LIBRARY_PATH nor an entry in /etc/ld.so.conf.d is
// needed.
#include "backend/onnxruntime/gpu_libraries.h"

#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace serval::ort {

namespace {

constexpr std::string_view kCuda[] = {"libcudart.so.",   "libcublas", "libcurand.so.",
                                      "libcufft.so.",    "libcudnn",  "libnvrtc",
                                      "libnvJitLink.so."};
constexpr std::string_view kTensorrt[] = {"libnvinfer", "libnvonnxparser.so."};

std::vector<std::string> gpu_libraries_in(const std::string& folder, bool tensorrt) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open.get())) {
    if (is_gpu_library(entry->d_name, tensorrt)) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Libraries need each other: retries while there is progress, so that no order has to be known.
std::vector<std::string> open_all(const std::string& folder, std::vector<std::string> names) {
  size_t before = 0;
  do {
    before = names.size();
    std::erase_if(names, [&folder](const std::string& name) {
      return dlopen((folder + "/" + name).c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr;
    });
  } while (!names.empty() && names.size() < before);
  return names;
}

}  // namespace

bool is_gpu_library(std::string_view file_name, bool tensorrt) {
  const auto begins = [file_name](std::string_view prefix) {
    return file_name.starts_with(prefix);
  };
  if (file_name.find(".so.") == std::string_view::npos || file_name.ends_with(".part")) {
    return false;
  }
  if (std::any_of(std::begin(kCuda), std::end(kCuda), begins)) return true;
  return tensorrt && std::any_of(std::begin(kTensorrt), std::end(kTensorrt), begins);
}

std::vector<std::string> open_gpu_libraries(const std::string& library_path, bool tensorrt) {
  static auto* mutex = new std::mutex;
  static auto* known = new std::map<std::pair<std::string, bool>, std::vector<std::string>>;
  const size_t slash = library_path.rfind('/');
  // the loader finds this library, and so it does the others
  if (slash == std::string::npos) return {};
  const std::string folder = library_path.substr(0, slash);
  const std::lock_guard<std::mutex> lock(*mutex);
  const auto [place, fresh] = known->try_emplace({folder, tensorrt});
  if (fresh) place->second = open_all(folder, gpu_libraries_in(folder, tensorrt));
  return place->second;
}

}  // namespace serval::ort
