// Shared memory that is truncated while in use: an error for the requests that used it, never the
// end of the process. The objects really shrink.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "engine/shm/regions.h"
#include "engine/shm/shm_object.h"

namespace serval::test {
namespace {

constexpr size_t kPages = 8;
constexpr size_t kPage = 4096;
constexpr size_t kShrinkBytes = kPages * kPage;

std::shared_ptr<SharedRegion> opened(const ShmObject& object, uint64_t offset = 0) {
  auto region = SharedRegion::open({"r", object.key(), offset, kShrinkBytes - offset});
  EXPECT_TRUE(region.ok());
  return region.ok() ? region.value() : nullptr;
}

uint8_t read_at(const SharedRegion& region, size_t at) {
  return *static_cast<const volatile uint8_t*>(region.data() + at);
}

std::string fault(const SharedRegion& region) {
  const Status whole = region.check();
  return whole.ok() ? "" : whole.error().message;
}

TEST(ShrinkingRegion, ReadingWhatIsGoneGivesZerosAndAnError) {
  ShmObject object(kShrinkBytes);
  object.put("x", kShrinkBytes - 1);
  const auto region = opened(object, 100);
  EXPECT_EQ(read_at(*region, kShrinkBytes - 101), 'x');
  EXPECT_EQ(fault(*region), "");
  object.resize(kPage);
  EXPECT_EQ(read_at(*region, kShrinkBytes - 101), 0);
  EXPECT_EQ(fault(*region), "shared memory region 'r' (key '" + object.key() +
                                "') has shrunk: expected an object of 32768 bytes or more, got "
                                "4096");
  object.resize(kShrinkBytes);
  EXPECT_NE(fault(*region).find("memory of it was missing when it was used"), std::string::npos)
      << "what was read before it grew again were zeros";
  EXPECT_EQ(fault(*opened(object)), "") << "registered anew it is whole";
}

TEST(ShrinkingRegion, WritingIsNoEndEither) {
  ShmObject object(kShrinkBytes);
  const auto region = opened(object);
  object.resize(0);
  std::memset(region->data(), 7, kShrinkBytes);
  EXPECT_NE(fault(*region), "");
}

TEST(ShrinkingRegion, CutWithinAPageIsSeenWithoutAFault) {
  ShmObject object(kShrinkBytes);
  const auto region = opened(object);
  object.resize(kShrinkBytes - 1);
  EXPECT_NE(fault(*region).find("got 32767"), std::string::npos);
}

TEST(ShrinkingRegion, OnlyTheOneThatLostItsMemoryIsMarked) {
  ShmObject cut(kShrinkBytes), whole(kShrinkBytes);
  const auto first = opened(whole), second = opened(cut), third = opened(whole);
  cut.resize(0);
  EXPECT_EQ(read_at(*second, kPage), 0);
  cut.resize(kShrinkBytes);
  EXPECT_EQ(fault(*first), "");
  EXPECT_NE(fault(*second), "");
  EXPECT_EQ(fault(*third), "");
}

// Many threads fault while regions are added and removed.
TEST(ShrinkingRegion, ManyThreadsAtOnce) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  std::atomic<int> unmarked{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        ShmObject object(kShrinkBytes);
        const auto region = opened(object);
        if (region == nullptr) return;
        object.resize(kPage * static_cast<size_t>(round % 3));
        uint32_t sum = 0;
        for (size_t at = 0; at < kShrinkBytes; at += 512) sum += read_at(*region, at);
        object.resize(kShrinkBytes);
        if (sum != 0 || region->check().ok()) ++unmarked;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unmarked.load(), 0);
}

}  // namespace
}  // namespace serval::test
