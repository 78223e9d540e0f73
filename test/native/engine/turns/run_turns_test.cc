// Turns of queued runs: none while one model runs, as many at a time as there are cores, shares by
// weights, one run beside the others for a model that was idle, and waits that a cancelled request
// ends.
#include "engine/turns/run_turns.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "engine/turns/held_run.h"

namespace serval {
namespace {

struct Flows {
  explicit Flows(uint32_t cores, uint32_t first = 100, uint32_t second = 100)
      : turns(cores), one(&turns, first), other(&turns, second) {
    one.instance_began();
    other.instance_began();
  }
  ~Flows() {
    one.instance_ended();
    other.instance_ended();
  }
  // Uses some of a flow's share.
  void use(RunFlow& flow) { HeldRun(flow).begun(); }
  void wait_for_waiting(size_t count) {
    until_true([&] { return turns.waiting() == count; });
  }
  RunTurns turns;
  RunFlow one, other;
};

TEST(RunTurns, AreNotNeededWhileOneModelHasInstances) {
  RunTurns turns(1);
  RunFlow one(&turns, 100), other(&turns, 100);
  one.instance_began();
  one.instance_began();
  EXPECT_FALSE(RunTurn(one).needed());
  other.instance_began();
  EXPECT_TRUE(RunTurn(one).needed());
  one.instance_ended();
  EXPECT_TRUE(RunTurn(one).needed());
  one.instance_ended();
  EXPECT_FALSE(RunTurn(other).needed());
  other.instance_ended();
}

TEST(RunTurns, AreNeverNeededByAModelThatDoesNotUseTheCores) {
  Flows flows(1);
  RunFlow none(nullptr, 100);
  none.instance_began();
  EXPECT_FALSE(RunTurn(none).needed());
  none.instance_ended();
}

TEST(RunTurns, AreNeededBesideAnEnsembleWhoseStepsTakeThem) {
  RunTurns turns(1);
  RunFlow ensemble(&turns, 100, {}, {0}, {.model = "e", .by_steps = true}), step(&turns, 100);
  ensemble.instance_began();
  EXPECT_FALSE(RunTurn(step).needed());
  RunFlow other(&turns, 100);
  other.instance_began();
  EXPECT_TRUE(RunTurn(step).needed());
  EXPECT_FALSE(RunTurn(ensemble).needed());
  other.instance_ended();
  ensemble.instance_ended();
}

TEST(RunTurns, RunAsManyAtATimeAsThereAreCores) {
  Flows flows(2);
  HeldRun first(flows.one), second(flows.one);
  first.begun();
  second.begun();
  const HeldRun third(flows.one);
  flows.wait_for_waiting(1);
  EXPECT_EQ(flows.turns.running(), 2u);
  EXPECT_FALSE(third.runs());
  first.end();
  third.begun();
}

TEST(RunTurns, StartAModelThatWasIdleBesideTheOthers) {
  Flows flows(1);
  // The first model uses the core for a while, so that the second one is behind.
  flows.use(flows.one);
  flows.use(flows.one);
  HeldRun hot(flows.one);
  hot.begun();
  const HeldRun next(flows.one);
  flows.wait_for_waiting(1);
  HeldRun quiet(flows.other);
  quiet.begun();
  EXPECT_FALSE(next.runs());
  EXPECT_EQ(flows.turns.running(), 2u);
  // It takes part in the count of later turns.
  hot.end();
  until_true([&] { return flows.turns.running() == 1; });
  EXPECT_FALSE(next.runs());
  quiet.end();
  next.begun();
}

TEST(RunTurns, EndTheWaitOfACancelledRequestWithoutATurn) {
  Flows flows(1);
  flows.use(flows.one);
  HeldRun first(flows.one);
  first.begun();
  CancelFlag flag;
  const HeldRun waits(flows.one, &flag);
  flows.wait_for_waiting(1);
  EXPECT_FALSE(waits.runs());
  flag.cancel(EndCause::Deadline);
  waits.begun();
  EXPECT_EQ(flows.turns.running(), 1u);
  EXPECT_EQ(flows.turns.waiting(), 0u);
}

TEST(RunTurns, DoNotWaitIfTheRequestIsCancelledAlready) {
  Flows flows(1);
  flows.use(flows.one);
  HeldRun first(flows.one);
  first.begun();
  CancelFlag flag;
  flag.cancel(EndCause::ClientLeft);
  const HeldRun waits(flows.one, &flag);
  waits.begun();
  EXPECT_EQ(flows.turns.running(), 1u);
}

// The clock of a test: each thread's own, moved by its runs.
thread_local uint64_t clock_ns = 0;

// Two models with several instances each always have runs that wait.
TEST(RunTurns, DivideTheCoresByTheWeights) {
  RunTurns turns(1, [] { return clock_ns; });
  RunFlow one(&turns, 100), other(&turns, 300);
  for (int i = 0; i < 3; ++i) {
    one.instance_began();
    other.instance_began();
  }
  std::atomic<bool> ends{false};
  std::array<std::atomic<int>, 2> counts{};
  const auto serve = [&](RunFlow& flow, std::atomic<int>& count) {
    while (!ends) {
      RunTurn turn(flow);
      turn.wait(nullptr);
      // The other threads wait before the first run ends, and ask again before a later one does.
      until_true([&] { return ends || turns.waiting() >= 4; });
      clock_ns += 1000;
      if (!ends) ++count;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { serve(one, counts[0]); });
    threads.emplace_back([&] { serve(other, counts[1]); });
  }
  until_true([&] { return counts[0] + counts[1] >= 400; });
  ends = true;
  for (std::thread& thread : threads) thread.join();
  const double share = static_cast<double>(counts[1]) / static_cast<double>(counts[0]);
  EXPECT_GT(share, 2.7);
  EXPECT_LT(share, 3.3);
  for (int i = 0; i < 3; ++i) {
    one.instance_ended();
    other.instance_ended();
  }
}

TEST(RunTurns, EndWithNoneLeftAfterAnyOrder) {
  Flows flows(2, 1, 1000);
  std::vector<std::thread> threads;
  std::array<CancelFlag, 8> flags;
  std::atomic<int> left{8};
  for (size_t i = 0; i < flags.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 2000; ++run) {
        RunTurn turn(i % 2 == 0 ? flows.one : flows.other);
        if (turn.needed()) turn.wait(&flags[i]);
        if (run % 7 == 0) flags[i].reset();
      }
      --left;
    });
  }
  std::thread canceller([&] {
    for (size_t i = 0; left > 0; ++i) {
      CancelFlag& flag = flags[i % flags.size()];
      flag.cancel_if(flag.state(), EndCause::Deadline);
    }
  });
  for (std::thread& thread : threads) thread.join();
  canceller.join();
  EXPECT_EQ(flows.turns.running(), 0u);
  EXPECT_EQ(flows.turns.waiting(), 0u);
}

}  // namespace
}  // namespace serval
