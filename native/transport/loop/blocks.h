// Memory for messages in transit: responses that wait to be written, requests that are still being
// received. Freed memory is reused, up to a limit. Hot path; one listener's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/buffer.h"

namespace serval {

// The bytes of a response. Held by the call that sends it and by the output that writes it.
struct Block {
  ByteBuffer buffer;
  uint32_t holders = 0;
};

class BlockPool {
 public:
  // Charges all memory to the budget. `free_large` takes over large buffers that are not kept, to
  // free them on another thread because that is slow; may be empty.
  BlockPool(MemoryBudget& budget, std::function<void(ByteBuffer)> free_large);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Returns an empty block with one holder; the memory of a short one is kept with it.
  Block* take();
  // Drops one holder.
  void release(Block* block);

  ByteBuffer take_buffer();
  void give_buffer(ByteBuffer buffer);
  // Frees the memory that is kept for reuse.
  void drop();

 private:
  MemoryBudget& budget_;
  const std::function<void(ByteBuffer)> free_large_;
  std::vector<std::unique_ptr<Block>> free_blocks_;
  std::vector<ByteBuffer> buffers_;
  uint64_t kept_bytes_ = 0;  // total of buffers_
};

}  // namespace serval
