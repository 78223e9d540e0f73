// A file as bytes that the system reads when they are looked at. Load thread; the bytes: any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace serval::tabular {

// Files of models are replaced by renaming, never written again: what is mapped stays.
class MappedFile {
 public:
  MappedFile(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {}
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const uint8_t> bytes() const { return {bytes_, size_}; }

  // Errors: model_invalid naming the file: it is missing, empty, no file, or over `bytes_max`.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, size_t bytes_max);

 private:
  const uint8_t* bytes_;
  size_t size_;
};

}  // namespace serval::tabular
