// Maps POSIX shared memory. Opened on the main thread; checked by any thread.
#include "engine/shm/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/shm/fault_handler.h"

namespace serval {

namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr size_t kFileNameMax = 255;
// Prefix that Triton reserves for its Python backend. Source: Triton's shared memory manager.
constexpr std::string_view kReservedPrefix = "triton_python_backend_shm_region_";

// Closes the file descriptor unless it was moved out.
struct Descriptor {
  int number = -1;
  Descriptor() = default;
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  int take() { return std::exchange(number, -1); }
};

// Returns the file's name in /dev/shm, or "" if the key is invalid.
std::string_view file_name(std::string_view key) {
  while (key.starts_with('/')) key.remove_prefix(1);
  const bool path = key.find('/') != std::string_view::npos;
  const bool cut = key.find('\0') != std::string_view::npos;
  return path || cut || key == "." || key == ".." || key.size() > kFileNameMax ? "" : key;
}

Status open_object(const RegionSpec& spec, Descriptor& file, uint64_t& size) {
  const std::string name(file_name(spec.key));
  if (name.empty()) {
    return region_refused(
        spec, "invalid args: key " + quoted_name(spec.key) +
                  ": expected the name of a shared memory object, 1 to 255 bytes without "
                  "'/' except at the start");
  }
  if (name.starts_with(kReservedPrefix)) {
    return invalid_argument("cannot register shared memory region " + quoted_name(spec.name) +
                            " with key " + quoted_name(spec.key) +
                            " as the key contains the reserved prefix '" +
                            std::string(kReservedPrefix) + "'");
  }
  const Descriptor folder(open(kFolder, O_PATH | O_DIRECTORY | O_CLOEXEC));
  // Does not follow links, and does not wait for the other end of a pipe.
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  file.number = folder.number < 0 ? -1 : openat(folder.number, name.c_str(), kFlags);
  if (file.number < 0) {
    const char* why = errno == ELOOP ? "it is a symbolic link" : std::strerror(errno);
    return invalid_argument("Unable to open shared memory region: " + quoted_name(spec.key) +
                            " (region " + quoted_name(spec.name) + "): " + why);
  }
  struct stat about = {};
  if (fstat(file.number, &about) != 0 || !S_ISREG(about.st_mode)) {
    return region_refused(spec,
                          "invalid args: " + quoted_name(spec.key) + " is no shared memory object");
  }
  size = static_cast<uint64_t>(about.st_size);
  return {};
}

class SystemRegion final : public SharedRegion {
 public:
  SystemRegion(RegionSpec spec, int file, uint8_t* mapped, size_t mapped_bytes, size_t lead,
               FaultRegion* region)
      : SharedRegion(std::move(spec)),
        file_(file),
        mapped_(mapped),
        mapped_bytes_(mapped_bytes),
        lead_(lead),
        fault_region_(region) {}
  ~SystemRegion() override {
    remove_fault_region(fault_region_);
    munmap(mapped_, mapped_bytes_);
    close(file_);
  }

  uint8_t* data() const override { return mapped_ + lead_; }
  Status check() const override;

 private:
  const int file_;
  uint8_t* const mapped_;
  const size_t mapped_bytes_;
  const size_t lead_;  // bytes of the first page before the region
  FaultRegion* const fault_region_;
};

}  // namespace

Result<std::shared_ptr<SharedRegion>> open_system_region(RegionSpec spec) {
  Descriptor file;
  uint64_t size = 0;
  if (Status opened = open_object(spec, file, size); !opened.ok()) return opened.error();
  uint64_t end = 0;
  if (spec.bytes == 0)
    return region_refused(spec, "invalid args: byte_size: expected 1 or more, got 0");
  if (__builtin_add_overflow(spec.offset, spec.bytes, &end) || end > size) {
    return region_refused(spec, "invalid args: offset " + std::to_string(spec.offset) +
                                    " and byte_size " + std::to_string(spec.bytes) +
                                    " go beyond the " + std::to_string(size) + " bytes of " +
                                    quoted_name(spec.key));
  }
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto lead = static_cast<size_t>(spec.offset % page);
  const auto wanted = static_cast<size_t>(spec.bytes) + lead;
  const size_t whole = (wanted + page - 1) / page * page;
  void* mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file.number,
                      static_cast<off_t>(spec.offset - lead));
  if (mapped == MAP_FAILED) {
    return make_error(ErrorCode::MemoryFull, "failed to register shared memory region " +
                                                 quoted_name(spec.name) + ": cannot map " +
                                                 std::to_string(whole) +
                                                 " bytes: " + std::strerror(errno));
  }
  FaultRegion* region = add_fault_region(mapped, whole);
  if (region == nullptr) {
    munmap(mapped, whole);
    return region_refused(spec, std::to_string(kFaultRegionsMax) +
                                    " regions are mapped, those that requests still use included");
  }
  return std::shared_ptr<SharedRegion>(std::make_shared<SystemRegion>(
      std::move(spec), file.take(), static_cast<uint8_t*>(mapped), whole, lead, region));
}

// Hot path: decode. Of requests that name a region.
Status SystemRegion::check() const {
  struct stat about = {};
  const bool known = fstat(file_, &about) == 0;
  const uint64_t size = known ? static_cast<uint64_t>(about.st_size) : 0;
  const uint64_t end = spec().offset + spec().bytes;
  const bool broken = fault_region_->broken.load(std::memory_order_acquire);
  if (size >= end && !broken) return {};
  const std::string region =
      "shared memory region " + quoted_name(spec().name) + " (key " + quoted_name(spec().key) + ")";
  if (size < end) {
    return invalid_argument(region + " has shrunk: expected an object of " + std::to_string(end) +
                            " bytes or more, got " + std::to_string(size));
  }
  return invalid_argument(region +
                          ": memory of it was missing when it was used (the object shrank, or "
                          "/dev/shm was full): expected " +
                          std::to_string(spec().bytes) +
                          " bytes, got fewer for some time; register it again");
}

}  // namespace serval
