// The interface to memory that GPUs copy from directly, for large blocks in which requests arrive:
// such a request needs no copy on the host. Hot path (large blocks only); any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace serval {

class ByteBuffer;

class PinnedBlocks {
 public:
  // Returns memory for a block, 64-byte aligned; nullptr if there is none.
  virtual uint8_t* take_block(size_t bytes) = 0;
  // Returns a block that take_block() returned. The caller ensures that no copy reads it any more.
  virtual void give_block(uint8_t* block) = 0;
  // Whether take_block() returned the block.
  virtual bool has_block(const uint8_t* block) const = 0;
  // Whether take_block() would return memory now.
  virtual bool has_room(size_t bytes) = 0;

 protected:
  ~PinnedBlocks() = default;
};

// The process's pinned blocks; null until a GPU has copied a large tensor from ordinary memory.
// Once set, it stays.
std::atomic<PinnedBlocks*>& pinned_blocks();

// Memory of BlockCache::block_bytes(bytes) bytes for a block that BlockCache covers: pinned if
// there is such memory; nullptr if the system has none.
uint8_t* allocate_block(size_t bytes);
// Whether the memory is such a block.
bool is_pinned_block(const uint8_t* block);
// Gives a pinned block back. False: it is in ordinary memory, and the caller frees it.
[[nodiscard]] bool give_pinned(uint8_t* block);
// Whether a block is in ordinary memory although there is pinned memory for it: it is freed after
// use instead of kept.
bool should_be_pinned(const uint8_t* block, size_t bytes);
// The same for a buffer's memory; false if it has none.
bool should_be_pinned(const ByteBuffer& buffer);

}  // namespace serval
