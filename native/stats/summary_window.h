// Latencies of about the last minute, for quantiles. Recording: hot path, one thread per window;
// reading: control plane, any thread.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace serval {

// Buckets: one per nanosecond up to 64, then 32 per doubling, so that the middle of a bucket is
// within 1.6 % of every value in it. The last one has all from 2^40 ns (18 minutes).
class SummaryBuckets {
 public:
  static constexpr size_t kCount = 64 + 34 * 32;
  static constexpr size_t of(uint64_t ns) {
    if (ns < 64) return static_cast<size_t>(ns);
    const auto shift = static_cast<size_t>(std::bit_width(ns)) - 6;  // ns >> shift is in [32, 64)
    const size_t index = 64 + (shift - 1) * 32 + (ns >> shift) - 32;
    return index < kCount ? index : kCount - 1;
  }
  // The middle of a bucket, in nanoseconds.
  static constexpr double middle(size_t index) {
    if (index < 64) return static_cast<double>(index);
    const size_t shift = (index - 64) / 32 + 1;
    const auto low = static_cast<double>(((index - 64) % 32 + 32) << shift);
    return low + static_cast<double>(uint64_t{1} << shift) / 2;
  }
};

// The latencies that have summaries, in the order of the metrics.
enum class Summary : uint8_t { Request, Queue, Input, Infer, Output, CacheHit, CacheMiss };
inline constexpr size_t kSummaries = 7;

using SummaryCounts = std::array<std::vector<uint64_t>, kSummaries>;

// A window has five slots of 12 seconds: the current one and four before it. Source: the summaries
// of prometheus-cpp, which Triton uses (a minute in five age buckets).
class SummaryWindow {
 public:
  static constexpr uint64_t kSlotMs = 12'000;
  static constexpr size_t kSlots = 5;

  // Records one latency at a time (milliseconds, not 0). Thread: the window's own.
  void record(Summary summary, uint64_t ns, uint64_t at_ms);
  // Adds the counts of the slots that are not older than the window, by bucket. Any thread. A slot
  // that its thread clears meanwhile is left out.
  void add_to(SummaryCounts& counts, uint64_t now_ms) const;

 private:
  struct Slot {
    std::atomic<uint64_t> number{0};  // at_ms / kSlotMs, 0 = empty
    std::array<std::array<std::atomic<uint32_t>, SummaryBuckets::kCount>, kSummaries> counts{};
  };
  std::array<Slot, kSlots> slots_;
};

// The smallest latency, in microseconds, that at least `quantile` of the counted ones do not
// exceed; NaN if there are none.
double quantile_us(std::span<const uint64_t> counts, double quantile);

}  // namespace serval
