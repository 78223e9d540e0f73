// The rate limiter's turns: resources hold runs back, priorities divide them, and the first in the
// order is not overtaken.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "engine/turns/run_turns.h"

namespace serval {
namespace {

template <typename Condition>
void until_true(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}

// A run on its own thread, until end().
class LimitedRun {
 public:
  explicit LimitedRun(RunFlow& flow, size_t replica = 0, const CancelFlag* cancel = nullptr)
      : thread_([this, &flow, replica, cancel] {
          RunTurn turn(flow);
          EXPECT_TRUE(turn.needed());
          turn.wait(cancel, replica);
          runs_ = true;
          until_true([this] { return ends_.load(); });
        }) {}
  ~LimitedRun() {
    end();
    thread_.join();
  }
  LimitedRun(const LimitedRun&) = delete;
  LimitedRun& operator=(const LimitedRun&) = delete;
  bool runs() const { return runs_; }
  void begun() const {
    until_true([this] { return runs_.load(); });
  }
  void end() { ends_ = true; }

 private:
  std::atomic<bool> runs_{false}, ends_{false};
  std::thread thread_;
};

TEST(RateLimiter, HoldsARunBackUntilItsResourcesAreFree) {
  RunTurns turns(std::vector<RateCount>{});
  RunFlow one(&turns, 1, {{"R", false, 2}}), other(&turns, 1, {{"R", false, 1}});
  LimitedRun first(one);
  first.begun();
  const LimitedRun second(other);
  until_true([&] { return turns.waiting() == 1; });
  EXPECT_FALSE(second.runs());
  first.end();
  second.begun();
}

TEST(RateLimiter, LetsModelsWithoutResourcesRunBesideOthers) {
  RunTurns turns(std::vector<RateCount>{});
  RunFlow one(&turns, 1, {{"R", false, 1}}), other(&turns, 1);
  LimitedRun first(one);
  first.begun();
  LimitedRun second(other), third(other);
  second.begun();
  third.begun();
}

TEST(RateLimiter, CountsTheDevicesOfAModelApart) {
  RunTurns turns(std::vector<RateCount>{});
  RunFlow one(&turns, 2, {{"R", false, 1}}, {0, 1});
  LimitedRun first(one, 0), second(one, 1);
  first.begun();
  second.begun();
  const LimitedRun third(one, 2);  // the first device again
  until_true([&] { return turns.waiting() == 1; });
  EXPECT_FALSE(third.runs());
  first.end();
  third.begun();
}

TEST(RateLimiter, FreesTheWayWhenTheFirstRunIsCancelled) {
  RunTurns turns({{"R", 2}});
  RunFlow one(&turns, 1, {{"R", false, 2}}), other(&turns, 1, {{"R", false, 1}});
  LimitedRun holds(other);
  holds.begun();
  CancelFlag flag;
  const LimitedRun first(one, 0, &flag);
  until_true([&] { return turns.waiting() == 1; });
  // There is enough for it, but `first` is before it in the order.
  const LimitedRun second(other);
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
