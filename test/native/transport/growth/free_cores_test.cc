// Tests the measurement of free cores.
#include "transport/growth/free_cores.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace serval {
namespace {

cpu_set_t cores(std::initializer_list<int> which) {
  cpu_set_t out;
  CPU_ZERO(&out);
  for (const int one : which) CPU_SET(one, &out);
  return out;
}

constexpr std::string_view kStat =
    "cpu  60 0 6 300 30 0 0 0 5 0\n"
    "cpu0 10 0 1 100 10 0 0 0 5 0\n"
    "cpu1 20 0 2 100 10 1 2 3 0 0\n"
    "cpu12 30 0 3 100 10 0 0 0 0 0\n"
    "intr 1 2 3\n";

TEST(FreeCores, CountsTheTicksOfTheCoresThatTheProcessMayUse) {
  const CoreTicks two = core_ticks(kStat, cores({1, 12}));
  EXPECT_EQ(two.cores, 2u);
  EXPECT_EQ(two.all, 138u + 143u);
  EXPECT_EQ(two.idle, 220u);
  EXPECT_EQ(core_ticks(kStat, cores({3})).cores, 0u);
  EXPECT_EQ(core_ticks("", cores({0})).cores, 0u);
}

TEST(FreeCores, NeedsTwoReadings) {
  FreeCores free(64);
  const uint64_t now = now_ns();
  EXPECT_FALSE(free.read(now).has_value());
  EXPECT_FALSE(free.read(now + 1).has_value());
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const std::optional<double> read = free.read(now_ns());
  ASSERT_TRUE(read.has_value());
  EXPECT_GE(*read, 0);
  EXPECT_LE(*read, 64);
  // An old reading says nothing of the present.
  EXPECT_FALSE(free.read(now_ns() + 5'000 * kNsPerMs).has_value());
}

TEST(FreeCores, SubtractsWhatTheProcessUses) {
  FreeCores free(1);
  free.read(now_ns());
  const uint64_t until = now_ns() + 300 * kNsPerMs;
  std::atomic<uint64_t> turns = 0;
  std::vector<std::thread> busy;
  for (int i = 0; i < 4; ++i) {
    busy.emplace_back([&] {
      while (now_ns() < until) ++turns;
    });
  }
  for (std::thread& one : busy) one.join();
  // With one core or more in use, less than a whole one is free.
  EXPECT_LT(free.read(now_ns()).value(), 0.9);
}

}  // namespace
}  // namespace serval
