// Keepalive according to gRPC's documents: our pings, clients' strikes, ages, idleness, grace
// periods.
#include "transport/http2/keepalive.h"

#include <gtest/gtest.h>

namespace serval {
namespace {

using Due = Keepalive::Due;
constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kHour = 3'600'000 * kMs;
constexpr uint64_t kStart = 1'000 * kMs;
constexpr uint64_t kNever = UINT64_MAX;

TransportSettings pinging() {
  TransportSettings settings;
  settings.keepalive_time_ms = 1'000;
  settings.keepalive_timeout_ms = 200;
  return settings;
}

TEST(Keepalive, DoesNothingForTwoHoursByDefault) {
  const TransportSettings settings;
  Keepalive keepalive(settings, kStart, 0.5);
  EXPECT_EQ(keepalive.next_ns(), kNever);  // never without calls
  keepalive.calls_changed(1, kStart);
  EXPECT_EQ(keepalive.next_ns(), kStart + 2 * kHour);
  EXPECT_EQ(keepalive.due(kStart + 2 * kHour - 1), Due::Nothing);
  EXPECT_EQ(keepalive.due(kStart + 2 * kHour), Due::Ping);
}

TEST(Keepalive, PingsWhenNothingCameForItsTime) {
  const TransportSettings settings = pinging();
  Keepalive keepalive(settings, kStart, 0.5);
  keepalive.calls_changed(1, kStart);
  keepalive.received(kStart + 600 * kMs);
  EXPECT_EQ(keepalive.due(kStart + 1'000 * kMs), Due::Nothing);
  EXPECT_EQ(keepalive.next_ns(), kStart + 1'600 * kMs);
  EXPECT_EQ(keepalive.due(kStart + 1'600 * kMs), Due::Ping);
  // One ping at a time; then it waits for any traffic.
  EXPECT_EQ(keepalive.due(kStart + 1'600 * kMs), Due::Nothing);
  EXPECT_EQ(keepalive.next_ns(), kStart + 1'800 * kMs);
}

TEST(Keepalive, FindsAPeerDeadThatAnswersNothing) {
  const TransportSettings settings = pinging();
  Keepalive keepalive(settings, kStart, 0.5);
  keepalive.calls_changed(1, kStart);
  ASSERT_EQ(keepalive.due(kStart + 1'000 * kMs), Due::Ping);
  keepalive.sent_data();  // data that we send proves nothing
  EXPECT_EQ(keepalive.due(kStart + 1'200 * kMs - 1), Due::Nothing);
  EXPECT_EQ(keepalive.due(kStart + 1'200 * kMs), Due::Dead);
}

TEST(Keepalive, TakesTheAnswerOrAnyBytesForLife) {
  const TransportSettings settings = pinging();
  for (const bool answered : {true, false}) {
    Keepalive keepalive(settings, kStart, 0.5);
    keepalive.calls_changed(1, kStart);
    ASSERT_EQ(keepalive.due(kStart + 1'000 * kMs), Due::Ping);
    const uint64_t then = kStart + 1'100 * kMs;
    if (answered) keepalive.ping_answered(then);
    else keepalive.received(then);
    EXPECT_EQ(keepalive.due(kStart + 1'200 * kMs), Due::Nothing);
    EXPECT_EQ(keepalive.next_ns(), then + 1'000 * kMs);
  }
}

TEST(Keepalive, PingsWithoutCallsWherePermitted) {
  TransportSettings settings = pinging();
  {
    Keepalive keepalive(settings, kStart, 0.5);
    EXPECT_EQ(keepalive.due(kStart + 100'000 * kMs), Due::Nothing);
    keepalive.calls_changed(1, kStart);
    keepalive.calls_changed(0, kStart);
    EXPECT_EQ(keepalive.due(kStart + 100'000 * kMs), Due::Nothing);
  }
  settings.keepalive_permit_without_calls = true;
  Keepalive keepalive(settings, kStart, 0.5);
  EXPECT_EQ(keepalive.due(kStart + 1'000 * kMs), Due::Ping);
}

// A ping that is pending when the last call ends is still waited for.
TEST(Keepalive, WaitsForItsPingWithoutCallsToo) {
  const TransportSettings settings = pinging();
  Keepalive keepalive(settings, kStart, 0.5);
  keepalive.calls_changed(1, kStart);
  ASSERT_EQ(keepalive.due(kStart + 1'000 * kMs), Due::Ping);
  keepalive.calls_changed(0, kStart + 1'001 * kMs);
  EXPECT_EQ(keepalive.due(kStart + 1'200 * kMs), Due::Dead);
}

TEST(Keepalive, StopsAfterSoManyPingsWithoutData) {
  TransportSettings settings = pinging();
  settings.pings_without_data_max = 2;
  Keepalive keepalive(settings, kStart, 0.5);
  keepalive.calls_changed(1, kStart);
  uint64_t now = kStart;
  for (int ping = 0; ping < 2; ++ping) {
    now += 1'000 * kMs;
    ASSERT_EQ(keepalive.due(now), Due::Ping);
    keepalive.ping_answered(now);
  }
  EXPECT_EQ(keepalive.due(now + kHour), Due::Nothing);
  EXPECT_EQ(keepalive.next_ns(), kNever);
  keepalive.sent_data();
  EXPECT_EQ(keepalive.due(now + kHour), Due::Ping);
}

TEST(Keepalive, PingsForEverWhereTheNumberIsZero) {
  TransportSettings settings = pinging();
  settings.pings_without_data_max = 0;
  Keepalive keepalive(settings, kStart, 0.5);
  keepalive.calls_changed(1, kStart);
  uint64_t now = kStart;
  for (int ping = 0; ping < 1'000; ++ping) {
    now += 1'000 * kMs;
    ASSERT_EQ(keepalive.due(now), Due::Ping);
    keepalive.ping_answered(now);
  }
}

// Source: gRPC A8: two strikes are forgiven; the third one ends the connection.
TEST(PeerPings, MayComeTwiceTooSoon) {
  TransportSettings settings;
  settings.ping_interval_without_data_ms_min = 1'000;
  Keepalive keepalive(settings, kStart, 0.5);
  keepalive.calls_changed(1, kStart);
  EXPECT_TRUE(keepalive.ping_received(kStart));
  EXPECT_TRUE(keepalive.ping_received(kStart + 999 * kMs));
  EXPECT_TRUE(keepalive.ping_received(kStart + 1'998 * kMs));
  EXPECT_FALSE(keepalive.ping_received(kStart + 1'999 * kMs));
}

TEST(PeerPings, MayComeForEverAtTheirInterval) {
  TransportSettings settings;
  settings.ping_interval_without_data_ms_min = 1'000;
  Keepalive keepalive(settings, kStart, 0.5);
  keepalive.calls_changed(1, kStart);
  for (uint64_t i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(keepalive.ping_received(kStart + i * 1'000 * kMs)) << i;
  }
}

TEST(PeerPings, AreForgivenWhenDataIsSent) {
  const TransportSettings settings;
  Keepalive keepalive(settings, kStart, 0.5);
  keepalive.calls_changed(1, kStart);
  for (int i = 0; i < 1'000; ++i) {
    for (int ping = 0; ping < 3; ++ping) ASSERT_TRUE(keepalive.ping_received(kStart));
    keepalive.sent_data();
  }
  for (int ping = 0; ping < 3; ++ping) ASSERT_TRUE(keepalive.ping_received(kStart));
  EXPECT_FALSE(keepalive.ping_received(kStart));
}

// Without calls the minimum is two hours, as in TCP's own keepalive.
TEST(PeerPings, WithoutCallsMayComeEveryTwoHours) {
  TransportSettings settings;
  settings.ping_strikes_max = 1;
  Keepalive keepalive(settings, kStart, 0.5);
  EXPECT_TRUE(keepalive.ping_received(kStart));
  EXPECT_TRUE(keepalive.ping_received(kStart + 2 * kHour));
  EXPECT_TRUE(keepalive.ping_received(kStart + 3 * kHour));
  EXPECT_FALSE(keepalive.ping_received(kStart + 4 * kHour));

  settings.keepalive_permit_without_calls = true;
  Keepalive permitted(settings, kStart, 0.5);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(permitted.ping_received(kStart + i * 300'000 * kMs));
  }
}

TEST(PeerPings, MayComeAnyTimeWithoutStrikes) {
  TransportSettings settings;
  settings.ping_strikes_max = 0;
  Keepalive keepalive(settings, kStart, 0.5);
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(keepalive.ping_received(kStart));
}

TEST(Age, RetiresOnceAndCutsAfterItsGrace) {
  TransportSettings settings;
  settings.connection_age_ms_max = 10'000;
  settings.connection_age_grace_ms = 500;
  Keepalive keepalive(settings, kStart, 0.5);
  keepalive.calls_changed(3, kStart);
  const uint64_t end = kStart + 10'000 * kMs;
  EXPECT_EQ(keepalive.next_ns(), end);
  EXPECT_EQ(keepalive.due(end - 1), Due::Nothing);
  EXPECT_EQ(keepalive.due(end + 7), Due::Retire);
  EXPECT_EQ(keepalive.due(end + 8), Due::Nothing);
  EXPECT_EQ(keepalive.next_ns(), end + 7 + 500 * kMs);
  EXPECT_EQ(keepalive.due(end + 7 + 500 * kMs), Due::Cut);
}

// Source: gRPC A9: plus or minus a tenth, so that not all clients reconnect at once.
TEST(Age, HasATenthOfJitter) {
  TransportSettings settings;
  settings.connection_age_ms_max = 10'000;
  EXPECT_EQ(Keepalive(settings, kStart, 0).next_ns(), kStart + 9'000 * kMs);
  EXPECT_EQ(Keepalive(settings, kStart, 1).next_ns(), kStart + 11'000 * kMs);
}

TEST(Age, GivesCallsAllTheTimeWithoutAGrace) {
  TransportSettings settings;
  settings.connection_age_ms_max = 10'000;
  Keepalive keepalive(settings, kStart, 0.5);
  keepalive.calls_changed(1, kStart);
  ASSERT_EQ(keepalive.due(kStart + 11'000 * kMs), Due::Retire);
  EXPECT_EQ(keepalive.due(kStart + 100 * 60'000 * kMs), Due::Nothing);
}

TEST(Age, StandsTheLargestNumbers) {
  TransportSettings settings = pinging();
  settings.connection_age_ms_max = UINT64_MAX - 1;
  settings.connection_idle_ms_max = UINT64_MAX / 1'000'000;
  settings.connection_age_grace_ms = UINT64_MAX - 1;
  settings.keepalive_time_ms = UINT64_MAX - 1;
  Keepalive keepalive(settings, kNever - 1, 1);
  EXPECT_EQ(keepalive.next_ns(), kNever);
  EXPECT_EQ(keepalive.due(kNever - 1), Due::Nothing);
}

TEST(Idle, CountsFromTheConnectionsStartOrItsLastCall) {
  TransportSettings settings;
  settings.connection_idle_ms_max = 1'000;
  Keepalive keepalive(settings, kStart, 0.5);
  EXPECT_EQ(keepalive.next_ns(), kStart + 1'000 * kMs);
  keepalive.calls_changed(1, kStart + 500 * kMs);
  EXPECT_EQ(keepalive.due(kStart + 5'000 * kMs), Due::Nothing);
  keepalive.calls_changed(2, kStart + 5'000 * kMs);
  keepalive.calls_changed(1, kStart + 6'000 * kMs);
  keepalive.calls_changed(0, kStart + 7'000 * kMs);
  // Bytes outside of calls do not count.
  keepalive.received(kStart + 7'900 * kMs);
  keepalive.calls_changed(0, kStart + 7'900 * kMs);
  EXPECT_EQ(keepalive.next_ns(), kStart + 8'000 * kMs);
  EXPECT_EQ(keepalive.due(kStart + 8'000 * kMs - 1), Due::Nothing);
  EXPECT_EQ(keepalive.due(kStart + 8'000 * kMs), Due::Retire);
  EXPECT_EQ(keepalive.due(kStart + 9'000 * kMs), Due::Nothing);
}

// In any state, something is due at next_ns(), and nothing before it.
TEST(Keepalive, IsDueWhenItSays) {
  TransportSettings settings = pinging();
  settings.connection_age_ms_max = 60'000;
  settings.connection_age_grace_ms = 3'000;
  settings.connection_idle_ms_max = 5'000;
  Keepalive keepalive(settings, kStart, 0.3);
  uint64_t random = 1;
  uint64_t now = kStart;
  for (int step = 0; step < 2'000; ++step) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t next = keepalive.next_ns();
    now += random >> 33 & 0x1fffffff;
    if (next != kNever && next > now) {
      ASSERT_EQ(keepalive.due(now), Due::Nothing) << step;
    } else if (next != kNever) {
      const Due due = keepalive.due(now);
      ASSERT_NE(due, Due::Nothing) << step;
      if (due == Due::Cut) return;
    }
    switch (random >> 61) {
      case 0: keepalive.received(now); break;
      case 1: keepalive.sent_data(); break;
      case 2: keepalive.calls_changed(1, now); break;
      case 3: keepalive.calls_changed(0, now); break;
      case 4: keepalive.ping_answered(now); break;
      default: break;
    }
  }
  FAIL() << "it was never cut";
}

}  // namespace
}  // namespace serval
