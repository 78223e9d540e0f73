// Loads weights that sessions share. The bytes are read, not mapped, so a file that is replaced or
// truncated while it is in use does no harm.
#include "backend/onnxruntime/weights.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>

#include "backend/onnx/fusions.h"
#include "backend/onnx/guards.h"
#include "backend/onnx/model.h"
#include "backend/onnxruntime/signature.h"
#include "backend/rows/prove.h"
#include "base/bytes/crc32c.h"

namespace serval::ort {
namespace {

// Weights that a session copies are put in a protobuf message, which cannot exceed 2 GB.
constexpr uint64_t kCopiedBytesMax = uint64_t{1900} << 20;
// Small, so that the CRC reads from the cache, and so that a system call is short: a kernel that
// does not preempt them copies 4 MB in 2 ms, in which the core runs nothing else.
constexpr size_t kReadBytes = size_t{64} << 10;

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Error bad_weight(const Weight& weight, const std::string& path, const std::string& what) {
  return make_error(ErrorCode::ModelInvalid, path + ": tensor '" + weight.name + "' at byte " +
                                                 std::to_string(weight.offset) + ": " + what);
}

// Fills `to` and computes the CRC at the same time.
Status read_bytes(const Weight& weight, int file, const std::string& path, uint8_t* to,
                  uint32_t& crc) {
  uint64_t done = 0;
  while (done < weight.bytes) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(kReadBytes, weight.bytes - done));
    const ssize_t got = pread(file, to + done, wanted, static_cast<off_t>(weight.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return bad_weight(weight, path, std::strerror(errno));
    if (got == 0) {
      return bad_weight(weight, path,
                        "expected " + std::to_string(weight.bytes) +
                            " bytes, the file ends after " + std::to_string(done));
    }
    if (weight.masked_crc32c) crc = crc32c({to + done, static_cast<size_t>(got)}, crc);
    done += static_cast<uint64_t>(got);
  }
  return ok_status();
}

// Reads `to.size()` bytes from `offset`; returns the number of bytes available.
Result<size_t> read_at(int file, uint64_t offset, std::span<uint8_t> to, const std::string& path) {
  size_t done = 0;
  while (done < to.size()) {
    const size_t wanted = std::min(kReadBytes, to.size() - done);
    const ssize_t got = pread(file, to.data() + done, wanted, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return make_error(ErrorCode::ModelInvalid, path + ": " + std::strerror(errno));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

// Our dtype for a tensor's; Invalid for one that no client can send, and for strings.
DType dtype_of_tensor(const OnnxTensor& tensor) {
  const DType dtype = dtype_of(static_cast<ONNXTensorElementDataType>(tensor.type));
  return dtype == DType::Bytes ? DType::Invalid : dtype;
}

// Locates the tensors of one model in their files.
class ExternalFinder {
 public:
  ExternalFinder(const std::string& path, ModelSpec& weights, std::vector<std::string>& locations)
      : path_(path), weights_(weights), locations_(locations) {
    namespace fs = std::filesystem;
    std::error_code failed;
    folder_ = fs::path(path).parent_path();
    // A model file that is a link may have its data next to its target, as in caches.
    for (const fs::path& file : {fs::path(path), fs::canonical(path, failed)}) {
      const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
      roots_.push_back(fs::canonical(parent, failed));
    }
  }
  Status& status() { return status_; }

  ExternalUse use(const OnnxTensor& tensor, bool initializer, std::string& raw) {
    const DType dtype = dtype_of_tensor(tensor);
    const std::string file = file_of(tensor);
    if (file.empty()) return ExternalUse::Fail;
    uint64_t bytes = tensor.length;
    if (dtype != DType::Invalid) {
      const std::optional<uint64_t> expected = bytes_of_tensor(tensor, dtype);
      if (!expected || (bytes != 0 && bytes != *expected)) {
        return fail(
            tensor, file,
            "a length of " + std::to_string(bytes) + " bytes does not fit " + "its shape and type");
      }
      bytes = *expected;
    }
    if (initializer && dtype != DType::Invalid) {
      add(tensor, dtype, file, bytes);
      return ExternalUse::Keep;
    }
    raw.resize(std::min<uint64_t>(bytes, kInlineBytesMax));
    const File open_file(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (open_file.get() < 0) return fail(tensor, file, std::strerror(errno));
    Result<size_t> got = read_at(open_file.get(), tensor.offset,
                                 {reinterpret_cast<uint8_t*>(raw.data()), raw.size()}, file);
    if (!got.ok()) return fail(tensor, file, got.error().message);
    if (got.value() == bytes) return ExternalUse::Inline;
    return fail(tensor, file,
                "expected " + std::to_string(bytes) + " bytes from " +
                    std::to_string(tensor.offset) + " on, got " + std::to_string(got.value()));
  }

 private:
  static constexpr uint64_t kInlineBytesMax = uint64_t{1} << 30;

  static std::optional<uint64_t> bytes_of_tensor(const OnnxTensor& tensor, DType dtype) {
    uint64_t bytes = dtype_bytes(dtype);
    for (const int64_t dim : tensor.dims) {
      if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) {
        return std::nullopt;
      }
    }
    return bytes;
  }

  ExternalUse fail(const OnnxTensor& tensor, const std::string& file, const std::string& what) {
    status_ = make_error(ErrorCode::ModelInvalid, "model file " + path_ + ": tensor '" +
                                                      std::string(tensor.name) +
                                                      "': external data '" + file + "': " + what);
    return ExternalUse::Fail;
  }

  // The file's path; empty after fail().
  std::string file_of(const OnnxTensor& tensor) {
    namespace fs = std::filesystem;
    const std::string location(tensor.location);
    const fs::path relative(location);
    const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
    std::string why;
    if (location.empty()) why = "no location";
    if (!tensor.bad_entry.empty()) why = "'" + std::string(tensor.bad_entry) + "' is not a number";
    if (relative.is_absolute() || climbs) why = "expected a file in the model's folder";
    std::error_code failed;
    const fs::path real = why.empty() ? fs::canonical(folder_ / relative, failed) : fs::path();
    if (failed) why = failed.message();
    const auto holds = [&real](const fs::path& root) {
      return std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
    };
    if (why.empty() && std::none_of(roots_.begin(), roots_.end(), holds)) {
      why = "is a link out of the model's folder";
    }
    if (why.empty() && !fs::is_regular_file(real, failed)) why = "is not a regular file";
    if (why.empty()) return real.string();
    (void)fail(tensor, location, why);
    return {};
  }

  void add(const OnnxTensor& tensor, DType dtype, const std::string& file, uint64_t bytes) {
    const auto known = std::find(weights_.weight_files.begin(), weights_.weight_files.end(), file);
    Weight& weight = weights_.weights.emplace_back();
    weight.file = static_cast<uint32_t>(known - weights_.weight_files.begin());
    if (known == weights_.weight_files.end()) weights_.weight_files.push_back(file);
    weight.name = tensor.name;
    weight.datatype = dtype;
    weight.dims = tensor.dims;
    weight.offset = tensor.offset;
    weight.bytes = bytes;
    locations_.emplace_back(tensor.location);
  }

  const std::string path_;
  ModelSpec& weights_;
  std::vector<std::string>& locations_;
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> roots_;
  Status status_;
};

struct ExternalData {
  bool used = false;
  std::string model;  // with inlined tensors; empty: there are none
  ModelSpec weights;  // the other tensors, and their files
  std::vector<std::string> locations;
};

// Reads the whole content of a file.
Status read_file(const std::string& path, ByteBuffer& content) {
  const auto problem = [&path](const char* text) {
    return make_error(ErrorCode::ModelInvalid, "model file " + path + ": " + text);
  };
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || fstat(file.get(), &info) != 0) return problem(std::strerror(errno));
  const size_t bytes = static_cast<size_t>(info.st_size);
  uint8_t* data = content.grow(bytes);
  if (data == nullptr) return problem("no memory to read it");
  Result<size_t> got = read_at(file.get(), 0, {data, bytes}, "model file " + path);
  if (!got.ok()) return std::move(got.error());
  return got.value() == bytes ? ok_status() : problem("was truncated while it was read");
}

// Separates a model's external data from its bytes.
Result<ExternalData> find_external(const std::string& path, Bytes model) {
  ExternalData data;
  const auto any = [&data](const OnnxTensor&, bool, std::string&) {
    data.used = true;
    return ExternalUse::Keep;
  };
  // An unreadable model is left to the runtime, which refuses it.
  if (!visit_external(model, any, nullptr) || !data.used) return data;
  ExternalFinder finder(path, data.weights, data.locations);
  bool inlined = false;
  const auto use = [&](const OnnxTensor& tensor, bool initializer, std::string& raw) {
    const ExternalUse chosen = finder.use(tensor, initializer, raw);
    inlined |= chosen == ExternalUse::Inline;
    return chosen;
  };
  const bool read = visit_external(model, use, &data.model);
  if (!finder.status().ok()) return std::move(finder.status().error());
  if (!read) return make_error(ErrorCode::ModelInvalid, "model file " + path + ": cannot be read");
  if (!inlined) data.model.clear();
  return data;
}

// Whether the bytes are ONNX Runtime's flatbuffer format, which the session would load without our
// checks. Source: ort.fbs (file_identifier "ORTM").
bool is_runtime_format(Bytes file) {
  constexpr std::string_view kIdentifier = "ORTM";
  return file.size() >= 8 && std::memcmp(file.data() + 4, kIdentifier.data(), 4) == 0;
}

// Whether ONNX Runtime finds a file in memory under this location: it does not find "./w.bin",
// because it drops the leading "./" on one side only.
bool is_plain(const std::string& location) {
  return std::filesystem::path(location).lexically_normal().string() == location;
}

}  // namespace

namespace {

// The bytes of a small integer tensor in another file, from which sizes may be computed.
std::optional<Bytes> small(const ModelSpec& weights, std::string_view name,
                           std::deque<std::vector<uint8_t>>& kept) {
  constexpr uint64_t kSmallBytes = 64 << 10;
  for (const Weight& weight : weights.weights) {
    if (weight.name != name || weight.bytes > kSmallBytes) continue;
    const std::string& path = weights.weight_files[weight.file];
    const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::vector<uint8_t>& bytes = kept.emplace_back(weight.bytes);
    uint32_t crc = 0;
    if (file.get() < 0 || !read_bytes(weight, file.get(), path, bytes.data(), crc).ok()) break;
    return Bytes(bytes);
  }
  return std::nullopt;
}

}  // namespace

Result<ReadModel> read_model(const std::string& path) {
  ByteBuffer file;
  Status read = read_file(path, file);
  if (!read.ok()) return std::move(read.error());
  if (is_runtime_format(file.bytes())) {
    return make_error(
        ErrorCode::ModelInvalid,
        "model file " + path +
            ": is in ONNX Runtime's own format (.ort), whose operators cannot be "
            "guarded (docs/explanation/robustness.md); serve the .onnx file that it was made of");
  }
  Result<ExternalData> external = find_external(path, file.bytes());
  if (!external.ok()) return std::move(external.error());
  ReadModel model;
  model.contexts = find_contexts(file.bytes());
  model.weights = std::move(external.value().weights);
  model.locations = std::move(external.value().locations);
  model.bytes = std::move(external.value().model);
  UnzippedModel unzipped =
      unzip_outputs(model.bytes.empty() ? file.bytes() : bytes_of(model.bytes));
  model.classes = std::move(unzipped.outputs);
  if (!unzipped.bytes.empty()) {
    model.bytes = std::move(unzipped.bytes);
    file.clear();
  }
  const Bytes given = model.bytes.empty() ? file.bytes() : bytes_of(model.bytes);
  Result<GuardedModel> guarded = guard_model(given, Divisions::Guard);
  if (!guarded.ok()) {
    guarded.error().message = "model file " + path + ": " + guarded.error().message;
    return std::move(guarded.error());
  }
  model.custom_ops = guarded.value().custom_ops;
  model.fusions_off = fusions_to_disable(given);
  model.shapes = device_shapes(given);
  if (guarded.value().guards > 0) model.bytes = std::move(guarded.value().bytes);
  // Uses the original graph: guards return their input unchanged.
  std::deque<std::vector<uint8_t>> kept;
  const auto read_constant = [&](std::string_view name) {
    return small(model.weights, name, kept);
  };
  model.rows =
      rows::prove_model(model.bytes.empty() ? file.bytes() : bytes_of(model.bytes), read_constant);
  return model;
}

Status SharedWeights::read_one(const Weight& weight, int file, const std::string& path) {
  const OrtApi& api = *runtime_.api;
  ByteBuffer& block = blocks_.emplace_back();
  uint8_t* data = block.grow(weight.bytes);
  if (data == nullptr) return bad_weight(weight, path, "no memory for it");
  ValueHandle& value = values_.emplace_back(&api);
  OrtStatus* failed = api.CreateTensorWithDataAsOrtValue(
      runtime_.cpu_memory, data, weight.bytes, weight.dims.data(), weight.dims.size(),
      element_type_of(weight.datatype), value.out());
  if (failed != nullptr) {
    return take_error(api, failed, ErrorCode::ModelInvalid, "tensor '" + weight.name + "'");
  }
  uint32_t crc = 0;
  Status read = read_bytes(weight, file, path, data, crc);
  if (!read.ok()) return read;
  bytes_ += static_cast<int64_t>(weight.bytes);
  if (!weight.masked_crc32c || mask_crc32c(crc) == *weight.masked_crc32c) return ok_status();
  return bad_weight(weight, path,
                    "the checksum is " + std::to_string(mask_crc32c(crc)) + ", expected " +
                        std::to_string(*weight.masked_crc32c) + ": the file is damaged");
}

Status SharedWeights::read(const ModelSpec& spec) {
  std::map<uint32_t, File> files;
  values_.reserve(spec.weights.size());
  blocks_.reserve(spec.weights.size());
  for (const Weight& weight : spec.weights) {
    const std::string& path = spec.weight_files[weight.file];
    auto found = files.find(weight.file);
    if (found == files.end()) {
      File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (file.get() < 0) {
        return make_error(ErrorCode::ModelInvalid, path + ": " + std::strerror(errno));
      }
      found = files.emplace(weight.file, std::move(file)).first;
    }
    Status read = read_one(weight, found->second.get(), path);
    if (!read.ok()) return read;
  }
  return ok_status();
}

// Loads each file's weights at their offsets into memory of the file's length, of which only the
// pages that are read cost memory.
Status SharedWeights::read_files(const ReadModel& model, OrtSessionOptions* options) {
  const std::vector<Weight>& weights = model.weights.weights;
  std::map<std::string, std::pair<ByteBuffer, File>> files;  // by location
  for (size_t i = 0; i < weights.size(); ++i) {
    const Weight& weight = weights[i];
    const std::string& path = model.weights.weight_files[weight.file];
    auto found = files.find(model.locations[i]);
    if (found == files.end()) {
      File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
      struct stat info {};
      if (file.get() < 0 || fstat(file.get(), &info) != 0) {
        return make_error(ErrorCode::ModelInvalid, path + ": " + std::strerror(errno));
      }
      ByteBuffer memory;
      const size_t bytes = static_cast<size_t>(info.st_size);
      if (memory.grow(bytes + 1) == nullptr) {  // an empty file needs an address too
        return bad_weight(weight, path, "no memory for its file");
      }
      memory.truncate(bytes);
      std::pair<ByteBuffer, File> content(std::move(memory), std::move(file));
      found = files.emplace(model.locations[i], std::move(content)).first;
    }
    auto& [memory, file] = found->second;
    const uint64_t there = memory.size() - std::min<uint64_t>(memory.size(), weight.offset);
    if (there < weight.bytes) {
      return bad_weight(weight, path,
                        "expected " + std::to_string(weight.bytes) +
                            " bytes, the file ends after " + std::to_string(there));
    }
    uint32_t crc = 0;
    Status read = read_bytes(weight, file.get(), path, memory.data() + weight.offset, crc);
    if (!read.ok()) return read;
    bytes_ += static_cast<int64_t>(weight.bytes);
  }
  std::vector<const char*> names;
  std::vector<char*> contents;
  std::vector<size_t> lengths;
  for (auto& [location, content] : files) {
    names.push_back(location.c_str());
    contents.push_back(reinterpret_cast<char*>(content.first.data()));
    lengths.push_back(content.first.size());
    blocks_.push_back(std::move(content.first));
  }
  copied_ = true;
  const OrtApi& api = *runtime_.api;
  OrtStatus* failed = api.AddExternalInitializersFromFilesInMemory(
      options, names.data(), contents.data(), lengths.data(), names.size());
  if (failed == nullptr) return ok_status();
  return take_error(api, failed, ErrorCode::ModelInvalid, "weights");
}

void SharedWeights::drop_copied() {
  if (copied_) blocks_.clear();
}

Status SharedWeights::read_all(const ReadModel& model, OrtSessionOptions* options) {
  const ModelSpec& weights = model.weights;
  if (weights.weights.empty()) return ok_status();
  uint64_t bytes = 0;
  for (const Weight& weight : weights.weights) bytes += weight.bytes;
  const bool plain = std::all_of(model.locations.begin(), model.locations.end(), is_plain);
  if (plain && runtime_.has_shape_calls && bytes <= kCopiedBytesMax) {
    return read_files(model, options);
  }
  Status status = read(weights);
  if (!status.ok()) return status;
  GraphSpec graph;
  for (uint32_t i = 0; i < weights.weights.size(); ++i) graph.weights.push_back(i);
  return add_to(weights, graph, options);
}

Status SharedWeights::add_to(const ModelSpec& spec, const GraphSpec& graph,
                             OrtSessionOptions* options) const {
  if (graph.weights.empty()) return ok_status();
  std::vector<const char*> names;
  std::vector<const OrtValue*> values;
  for (const uint32_t index : graph.weights) {
    names.push_back(spec.weights[index].name.c_str());
    values.push_back(values_[index].get());
  }
  const OrtApi& api = *runtime_.api;
  OrtStatus* failed =
      api.AddExternalInitializers(options, names.data(), values.data(), names.size());
  if (failed == nullptr) return ok_status();
  return take_error(api, failed, ErrorCode::ModelInvalid, "weights");
}

RowsProof SharedWeights::prove_rows(const ModelSpec& spec, const GraphSpec& graph) const {
  rows::Question question{graph.model, {}, graph.output_names, {}};
  const std::vector<TensorSpec>& inputs = graph.signature.inputs;
  for (size_t i = 0; i < graph.signature.required_inputs(); ++i) {
    question.inputs.push_back({graph.input_names[i], &inputs[i]});
  }
  question.read_constant = [&](std::string_view name) -> std::optional<Bytes> {
    for (const uint32_t index : graph.weights) {
      const Weight& weight = spec.weights[index];
      void* data = nullptr;
      if (weight.name != name) continue;
      OrtStatus* failed =
          runtime_.api->GetTensorMutableData(const_cast<OrtValue*>(at(index)), &data);
      if (failed == nullptr) return Bytes(static_cast<const uint8_t*>(data), weight.bytes);
      drop_status(*runtime_.api, failed);
    }
    return std::nullopt;
  };
  return rows::prove(question);
}

}  // namespace serval::ort
