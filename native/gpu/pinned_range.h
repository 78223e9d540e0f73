// Pins existing host memory in place: memory that one process writes and another copies to a GPU.
// Any thread; is_pinned(): hot path.
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

  // Pins [data, data + bytes), whole pages that stay mapped until drop(), and unpins the previous
  // range. This thread's current device already has a context. False: it cannot be pinned, which is
  // no error: it remains ordinary memory.
  bool take(const CudaCalls& calls, uint8_t* data, size_t bytes);
  // Call it before the memory is unmapped, or its pages are freed.
  void drop();

  bool holds(const uint8_t* data, size_t bytes) const { return data_ == data && bytes_ == bytes; }

 private:
  const CudaCalls* calls_ = nullptr;
  uint8_t* data_ = nullptr;  // null: nothing
  size_t bytes_ = 0;
};

// Whether all of [data, data + bytes) is in one PinnedRange of this process.
bool is_pinned(const uint8_t* data, size_t bytes);

}  // namespace serval::gpu
