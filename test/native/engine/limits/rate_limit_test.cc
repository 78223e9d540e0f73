// The bucket of a rate: bursts, refills, debts, changed limits and threads; the tests choose the
// times.
#include "engine/limits/rate_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace serval {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = 5000 * kSecond;

int taken(RateLimit& rate, uint64_t now, int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += rate.take(now) == 0;
  return count;
}

TEST(RateLimit, WithoutALimitGivesEverything) {
  RateLimit rate;
  EXPECT_EQ(taken(rate, kStart, 1000), 1000);
  rate.charge(kStart, 1'000'000);
  EXPECT_EQ(rate.take(kStart), 0u);
  EXPECT_FALSE(rate.is_set());
}

TEST(RateLimit, HoldsOneSecondsWorth) {
  RateLimit rate;
  rate.set(10);
  EXPECT_EQ(taken(rate, kStart, 100), 10);
  EXPECT_EQ(taken(rate, kStart + kSecond / 2, 100), 5);
  EXPECT_EQ(taken(rate, kStart + 100 * kSecond, 100), 10);
}

TEST(RateLimit, HoldsAtLeastOneToken) {
  RateLimit rate;
  rate.set(0.1);
  EXPECT_EQ(taken(rate, kStart, 5), 1);
  const uint64_t wait = rate.take(kStart + 4 * kSecond);
  EXPECT_GE(wait, 6 * kSecond);
  EXPECT_LE(wait, 6 * kSecond + 1000);
  EXPECT_EQ(rate.take(kStart + 4 * kSecond + wait), 0u);
}

TEST(RateLimit, SaysWhenTheNextTokenIsThere) {
  RateLimit rate;
  rate.set(4);
  EXPECT_EQ(taken(rate, kStart, 4), 4);
  const uint64_t wait = rate.take(kStart);
  EXPECT_NEAR(static_cast<double>(wait), kSecond / 4.0, 2.0);
  EXPECT_NE(rate.take(kStart + wait - 10), 0u);
  EXPECT_EQ(rate.take(kStart + wait), 0u);
}

TEST(RateLimit, ChargesWhatIsMissingAsADebt) {
  RateLimit rate;
  rate.set(100);
  EXPECT_EQ(rate.take(kStart), 0u);
  rate.charge(kStart, 999);  // 1000 of 100: 9 seconds until it is empty, not in debt
  EXPECT_NE(rate.take(kStart + 8 * kSecond), 0u);
  EXPECT_EQ(taken(rate, kStart + 9 * kSecond + kSecond / 2, 100), 50);
}

TEST(RateLimit, HasADebtOfAtMostAnHour) {
  RateLimit rate;
  rate.set(0.001);
  rate.charge(kStart, UINT32_MAX);
  rate.charge(kStart, UINT64_MAX);
  EXPECT_NE(rate.take(kStart + 3599 * kSecond), 0u);
  EXPECT_EQ(rate.take(kStart + 3601 * kSecond), 0u);
}

TEST(RateLimit, TakesBackAToken) {
  RateLimit rate;
  rate.set(2);
  EXPECT_EQ(taken(rate, kStart, 5), 2);
  rate.give_back();
  EXPECT_EQ(taken(rate, kStart, 5), 1);
}

TEST(RateLimit, BeginsFullWhenTheLimitChangesOnly) {
  RateLimit rate;
  rate.set(3);
  EXPECT_EQ(taken(rate, kStart, 9), 3);
  rate.set(3);
  EXPECT_EQ(taken(rate, kStart, 9), 0);
  rate.set(5);
  EXPECT_EQ(taken(rate, kStart, 9), 5);
  rate.set(0);
  EXPECT_EQ(taken(rate, kStart, 9), 9);
}

TEST(RateLimit, IsExactAtTheHighestRate) {
  RateLimit rate;
  rate.set(1e9);
  rate.charge(kStart, 1'500'000'000);
  EXPECT_EQ(rate.take(kStart + kSecond), 0u);
  RateLimit other;
  other.set(1e9);
  other.charge(kStart, 2'500'000'000u);
  EXPECT_NE(other.take(kStart + kSecond), 0u);
}

TEST(RateLimit, GivesNoTokenTwice) {
  RateLimit rate;
  rate.set(1000);
  std::atomic<int> all{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { all.fetch_add(taken(rate, kStart, 1000)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all.load(), 1000);
}

}  // namespace
}  // namespace serval
