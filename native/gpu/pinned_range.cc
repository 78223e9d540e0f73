// Pins existing memory and records the ranges.
#include "gpu/pinned_range.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace serval::gpu {

namespace {

constexpr unsigned kForAllDevices = 1;  // cudaHostRegisterPortable

struct Ranges {
  std::shared_mutex mutex;
  std::map<const uint8_t*, size_t> bytes_at;  // guarded by mutex
  std::atomic<size_t> count{0};
};

// Never destroyed: threads may still call it at the very end.
Ranges& ranges() {
  static Ranges* const all = std::make_unique<Ranges>().release();
  return *all;
}

}  // namespace

bool PinnedRange::take(const CudaCalls& calls, uint8_t* data, size_t bytes) {
  drop();
  enter_cuda(calls);
  if (bytes == 0 || calls.pin(data, bytes, kForAllDevices) != 0) {
    calls.last_error();
    return false;
  }
  calls_ = &calls;
  data_ = data;
  bytes_ = bytes;
  Ranges& all = ranges();
  const std::unique_lock lock(all.mutex);
  all.bytes_at[data] = bytes;
  all.count.store(all.bytes_at.size(), std::memory_order_relaxed);
  return true;
}

void PinnedRange::drop() {
  if (data_ == nullptr) return;
  {
    Ranges& all = ranges();
    const std::unique_lock lock(all.mutex);
    all.bytes_at.erase(data_);
    all.count.store(all.bytes_at.size(), std::memory_order_relaxed);
  }
  calls_->unpin(data_);
  data_ = nullptr;
  bytes_ = 0;
}

bool is_pinned(const uint8_t* data, size_t bytes) {
  Ranges& all = ranges();
  if (all.count.load(std::memory_order_relaxed) == 0) return false;
  const std::shared_lock lock(all.mutex);
  auto after = all.bytes_at.upper_bound(data);
  if (after == all.bytes_at.begin()) return false;
  --after;
  const auto lead = static_cast<size_t>(data - after->first);
  return lead <= after->second && bytes <= after->second - lead;
}

}  // namespace serval::gpu
