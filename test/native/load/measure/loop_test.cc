// When requests are sent and which ones count, with a fake clock and a fake server.
#include "load/measure/loop.h"

#include <gtest/gtest.h>

#include <map>

namespace serval::load {
namespace {

constexpr uint64_t kMs = 1'000'000;

// Completes each request after a time, or never; at most `places` at once.
class FakeSender final : public Sender {
 public:
  explicit FakeSender(uint64_t answer_ns, size_t places = SIZE_MAX)
      : answer_ns_(answer_ns), places_(places) {}

  bool free() override { return ends_.size() < places_; }
  void send(uint64_t due_ns) override {
    ++sent;
    ends_.emplace(answer_ns_ == UINT64_MAX ? UINT64_MAX : now + answer_ns_, due_ns);
    most = std::max(most, ends_.size());
  }

  Measured run(const Schedule& schedule) {
    Loop loop(schedule, 0, *this);
    for (;;) {
      loop.pump(now);
      if (loop.over(now)) break;
      uint64_t next = loop.next_ns(now);
      if (!ends_.empty()) next = std::min(next, ends_.begin()->first);
      if (next > now) {
        now = next;
      }
      if (stopped_ns != 0 && now >= stop_ns) {
        // The server was stopped, too.
        now += std::exchange(stopped_ns, 0);
        continue;
      }
      while (!ends_.empty() && ends_.begin()->first <= now) {
        const uint64_t due = ends_.begin()->second;
        ends_.erase(ends_.begin());
        if (fails_each != 0 && ++ended_ % fails_each == 0) {
          loop.failed(due, now, Failure::Status, "error " + std::to_string(ended_));
        } else {
          loop.answered(due, now, 10);
        }
      }
    }
    return loop.finish();
  }

  uint64_t now = 0;
  uint64_t sent = 0;
  size_t most = 0;
  uint64_t fails_each = 0;
  uint64_t stop_ns = 0;  // when the thread stops once, and for how long
  uint64_t stopped_ns = 0;

