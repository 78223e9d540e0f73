// The rate limiter's turns: resources hold runs back, priorities divide them, and the first in the
// order is not overtaken.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "engine/turns/held_run.h"

namespace serval {
namespace {

TEST(RateLimiter, HoldsARunBackUntilItsResourcesAreFree) {
  RunTurns turns(std::vector<RateCount>{});
  RunFlow one(&turns, 1, {{"R", false, 2}}), other(&turns, 1, {{"R", false, 1}});
  EXPECT_TRUE(RunTurn(one).needed());
  HeldRun first(one);
  first.begun();
  const HeldRun second(other);
  until_true([&] { return turns.waiting() == 1; });
  EXPECT_FALSE(second.runs());
  first.end();
  second.begun();
}

TEST(RateLimiter, LetsModelsWithoutResourcesRunBesideOthers) {
  RunTurns turns(std::vector<RateCount>{});
  RunFlow one(&turns, 1, {{"R", false, 1}}), other(&turns, 1);
  HeldRun first(one);
  first.begun();
  HeldRun second(other), third(other);
  second.begun();
  third.begun();
}

TEST(RateLimiter, CountsTheDevicesOfAModelApart) {
  RunTurns turns(std::vector<RateCount>{});
  RunFlow one(&turns, 2, {{"R", false, 1}}, {0, 1});
  HeldRun first(one), second(one, nullptr, 1);
  first.begun();
  second.begun();
  const HeldRun third(one, nullptr, 2);  // the first device again
  until_true([&] { return turns.waiting() == 1; });
  EXPECT_FALSE(third.runs());
  first.end();
  third.begun();
}

TEST(RateLimiter, FreesTheWayWhenTheFirstRunIsCancelled) {
  RunTurns turns({{"R", 2}});
  RunFlow one(&turns, 1, {{"R", false, 2}}), other(&turns, 1, {{"R", false, 1}});
  HeldRun holds(other);
  holds.begun();
  CancelFlag flag;
  const HeldRun first(one, &flag);
  until_true([&] { return turns.waiting() == 1; });
  // There is enough for it, but `first` is before it in the order.
  const HeldRun second(other);
  until_true([&] { return turns.waiting() == 2; });
  EXPECT_FALSE(second.runs());
  flag.cancel(EndCause::ClientLeft);
  second.begun();
}

// Source: rate_limiter.md: an instance with priority 2 gets half of the chances of one with 1.
TEST(RateLimiter, DividesRunsByThePriorities) {
  RunTurns turns(std::vector<RateCount>{});
  RunFlow one(&turns, 1, {{"R", false, 1}}), other(&turns, 1 / 2.0, {{"R", false, 1}});
  std::atomic<bool> ends{false};
  std::array<std::atomic<int>, 2> counts{};
  const auto serve = [&](RunFlow& flow, std::atomic<int>& count) {
    while (!ends) {
      RunTurn turn(flow);
      turn.wait(nullptr);
      until_true([&] { return ends || turns.waiting() == 3; });
      if (!ends) ++count;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] { serve(one, counts[0]); });
    threads.emplace_back([&] { serve(other, counts[1]); });
  }
  until_true([&] { return counts[0] + counts[1] >= 300; });
  ends = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_NEAR(static_cast<double>(counts[0]) / static_cast<double>(counts[1]), 2, 0.1);
}

}  // namespace
}  // namespace serval
