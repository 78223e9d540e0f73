// Implements the policy of a listener's threads. Any thread.
#include "transport/growth/policy.h"

#include <algorithm>
#include <numeric>

namespace serval {

namespace {

// Moves at least equalise two loads to within a tenth of their difference (see
// connections_to_move()), so the opposite move is not due afterwards.
constexpr uint32_t kMoveDifference = 300;
constexpr uint64_t kOvershootPart = 10;   // a tenth more than the goal may move
constexpr uint64_t kLeastMovedPart = 10;  // less than a tenth of the work is not worth a move
constexpr double kFreeCoresNeeded = 1;

}  // namespace

BalanceStep next_step(const BalanceView& view) {
  const std::span<const uint32_t> loads = view.loads;
  const uint32_t load = loads[view.thread];
  if (load < kBusyLoad || view.busy_intervals < kBusyIntervals) return {};
  uint32_t least = view.thread;
  for (uint32_t i = 0; i < loads.size(); ++i) {
    if (loads[i] < loads[least]) least = i;
  }
  if (load - loads[least] >= kMoveDifference) return {BalanceStep::Kind::Move, least};
  if (loads.size() >= view.threads_max || view.free_cores < kFreeCoresNeeded) return {};
  return {BalanceStep::Kind::Add, static_cast<uint32_t>(loads.size())};
}

std::vector<size_t> connections_to_move(std::span<const uint64_t> work, uint32_t here,
                                        uint32_t there) {
  if (here <= there) return {};
  std::vector<size_t> order(work.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t one, size_t other) { return work[one] > work[other]; });
  const uint64_t all = std::accumulate(work.begin(), work.end(), uint64_t{0});
  // Half of the difference, as a part of this thread's work.
  const uint64_t goal = all * (here - there) / (2 * here);
  const uint64_t most = goal + goal / kOvershootPart;
  std::vector<size_t> out;
  uint64_t moved = 0;
  for (const size_t index : order) {
    if (work[index] == 0 || moved >= goal) break;
    if (moved + work[index] > most) continue;
    moved += work[index];
    out.push_back(index);
  }
  if (moved * kLeastMovedPart < all) out.clear();
  return out;
}

size_t thread_for_connection(std::span<const ThreadPlace> threads) {
  const auto key = [&](size_t i) {
    const bool busy = threads[i].load >= kBusyLoad;
    return std::pair(busy, threads[i].connections);
  };
  size_t best = 0;
  for (size_t i = 1; i < threads.size(); ++i) {
    if (key(i) < key(best)) best = i;
  }
  return best;
}

}  // namespace serval
