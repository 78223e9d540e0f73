// Size classes and reuse of large blocks. Hot path, any thread; memory is freed outside the lock.
#include "base/memory/block_cache.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/limits.h"
#include "base/memory/pinned_blocks.h"

namespace serval {

namespace {

constexpr size_t kSteps = 8;  // classes of each power of two
constexpr size_t kFirstPower = std::countr_zero(BlockCache::kBytesMin);

constexpr uintptr_t kPieceBytes = 4u << 20;  // released at once by release_pages()

// The distance between the classes around `bytes`.
size_t step_of(size_t bytes) { return std::bit_floor(bytes) / kSteps; }

}  // namespace

uint8_t* allocate_aligned(size_t bytes) {
  return static_cast<uint8_t*>(
      ::operator new (bytes, std::align_val_t{kTensorAlignment}, std::nothrow));
}

void free_aligned(uint8_t* block) { ::operator delete (block, std::align_val_t{kTensorAlignment}); }

void release_pages(uint8_t* block, size_t bytes) {
  if (is_pinned_block(block)) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(block);
  const uintptr_t end = (begin + bytes) / page * page;
  for (uintptr_t at = (begin + page - 1) / page * page; at < end; at += kPieceBytes) {
    madvise(reinterpret_cast<void*>(at), std::min(kPieceBytes, end - at), MADV_DONTNEED);
  }
}

size_t BlockCache::block_bytes(size_t bytes) {
  const size_t step = step_of(bytes);
  return (bytes + step - 1) / step * step;
}

size_t BlockCache::class_of(size_t bytes) {
  const size_t block = block_bytes(bytes);
  const size_t power = static_cast<size_t>(std::bit_width(block)) - 1;
  return (power - kFirstPower) * kSteps + (block >> (power - 3)) % kSteps;
}

uint8_t* BlockCache::reuse(size_t bytes) {
  if (kept_bytes() == 0) return nullptr;
  std::lock_guard lock(mutex_);
  std::vector<Kept>& blocks = classes_[class_of(bytes)];
  if (blocks.empty()) return nullptr;
  uint8_t* const block = blocks.back().block;
  blocks.pop_back();
  kept_bytes_.fetch_sub(block_bytes(bytes), std::memory_order_relaxed);
  ASAN_UNPOISON_MEMORY_REGION(block, block_bytes(bytes));
  return block;
}

bool BlockCache::keep(uint8_t* block, size_t bytes) {
  std::lock_guard lock(mutex_);
  if (!has_space(bytes) || should_be_pinned(block, bytes)) return false;
  ASAN_POISON_MEMORY_REGION(block, block_bytes(bytes));  // its previous owner may not use it
  classes_[class_of(bytes)].push_back({block, now_ns()});
  const uint64_t before = kept_bytes_.fetch_add(block_bytes(bytes), std::memory_order_relaxed);
  if (before == 0 && hook_) hook_();
  return true;
}

void BlockCache::drop(uint64_t ns, uint64_t enough) {
  std::vector<std::pair<uint8_t*, size_t>> unused;
  {
    const uint64_t now = now_ns();
    std::lock_guard lock(mutex_);
    uint64_t freed = 0;
    for (size_t index = 0; index < kClasses && freed < enough; ++index) {
      std::vector<Kept>& blocks = classes_[index];
      const size_t bytes = (kSteps + index % kSteps) << (kFirstPower + index / kSteps - 3);
      auto end = blocks.begin();
      for (; end != blocks.end() && freed < enough; ++end) {
        if (ns != 0 && end->since_ns + ns > now) break;
        ASAN_UNPOISON_MEMORY_REGION(end->block, bytes);
        unused.emplace_back(end->block, bytes);
        freed += bytes;
      }
      blocks.erase(blocks.begin(), end);
    }
    kept_bytes_.fetch_sub(freed, std::memory_order_relaxed);
  }
  for (const auto& [block, bytes] : unused) {
    if (give_pinned(block)) continue;
    if (bytes > kPieceBytes) release_pages(block, bytes);
    free_aligned(block);
  }
}

void BlockCache::on_first_block(std::function<void()> hook) {
  std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

}  // namespace serval
