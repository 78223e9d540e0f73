// See onnxruntime_weights.h.
// The bytes are read, not mapped: a file that is replaced or cut short while it serves then harms
// nobody.
#include "backend/onnxruntime_weights.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "backend/onnxruntime_signature.h"
#include "base/crc32c.h"

namespace serval::ort {
namespace {

constexpr size_t kReadBytes = size_t{4} << 20;  // what is read is checked while it is in the cache

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

Error bad_weight(const WeightSpec& weight, const std::string& path, const std::string& what) {
  return make_error(ErrorCode::ModelInvalid,
                    path + ": tensor '" + weight.name + "' at byte " +
                        std::to_string(weight.offset) + ": " + what);
}

// Fills `to` and computes the CRC on the way.
Status read_bytes(const WeightSpec& weight, int file, const std::string& path, uint8_t* to,
                  uint32_t& crc) {
  uint64_t done = 0;
  while (done < weight.bytes) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(kReadBytes, weight.bytes - done));
    const ssize_t got = pread(file, to + done, wanted, static_cast<off_t>(weight.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return bad_weight(weight, path, std::strerror(errno));
    if (got == 0) {
      return bad_weight(weight, path, "expected " + std::to_string(weight.bytes) +
                                          " bytes, the file ends after " + std::to_string(done));
    }
    if (weight.has_crc32c) crc = crc32c({to + done, static_cast<size_t>(got)}, crc);
    done += static_cast<uint64_t>(got);
  }
  return ok_status();
}

// Reads `to.size()` bytes from `offset` on; the number that there were.
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

}  // namespace

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
  return got.value() == bytes ? ok_status() : problem("grew shorter while it was read");
}

Status SharedWeights::read_one(const WeightSpec& weight, int file, const std::string& path) {
  const OrtApi& api = *runtime_.api;
  ByteBuffer& block = blocks_.emplace_back();
  uint8_t* data = block.grow(weight.bytes);
  if (data == nullptr) return bad_weight(weight, path, "no memory for it");
  ValueHandle& value = values_.emplace_back(&api);
  OrtStatus* failed = api.CreateTensorWithDataAsOrtValue(
      runtime_.cpu_memory, data, weight.bytes, weight.dims.data(), weight.dims.size(),
      element_type_of(weight.dtype), value.out());
  if (failed != nullptr) {
    return take_error(api, failed, ErrorCode::ModelInvalid, "tensor '" + weight.name + "'");
  }
  uint32_t crc = 0;
  Status read = read_bytes(weight, file, path, data, crc);
  if (!read.ok()) return read;
  bytes_ += static_cast<int64_t>(weight.bytes);
  if (!weight.has_crc32c || mask_crc32c(crc) == weight.masked_crc32c) return ok_status();
  return bad_weight(weight, path, "the checksum is " + std::to_string(mask_crc32c(crc)) +
                                      ", expected " + std::to_string(weight.masked_crc32c) +
                                      ": the file is damaged");
}

Status SharedWeights::read(const ModelSpec& spec) {
  std::map<uint32_t, File> files;
  values_.reserve(spec.weights.size());
  blocks_.reserve(spec.weights.size());
  for (const WeightSpec& weight : spec.weights) {
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

}  // namespace serval::ort
