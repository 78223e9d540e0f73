// Implements the pool of blocks and buffers. Hot path; the listener's thread.
#include "transport/loop/blocks.h"

#include <utility>

#include "base/memory/pinned_blocks.h"

namespace serval {

namespace {

constexpr size_t kBlockKeepBytes = 4 * 1024;   // capacity that a free block keeps
constexpr size_t kBufferKeepBytes = 1u << 20;  // per buffer
constexpr uint64_t kKeptBytesMax = 2u << 20;   // over all buffers
constexpr size_t kFreeBlocksMax = 128;

}  // namespace

BlockPool::BlockPool(MemoryBudget& budget, std::function<void(ByteBuffer)> free_large)
    : budget_(budget), free_large_(std::move(free_large)) {}

Block* BlockPool::take() {
  if (free_blocks_.empty()) {
    auto block = std::make_unique<Block>();
    block->buffer.charge_to(&budget_);
    block->holders = 1;
    return block.release();
  }
  Block* block = free_blocks_.back().release();
  free_blocks_.pop_back();
  block->holders = 1;
  return block;
}

void BlockPool::release(Block* block) {
  if (--block->holders > 0) return;
  std::unique_ptr<Block> owned(block);
  if (owned->buffer.base_bytes() > kBlockKeepBytes) {
    ByteBuffer empty;
    empty.charge_to(&budget_);
    give_buffer(std::exchange(owned->buffer, std::move(empty)));
  }
  if (free_blocks_.size() >= kFreeBlocksMax) return;
  owned->buffer.clear();
  free_blocks_.push_back(std::move(owned));
}

ByteBuffer BlockPool::take_buffer() {
  if (buffers_.empty()) {
    ByteBuffer buffer;
    buffer.charge_to(&budget_);
    return buffer;
  }
  ByteBuffer buffer = std::move(buffers_.back());
  buffers_.pop_back();
  kept_bytes_ -= buffer.base_bytes();
  buffer.clear();
  return buffer;
}

void BlockPool::give_buffer(ByteBuffer buffer) {
  const size_t bytes = buffer.base_bytes();
  if (bytes == 0) return;
  if (bytes > kBufferKeepBytes || kept_bytes_ + bytes > kKeptBytesMax || should_be_pinned(buffer)) {
    if (!buffer.frees_quickly() && free_large_) free_large_(std::move(buffer));
    return;
  }
  kept_bytes_ += bytes;
  buffers_.push_back(std::move(buffer));
}

void BlockPool::drop() {
  buffers_.clear();
  free_blocks_.clear();
  kept_bytes_ = 0;
}

}  // namespace serval
