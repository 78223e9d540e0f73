// Memory of the host that was there before, pinned where it lies: what one process writes and
// another hands to a GPU. Any thread; is_pinned(): hot path.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cuda.h"

namespace serval::gpu {

class PinnedRange {
 public:
  PinnedRange() = default;
  PinnedRange(const PinnedRange&) = delete;
  PinnedRange& operator=(const PinnedRange&) = delete;
  ~PinnedRange() { drop(); }

  // Pins [data, data + bytes), whole pages that stay mapped until drop(), in place of what was
  // pinned. The device that is this thread's has a context already. False: it cannot be, which is
  // no error: it is ordinary memory then.
  bool take(const CudaCalls& calls, uint8_t* data, size_t bytes);
  // Before the memory is unmapped, or its pages are given back.
  void drop();

  bool holds(const uint8_t* data, size_t bytes) const { return data_ == data && bytes_ == bytes; }

 private:
  const CudaCalls* calls_ = nullptr;
  uint8_t* data_ = nullptr;  // null: nothing
  size_t bytes_ = 0;
};

// Whether all of [data, data + bytes) lies in one PinnedRange of this process.
bool is_pinned(const uint8_t* data, size_t bytes);

}  // namespace serval::gpu
