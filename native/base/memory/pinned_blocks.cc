// Decides which large blocks are pinned memory. Hot path (large blocks only); any thread.
#include "base/memory/pinned_blocks.h"

#include "base/buffer.h"
#include "base/memory/block_cache.h"

namespace serval {

namespace {

// The owner of a pinned block, null for a block in ordinary memory.
PinnedBlocks* owner_of(const uint8_t* block) {
  PinnedBlocks* const pinned = pinned_blocks().load(std::memory_order_acquire);
  return pinned != nullptr && pinned->has_block(block) ? pinned : nullptr;
}

}  // namespace

std::atomic<PinnedBlocks*>& pinned_blocks() {
  static std::atomic<PinnedBlocks*> blocks{nullptr};
  return blocks;
}

bool is_pinned_block(const uint8_t* block) { return owner_of(block) != nullptr; }

uint8_t* allocate_block(size_t bytes) {
  const size_t whole = BlockCache::block_bytes(bytes);
  PinnedBlocks* const pinned = pinned_blocks().load(std::memory_order_acquire);
  uint8_t* const block = pinned == nullptr ? nullptr : pinned->take_block(whole);
  return block != nullptr ? block : allocate_aligned(whole);
}

bool give_pinned(uint8_t* block) {
  PinnedBlocks* const pinned = owner_of(block);
  if (pinned != nullptr) pinned->give_block(block);
  return pinned != nullptr;
}

bool should_be_pinned(const uint8_t* block, size_t bytes) {
  PinnedBlocks* const pinned = pinned_blocks().load(std::memory_order_acquire);
  return pinned != nullptr && !pinned->has_block(block) &&
         pinned->has_room(BlockCache::block_bytes(bytes));
}

bool should_be_pinned(const ByteBuffer& buffer) {
  const size_t bytes = buffer.base_bytes() + kBodyPadding;
  return buffer.data() != nullptr && BlockCache::covers(bytes) &&
         should_be_pinned(buffer.data() - buffer.offset(), bytes);
}

}  // namespace serval
