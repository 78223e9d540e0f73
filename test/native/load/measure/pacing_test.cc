// Arrival times of open loops.
#include "load/measure/pacing.h"

#include <gtest/gtest.h>

#include <vector>

namespace serval::load {
namespace {

std::vector<uint64_t> times(double rate, bool poisson, uint64_t seed, size_t count) {
  Pacing pacing(rate, poisson, seed, 1000);
  std::vector<uint64_t> out;
  for (size_t i = 0; i < count; ++i, pacing.advance()) out.push_back(pacing.due_ns());
  return out;
}

TEST(LoadPacing, EvenArrivalsAreAsFarFromEachOtherAsTheRateSays) {
  const std::vector<uint64_t> all = times(3'000'000, false, 7, 3'000'001);
  EXPECT_GE(all.front(), 1000u);
  EXPECT_LT(all.front(), 1000u + 334);
  // No drift over a second, although a gap is not a whole number of nanoseconds.
  EXPECT_NEAR(static_cast<double>(all.back() - all.front()), 1e9, 2);
}

TEST(LoadPacing, IndependentCallersComeAtTheRateWithGapsOfAnExponentialDistribution) {
  const std::vector<uint64_t> all = times(1000, true, 7, 100'001);
  const double mean = static_cast<double>(all.back() - all.front()) / 100'000;
  EXPECT_NEAR(mean, 1e6, 2e4);
  size_t above = 0;
  for (size_t i = 1; i < all.size(); ++i) above += all[i] - all[i - 1] > 1'000'000 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(above) / 100'000, 0.3679, 0.01);  // 1 / e
}

TEST(LoadPacing, TheSameSeedGivesTheSameTimes) {
  EXPECT_EQ(times(1000, true, 3, 100), times(1000, true, 3, 100));
  EXPECT_NE(times(1000, true, 3, 100), times(1000, true, 4, 100));
}

}  // namespace
}  // namespace serval::load
