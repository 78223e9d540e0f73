// Records latencies in slots of time, and reads quantiles. Recording: hot path.
#include "stats/summary_window.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace serval {

void SummaryWindow::record(Summary summary, uint64_t ns, uint64_t at_ms) {
  const uint64_t number = at_ms / kSlotMs;
  Slot& slot = slots_[number % kSlots];
  if (slot.number.load(std::memory_order_relaxed) != number) [[unlikely]] {
    // A reader that sees a count of the new slot also sees that the number changed. (No fences:
    // ThreadSanitizer does not know them.)
    slot.number.store(0, std::memory_order_relaxed);
    for (auto& counts : slot.counts) {
      for (auto& count : counts) count.store(0, std::memory_order_release);
    }
    slot.number.store(number, std::memory_order_release);
  }
  std::atomic<uint32_t>& count = slot.counts[static_cast<size_t>(summary)][SummaryBuckets::of(ns)];
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void SummaryWindow::add_to(SummaryCounts& counts, uint64_t now_ms) const {
  const uint64_t now = now_ms / kSlotMs;
  for (auto& one : counts) one.resize(SummaryBuckets::kCount);
  for (const Slot& slot : slots_) {
    const uint64_t number = slot.number.load(std::memory_order_acquire);
    if (number == 0 || number > now || now - number >= kSlots) continue;
    SummaryCounts read;
    for (size_t i = 0; i < kSummaries; ++i) {
      read[i].reserve(SummaryBuckets::kCount);
      for (const auto& count : slot.counts[i]) {
        read[i].push_back(count.load(std::memory_order_acquire));
      }
    }
    if (slot.number.load(std::memory_order_relaxed) != number) continue;
    for (size_t i = 0; i < kSummaries; ++i) {
      std::ranges::transform(counts[i], read[i], counts[i].begin(), std::plus<>());
    }
  }
}

double quantile_us(std::span<const uint64_t> counts, double quantile) {
  uint64_t total = 0;
  for (const uint64_t count : counts) total += count;
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  // 0.07 * 100 is a little more than 7.
  const double exact = quantile * static_cast<double>(total);
  const auto rank = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(exact * (1 - 1e-9))));
  uint64_t passed = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    passed += counts[i];
    if (passed >= rank) return SummaryBuckets::middle(i) / 1000;
  }
  return SummaryBuckets::middle(counts.size() - 1) / 1000;
}

}  // namespace serval
