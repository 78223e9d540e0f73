// The bridge without a listener: order and form of events, limits, and which end is woken when.
#include "calls/bridge.h"
#include "base/bytes/views.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "calls/support/bridge_end.h"
#include "calls/support/fake_call.h"

namespace serval::test {
namespace {

class BridgeTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBudgetBytes = 100'000;

  BridgeTest() {
    bridge_.attach(0, &first_);
    bridge_.attach(1, &second_);
    taken_.charge_to(&budget_);
  }
  std::deque<BridgeEvent> take() {
    bridge_.take(taken_);
    return read_events(taken_);
  }
  bool push(ListenerEvent kind, uint64_t call, std::string_view payload = {}) {
    return bridge_.push(kind, 0, call, 0, {bytes_of(payload)});
  }

  MemoryBudget budget_{kBudgetBytes};
  int notified_ = 0;
  Bridge bridge_{2, budget_, [this] { ++notified_; }};
  FakeThread first_{0}, second_{1};
  ByteBuffer taken_;
};

TEST_F(BridgeTest, AnswersThatWaitForTheirThreadAreCounted) {
  const uint64_t before = budget_.used();
  const Bridge::Command command{1, ListenerCommand::Message, 0, std::vector<uint8_t>(5000)};
  ASSERT_TRUE(bridge_.send(0, command));
  ASSERT_TRUE(bridge_.send(0, command));
  ASSERT_TRUE(bridge_.send(1, command));
  EXPECT_EQ(budget_.used(), before + 15'000);
  std::vector<Bridge::Command> taken;
  bridge_.take_commands(0, taken);
  EXPECT_EQ(taken.size(), 2u);
  EXPECT_EQ(budget_.used(), before + 5000);
  bridge_.attach(1, nullptr);
  EXPECT_FALSE(bridge_.send(1, command));
  EXPECT_EQ(budget_.used(), before + 5000);
}

TEST(BridgeEnd, GivesBackWhatNobodyTook) {
  MemoryBudget budget(100'000);
  {
    Bridge bridge(1, budget, [] {});
    FakeThread thread(0);
    bridge.attach(0, &thread);
    ASSERT_TRUE(bridge.send(0, {1, ListenerCommand::Message, 0, std::vector<uint8_t>(5000)}));
    EXPECT_EQ(budget.used(), 5000u);
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST_F(BridgeTest, KeepsEventsInTheirOrderAndForm) {
  const uint64_t call = uint64_t{0x12345} << 32 | 0x87654321;
  ASSERT_TRUE(
      bridge_.push(ListenerEvent::Explain, 1, call, 77, {bytes_of("ab"), {}, bytes_of("cde")}));
  for (size_t bytes = 0; bytes < 9; ++bytes) {
    ASSERT_TRUE(push(ListenerEvent::Message, bytes + 1, std::string(bytes, 'x')));
  }
  EXPECT_EQ(notified_, 1) << "once for all that nobody took";
  const std::deque<BridgeEvent> events = take();
  ASSERT_EQ(events.size(), 10u);
  EXPECT_EQ(events[0].kind, ListenerEvent::Explain);
  EXPECT_EQ(events[0].thread, 1u);
  EXPECT_EQ(events[0].call, call);
  EXPECT_EQ(events[0].value, 77u);
  EXPECT_EQ(events[0].payload, "abcde");
  for (size_t bytes = 0; bytes < 9; ++bytes) {
    EXPECT_EQ(events[bytes + 1].call, bytes + 1);
    EXPECT_EQ(events[bytes + 1].payload, std::string(bytes, 'x'));
  }
  EXPECT_TRUE(take().empty());
  ASSERT_TRUE(push(ListenerEvent::Open, 1));
  EXPECT_EQ(notified_, 2);
}

TEST_F(BridgeTest, TakingEventsWakesTheThreads) {
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(first_.wakes, 0) << "nothing was taken";
  ASSERT_TRUE(push(ListenerEvent::Message, 1, "m"));
  const uint64_t before = bridge_.taken();
  EXPECT_EQ(take().size(), 1u);
  EXPECT_EQ(bridge_.taken(), before + 1);
  EXPECT_EQ(first_.wakes, 1);
  EXPECT_EQ(second_.wakes, 1);
}

TEST_F(BridgeTest, RefusesEventsBeyondTheBudget) {
  const std::string large(30'000, 'x');
  size_t taken = 0;
  while (push(ListenerEvent::Message, taken + 1, large)) ASSERT_LT(++taken, 10u);
  EXPECT_GE(taken, 1u);
  EXPECT_LE(budget_.used(), kBudgetBytes + kBudgetBytes / 16);
  EXPECT_EQ(take().size(), taken) << "those that were taken are whole";
  EXPECT_FALSE(push(ListenerEvent::Message, 9, std::string(90'000, 'x'))) << "they are still kept";
  take();
  taken_.shrink(0);
  EXPECT_TRUE(push(ListenerEvent::Message, 9, large));
}

TEST_F(BridgeTest, TakesAPageOfEventsWhateverTheBudgetSays) {
  ASSERT_TRUE(budget_.take(kBudgetBytes));
  while (budget_.take(1'000)) continue;  // exhausts the reserve, too
  size_t taken = 0;
  while (push(ListenerEvent::Closed, taken + 1)) ASSERT_LT(++taken, 10'000u);
  EXPECT_GE(taken, 4096 / 24u);
  EXPECT_EQ(take().size(), taken);
}

TEST_F(BridgeTest, CommandsWaitForTheirThread) {
  EXPECT_TRUE(bridge_.send(1, {5, ListenerCommand::Message, 0, {1, 2}}));
  EXPECT_TRUE(bridge_.send(1, {5, ListenerCommand::Finish, 3, {}}));
  EXPECT_EQ(second_.wakes, 1) << "once for all that were not taken";
  EXPECT_EQ(first_.wakes, 0);
  std::vector<Bridge::Command> commands(3);
  bridge_.take_commands(0, commands);
  EXPECT_TRUE(commands.empty());
  bridge_.take_commands(1, commands);
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0].bytes, (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(commands[1].kind, ListenerCommand::Finish);
  EXPECT_EQ(commands[1].value, 3u);
  EXPECT_TRUE(bridge_.send(1, {5, ListenerCommand::Finish, 3, {}}));
  EXPECT_EQ(second_.wakes, 2);
}

TEST_F(BridgeTest, ThreadsThatAreGoneTakeNothing) {
  EXPECT_FALSE(bridge_.send(2, {}));
  EXPECT_FALSE(bridge_.send(UINT32_MAX, {}));
  bridge_.attach(1, nullptr);
  EXPECT_FALSE(bridge_.send(1, {}));
  EXPECT_TRUE(bridge_.send(0, {}));
  ASSERT_TRUE(push(ListenerEvent::Open, 1));
  EXPECT_EQ(take().size(), 1u);
  EXPECT_EQ(second_.wakes, 0);
}

TEST_F(BridgeTest, ADrainTellsOfAllThreadsOnce) {
  bridge_.add_unanswered(std::string_view("2 a\0", 4));
  bridge_.add_unanswered({});
  bridge_.add_unanswered(std::string_view("1 b\0", 4));
  bridge_.drained(uint64_t{1} << 40);
  bridge_.drained(7);
  const std::deque<BridgeEvent> events = take();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, ListenerEvent::Drained);
  EXPECT_EQ(events[0].value, UINT32_MAX);
  EXPECT_EQ(events[0].payload, std::string("2 a\0001 b\0", 8));
  EXPECT_EQ(events[1].value, 7u);
  EXPECT_EQ(events[1].payload, "");
}

// Names are left out when there is no memory for them; the end is still reported.
TEST_F(BridgeTest, ADrainEndsWithoutMemoryToo) {
  bridge_.add_unanswered(std::string(200'000, 'x'));
  bridge_.drained(3);
  const std::deque<BridgeEvent> events = take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].value, 3u);
  EXPECT_EQ(events[0].payload, "");
}

// Mainly for the thread sanitizer: nothing is lost, and each thread's events stay in order.
TEST(Bridge, ThreadsUseItAtOnce) {
  constexpr uint32_t kThreads = 3;
  constexpr uint64_t kEach = 2'000;
  MemoryBudget budget(UINT64_MAX);
  BridgeEnd end;
  Bridge bridge(kThreads, budget, [&end] { end.notify(); });
  end.look_at(bridge, budget);
  std::vector<std::thread> threads;
  for (uint32_t index = 0; index < kThreads; ++index) {
    threads.emplace_back([&bridge, index] {
      FakeThread own(index);
      bridge.attach(index, &own);
      std::vector<Bridge::Command> commands;
      uint64_t obeyed = 0;
      for (uint64_t call = 1; call <= kEach; ++call) {
        const std::string text = std::to_string(call);
        EXPECT_TRUE(bridge.push(ListenerEvent::Message, index, call, 0, {bytes_of(text)}));
        bridge.take_commands(index, commands);
        for (const Bridge::Command& one : commands) EXPECT_EQ(one.call, ++obeyed);
      }
      while (obeyed < kEach) {
        std::this_thread::yield();
        bridge.take_commands(index, commands);
        for (const Bridge::Command& one : commands) EXPECT_EQ(one.call, ++obeyed);
      }
      bridge.attach(index, nullptr);
    });
  }
  std::map<uint32_t, uint64_t> seen;
  for (uint64_t i = 0; i < kThreads * kEach; ++i) {
    const BridgeEvent event = end.next();
    EXPECT_EQ(event.call, ++seen[event.thread]);
    EXPECT_EQ(event.payload, std::to_string(event.call));
    EXPECT_TRUE(end.send(event, ListenerCommand::Finish, 0));
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace serval::test
