// Opening and mapping of model files. Load thread.
#include "tabular/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace serval::tabular {
namespace {

Error bad_file(const std::string& path, const std::string& what) {
  return make_error(ErrorCode::ModelInvalid, "'" + path + "': " + what);
}

// Closes the descriptor on destruction.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

}  // namespace

MappedFile::~MappedFile() { munmap(const_cast<uint8_t*>(bytes_), size_); }

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path,
                                                           size_t bytes_max) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) return bad_file(path, std::strerror(errno));
  struct stat about = {};
  if (fstat(file.number, &about) != 0) return bad_file(path, std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return bad_file(path, "is not a file");
  if (about.st_size <= 0) return bad_file(path, "is empty");
  const auto size = static_cast<size_t>(about.st_size);
  if (size > bytes_max) {
    return bad_file(
        path, "has " + std::to_string(size) + " bytes; the limit is " + std::to_string(bytes_max));
  }
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (bytes == MAP_FAILED) return bad_file(path, std::strerror(errno));
  return std::shared_ptr<const MappedFile>(
      std::make_shared<const MappedFile>(static_cast<const uint8_t*>(bytes), size));
}

}  // namespace serval::tabular
