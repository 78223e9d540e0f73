// Allocates pieces first-fit, and merges free neighbours.
#include "gpu/pinned_pool.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace serval::gpu {

namespace {

constexpr size_t kPieceBytes = 256;
constexpr unsigned kForAllDevices = 1;  // cudaHostAllocPortable

// Rounds up, so that small growth does not need a new piece each time.
size_t rounded(size_t bytes) {
  const size_t least = std::max(bytes, kPieceBytes);
  return least > (size_t{1} << 40) ? least : (least + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
}

}  // namespace

PinnedPool& PinnedPool::process() {
  // Never destroyed: scratches may return pieces at the very end.
  static PinnedPool* const pool = std::make_unique<PinnedPool>().release();
  return *pool;
}

PinnedPool::~PinnedPool() {
  if (memory_ != nullptr) calls_->free_host(memory_);
}

void PinnedPool::set_limit(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!tried_) limit_ = bytes;
}

// Makes the single large allocation: each piece would cost a system call and a driver lock.
void PinnedPool::pin(const CudaCalls& calls) {
  tried_ = true;
  if (limit_ == 0) return;
  void* memory = nullptr;
  enter_cuda(calls);
  if (calls.host_alloc(&memory, limit_, kForAllDevices) != 0) {
    calls.last_error();
    return;
  }
  calls_ = &calls;
  memory_ = static_cast<uint8_t*>(memory);
  free_.emplace(0, limit_);
  end_.store(memory_ + limit_, std::memory_order_relaxed);
  begin_.store(memory_, std::memory_order_release);
}

bool PinnedPool::holds(const uint8_t* data, size_t bytes) const {
  const uint8_t* const begin = begin_.load(std::memory_order_acquire);
  if (begin == nullptr || data < begin) return false;
  const uint8_t* const end = end_.load(std::memory_order_relaxed);
  return data <= end && bytes <= static_cast<size_t>(end - data);
}

void PinnedPool::offer_blocks() {
  if (begin_.load(std::memory_order_acquire) == nullptr) return;
  PinnedBlocks* none = nullptr;
  pinned_blocks().compare_exchange_strong(none, this, std::memory_order_acq_rel);
}

// The caller holds mutex_. The first free piece that is large enough.
std::map<size_t, size_t>::iterator PinnedPool::place_for(size_t bytes) {
  return std::find_if(free_.begin(), free_.end(),
                      [bytes](const auto& one) { return one.second >= bytes; });
}

// The caller holds mutex_. Takes the piece from the start of a free one.
uint8_t* PinnedPool::cut(std::map<size_t, size_t>::iterator place, Piece piece) {
  const auto [offset, size] = *place;
  free_.erase(place);
  if (size > piece.bytes) free_.emplace(offset + piece.bytes, size - piece.bytes);
  taken_.emplace(offset, piece);
  used_ += piece.bytes;
  if (piece.is_block) block_bytes_ += piece.bytes;
  show();
  return memory_ + offset;
}

uint8_t* PinnedPool::take_block(size_t bytes) {
  const size_t wanted = rounded(bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto place = place_for(wanted);
  if (place == free_.end() || !has_block_bytes(wanted)) return nullptr;
  return cut(place, {wanted, true});
}

bool PinnedPool::has_room(size_t bytes) {
  const size_t wanted = rounded(bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  return has_block_bytes(wanted) && place_for(wanted) != free_.end();
}

uint8_t* PinnedPool::take(const CudaCalls& calls, size_t bytes) {
  const size_t wanted = rounded(bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!tried_) pin(calls);
  const auto place = place_for(wanted);
  if (place == free_.end()) {
    ++fallbacks_;
    show();
    return nullptr;
  }
  return cut(place, {wanted, false});
}

void PinnedPool::give(uint8_t* piece) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = taken_.find(static_cast<size_t>(piece - memory_));
  if (found == taken_.end()) return;
  const size_t offset = found->first;
  size_t bytes = found->second.bytes;
  used_ -= bytes;
  if (found->second.is_block) block_bytes_ -= bytes;
  taken_.erase(found);
  show();
  const auto next = free_.find(offset + bytes);
  if (next != free_.end()) {
    bytes += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

void PinnedPool::show_on(PinnedPage* page) {
  const std::lock_guard<std::mutex> lock(mutex_);
  page_ = page;
  show();
}

// The caller holds mutex_.
void PinnedPool::show() {
  if (page_ == nullptr) return;
  page_->total_bytes.store(memory_ == nullptr ? 0 : limit_, std::memory_order_relaxed);
  page_->used_bytes.store(used_, std::memory_order_relaxed);
  page_->fallbacks.store(fallbacks_, std::memory_order_relaxed);
}

PinnedReading PinnedPool::read() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {memory_ == nullptr ? 0 : limit_, used_, fallbacks_};
}

HostBlock::HostBlock(HostBlock&& other) noexcept
    : calls_(other.calls_),
      data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)),
      pinned_(std::exchange(other.pinned_, false)) {}

uint8_t* HostBlock::grow(size_t bytes) {
  if (data_ != nullptr && bytes <= capacity_) return data_;
  drop();
  const size_t wanted = rounded(bytes);
  data_ = PinnedPool::process().take(*calls_, wanted);
  pinned_ = data_ != nullptr;
  if (!pinned_) data_ = static_cast<uint8_t*>(std::aligned_alloc(kPieceBytes, wanted));
  capacity_ = data_ == nullptr ? 0 : wanted;
  return data_;
}

void HostBlock::drop() {
  if (data_ == nullptr) return;
  if (pinned_) PinnedPool::process().give(data_);
  else std::free(data_);
  data_ = nullptr;
  capacity_ = 0;
  pinned_ = false;
}

DeviceBlock::DeviceBlock(DeviceBlock&& other) noexcept
    : calls_(other.calls_),
      data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)) {}

Status DeviceBlock::grow(size_t bytes, const std::string& what) {
  if (data_ != nullptr && bytes <= capacity_) return ok_status();
  drop();
  const size_t wanted = rounded(bytes);
  void* memory = nullptr;
  const CudaStatus status = calls_->allocate(&memory, wanted);
  if (status != 0) {
    return cuda_error(*calls_, status,
                      what + ": " + std::to_string(wanted) + " bytes of the device");
  }
  data_ = memory;
  capacity_ = wanted;
  return ok_status();
}

void DeviceBlock::drop() {
  if (data_ == nullptr) return;
  if (calls_->free(data_) != 0) calls_->last_error();
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace serval::gpu
