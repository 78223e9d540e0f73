// Quantiles of the last minute: exact ranks, values within 1.6 %, old slots forgotten.
#include "stats/summary_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <thread>

namespace serval {
namespace {

constexpr uint64_t kStartMs = 1'700'000'000'000;

TEST(SummaryBuckets, EveryValueIsNearTheMiddleOfItsBucket) {
  for (uint64_t ns = 0; ns < 64; ++ns)
    EXPECT_EQ(SummaryBuckets::middle(SummaryBuckets::of(ns)), ns);
  size_t last = 0;
  for (double value = 64; value < 0x1p40; value *= 1.003) {
    const auto ns = static_cast<uint64_t>(value);
    const size_t bucket = SummaryBuckets::of(ns);
    EXPECT_LT(bucket, SummaryBuckets::kCount);
    EXPECT_GE(bucket, last);
    EXPECT_NEAR(SummaryBuckets::middle(bucket), value, value * 0.016);
    last = bucket;
  }
  EXPECT_EQ(SummaryBuckets::of(UINT64_MAX), SummaryBuckets::kCount - 1);
}

TEST(SummaryWindow, QuantilesAreThoseOfTheSortedLatencies) {
  std::mt19937 random(11);
  std::lognormal_distribution<double> latencies(13, 2);
  const auto window = std::make_unique<SummaryWindow>();
  std::vector<uint64_t> all;
  for (size_t i = 0; i < 5'000; ++i) {
    all.push_back(static_cast<uint64_t>(latencies(random)));
    window->record(Summary::Queue, all.back(), kStartMs + i * 8);  // over 40 seconds
  }
  SummaryCounts counts;
  window->add_to(counts, kStartMs + 40'000);
  std::ranges::sort(all);
  for (const double quantile : {0.0, 0.25, 0.5, 0.9, 0.999, 1.0}) {
    const double rank = std::max(1.0, std::ceil(quantile * 5'000));
    const double exact = static_cast<double>(all[static_cast<size_t>(rank) - 1]) / 1000;
    EXPECT_NEAR(quantile_us(counts[1], quantile), exact, exact * 0.016) << quantile;
  }
  EXPECT_TRUE(std::isnan(quantile_us(counts[0], 0.5))) << "no requests";
}

TEST(SummaryWindow, LatenciesOfMoreThanAMinuteAgoAreForgotten) {
  const auto window = std::make_unique<SummaryWindow>();
  const auto count_at = [&](uint64_t ms) {
    SummaryCounts counts;
    window->add_to(counts, ms);
    uint64_t sum = 0;
    for (const uint64_t one : counts[0]) sum += one;
    return sum;
  };
  window->record(Summary::Request, 5, kStartMs);
  window->record(Summary::Request, 5, kStartMs + 30'000);
  EXPECT_EQ(count_at(kStartMs + 30'000), 2u);
  EXPECT_EQ(count_at(kStartMs + 60'000), 1u) << "the first slot is too old";
  EXPECT_EQ(count_at(kStartMs + 100'000), 0u);
  window->record(Summary::Request, 5, kStartMs + 60'000);  // in the place of the first
  EXPECT_EQ(count_at(kStartMs + 60'000), 2u);
  window->record(Summary::Request, 5, kStartMs + 30'000);  // the clock was set back
  EXPECT_EQ(count_at(kStartMs + 60'000), 3u);
}

TEST(SummaryWindow, AReaderNeverCountsMoreThanWasRecorded) {
  const auto window = std::make_unique<SummaryWindow>();
  std::thread writer([&] {
    for (uint64_t i = 0; i < 20'000; ++i) {
      window->record(Summary::Output, i, kStartMs + i * 100);
    }
  });
  for (int i = 0; i < 50; ++i) {
    SummaryCounts counts;
    window->add_to(counts, kStartMs + 20'000 * 100);
    uint64_t sum = 0;
    for (const uint64_t one : counts[4]) sum += one;
    EXPECT_LE(sum, SummaryWindow::kSlots * SummaryWindow::kSlotMs / 100);
  }
  writer.join();
}

}  // namespace
}  // namespace serval
