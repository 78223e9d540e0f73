// Pending output of a connection: short pieces are copied into one buffer, long ones are
// referenced, and all are written with one call. Hot path; the listener's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/loop/blocks.h"
#include "transport/socket/channel.h"

namespace serval {

class Output {
 public:
  explicit Output(BlockPool& blocks) : blocks_(blocks) {}
  ~Output() { clear(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Copies the bytes.
  void add(const uint8_t* bytes, size_t count);
  // References part of a block, which must not change until it is written.
  void add(Block* block, const uint8_t* bytes, size_t count);

  bool empty() const { return left_ == 0; }
  size_t bytes() const { return left_; }
  // Writes as much as the channel accepts, but not much more than a megabyte.
  Moved::State write(Channel& channel, uint64_t& written);
  void clear();

 private:
  struct Piece {
    const uint8_t* bytes;  // null: in copied_, at `at`
    size_t at;
    size_t count;
    Block* block;
  };
  const uint8_t* place(const Piece& piece) const {
    return piece.bytes != nullptr ? piece.bytes : copied_.data() + piece.at;
  }
  void drop(size_t count);

  BlockPool& blocks_;
  std::vector<uint8_t> copied_;
  std::vector<Piece> pieces_;
  size_t first_ = 0;  // index in pieces_ of the first unwritten piece
  size_t skip_ = 0;   // bytes of that piece that were written
  size_t left_ = 0;
};

}  // namespace serval
