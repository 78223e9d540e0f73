// Memory of messages on their way: answers that wait to be written, requests that still come. What
// is given back is used again, up to a limit. Hot path; one listener's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/buffer.h"

namespace serval {

// An answer's bytes. Held by the call that sends it and by what is being written of it.
struct Block {
  ByteBuffer buffer;
  uint32_t holders = 0;
};

class BlockPool {
 public:
  // All memory is charged to the budget. `free_large`: takes what is large and kept no more (to be
  // freed elsewhere: that takes long); may be empty.
  BlockPool(MemoryBudget& budget, std::function<void(ByteBuffer)> free_large);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // An empty block with one holder; a short one's memory is kept with it.
  Block* take();
  // One holder less.
  void release(Block* block);

  ByteBuffer take_buffer();
  void give_buffer(ByteBuffer buffer);
  // Gives back what is kept.
  void drop();

 private:
  MemoryBudget& budget_;
  const std::function<void(ByteBuffer)> free_large_;
  std::vector<std::unique_ptr<Block>> free_blocks_;
  std::vector<ByteBuffer> buffers_;
  uint64_t kept_bytes_ = 0;  // of buffers_
};

}  // namespace serval
