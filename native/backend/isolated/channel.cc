// Implements channels and areas of shared memory. Hot path, any thread.
#include "backend/isolated/channel.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace serval::isolated {

namespace {

constexpr size_t kChannelPageBytes = 4096;
constexpr size_t kAreaBytesMax = size_t{1} << 40;

size_t whole_pages(size_t bytes) {
  return (bytes + kChannelPageBytes - 1) / kChannelPageBytes * kChannelPageBytes;
}

std::string reason() { return std::strerror(errno); }

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* limit) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  static_assert(std::atomic<uint32_t>::is_always_lock_free);
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, limit, nullptr,
                 0);
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

void close_channel(ChannelPage& page) {
  page.closed.store(1);
  page.request.store(kClosedNumber);
  wake_all(page.request);
}

void wake_all(std::atomic<uint32_t>& word) { futex(word, FUTEX_WAKE, INT32_MAX, nullptr); }

void sleep_on(std::atomic<uint32_t>& word, uint32_t value, uint64_t ns) {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  futex(word, FUTEX_WAIT, value, &limit);
}

Area& Area::operator=(Area&& other) noexcept {
  if (this == &other) return *this;
  if (data_ != nullptr) munmap(data_, mapped_);
  fd_ = std::move(other.fd_);
  data_ = std::exchange(other.data_, nullptr);
  mapped_ = std::exchange(other.mapped_, 0);
  keep_ = other.keep_;
  allocated_ = std::exchange(other.allocated_, 0);
  writable_ = other.writable_;
  return *this;
}

Area::~Area() {
  if (data_ != nullptr) munmap(data_, mapped_);
}

Result<Area> Area::create(const char* name, size_t bytes) {
  Area area;
  area.fd_ = Descriptor(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int fd = area.fd_.get();
  if (fd < 0) {
    return make_error(ErrorCode::MemoryFull, "no memory to share with a process: " + reason());
  }
  if (!area.reserve(bytes) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return make_error(ErrorCode::MemoryFull, "no memory of " + std::to_string(bytes) +
                                                 " bytes to share with a process: " + reason());
  }
  return area;
}

Result<Area> Area::adopt(Descriptor fd, size_t bytes, bool writable) {
  Area area;
  area.fd_ = std::move(fd);
  area.writable_ = writable;
  const int seals = fcntl(area.fd_.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || !area.see(bytes)) {
    return make_error(ErrorCode::Internal, "expected a descriptor of sealed shared memory");
  }
  return area;
}

bool Area::map(size_t bytes) {
  const int protection = writable_ ? PROT_READ | PROT_WRITE : PROT_READ;
  void* place = mmap(nullptr, bytes, protection, MAP_SHARED, fd_.get(), 0);
  if (place == MAP_FAILED) return false;
  if (data_ != nullptr) munmap(data_, mapped_);
  data_ = static_cast<uint8_t*>(place);
  mapped_ = bytes;
  return true;
}

// fallocate() allocates the pages now, so that a lack of memory is an error here and not a signal
// in the writer.
bool Area::reserve(size_t bytes) {
  if (bytes <= allocated_) return true;
  if (bytes > kAreaBytesMax) return false;
  const size_t wanted = whole_pages(bytes);
  int failed = 0;
  do {
    failed = fallocate(fd_.get(), 0, 0, static_cast<off_t>(wanted));
  } while (failed != 0 && errno == EINTR);
  if (failed != 0 || (wanted > mapped_ && !map(wanted))) return false;
  allocated_ = wanted;
  return true;
}

bool Area::see(size_t bytes) {
  if (bytes <= mapped_) return true;
  struct stat is {};
  if (bytes > kAreaBytesMax || fstat(fd_.get(), &is) != 0 || is.st_size < 0) return false;
  if (static_cast<size_t>(is.st_size) < bytes) return false;
  return map(std::min(whole_pages(bytes), static_cast<size_t>(is.st_size)));
}

void Area::trim(size_t used_bytes) {
  note_trim();
  if (used_bytes <= keep_) return;
  fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(keep_),
            static_cast<off_t>(whole_pages(used_bytes) - keep_));
}

Result<Descriptor> blob_of(std::span<const uint8_t> bytes) {
  Descriptor fd(memfd_create("serval-message", MFD_CLOEXEC));
  size_t done = 0;
  while (fd.get() >= 0 && done < bytes.size()) {
    const ssize_t some =
        pwrite(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) break;
    done += static_cast<size_t>(some);
  }
  if (fd.get() < 0 || done < bytes.size()) {
    return make_error(ErrorCode::MemoryFull, "no memory for a message to a process: " + reason());
  }
  return fd;
}

Result<std::vector<uint8_t>> read_blob(int fd, size_t bytes_max) {
  struct stat is {};
  if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode) || is.st_size < 0 ||
      static_cast<size_t>(is.st_size) > bytes_max) {
    return make_error(ErrorCode::Internal, "an invalid message between processes");
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(is.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t some =
        pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return make_error(ErrorCode::Internal, "a message between processes is cut off");
    done += static_cast<size_t>(some);
  }
  return bytes;
}

}  // namespace serval::isolated
