// A compact histogram of many latencies: counts by size, 128 buckets per doubling (0.8 % wide).
// Pure; one thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace serval::load {

class Histogram {
 public:
  void add(uint64_t ns) {
    ++count_;
    sum_ns_ += static_cast<double>(ns);
    if (ns > max_ns_) max_ns_ = ns;
    const size_t bucket = bucket_of(ns);
    if (bucket >= counts_.size()) counts_.resize(bucket + 1);
    ++counts_[bucket];
  }

  uint64_t count() const { return count_; }
  double sum_ns() const { return sum_ns_; }
  uint64_t max_ns() const { return max_ns_; }

  struct Bucket {
    double middle_ns;
    uint64_t count;
  };
  // The non-empty buckets, in ascending order.
  std::vector<Bucket> buckets() const;
  // The latency that this fraction (0.99) of all did not exceed, within half a bucket; 0 if it is
  // empty.
  double quantile_ns(double part) const;

  static size_t bucket_of(uint64_t ns) {
    if (ns < 2 * kSplit) return ns;
    const auto power = static_cast<size_t>(std::bit_width(ns)) - 1 - kSplitBits;
    return power * kSplit + (ns >> power);
  }
  // Bucket i has the numbers from lowest_of(i) to lowest_of(i + 1) - 1.
  static uint64_t lowest_of(size_t bucket);

 private:
  static constexpr size_t kSplitBits = 7;
  static constexpr size_t kSplit = size_t{1} << kSplitBits;

  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  double sum_ns_ = 0;
  uint64_t max_ns_ = 0;
};

}  // namespace serval::load
