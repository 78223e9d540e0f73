// When an end of a channel polls before it sleeps: after short waits and if cores are free, unless
// polling was in vain recently.
#include "backend/isolated/spin.h"

#include <gtest/gtest.h>

namespace serval::isolated {
namespace {

constexpr uint64_t kShort = 20'000, kLong = 5'000'000;

void note(SpinPolicy& policy, uint64_t ns, int times, bool in_vain = false) {
  for (int i = 0; i < times; ++i) policy.note(ns, in_vain);
}

TEST(IsolatedSpin, LooksAfterShortWaits) {
  SpinPolicy policy(2);
  EXPECT_EQ(policy.budget_ns(0, 1), 0u);  // nothing is known yet
  note(policy, kShort, 50);
  EXPECT_GE(policy.budget_ns(0, 1), kShort);
  EXPECT_LE(policy.budget_ns(0, 1), 4 * kShort);
  note(policy, kLong, 5);
  EXPECT_EQ(policy.budget_ns(0, 1), 0u);
  note(policy, kShort, 50);
  EXPECT_GT(policy.budget_ns(0, 1), 0u);
}

TEST(IsolatedSpin, NeverLooksForLong) {
  SpinPolicy policy(64);
  note(policy, kSpinMeanNsMax - 10'000, 200);
  EXPECT_EQ(policy.budget_ns(0, 1), kSpinNsMax);
  note(policy, kSpinMeanNsMax + 10'000, 200);
  EXPECT_EQ(policy.budget_ns(0, 1), 0u);
}

TEST(IsolatedSpin, NeverOnTheOnlyCoreNorOnTheOtherEnds) {
  SpinPolicy one(1), two(2);
  note(one, kShort, 50);
  note(two, kShort, 50);
  EXPECT_EQ(one.budget_ns(0, 1), 0u);
  EXPECT_EQ(two.budget_ns(1, 1), 0u);
  EXPECT_GT(two.budget_ns(1, 0), 0u);
}

TEST(IsolatedSpin, RestsWhereItLooksInVainAndLongerEachTime) {
  SpinPolicy policy(2);
  note(policy, kShort, 50);
  policy.note(kShort, true);  // one success is not enough
  EXPECT_GT(policy.budget_ns(0, 1), 0u);
  const auto rest = [&] {
    while (policy.budget_ns(0, 1) > 0) policy.note(kShort, true);
    int waits = 0;
    for (; policy.budget_ns(0, 1) == 0; ++waits) policy.note(kShort, false);
    return waits;
  };
  const int first = rest();
  EXPECT_GE(first, static_cast<int>(kRestFirst));
  EXPECT_GE(rest(), 2 * first - 8);
  for (int i = 0; i < 10; ++i) rest();
  EXPECT_LE(rest(), static_cast<int>(kRestMax));
  note(policy, kShort, 3 * kRestMax);  // without an interruption
  EXPECT_LE(rest(), static_cast<int>(kRestFirst));
}

TEST(IsolatedSpin, KnowsItsCores) {
  EXPECT_GE(usable_cores(), 1u);
  EXPECT_LT(this_cpu(), 1u << 16);
}

}  // namespace
}  // namespace serval::isolated
