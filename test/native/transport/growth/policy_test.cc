// Tests the policy of a listener's threads: when one is added, which connections move, where new
// connections go.
#include "transport/growth/policy.h"

#include <gtest/gtest.h>

#include <numeric>

#include "transport/growth/meter.h"

namespace serval {
namespace {

using Kind = BalanceStep::Kind;

BalanceStep step(std::vector<uint32_t> loads, uint32_t threads_max = 8, double free_cores = 4,
                 uint32_t busy_intervals = 2, uint32_t thread = 0) {
  return next_step({loads, thread, busy_intervals, threads_max, free_cores});
}

TEST(BalancePolicy, AddsAThreadAfterTwoBusyIntervals) {
  EXPECT_EQ(step({950}).kind, Kind::Add);
  EXPECT_EQ(step({950}, 8, 4, 1).kind, Kind::Stay);
  EXPECT_EQ(step({699}).kind, Kind::Stay);
  EXPECT_EQ(step({700}).kind, Kind::Add);
}

TEST(BalancePolicy, AddsNoThreadWithoutAFreeCore) {
  EXPECT_EQ(step({950}, 8, 0.9).kind, Kind::Stay);
  EXPECT_EQ(step({950}, 8, 1).kind, Kind::Add);
}

TEST(BalancePolicy, AddsNoMoreThreadsThanAllowed) {
  EXPECT_EQ(step({950, 940}, 2).kind, Kind::Stay);
  EXPECT_EQ(step({950, 940}, 3).kind, Kind::Add);
  EXPECT_EQ(step({950}, 1).kind, Kind::Stay);
}

TEST(BalancePolicy, MovesConnectionsToAThreadWithLittleLoadBeforeItAddsOne) {
  const BalanceStep moved = step({950, 940, 300});
  EXPECT_EQ(moved.kind, Kind::Move);
  EXPECT_EQ(moved.target, 2u);
  EXPECT_EQ(step({950, 940, 300}, 8, 0).kind, Kind::Move);  // needs no core
  EXPECT_EQ(step({950, 660}, 2).kind, Kind::Stay);
  EXPECT_EQ(step({300, 950}, 2, 4, 2, 1).target, 0u);
}

TEST(BalancePolicy, MovesHalfOfTheDifference) {
  const auto count = [](std::vector<uint64_t> work, uint32_t here, uint32_t there) {
    return connections_to_move(work, here, there).size();
  };
  EXPECT_EQ(count({10, 10}, 1000, 0), 1u);
  EXPECT_EQ(count({10, 10, 10}, 1000, 0), 1u);
  EXPECT_EQ(count({26, 25, 25, 25}, 1000, 0), 2u);
  EXPECT_EQ(count(std::vector<uint64_t>(64, 7), 1000, 0), 32u);
  EXPECT_EQ(count(std::vector<uint64_t>(64, 7), 1000, 500), 16u);
  EXPECT_EQ(count({10, 10}, 500, 500), 0u);
}

TEST(BalancePolicy, MovesNoConnectionThatIsTheLoadByItself) {
  EXPECT_TRUE(connections_to_move(std::vector<uint64_t>{100}, 1000, 0).empty());
  EXPECT_TRUE(connections_to_move(std::vector<uint64_t>{1000, 3, 2, 0}, 1000, 0).empty());
  EXPECT_EQ(connections_to_move(std::vector<uint64_t>{60, 40}, 1000, 0), std::vector<size_t>{1});
  EXPECT_TRUE(connections_to_move({}, 1000, 0).empty());
}

// Simulates constant loads of connections until nothing changes: it has to settle, and no
// connection may return to a thread that it left.
TEST(BalancePolicy, SettlesForAnyLoads) {
  uint64_t seed = 7;
  const auto random = [&seed](uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
  };
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::vector<uint64_t>> threads(1);
    for (uint64_t i = 1 + random(40); i > 0; --i) threads[0].push_back(1 + random(300));
    int steps = 0;
    for (bool changed = true; changed; ++steps) {
      ASSERT_LT(steps, 200);
      changed = false;
      std::vector<uint32_t> loads;
      for (const auto& work : threads) {
        const uint64_t sum = std::accumulate(work.begin(), work.end(), uint64_t{0});
        loads.push_back(static_cast<uint32_t>(std::min<uint64_t>(sum, kFullLoad)));
      }
      for (uint32_t i = 0; i < loads.size() && !changed; ++i) {
        const BalanceStep next = step(loads, 8, 4, 2, i);
        if (next.kind == Kind::Stay) continue;
        const bool adds = next.kind == Kind::Add;
        std::vector<size_t> moved =
            connections_to_move(threads[i], loads[i], adds ? 0 : loads[next.target]);
        if (moved.empty()) continue;
        if (adds) threads.emplace_back();
        changed = true;
        std::sort(moved.rbegin(), moved.rend());
        for (const size_t index : moved) {
          threads[next.target].push_back(threads[i][index]);
          threads[i].erase(threads[i].begin() + static_cast<ptrdiff_t>(index));
        }
      }
    }
    EXPECT_LE(threads.size(), 8u);
  }
}

TEST(BalancePolicy, GivesANewConnectionToTheThreadWithTheFewest) {
  EXPECT_EQ(thread_for_connection(std::vector<ThreadPlace>{{100, 5}, {100, 3}, {100, 4}}), 1u);
  EXPECT_EQ(thread_for_connection(std::vector<ThreadPlace>{{900, 1}, {100, 9}}), 1u);
  EXPECT_EQ(thread_for_connection(std::vector<ThreadPlace>{{900, 9}, {900, 1}}), 1u);
  EXPECT_EQ(thread_for_connection(std::vector<ThreadPlace>{{100, 1}, {100, 1}}), 0u);
}

TEST(LoadMeter, MeasuresTheTimeOutsideOfTheWait) {
  constexpr uint64_t kMs = kNsPerMs;
  LoadMeter meter;
  EXPECT_EQ(meter.due_ns(), UINT64_MAX);
  meter.waits(0);
  meter.woke(1'000 * kMs);  // the wait before the interval does not count
  EXPECT_EQ(meter.due_ns(), 1'200 * kMs);
  meter.waits(1'100 * kMs);
  meter.woke(1'150 * kMs);
  EXPECT_EQ(meter.end(1'200 * kMs), 750u);
  meter.waits(1'200 * kMs);
  meter.woke(1'395 * kMs);
  EXPECT_EQ(meter.end(1'400 * kMs), 25u);
}

TEST(LoadMeter, WakesNoIdleThread) {
  LoadMeter meter;
  meter.waits(0);
  meter.woke(kNsPerMs);
  meter.waits(kNsPerMs);
  meter.woke(201 * kNsPerMs);
  EXPECT_EQ(meter.end(201 * kNsPerMs), 0u);
  EXPECT_EQ(meter.due_ns(), UINT64_MAX);
}

}  // namespace
}  // namespace serval
