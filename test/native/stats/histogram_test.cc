// Bucket indexes against a search through the bounds, and TensorFlow's bounds against their
// formula.
#include "stats/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <span>
#include <string>

namespace serval {
namespace {

size_t searched(std::span<const uint64_t> bounds, uint64_t value) {
  return static_cast<size_t>(std::lower_bound(bounds.begin(), bounds.end(), value) -
                             bounds.begin());
}

template <size_t N>
void compare(const BucketIndex<N>& index, const std::array<uint64_t, N>& bounds) {
  for (const uint64_t bound : bounds) {
    for (const uint64_t value : {bound - 1, bound, bound + 1}) {
      ASSERT_EQ(index.of(value), searched(bounds, value)) << value;
    }
  }
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (const uint64_t value : {power - 1, power, power + 1}) {
      ASSERT_EQ(index.of(value), searched(bounds, value)) << value;
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t value = random() >> (random() % 64);
    ASSERT_EQ(index.of(value), searched(bounds, value)) << value;
  }
}

TEST(Histogram, LatencyBucketsAreThoseOfASearch) {
  compare(kLatencyBucket, kLatencyBoundsNs);
  EXPECT_EQ(kLatencyBucket.of(0), 0u);
  EXPECT_EQ(kLatencyBucket.of(1'000), 0u);  // bounds belong to their own bucket
  EXPECT_EQ(kLatencyBucket.of(1'001), 1u);
  EXPECT_EQ(kLatencyBucket.of(UINT64_MAX), kLatencyBoundsNs.size());
}

TEST(Histogram, TensorFlowBucketsAreThoseOfASearch) {
  compare(kTensorFlowBucket, kTensorFlowBoundsNs);
  EXPECT_EQ(kTensorFlowBucket.of(UINT64_MAX), kTensorFlowBuckets);
}

TEST(Histogram, TensorFlowBoundsAreTheFormulaAtSixDigits) {
  for (size_t k = 0; k < kTensorFlowBuckets; ++k) {
    char expected[32], got[32];
    std::snprintf(expected, sizeof expected, "%.6g", 10 * std::pow(1.8, static_cast<double>(k)));
    std::snprintf(got, sizeof got, "%.17g", static_cast<double>(kTensorFlowBoundsNs[k]) / 1e3);
    EXPECT_EQ(std::stod(expected), std::stod(got)) << k;
  }
}

TEST(Histogram, BatchRowsBucketsAreThoseOfASearch) {
  std::array<uint64_t, kBatchRowsBounds> bounds{};
  for (size_t i = 0; i < bounds.size(); ++i) bounds[i] = uint64_t{1} << i;
  for (uint32_t rows = 0; rows < 20'000; ++rows) {
    ASSERT_EQ(batch_rows_bucket(rows), searched(bounds, rows)) << rows;
  }
  EXPECT_EQ(batch_rows_bucket(UINT32_MAX), kBatchRowsBounds);
}

}  // namespace
}  // namespace serval
