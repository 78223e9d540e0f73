// Collects and writes pending output. Hot path; the listener's thread.
#include "transport/loop/output.h"

#include <array>

namespace serval {

namespace {

constexpr size_t kPartsPerWrite = 64;
constexpr size_t kCopiedKeepBytes = 64 * 1024;
// Written in one turn of a connection; then others are served, however fast its client reads.
constexpr uint64_t kWriteBytesPerTurn = 1u << 20;

}  // namespace

void Output::add(const uint8_t* bytes, size_t count) {
  if (count == 0) return;
  const size_t at = copied_.size();
  copied_.insert(copied_.end(), bytes, bytes + count);
  left_ += count;
  if (!pieces_.empty() && pieces_.size() > first_) {
    Piece& last = pieces_.back();
    if (last.bytes == nullptr && last.at + last.count == at) {
      last.count += count;
      return;
    }
  }
  pieces_.push_back({nullptr, at, count, nullptr});
}

void Output::add(Block* block, const uint8_t* bytes, size_t count) {
  if (count == 0) return;
  ++block->holders;
  pieces_.push_back({bytes, 0, count, block});
  left_ += count;
}

// Hot path: reply of the native listeners.
Moved::State Output::write(Channel& channel, uint64_t& written) {
  const uint64_t most = written + kWriteBytesPerTurn;
  while (left_ > 0) {
    if (written >= most) return Moved::State::Blocked;  // the socket signals that it is writable
    std::array<iovec, kPartsPerWrite> parts;
    size_t count = 0;
    for (size_t i = first_; i < pieces_.size() && count < parts.size(); ++i, ++count) {
      const size_t skip = i == first_ ? skip_ : 0;
      parts[count].iov_base = const_cast<uint8_t*>(place(pieces_[i]) + skip);
      parts[count].iov_len = pieces_[i].count - skip;
    }
    const Moved moved = channel.write({parts.data(), count});
    if (moved.state != Moved::State::Some) return moved.state;
    written += moved.bytes;
    drop(moved.bytes);
  }
  return Moved::State::Some;
}

void Output::drop(size_t count) {
  left_ -= count;
  count += skip_;
  while (first_ < pieces_.size() && count >= pieces_[first_].count) {
    count -= pieces_[first_].count;
    if (pieces_[first_].block != nullptr) blocks_.release(pieces_[first_].block);
    ++first_;
  }
  skip_ = count;
  if (left_ == 0) clear();
}

void Output::clear() {
  for (; first_ < pieces_.size(); ++first_) {
    if (pieces_[first_].block != nullptr) blocks_.release(pieces_[first_].block);
  }
  pieces_.clear();
  copied_.clear();
  if (copied_.capacity() > kCopiedKeepBytes) copied_.shrink_to_fit();
  first_ = skip_ = left_ = 0;
}

}  // namespace serval
