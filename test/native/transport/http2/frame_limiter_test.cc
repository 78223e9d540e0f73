// Limits on a peer's frames: floods of each kind end soon, and an hour of a healthy client's frames
// never does.
#include "transport/http2/frame_limiter.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace serval {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr int kEvents = static_cast<int>(Event::Count);

Event event_of(int i) { return static_cast<Event>(i); }

TEST(FrameLimiter, NamesEachEvent) {
  std::set<std::string> names;
  for (int i = 0; i < kEvents; ++i) {
    names.insert(FrameLimiter::name_of(event_of(i)));
    EXPECT_GT(FrameLimiter::limit_of(event_of(i)).burst, 0u);
    EXPECT_GT(FrameLimiter::limit_of(event_of(i)).per_second, 0u);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kEvents));
}

TEST(FrameLimiter, EndsAFloodOfEachKindAfterItsBurst) {
  for (int i = 0; i < kEvents; ++i) {
    FrameLimiter limiter;
    uint32_t allowed = 0;
    while (allowed < 10'000'000 && limiter.allow(event_of(i), kSecond)) ++allowed;
    EXPECT_EQ(allowed, FrameLimiter::limit_of(event_of(i)).burst)
        << FrameLimiter::name_of(event_of(i));
  }
}

// One gigabit carries ten million frames a second of 9 to 17 bytes.
TEST(FrameLimiter, EndsAGigabitOfAnythingWithinAFifthOfASecond) {
  for (int i = 0; i < kEvents; ++i) {
    FrameLimiter limiter;
    uint64_t now = 5 * kSecond;
    while (now < 7 * kSecond && limiter.allow(event_of(i), now)) now += 100;
    EXPECT_LT(now, 5 * kSecond + kSecond / 5) << FrameLimiter::name_of(event_of(i));
  }
}

TEST(FrameLimiter, AllowsEachKindAtItsRateForAnHour) {
  for (int i = 0; i < kEvents; ++i) {
    FrameLimiter limiter;
    const uint32_t rate = FrameLimiter::limit_of(event_of(i)).per_second;
    const uint64_t step = kSecond / rate;
    uint64_t now = 0;
    for (uint32_t n = 0; n < std::min(rate * 3600u, 5'000'000u); ++n, now += step + 1) {
      ASSERT_TRUE(limiter.allow(event_of(i), now)) << FrameLimiter::name_of(event_of(i)) << n;
    }
  }
}

TEST(FrameLimiter, CountsKindsApart) {
  FrameLimiter limiter;
  while (limiter.allow(Event::Settings, kSecond)) continue;
  EXPECT_TRUE(limiter.allow(Event::Ping, kSecond));
  EXPECT_FALSE(limiter.allow(Event::Settings, kSecond));
}

TEST(FrameLimiter, ForgivesWithTimeUpToTheBurst) {
  FrameLimiter limiter;
  const FrameLimit limit = FrameLimiter::limit_of(Event::Settings);
  while (limiter.allow(Event::Settings, kSecond)) continue;
  EXPECT_TRUE(limiter.allow(Event::Settings, 2 * kSecond));
  uint32_t again = 0;
  while (limiter.allow(Event::Settings, 100'000 * kSecond)) ++again;
  EXPECT_EQ(again, limit.burst);
}

TEST(FrameLimiter, TakesAClockThatStandsStillOrGoesBack) {
  FrameLimiter limiter;
  while (limiter.allow(Event::Ping, 1000 * kSecond)) continue;
  EXPECT_FALSE(limiter.allow(Event::Ping, 0));
  EXPECT_FALSE(limiter.allow(Event::Ping, 1000 * kSecond));
  EXPECT_TRUE(limiter.allow(Event::Ping, 1001 * kSecond));
}

// CVE-2023-44487: HEADERS and RST_STREAM at the highest rate.
TEST(FrameLimiter, EndsARapidReset) {
  FrameLimiter limiter;
  uint64_t now = kSecond;
  int calls = 0;
  for (; calls < 1'000'000 && limiter.allow(Event::PeerReset, now); ++calls) now += 1'000;
  EXPECT_LE(calls, 10'011);
}

// An attacker that mixes in answered calls pays for each reset with a whole call.
TEST(FrameLimiter, CountsResetsAgainstAnswers) {
  FrameLimiter limiter;
  uint64_t now = kSecond;
  int resets = 0;
  for (; resets < 1'000'000 && limiter.allow(Event::PeerReset, now); ++resets) {
    now += 1'000;
    if (resets % 3 == 0) limiter.answered();
  }
  EXPECT_LE(resets, 16'000);
}

TEST(FrameLimiter, LeavesAClientAloneThatCancelsSomeOfFiftyThousandCallsASecond) {
  for (const int of_hundred : {1, 5, 20, 49}) {
    FrameLimiter limiter;
    uint64_t now = kSecond;
    for (int call = 0; call < 5'000'000; ++call, now += 20'000) {
      if (call % 100 >= of_hundred) limiter.answered();
      else ASSERT_TRUE(limiter.allow(Event::PeerReset, now)) << call;
    }
  }
}

// Cancels repeatedly all calls that one connection may have open: a batch that its caller gives up.
TEST(FrameLimiter, LeavesAClientAloneThatCancelsAllItHas) {
  FrameLimiter limiter;
  uint64_t now = kSecond;
  for (int round = 0; round < 100; ++round, now += 5 * kSecond) {
    for (int call = 0; call < 4096; ++call) ASSERT_TRUE(limiter.allow(Event::PeerReset, now));
  }
}

// 10 Gbit a second of DATA frames of 16 KiB, each answered with a window update of its stream and
// one of the connection.
TEST(FrameLimiter, LeavesAReaderOfTenGigabitsAlone) {
  FrameLimiter limiter;
  const double frames_per_second = 10e9 / 8 / 16384;
  const auto step = static_cast<uint64_t>(1e9 / frames_per_second);
  uint64_t now = kSecond;
  for (int frame = 0; frame < 3'000'000; ++frame, now += step) {
    ASSERT_TRUE(limiter.allow(Event::WindowUpdate, now));
    ASSERT_TRUE(limiter.allow(Event::WindowUpdate, now));
  }
}

// grpc-go pings once per round trip while responses arrive; here every 50 us.
TEST(FrameLimiter, LeavesAClientAloneThatMeasuresTheBandwidth) {
  FrameLimiter limiter;
  uint64_t now = kSecond;
  for (int ping = 0; ping < 1'000'000; ++ping, now += 50'000) {
    ASSERT_TRUE(limiter.allow(Event::Ping, now));
  }
}

// One unusual frame with each call costs nothing: priorities, empty DATA, long header lists.
TEST(FrameLimiter, LeavesAClientAloneThatSendsOneOfEachWithEachCall) {
  FrameLimiter limiter;
  uint64_t now = kSecond;
  for (int call = 0; call < 1'000'000; ++call, now += 1'000) {
    for (int i = 0; i < kEvents; ++i) ASSERT_TRUE(limiter.allow(event_of(i), now));
    limiter.answered();
  }
}

}  // namespace
}  // namespace serval
