// A memory-mapped file, which the system reads on access. Mapped on the load thread; its bytes may
// be read on any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace serval::tabular {

// Model files are replaced by renaming and never rewritten, so that a mapping stays valid.
class MappedFile {
 public:
  MappedFile(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {}
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const uint8_t> bytes() const { return {bytes_, size_}; }

  // Errors: model_invalid naming the file if it is missing, empty, not a regular file, or over
  // `bytes_max`.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, size_t bytes_max);

 private:
  const uint8_t* bytes_;
  size_t size_;
};

}  // namespace serval::tabular
