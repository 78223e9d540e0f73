// Histograms of latencies: exact for small values, within one percent for large ones.
#include "load/measure/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace serval::load {
namespace {

TEST(LoadHistogram, QuantilesAreThoseOfTheSortedListWithinAPercent) {
  Histogram histogram;
  std::vector<double> all;
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = std::floor(300 * std::pow(1.0017, i));
    all.push_back(value);
    sum += value;
    histogram.add(static_cast<uint64_t>(value));
  }
  for (const double part : {0.5, 0.9, 0.99, 0.999}) {
    const double expected = all[static_cast<size_t>(std::ceil(part * 10'000)) - 1];
    EXPECT_NEAR(histogram.quantile_ns(part), expected, 0.005 * expected) << part;
  }
  EXPECT_EQ(histogram.count(), 10'000u);
  EXPECT_EQ(static_cast<double>(histogram.max_ns()), all.back());
  EXPECT_DOUBLE_EQ(histogram.sum_ns(), sum);
}

TEST(LoadHistogram, BucketsFollowEachOtherWithoutAGap) {
  for (size_t bucket = 0; bucket < 3000; ++bucket) {
    const uint64_t lowest = Histogram::lowest_of(bucket);
    ASSERT_EQ(Histogram::bucket_of(lowest), bucket);
    ASSERT_EQ(Histogram::bucket_of(Histogram::lowest_of(bucket + 1) - 1), bucket);
    const auto width = static_cast<double>(Histogram::lowest_of(bucket + 1) - lowest);
    ASSERT_LE(width, std::max(1.0, static_cast<double>(lowest) / 128)) << bucket;
  }
}

TEST(LoadHistogram, KeepsTheSmallestAndTheLargestLatency) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile_ns(0.5), 0);
  EXPECT_TRUE(histogram.buckets().empty());
  histogram.add(0);
  histogram.add(UINT64_MAX / 4);
  ASSERT_EQ(histogram.buckets().size(), 2u);
  EXPECT_EQ(histogram.quantile_ns(0.5), 0);
  EXPECT_NEAR(histogram.quantile_ns(1), 0x1p62, 0x1p55);
}

}  // namespace
}  // namespace serval::load
