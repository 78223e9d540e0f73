// Finds the histogram bucket of a number in a few instructions. Hot path, any thread; the tables
// are made at compile time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "stats/model_stats.h"

namespace serval {

// Ascending bounds, at most two of which are between two consecutive powers of two. So the number's
// bit width gives the first candidate, and two comparisons decide.
template <size_t N>
class BucketIndex {
 public:
  constexpr explicit BucketIndex(const std::array<uint64_t, N>& bounds) {
    bounds_.fill(UINT64_MAX);
    for (size_t i = 0; i < N; ++i) bounds_[i] = bounds[i];
    for (size_t width = 0; width < first_.size(); ++width) {
      const uint64_t least = width == 0 ? 0 : uint64_t{1} << (width - 1);
      while (first_[width] < N && bounds[first_[width]] < least) ++first_[width];
    }
  }

  // Index of the first bound >= value; N if there is none.
  constexpr size_t of(uint64_t value) const {
    const size_t first = first_[static_cast<size_t>(std::bit_width(value))];
    return first + (value > bounds_[first] ? 1 : 0) + (value > bounds_[first + 1] ? 1 : 0);
  }

 private:
  std::array<uint8_t, 65> first_{};
  std::array<uint64_t, N + 2> bounds_{};
};

inline constexpr auto kLatencyBoundsNs = [] {
  std::array<uint64_t, kLatencyBoundsUs.size()> bounds{};
  for (size_t i = 0; i < bounds.size(); ++i) {
    bounds[i] = static_cast<uint64_t>(kLatencyBoundsUs[i]) * 1000;
  }
  return bounds;
}();

// 10 us * 1.8^k, each rounded to the six digits in its label: 188.957 us, not 188.9568.
inline constexpr auto kTensorFlowBoundsNs = [] {
  std::array<uint64_t, kTensorFlowBuckets> bounds{};
  double exact = 10'000;
  for (uint64_t& bound : bounds) {
    double step = 1;
    while (exact / step >= 1e6) step *= 10;
    bound = static_cast<uint64_t>(exact / step + 0.5) * static_cast<uint64_t>(step);
    exact *= 1.8;
  }
  return bounds;
}();

inline constexpr size_t kBatchRowsBounds = 14;  // 1, 2, 4 ... 8192

inline constexpr BucketIndex kLatencyBucket{kLatencyBoundsNs};
inline constexpr BucketIndex kTensorFlowBucket{kTensorFlowBoundsNs};

constexpr size_t batch_rows_bucket(uint32_t rows) {
  const auto width = static_cast<size_t>(std::bit_width(rows == 0 ? 0 : rows - 1));
  return width < kBatchRowsBounds ? width : kBatchRowsBounds;
}

}  // namespace serval
