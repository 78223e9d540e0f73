// Pinned host memory that GPUs copy from and to directly: one block per process, divided into
// pieces. Any thread; pieces are allocated while a model warms up, not by each request. Up to half
// of it may be blocks in which large requests arrive.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/memory/pinned_blocks.h"
#include "gpu/cuda.h"

namespace serval::gpu {

inline constexpr uint64_t kPinnedPoolBytes = 256u << 20;  // Triton's default

// The values on the metrics page.
struct PinnedReading {
  uint64_t total_bytes = 0;  // 0: nothing is pinned
  uint64_t used_bytes = 0;
  uint64_t fallbacks = 0;  // pieces for which ordinary memory was used instead
};

// The same values for other readers: memory that may be shared with another process.
struct PinnedPage {
  std::atomic<uint64_t> total_bytes{0}, used_bytes{0}, fallbacks{0};
};

class PinnedPool final : public PinnedBlocks {
 public:
  // The process's pool; never destroyed. Nothing is pinned before the first allocation.
  static PinnedPool& process();

  PinnedPool() = default;
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;
  virtual ~PinnedPool();

  // Sets the pool's size, 0 = no pinned memory; call it before the first allocation.
  void set_limit(uint64_t bytes);
  // Takes a piece, 256-byte aligned; nullptr if none is left, or nothing can be pinned.
  uint8_t* take(const CudaCalls& calls, size_t bytes);
  // Returns a piece to the pool.
  void give(uint8_t* piece);
  // Makes large blocks come from this pool from now on, if anything is pinned: called when a GPU
  // had to copy a large tensor from ordinary memory. The pool lives as long as the process.
  void offer_blocks();
  uint8_t* take_block(size_t bytes) override;
  void give_block(uint8_t* block) override { give(block); }
  bool has_block(const uint8_t* block) const override { return holds(block, 1); }
  bool has_room(size_t bytes) override;
  // Whether [data, data + bytes) is in the pool.
  bool holds(const uint8_t* data, size_t bytes) const;
  PinnedReading read();
  // Keeps `page`, which outlives the pool, equal to the result of read().
  void show_on(PinnedPage* page);

 private:
  struct Piece {
    size_t bytes = 0;
    bool is_block = false;
  };
  void show();
  void pin(const CudaCalls& calls);
  std::map<size_t, size_t>::iterator place_for(size_t bytes);
  uint8_t* cut(std::map<size_t, size_t>::iterator place, Piece piece);
  bool has_block_bytes(size_t bytes) const { return block_bytes_ + bytes <= limit_ / 2; }

  std::mutex mutex_;
  uint64_t limit_ = kPinnedPoolBytes;  // guarded by mutex_, like everything below
  bool tried_ = false;
  const CudaCalls* calls_ = nullptr;
  uint8_t* memory_ = nullptr;
  // The pool's range, once it is pinned; read without the lock.
  std::atomic<const uint8_t*> begin_{nullptr}, end_{nullptr};
  uint64_t used_ = 0, fallbacks_ = 0, block_bytes_ = 0;
  PinnedPage* page_ = nullptr;     // null: no page
  std::map<size_t, size_t> free_;  // offset -> bytes; neighbours are joined
  std::map<size_t, Piece> taken_;  // by offset
};

// Host memory of one tensor that is copied to or from a device: from the pool, otherwise ordinary.
// Kept between runs, grows. One thread at a time.
class HostBlock {
 public:
  explicit HostBlock(const CudaCalls& calls) : calls_(&calls) {}
  HostBlock(HostBlock&& other) noexcept;
  HostBlock& operator=(HostBlock&&) = delete;
  HostBlock(const HostBlock&) = delete;
  ~HostBlock() { drop(); }

  // Ensures `bytes` with undefined content; nullptr if memory is out.
  uint8_t* grow(size_t bytes);
  uint8_t* data() { return data_; }
  bool pinned() const { return pinned_; }

 private:
  void drop();
  const CudaCalls* calls_;
  uint8_t* data_ = nullptr;
  size_t capacity_ = 0;
  bool pinned_ = false;
};

// The same on a device. Its owner makes the device current before each call, including the
// destructor.
class DeviceBlock {
 public:
  explicit DeviceBlock(const CudaCalls& calls) : calls_(&calls) {}
  DeviceBlock(DeviceBlock&& other) noexcept;
  DeviceBlock& operator=(DeviceBlock&&) = delete;
  DeviceBlock(const DeviceBlock&) = delete;
  ~DeviceBlock() { drop(); }

  // Errors: CUDA's, prefixed with `what`.
  Status grow(size_t bytes, const std::string& what);
  void* data() { return data_; }

 private:
  void drop();
  const CudaCalls* calls_;
  void* data_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace serval::gpu
