// Reads the specification of a model. Control plane, any thread.
#include "capi/model_files.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "engine/control/spec/codec.h"

namespace serval::capi {

namespace {

namespace fs = std::filesystem;

constexpr const char* kHint = ": expected an ONNX file or a folder that `serval compile` wrote";

Error bad_model(const fs::path& path, const std::string& what) {
  return make_error(ErrorCode::ModelInvalid, path.string() + what);
}

Status read_file(const fs::path& path, std::vector<uint8_t>& bytes) {
  std::error_code failed;
  const uintmax_t size = fs::file_size(path, failed);
  if (failed) return bad_model(path, ": " + failed.message());
  std::ifstream file(path, std::ios::binary);
  bytes.resize(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!file) return bad_model(path, ": cannot be read");
  return {};
}

// Makes a path of the specification absolute. Errors: model_invalid (a path out of the folder).
Status place_in(const fs::path& folder, std::string& path) {
  const fs::path given(path);
  bool inside = !given.empty() && given.is_relative();
  for (const fs::path& part : given) inside = inside && part != "..";
  if (!inside) {
    return bad_model(folder / kSpecFile,
                     ": expected a path inside of its folder, got '" + path + "'");
  }
  path = (folder / given).string();
  return {};
}

Result<ModelSpec> read_folder(const fs::path& folder) {
  std::vector<uint8_t> bytes;
  const fs::path file = folder / kSpecFile;
  std::error_code failed;
  if (!fs::exists(file, failed)) {
    return bad_model(folder, ": the folder has no " + std::string(kSpecFile) + kHint);
  }
  if (Status read = read_file(file, bytes); !read.ok()) return std::move(read.error());
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!start.starts_with(kSpecMagic)) {
    return bad_model(file, ": expected a file that this version's `serval compile` wrote");
  }
  Result<ModelSpec> spec = parse_model_spec(std::span(bytes).subspan(kSpecMagic.size()));
  if (!spec.ok()) return bad_model(file, ": " + spec.error().message);
  if (spec.value().graphs.empty() && spec.value().backend != "null") {
    if (Status placed = place_in(folder, spec.value().path); !placed.ok()) {
      return std::move(placed.error());
    }
  }
  for (std::string& path : spec.value().weight_files) {
    if (Status placed = place_in(folder, path); !placed.ok()) return std::move(placed.error());
  }
  return spec;
}

}  // namespace

Result<ModelSpec> read_spec(const std::string& path) {
  std::error_code failed;
  const fs::path full = fs::absolute(path, failed);
  if (failed) return bad_model(path, ": " + failed.message());
  const fs::file_status status = fs::status(full, failed);
  if (!fs::exists(status)) return bad_model(full, ": there is no such file or folder");
  if (fs::is_directory(status)) return read_folder(full);
  if (full.filename() == kSpecFile) return read_folder(full.parent_path());
  if (full.extension() != ".onnx") return bad_model(full, kHint);
  ModelSpec spec;
  spec.name = full.stem().string();
  spec.version = 1;
  spec.backend = "onnxruntime";
  spec.path = full.string();
  return spec;
}

}  // namespace serval::capi
