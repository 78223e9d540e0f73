// Work at idle priority: it does not compete with other threads, and does not wait for ever.
#include "engine/control/quiet_work.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.h"

namespace serval::test {
namespace {

int own_thread() { return static_cast<int>(syscall(SYS_gettid)); }

bool never_restored(int) { return false; }

// Spends processor time, not wall time.
void spend_ms(uint64_t ms) {
  CoreTimes begun;
  ASSERT_TRUE(read_core_times(own_thread(), begun));
  for (CoreTimes now = begun; now.ran_ns - begun.ran_ns < ms * 1'000'000;) {
    for (volatile int i = 0; i < 100'000;) i = i + 1;
    ASSERT_TRUE(read_core_times(own_thread(), now));
  }
}

// Keeps a core busy on which the test's other threads run too.
class BusyCore {
 public:
  BusyCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    thread_ = std::thread([this] {
      while (!ended_) {
      }
    });
  }
  ~BusyCore() {
    ended_ = true;
    thread_.join();
    sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

TEST(QuietWorkTest, RunsAtIdlePriorityAndReportsItsEnd) {
  QuietWork quiet(1);
  int policy = -1;
  if (!quiet.run([&policy] { policy = sched_getscheduler(0); })) {
    GTEST_SKIP() << "the machine is busy, and priorities cannot be restored";
  }
  EXPECT_EQ(policy, SCHED_IDLE);
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER) << "the caller keeps its priority";
}

TEST(QuietWorkTest, GetsNormalPriorityIfNoCoreHasTime) {
  if (!set_idle_priority(own_thread()) || !restore_priority(own_thread())) {
    GTEST_SKIP() << "needs CAP_SYS_NICE";
  }
  const BusyCore busy;
  QuietWork quiet(1);
  const uint64_t begun_ns = now_ns();
  EXPECT_TRUE(quiet.run([] { spend_ms(300); }));
  // At idle priority it would get 0.3 % of the core: 100 s.
  EXPECT_LT(now_ns() - begun_ns, 20'000'000'000u);
  bool ran = false;
  EXPECT_FALSE(quiet.run([&ran] { ran = true; })) << "no core had time a moment ago";
  EXPECT_FALSE(ran);
}

TEST(QuietWorkTest, IsLeftToTheCallerIfPriorityCannotBeRestored) {
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  QuietWork quiet(1, never_restored);
  {
    const BusyCore busy;
    EXPECT_FALSE(quiet.run([ended] {
      spend_ms(300);
      *ended = true;
    }));
    EXPECT_FALSE(*ended);
  }
  quiet.finish();
  EXPECT_TRUE(*ended) << "the abandoned work ends when a core has time";
}

TEST(QuietWorkTest, IsLeftToTheCallerIfNoThreadIsFree) {
  QuietWork quiet(1);
  std::atomic<bool> go{false};
  std::atomic<bool> began{false};
  std::thread other([&] {
    EXPECT_TRUE(quiet.run([&] {
      began = true;
      while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }));
  });
  while (!began) std::this_thread::yield();
  bool ran = false;
  EXPECT_FALSE(quiet.run([&ran] { ran = true; }));
  go = true;
  other.join();
  quiet.finish();
  EXPECT_FALSE(ran) << "abandoned before it began";
}

TEST(QuietWorkTest, TimesOfAThreadThatEndedAreUnknown) {
  CoreTimes times;
  EXPECT_TRUE(read_core_times(own_thread(), times));
  EXPECT_GT(times.ran_ns, 0u);
  EXPECT_FALSE(read_core_times(1'000'000'000, times));
}

}  // namespace
}  // namespace serval::test
