// Implements the latency histogram. Any thread.
#include "load/measure/histogram.h"

#include <algorithm>
#include <cmath>

namespace serval::load {

uint64_t Histogram::lowest_of(size_t bucket) {
  if (bucket < 2 * kSplit) return bucket;
  const size_t power = bucket / kSplit - 1;
  return static_cast<uint64_t>(bucket - power * kSplit) << power;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> out;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const auto lowest = static_cast<double>(lowest_of(i));
    const auto highest = static_cast<double>(lowest_of(i + 1) - 1);
    out.push_back({(lowest + highest) / 2, counts_[i]});
  }
  return out;
}

double Histogram::quantile_ns(double part) const {
  const double wanted = std::max(1.0, std::ceil(part * static_cast<double>(count_)));
  double seen = 0;
  for (const Bucket& bucket : buckets()) {
    seen += static_cast<double>(bucket.count);
    if (seen >= wanted) return std::min(bucket.middle_ns, static_cast<double>(max_ns_));
  }
  return static_cast<double>(max_ns_);
}

}  // namespace serval::load
