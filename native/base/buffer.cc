// Growth and reuse of ByteBuffer and Arena. Hot path; the sizes here decide which memory is only
// faulted in once. One thread at a time.
#include "base/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/memory/pinned_blocks.h"

namespace serval {

namespace {

constexpr size_t round_up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// Never refused up to this size: error texts and the smallest requests must work when nothing else
// does.
constexpr size_t kPageBytes = 4096;

// Allocates memory charged to `budget` (nullptr: not charged); nullptr if memory or budget is
// exhausted. `never_refused`: it is charged even over the limit.
uint8_t* allocate_counted(size_t bytes, size_t counted_bytes, MemoryBudget* budget,
                          bool never_refused) {
  if (budget != nullptr && never_refused) {
    static_cast<void>(budget->add(counted_bytes));
  } else if (budget != nullptr && !budget->take(counted_bytes)) {
    return nullptr;
  }
  const bool kept = budget != nullptr && BlockCache::covers(bytes);
  uint8_t* data = kept ? budget->blocks().reuse(bytes) : nullptr;
  if (data == nullptr) data = kept ? allocate_block(bytes) : allocate_aligned(bytes);
  if (data == nullptr && budget != nullptr) budget->give(counted_bytes);
  return data;
}

// Returns the pages of a large block to the system in steps: a kernel that does not preempt system
// calls unmaps 100 MB in 10 ms, in which the core runs nothing else.
void drop_pages(uint8_t* data, size_t bytes) {
  constexpr size_t kStep = 256 << 10;  // a multiple of every page size
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t odd = reinterpret_cast<uintptr_t>(data) % page;
  size_t at = odd == 0 ? 0 : page - odd;
  for (; at + kStep <= bytes; at += kStep) (void)madvise(data + at, kStep, MADV_DONTNEED);
}

// `bytes` and `counted_bytes` as they were allocated.
void free_counted(uint8_t* data, size_t bytes, size_t counted_bytes, MemoryBudget* budget) {
  if (data == nullptr) return;
  const bool is_block = budget != nullptr && BlockCache::covers(bytes);
  const bool is_gone = is_block && (budget->blocks().keep(data, bytes) || give_pinned(data));
  if (!is_gone) {
    if (bytes >= MemoryBudget::kLargeBytes) drop_pages(data, bytes);
    free_aligned(data);
  }
  if (budget != nullptr) budget->give(counted_bytes);
}

}  // namespace

ByteBuffer::ByteBuffer(ByteBuffer&& other) noexcept { *this = std::move(other); }

ByteBuffer& ByteBuffer::operator=(ByteBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(offset_, other.offset_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(budget_, other.budget_);
  return *this;
}

ByteBuffer::~ByteBuffer() { free_counted(data_, capacity_ + kBodyPadding, capacity_, budget_); }

void ByteBuffer::clear(size_t aligned_at) {
  size_ = 0;
  offset_ = (kTensorAlignment - aligned_at % kTensorAlignment) % kTensorAlignment;
}

bool ByteBuffer::reserve(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return false;  // so that the sums below cannot overflow
  if (data_ != nullptr && bytes + offset_ <= capacity_) return true;
  const size_t usable = round_up(std::max<size_t>(bytes + offset_, 1), 4096);
  uint8_t* fresh = allocate_counted(usable + kBodyPadding, usable, budget_, usable <= kPageBytes);
  if (fresh == nullptr) return false;
  if (size_ != 0) std::memcpy(fresh + offset_, data_ + offset_, size_);
  std::memset(fresh + usable, 0, kBodyPadding);
  free_counted(data_, capacity_ + kBodyPadding, capacity_, budget_);
  data_ = fresh;
  capacity_ = usable;
  return true;
}

bool ByteBuffer::reserve_more(size_t bytes) {
  size_t wanted = 0;
  if (__builtin_add_overflow(size_, bytes, &wanted)) return false;
  return reserve(std::max(wanted, size_ + size_ / 2));
}

void ByteBuffer::shrink(size_t keep_bytes) {
  if (capacity_ <= keep_bytes) return;
  free_counted(data_, capacity_ + kBodyPadding, capacity_, budget_);
  data_ = nullptr;
  capacity_ = size_ = offset_ = 0;
}

bool ByteBuffer::frees_quickly() const {
  if (capacity_ < MemoryBudget::kLargeBytes) return true;
  return budget_ != nullptr && budget_->blocks().has_space(capacity_ + kBodyPadding) &&
         !should_be_pinned(data_, capacity_ + kBodyPadding);
}

Arena::~Arena() { drop_blocks(); }

uint8_t* Arena::new_block(size_t bytes) {
  const bool first = blocks_.empty() && bytes <= kBlockBytes;  // each worker has one
  uint8_t* data = allocate_counted(bytes, bytes, budget_, first);
  if (data != nullptr) blocks_.push_back({data, bytes});
  return data;
}

void Arena::drop_blocks() {
  for (const Block& block : blocks_) free_counted(block.data, block.bytes, block.bytes, budget_);
  blocks_.clear();
}

void* Arena::allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const size_t wanted = std::max<size_t>(round_up(bytes, kTensorAlignment), kTensorAlignment);
  if (blocks_.empty() || wanted > blocks_.back().bytes - used_) {
    const size_t block_bytes = std::max(kBlockBytes, wanted);
    if (new_block(block_bytes) == nullptr) return nullptr;
    used_ = 0;
  }
  void* place = blocks_.back().data + used_;
  used_ += wanted;
  return place;
}

void Arena::shrink_last(void* pointer, size_t bytes_used) {
  Block& block = blocks_.back();
  const auto start = static_cast<size_t>(static_cast<uint8_t*>(pointer) - block.data);
  used_ = start + std::max<size_t>(round_up(bytes_used, kTensorAlignment), kTensorAlignment);
}

void* Arena::regrow_last(void* pointer, size_t bytes_used, size_t bytes_wanted) {
  Block& block = blocks_.back();
  const auto start = static_cast<size_t>(static_cast<uint8_t*>(pointer) - block.data);
  if (bytes_wanted <= block.bytes - start) {
    used_ = start + round_up(bytes_wanted, kTensorAlignment);
    used_ = std::min(used_, block.bytes);
    return pointer;
  }
  void* fresh = allocate(bytes_wanted);
  if (fresh != nullptr) std::memcpy(fresh, pointer, bytes_used);
  return fresh;
}

void Arena::reset() {
  used_ = 0;
  if (blocks_.size() == 1 && budget_ != nullptr && BlockCache::covers(blocks_[0].bytes) &&
      should_be_pinned(blocks_[0].data, blocks_[0].bytes)) {
    drop_blocks();
  }
  if (blocks_.size() <= 1 && (blocks_.empty() || blocks_[0].bytes <= kKeepBytes)) return;
  // Replaces several blocks by one as large as all together, so that the next request needs only
  // one.
  size_t total = 0;
  for (const Block& block : blocks_) total += block.bytes;
  drop_blocks();
  new_block(std::min(total, kKeepBytes));
}

}  // namespace serval
