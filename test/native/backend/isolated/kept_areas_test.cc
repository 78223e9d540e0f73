// Shared memory of large requests: it is kept for the next request, so that its pages are not
// faulted in again, counts in the budget, and is returned to the system when nobody uses it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

namespace serval::isolated {
namespace {

constexpr size_t kFloats = 1'204'224;  // eight images of 3 x 224 x 224: 4.8 MB
constexpr uint64_t kLimit = 1u << 30;
constexpr uint32_t kFirst[] = {0};

// A request with one large tensor.
struct Large {
  explicit Large(size_t count, float seed) : floats(count) {
    for (size_t i = 0; i < count; ++i) floats[i] = seed + static_cast<float>(i);
    const int64_t dims[] = {static_cast<int64_t>(count)};
    small.views[0].shape = Shape(dims);
    small.views[0].data = reinterpret_cast<const uint8_t*>(floats.data());
    small.views[0].bytes = count * sizeof(float);
  }
  void expect_echo(BackendModel& model, BackendScratch& scratch) const {
    const Status done = model.run(0, small.views, kFirst, scratch, {});
    ASSERT_TRUE(done.ok()) << done.error().message;
    const std::span<const TensorView> outputs = scratch.outputs();
    ASSERT_EQ(outputs.size(), 1u);
    ASSERT_EQ(outputs[0].bytes, small.views[0].bytes);
    EXPECT_EQ(std::memcmp(outputs[0].data, small.views[0].data, outputs[0].bytes), 0);
    scratch.release_outputs();
  }

  std::vector<float> floats;
  Inputs small{1, 1};
};

// Minor page faults of this process, which has both ends of the channels.
long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// Resident shared memory of this process, in bytes.
uint64_t shared_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssShmem:")) return std::stoull(line.substr(9)) * 1024;
  }
  ADD_FAILURE() << "no RssShmem in /proc/self/status";
  return 0;
}

TEST(KeptAreas, ALargeRequestFaultsInNoPagesAgain) {
  MemoryBudget budget(kLimit);
  const auto model = load(null_process(&budget), "echo", &budget);
  const auto scratch = model->make_scratch();
  const Large large(kFloats, 1);
  for (int i = 0; i < 3; ++i) large.expect_echo(*model, *scratch);
  const long before = page_faults();
  constexpr int kRuns = 50;
  for (int i = 0; i < kRuns; ++i) large.expect_echo(*model, *scratch);
  const long faults = (page_faults() - before) / kRuns;
  RecordProperty("faults_per_request", static_cast<int>(faults));
  EXPECT_LT(faults, 20);
}

TEST(KeptAreas, AreReturnedToTheSystemWhenUnused) {
  MemoryBudget budget(kLimit);
  const auto model = load(null_process(&budget), "echo", &budget);
  const auto scratch = model->make_scratch();
  const Large large(kFloats, 1);
  const uint64_t before = shared_bytes();
  large.expect_echo(*model, *scratch);
  // Each area holds 4.8 MB, and both ends map it.
  EXPECT_GT(shared_bytes(), before + 9'000'000);
  const uint64_t kept = budget.idle().kept_bytes();
  EXPECT_GT(kept, 7'000'000u);
  EXPECT_LT(budget.used(), 3u << 20);
  budget.drop_unused(3'600'000'000'000);
  EXPECT_EQ(budget.idle().kept_bytes(), kept);
  budget.drop_unused(0);
  EXPECT_EQ(budget.idle().kept_bytes(), 0u);
  EXPECT_LT(shared_bytes(), before + 2 * 2 * kAreaKeepBytes + (1u << 20));
  for (int i = 0; i < 3; ++i) large.expect_echo(*model, *scratch);
  EXPECT_EQ(budget.idle().kept_bytes(), kept);
}

TEST(KeptAreas, AreFreedWhenARequestNeedsTheirSpace) {
  constexpr uint64_t kSmallLimit = 96u << 20;
  MemoryBudget budget(kSmallLimit);
  const auto model = load(null_process(&budget), "echo", &budget);
  const auto scratch = model->make_scratch();
  const Large large(kFloats, 1);
  large.expect_echo(*model, *scratch);
  EXPECT_GT(budget.idle().kept_bytes(), 0u);
  const uint64_t rest = kSmallLimit - budget.used();
  ASSERT_TRUE(budget.take(rest));
  EXPECT_EQ(budget.idle().kept_bytes(), 0u);
  budget.give(rest);
  large.expect_echo(*model, *scratch);
}

TEST(KeptAreas, AreFreedAtOnceWhileHalfOfTheBudgetIsUsed) {
  MemoryBudget budget(kLimit);
  const auto model = load(null_process(&budget), "echo", &budget);
  const auto scratch = model->make_scratch();
  const Large large(kFloats, 1);
  ASSERT_TRUE(budget.take(kLimit / 2));
  large.expect_echo(*model, *scratch);
  EXPECT_EQ(budget.idle().kept_bytes(), 0u);
  budget.give(kLimit / 2);
  large.expect_echo(*model, *scratch);
  EXPECT_GT(budget.idle().kept_bytes(), 0u);
}

TEST(KeptAreas, TakeAtMostAnEighthOfTheLimit) {
  constexpr uint64_t kSmallLimit = 96u << 20;
  MemoryBudget budget(kSmallLimit);
  const auto model = load(null_process(&budget), "echo", &budget);
  const Large large(kFloats, 1);
  std::vector<std::unique_ptr<BackendScratch>> scratches;
  for (int i = 0; i < 4; ++i) {
    scratches.push_back(model->make_scratch());
    large.expect_echo(*model, *scratches.back());
    EXPECT_LE(budget.idle().kept_bytes(), kSmallLimit / 8);
  }
  EXPECT_GT(budget.idle().kept_bytes(), 0u);
}

TEST(KeptAreas, NoMemoryStaysCountedAfterItsChannels) {
  MemoryBudget budget(kLimit);
  {
    const auto model = load(null_process(&budget), "echo", &budget);
    const auto scratch = model->make_scratch();
    Large(kFloats, 1).expect_echo(*model, *scratch);
    EXPECT_GT(budget.idle().kept_bytes(), 0u);
  }
  EXPECT_EQ(budget.idle().kept_bytes(), 0u);
  EXPECT_EQ(budget.used(), 0u);
}

// Several requests at a time, of changing sizes, while all unused memory is freed again and again.
TEST(KeptAreas, AreNeverFreedUnderARequest) {
  MemoryBudget budget(kLimit);
  const auto model = load(null_process(&budget), "echo", &budget);
  std::atomic<bool> stop{false};
  std::thread dropping([&] {
    while (!stop) {
      budget.drop_unused(0);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> asking;
  for (int t = 0; t < 3; ++t) {
    asking.emplace_back([&, t] {
      const auto scratch = model->make_scratch();
      for (int i = 0; i < 40; ++i) {
        const size_t count = static_cast<size_t>(1 + (i * 7 + t * 3) % 10) * 100'000;
        Large(count, static_cast<float>(i)).expect_echo(*model, *scratch);
      }
    });
  }
  for (std::thread& one : asking) one.join();
  stop = true;
  dropping.join();
  budget.drop_unused(0);
  EXPECT_EQ(budget.idle().kept_bytes(), 0u);
}

}  // namespace
}  // namespace serval::isolated
