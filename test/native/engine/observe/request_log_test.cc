// The engine's request log: which requests its taps choose, how many entries wait and which are
// dropped, and that threads may log while one reads.
#include "engine/observe/request_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace serval::test {
namespace {

std::span<const uint8_t> view(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

LoggedBytes logged(std::string_view request, std::string_view response) {
  LoggedBytes bytes;
  bytes.protocol = Protocol::TfPredict;
  bytes.id = "id";
  bytes.total_ns = 5000;
  bytes.request = view(request);
  bytes.response = view(response);
  return bytes;
}

uint64_t sampled(RequestTap& tap, uint64_t requests) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < requests; ++i) count += tap.sample();
  return count;
}

TEST(RequestTap, TakesItsPartEvenlyAndTheFirst) {
  for (const auto& [rate, expected] : std::vector<std::pair<double, uint64_t>>{{0, 0},
                                                                               {1, 1000},
                                                                               {0.5, 500},
                                                                               {0.3, 300},
                                                                               {0.001, 1},
                                                                               {1e-12, 1},
                                                                               {0.7, 700},
                                                                               {0.25, 250},
                                                                               {0.333, 333},
                                                                               {0.999, 999}}) {
    RequestTap tap(LogRate{rate, false});
    EXPECT_EQ(tap.on(), rate > 0) << rate;
    if (rate > 0) {
      EXPECT_TRUE(tap.sample()) << rate;
    }
    EXPECT_EQ(sampled(tap, 999) + (rate > 0), expected) << rate;
  }
}

TEST(RequestTap, RunsOfRequestsHaveTheirPart) {
  RequestTap tap(LogRate{0.3, false});
  for (int run = 0; run < 100; ++run) EXPECT_EQ(sampled(tap, 10), 3U) << run;
}

TEST(RequestTap, TakesNothingForRatesThatAreNone) {
  for (const double rate : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    RequestTap tap(LogRate{rate, false});
    EXPECT_EQ(sampled(tap, 10), 0U);
  }
  RequestTap all(LogRate{7, false});
  EXPECT_EQ(sampled(all, 10), 10U);
}

