// Collects and writes pending bytes. The load's thread.
#include "load/wire/output.h"

#include <algorithm>
#include <array>

namespace serval::load {
namespace {

constexpr size_t kCopyBytesMax = 4096;
constexpr size_t kPartsMax = 64;  // per write

}  // namespace

void Output::copy(std::string_view bytes) {
  copied_.append(bytes);
  if (!empty() && parts_.back().borrowed == nullptr) {
    parts_.back().size += bytes.size();
  } else if (!bytes.empty()) {
    parts_.push_back({nullptr, bytes.size()});
  }
}

void Output::borrow(std::string_view bytes) {
  if (bytes.size() < kCopyBytesMax) return copy(bytes);
  parts_.push_back({bytes.data(), bytes.size()});
}

Moved::State Output::write_to(Channel& channel) {
  while (!empty()) {
    std::array<iovec, kPartsMax> vectors;
    size_t count = 0;
    const char* copied = copied_.data() + copied_from_;
    for (size_t i = next_; i < parts_.size() && count < kPartsMax; ++i) {
      const Part& part = parts_[i];
      const char* bytes = part.borrowed;
      if (bytes == nullptr) {
        bytes = copied;
        copied += part.size;
      }
      vectors[count++] = {const_cast<char*>(bytes), part.size};
    }
    const Moved moved = channel.write({vectors.data(), count});
    if (moved.state != Moved::State::Some) return moved.state;
    drop(moved.bytes);
  }
  return Moved::State::Some;
}

void Output::drop(size_t written) {
  while (written > 0) {
    Part& part = parts_[next_];
    const size_t gone = std::min(written, part.size);
    part.size -= gone;
    written -= gone;
    if (part.borrowed == nullptr) {
      copied_from_ += gone;
    } else {
      part.borrowed += gone;
    }
    if (part.size == 0) ++next_;
  }
  if (!empty()) return;
  parts_.clear();
  next_ = 0;
  copied_.clear();
  copied_from_ = 0;
}

}  // namespace serval::load