 private:
  uint64_t answer_ns_;
  size_t places_;
  uint64_t ended_ = 0;
  std::multimap<uint64_t, uint64_t> ends_;
};

Schedule closed(size_t concurrency) {
  Schedule schedule;
  schedule.concurrency = concurrency;
  schedule.warmup_ns = 20 * kMs;
  schedule.measure_ns = 100 * kMs;
  schedule.grace_ns = 1000 * kMs;
  return schedule;
}

Schedule open(double rate) {
  Schedule schedule = closed(1);
  schedule.open_loop = true;
  schedule.rate = rate;
  schedule.warmup_ns = 0;
  return schedule;
}

TEST(LoadLoop, AClosedLoopKeepsItsRequestsInFlight) {
  FakeSender sender(2 * kMs);
  const Measured result = sender.run(closed(3));
  EXPECT_EQ(sender.most, 3u);
  // Three every 2 ms, from 20 to below 120 ms; those of the warm-up do not count.
  EXPECT_EQ(result.answered, 150u);
  EXPECT_EQ(sender.sent, 180u);
  EXPECT_EQ(result.failed, 0u);
  EXPECT_EQ(result.latencies.count(), 150u);
  EXPECT_EQ(result.latencies.max_ns(), 2 * kMs);
  EXPECT_EQ(result.elapsed_ns, 100 * kMs);
}

TEST(LoadLoop, ErrorsAreCountedWithTheFirstTextAndHaveNoLatency) {
  FakeSender sender(kMs);
  sender.fails_each = 2;
  Schedule schedule = closed(1);
  schedule.warmup_ns = 0;
  const Measured result = sender.run(schedule);
  EXPECT_EQ(result.answered, result.latencies.count());
  EXPECT_EQ(result.failed, 49u);
  EXPECT_EQ(result.failures[static_cast<size_t>(Failure::Status)], 49u);
  EXPECT_EQ(result.first_error, "error 2");
}

TEST(LoadLoop, AnOpenLoopSendsByTheClock) {
  FakeSender sender(30 * kMs);
  Schedule schedule = open(500);
  schedule.measure_ns = 200 * kMs;
  const Measured result = sender.run(schedule);
  EXPECT_EQ(sender.sent, 100u);
  EXPECT_EQ(result.latencies.count(), 100u);
  EXPECT_EQ(result.latencies.max_ns(), 30 * kMs);
  EXPECT_EQ(sender.most, 15u);
  EXPECT_EQ(result.late.max_ns(), 0u);
}

TEST(LoadLoop, RequestsThatWaitForASlowServerCountFromWhenTheyWereDue) {
  // One at a time, 10 ms each, one due every 5 ms: the last one waits for half of the time.
  FakeSender sender(10 * kMs, 1);
  Schedule schedule = open(200);
  schedule.measure_ns = 200 * kMs;
  const Measured result = sender.run(schedule);
  EXPECT_EQ(result.failed, 0u);
  EXPECT_EQ(result.latencies.count(), 40u);
  EXPECT_EQ(result.late.count(), 40u);
  EXPECT_EQ(result.latencies.max_ns(), (10 + 39 * 5) * kMs);
  EXPECT_EQ(result.late.max_ns(), 39 * 5 * kMs);
}

TEST(LoadLoop, RequestsWithoutAResponseHaveFailedInTheEnd) {
  for (const bool is_open : {false, true}) {
    FakeSender sender(UINT64_MAX);
    Schedule schedule = is_open ? open(500) : closed(5);
    schedule.grace_ns = 2500 * kMs;
    const Measured result = sender.run(schedule);
    EXPECT_EQ(result.failed, is_open ? 50u : 5u);
    EXPECT_EQ(result.failures[static_cast<size_t>(Failure::Late)], result.failed);
    EXPECT_EQ(result.first_error, "no answer 2.5 s after the end");
    EXPECT_EQ(sender.now, (is_open ? 2600 : 2620) * kMs);
  }
}

TEST(LoadLoop, AThreadThatWasStoppedWaitsForResponsesFromThenOn) {
  // Stops for a minute, before the end and while it waits for the responses, which need 300 ms.
  for (const uint64_t stop_ns : {50 * kMs, 250 * kMs}) {
    FakeSender sender(300 * kMs);
    sender.stop_ns = stop_ns;
    sender.stopped_ns = 60'000 * kMs;
    const Measured result = sender.run(open(500));
    EXPECT_EQ(sender.sent, 50u);
    EXPECT_EQ(result.failed, 0u) << result.first_error;
    EXPECT_EQ(result.latencies.count(), 50u);
  }
}

TEST(LoadLoop, SaysHowManyRequestsWereNeverSent) {
  // One at a time, 400 ms each, 10 due: after 100 ms and a grace of 1 s, three were sent and two
  // answered.
  FakeSender sender(400 * kMs, 1);
  const Measured result = sender.run(open(100));
  EXPECT_EQ(sender.sent, 3u);
  EXPECT_EQ(result.latencies.count(), 2u);
  EXPECT_EQ(result.failed, 8u);
  EXPECT_EQ(result.first_error, "no answer 1.0 s after the end");
  sender = FakeSender(UINT64_MAX, 0);
  EXPECT_EQ(sender.run(open(100)).first_error,
            "not sent 1.0 s after the end: the server is slower than the rate");
}

TEST(LoadLoop, SlowRequestsCountWholeWhereThatIsAskedFor) {
  FakeSender sender(70 * kMs);
  Schedule schedule = closed(1);
  schedule.warmup_ns = 0;
  EXPECT_EQ(FakeSender(70 * kMs).run(schedule).answered, 1u);
  schedule.counts_late = true;
  const Measured result = sender.run(schedule);
  EXPECT_EQ(result.answered, 2u);
  EXPECT_EQ(result.elapsed_ns, 140 * kMs);
}

TEST(LoadLoop, ALoadOfSomeRequestsEndsWithTheLastOne) {
  FakeSender sender(kMs);
  Schedule schedule = closed(4);
  schedule.warmup_ns = schedule.measure_ns = 0;
  schedule.requests = 10;
  const Measured result = sender.run(schedule);
  EXPECT_EQ(sender.sent, 10u);
  EXPECT_EQ(result.answered, 10u);
  EXPECT_EQ(sender.now, 3 * kMs);
}

}  // namespace
}  // namespace serval::load
