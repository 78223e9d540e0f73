// Byte memory: a growable aligned buffer (bodies, responses) and a bump arena (decoded tensors).
// Hot path. One thread at a time; both are reused for later requests, so that large blocks are only
// faulted in once. Large blocks that are charged to a
// budget come from its blocks().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/memory_budget.h"

namespace serval {

// Growable bytes with a 64-byte aligned base and kBodyPadding readable bytes after size() whenever
// it has memory (data() is null before the first growth, however small, and after shrink()).
// Growing moves the bytes. Never throws: if an allocation fails, or the budget refuses it,
// reserve() returns false.
class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept;
  ByteBuffer& operator=(ByteBuffer&& other) noexcept;
  ~ByteBuffer();

  // Charges all memory from now on; call it before the first growth. Borrows the budget for its
  // lifetime.
  void charge_to(MemoryBudget* budget) { budget_ = budget; }

  uint8_t* data() { return data_ == nullptr ? nullptr : data_ + offset_; }
  const uint8_t* data() const { return data_ == nullptr ? nullptr : data_ + offset_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_ > offset_ ? capacity_ - offset_ : 0; }
  // The start of the allocation (changes when the buffer grows), which JavaScript's ArrayBuffer
  // maps.
  uint8_t* base() { return data_; }
  size_t base_bytes() const { return capacity_; }
  size_t offset() const { return offset_; }

  // Clears the content, and places the first byte so that byte `aligned_at` is 64-byte aligned.
  void clear(size_t aligned_at = 0);
  // Reserves capacity for `bytes` in all. Keeps the content.
  [[nodiscard]] bool reserve(size_t bytes);
  // Appends `bytes` uninitialised bytes and returns them; nullptr if and only if memory is out.
  uint8_t* grow(size_t bytes) {
    if (must_grow(bytes) && !reserve_more(bytes)) return nullptr;
    uint8_t* place = data() + size_;
    size_ += bytes;
    return place;
  }
  // Reserves at least `bytes` after size() without appending them; commit with set_end().
  uint8_t* room(size_t bytes) {
    if (must_grow(bytes) && !reserve_more(bytes)) return nullptr;
    return data() + size_;
  }
  void set_end(uint8_t* end) { size_ = static_cast<size_t>(end - data()); }
  [[nodiscard]] bool append(const void* bytes, size_t count) {
    uint8_t* place = grow(count);
    if (place == nullptr) return false;
    if (count != 0) std::memcpy(place, bytes, count);
    return true;
  }
  [[nodiscard]] bool append(std::string_view text) { return append(text.data(), text.size()); }
  void truncate(size_t bytes) { size_ = bytes; }
  std::span<const uint8_t> bytes() const { return {data(), size_}; }
  // Frees all memory, with the content, if it is more than `keep_bytes`.
  void shrink(size_t keep_bytes);
  // Returns whether freeing is quick: the memory is small, or is kept for a later request.
  // (Unmapping 100 MB takes 10 ms and more.)
  bool frees_quickly() const;

 private:
  bool must_grow(size_t bytes) const { return data_ == nullptr || bytes > capacity() - size_; }
  bool reserve_more(size_t bytes);
  uint8_t* data_ = nullptr;
  size_t offset_ = 0;    // of the first byte in the allocation
  size_t size_ = 0;      // bytes in use, from offset_
  size_t capacity_ = 0;  // usable bytes of the allocation (without padding)
  MemoryBudget* budget_ = nullptr;
};

// Bump allocator for one request's decoded tensors. Blocks are only freed at reset() or
// destruction, so pointers stay valid until then. Keeps its blocks (up to kKeepBytes) for the next
// request.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Charges all blocks from now on; call it before the first one. Borrows the budget for its
  // lifetime.
  void charge_to(MemoryBudget* budget) { budget_ = budget; }
  // The budget it charges; nullptr = none.
  MemoryBudget* budget() const { return budget_; }

  // Returns `bytes` of uninitialised memory, 64-byte aligned; nullptr if memory is out. bytes 0
  // gives a valid pointer.
  void* allocate(size_t bytes);
  template <typename T>
  T* allocate_array(size_t count) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) return nullptr;
    return static_cast<T*>(allocate(bytes));
  }
  // Returns the unused tail of the latest allocation.
  void shrink_last(void* pointer, size_t bytes_used);
  // Grows the latest allocation in place or moves it; nullptr if memory is out (the old one is
  // kept).
  void* regrow_last(void* pointer, size_t bytes_used, size_t bytes_wanted);
  void reset();

 private:
  static constexpr size_t kBlockBytes = 64 * 1024;
  static constexpr size_t kKeepBytes = 4 * 1024 * 1024;
  struct Block {
    uint8_t* data;
    size_t bytes;
  };
  uint8_t* new_block(size_t bytes);
  void drop_blocks();
  std::vector<Block> blocks_;
  size_t used_ = 0;  // of the last block
  MemoryBudget* budget_ = nullptr;
};

}  // namespace serval