TEST(RequestTap, ThreadsTogetherHaveTheirPart) {
  RequestTap tap(LogRate{0.3, false});
  std::atomic<uint64_t> count{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { count += sampled(tap, 10'000); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 12'000U);
}

TEST(RequestLog, TapsFollowTheRates) {
  MemoryBudget budget(UINT64_MAX / 2);
  RequestLog log(budget);
  const auto named = log.tap("named");
  const auto other = log.tap("other");
  EXPECT_EQ(log.tap("named"), named);
  EXPECT_FALSE(named->on());
  log.set_rates({{"", {0.5, false}}, {"named", {1, true}}});
  EXPECT_EQ(sampled(*named, 10), 10U);
  EXPECT_TRUE(named->tensorflow());
  EXPECT_EQ(sampled(*other, 10), 5U);
  EXPECT_FALSE(other->tensorflow());
  EXPECT_EQ(sampled(*log.tap("later"), 10), 5U);
  log.set_rates({});
  EXPECT_FALSE(named->on());
  EXPECT_FALSE(other->on());
}

TEST(RequestLog, ForgetsTapsThatNobodyHas) {
  MemoryBudget budget(UINT64_MAX / 2);
  RequestLog log(budget);
  log.set_rates({{"", {1, false}}});
  const auto kept = log.tap("kept");
  for (int i = 0; i < 1000; ++i) static_cast<void>(log.tap("model " + std::to_string(i)));
  EXPECT_EQ(log.tap("kept"), kept);
  EXPECT_TRUE(log.tap("model 1")->on());
}

TEST(RequestLog, GivesWhatWasLoggedInOrder) {
  MemoryBudget budget(UINT64_MAX / 2);
  RequestLog log(budget);
  LoggedBytes bytes = logged("question", "answer");
  bytes.json_bytes = 4;
  bytes.response_json_bytes = 2;
  log.record(7, "m", "3", true, bytes);
  log.record(7, "m", "3", false, logged("", ""));
  EXPECT_GT(budget.used(), 0U);
  RequestLog::Taken taken = log.take(SIZE_MAX);
  ASSERT_EQ(taken.entries.size(), 2U);
  EXPECT_FALSE(taken.more);
  EXPECT_EQ(taken.dropped, 0U);
  const LoggedEntry& first = taken.entries[0];
  EXPECT_EQ(text(first.request()), "question");
  EXPECT_EQ(text(first.response()), "answer");
  EXPECT_EQ(first.model, "m");
  EXPECT_EQ(first.version, "3");
  EXPECT_EQ(first.id, "id");
  EXPECT_EQ(first.handle, 7U);
  EXPECT_EQ(first.total_us, 5U);
  EXPECT_EQ(first.json_bytes, 4);
  EXPECT_EQ(first.response_json_bytes, 2U);
  EXPECT_TRUE(first.tensorflow);
  EXPECT_EQ(text(taken.entries[1].request()), "");
  taken.entries.clear();
  EXPECT_EQ(budget.used(), 0U);
  EXPECT_TRUE(log.take(SIZE_MAX).entries.empty());
}

TEST(RequestLog, IsTakenInParts) {
  MemoryBudget budget(UINT64_MAX / 2);
  RequestLog log(budget);
  const std::string large(100'000, 'x');
  for (int i = 0; i < 5; ++i) log.record(1, "m", "1", false, logged(large, ""));
  size_t entries = 0;
  for (bool more = true; more;) {
    const RequestLog::Taken taken = log.take(250'000);
    EXPECT_LE(taken.entries.size(), 2U);
    EXPECT_GE(taken.entries.size(), 1U);
    entries += taken.entries.size();
    more = taken.more;
  }
  EXPECT_EQ(entries, 5U);
  EXPECT_EQ(log.take(1).entries.size(), 0U);
}

TEST(RequestLog, DropsWhatThereIsNoRoomFor) {
  MemoryBudget budget(8u << 20);  // at most an eighth of it is used by waiting entries
  RequestLog log(budget);
  const std::string half(600'000, 'x');
  log.record(1, "m", "1", false, logged(half, ""));
  log.record(1, "m", "1", false, logged(half, ""));
  log.record(1, "m", "1", false, logged(std::string(2u << 20, 'x'), ""));
  const RequestLog::Taken taken = log.take(SIZE_MAX);
  EXPECT_EQ(taken.entries.size(), 1U);
  EXPECT_EQ(taken.dropped, 2U);
  EXPECT_EQ(log.take(SIZE_MAX).dropped, 0U);
  EXPECT_EQ(log.totals().dropped, 2U);
}

TEST(RequestLog, DropsWhatTheBudgetRefuses) {
  MemoryBudget budget(64u << 20);
  ASSERT_TRUE(budget.take(64u << 20));
  RequestLog log(budget);
  log.record(1, "m", "1", false, logged(std::string(1u << 20, 'x'), ""));
  EXPECT_EQ(log.take(SIZE_MAX).dropped, 1U);
  EXPECT_EQ(budget.used(), 64u << 20);
}

TEST(RequestLog, ManyEmptyRequestsAreBoundedToo) {
  MemoryBudget budget(1u << 20);
  RequestLog log(budget);
  for (int i = 0; i < 10'000; ++i) log.record(1, "m", "1", false, logged("", ""));
  const RequestLog::Taken taken = log.take(SIZE_MAX);
  EXPECT_LT(taken.entries.size(), 1000U);
  EXPECT_EQ(taken.entries.size() + taken.dropped, 10'000U);
}

TEST(RequestLog, ThreadsLogWhileOneTakes) {
  MemoryBudget budget(UINT64_MAX / 2);
  RequestLog log(budget);
  constexpr int kThreads = 4, kEach = 2000;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int one = 0; one < kEach; ++one) log.record(1, "m", "1", false, logged("q", "a"));
      --running;
    });
  }
  std::thread rates([&] {
    const auto tap = log.tap("m");
    while (running > 0) {
      log.set_rates({{"m", {0.5, true}}});
      static_cast<void>(tap->sample());
      log.set_rates({});
    }
  });
  uint64_t seen = 0;
  for (bool last = false; !last;) {
    last = running == 0;
    for (bool more = true; more;) {
      const RequestLog::Taken taken = log.take(10'000);
      seen += taken.entries.size() + taken.dropped;
      more = taken.more;
    }
  }
  for (std::thread& thread : threads) thread.join();
  rates.join();
  const RequestLog::Taken rest = log.take(SIZE_MAX);
  EXPECT_EQ(seen + rest.entries.size() + rest.dropped, uint64_t{kThreads} * kEach);
}

}  // namespace
}  // namespace serval::test
