// The order of flows by weights: shares under saturation, idle flows, costs that differ from what
// was expected.
#include "base/cpu/fair_order.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace serval {
namespace {

// Runs the flow that starts first, `uses` times; returns how often each ran.
template <size_t N>
std::array<int, N> run(FairOrder& order, std::array<FairFlow, N>& flows,
                       const std::array<double, N>& costs, int uses) {
  std::array<int, N> counts{};
  for (int use = 0; use < uses; ++use) {
    size_t next = 0;
    for (size_t i = 1; i < N; ++i) {
      if (order.start_of(flows[i]) < order.start_of(flows[next])) next = i;
    }
    order.begin(flows[next], costs[next]);
    ++counts[next];
  }
  return counts;
}

TEST(FairOrder, DividesUsesByTheWeights) {
  FairOrder order;
  std::array flows{FairFlow(100), FairFlow(300)};
  const std::array<int, 2> counts = run(order, flows, {1000.0, 1000.0}, 4000);
  EXPECT_NEAR(counts[0], 1000, 2);
  EXPECT_NEAR(counts[1], 3000, 2);
}

TEST(FairOrder, DividesTheCostAndNotTheNumberOfUses) {
  FairOrder order;
  std::array flows{FairFlow(100), FairFlow(100)};
  const std::array<int, 2> counts = run(order, flows, {9000.0, 1000.0}, 1000);
  EXPECT_NEAR(counts[0], 100, 2);
  EXPECT_NEAR(counts[1], 900, 2);
}

TEST(FairOrder, GivesAnIdleFlowNoCredit) {
  FairOrder order;
  std::array flows{FairFlow(100), FairFlow(100)};
  for (int use = 0; use < 1000; ++use) order.begin(flows[0], 1000);
  EXPECT_TRUE(order.is_behind(flows[1]));
  EXPECT_FALSE(order.is_behind(flows[0]));
  EXPECT_LE(order.start_of(flows[1]), order.start_of(flows[0]));
  const std::array<int, 2> counts = run(order, flows, {1000.0, 1000.0}, 100);
  EXPECT_NEAR(counts[0], 50, 2);
  EXPECT_NEAR(counts[1], 50, 2);
}

TEST(FairOrder, CorrectsACostThatWasExpectedWrongly) {
  FairOrder order;
  FairFlow one(100), other(100);
  order.begin(one, 0);
  order.correct(one, 5000);
  order.begin(other, 4000);
  EXPECT_LT(order.start_of(other), order.start_of(one));
  order.correct(other, 2000);
  EXPECT_GT(order.start_of(other), order.start_of(one));
}

TEST(FairOrder, TreatsAWeightOfZeroAsOne) {
  FairOrder order;
  std::array flows{FairFlow(0), FairFlow(1)};
  const std::array<int, 2> counts = run(order, flows, {1.0, 1.0}, 100);
  EXPECT_EQ(counts[0], 50);
  EXPECT_EQ(counts[1], 50);
}

}  // namespace
}  // namespace serval
