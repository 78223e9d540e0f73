// The stopwatch against the steady clock.
#include "base/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace serval {
namespace {

TEST(Clock, StopwatchAgreesWithTheSteadyClock) {
  // Several spans, because the scheduler may stretch one between the two reads.
  double best = 1;
  for (int round = 0; round < 20; ++round) {
    const uint64_t start = now_ns();
    const Stopwatch watch;
    while (now_ns() - start < 1'000'000) {
    }
    const uint64_t by_watch = watch.elapsed_ns();
    const uint64_t by_clock = now_ns() - start;
    const double error = static_cast<double>(by_clock) - static_cast<double>(by_watch);
    best = std::min(best, std::abs(error) / static_cast<double>(by_clock));
  }
  EXPECT_LT(best, 0.01);
}

TEST(Clock, StopwatchNeverRunsBackwards) {
  const Stopwatch watch;
  uint64_t last = 0;
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t now = watch.elapsed_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace serval
