// Large blocks that are kept for later requests: reuse, limits, and when they are freed.
#include "base/memory/block_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/buffer.h"

namespace serval {
namespace {

constexpr size_t kMiB = 1u << 20;

TEST(BlockCache, RoundsNeedsUpByAtMostAnEighth) {
  for (size_t bytes = BlockCache::kBytesMin; bytes < BlockCache::kBytesMax; bytes += bytes / 7) {
    for (const size_t need : {bytes, bytes + 1, bytes + 4095}) {
      if (!BlockCache::covers(need)) continue;
      const size_t block = BlockCache::block_bytes(need);
      EXPECT_GE(block, need);
      EXPECT_LE(block, need + need / 8);
      EXPECT_EQ(BlockCache::block_bytes(block), block) << need;
    }
  }
  EXPECT_FALSE(BlockCache::covers(BlockCache::kBytesMin - 1));
  EXPECT_FALSE(BlockCache::covers(BlockCache::kBytesMax + 1));
}

TEST(BlockCache, ReturnsOnlyBlocksOfTheNeededSize) {
  BlockCache cache(64 * kMiB);
  const size_t bytes = 5 * kMiB + 64;
  EXPECT_EQ(cache.reuse(bytes), nullptr);
  uint8_t* const block = allocate_aligned(BlockCache::block_bytes(bytes));
  ASSERT_TRUE(cache.keep(block, bytes));
  EXPECT_EQ(cache.kept_bytes(), BlockCache::block_bytes(bytes));
  for (size_t other = BlockCache::kBytesMin; other < BlockCache::kBytesMax; other += other / 9) {
    if (BlockCache::block_bytes(other) == BlockCache::block_bytes(bytes)) continue;
    EXPECT_EQ(cache.reuse(other), nullptr) << other;
  }
  EXPECT_EQ(cache.reuse(5 * kMiB + 1), block);
  EXPECT_EQ(cache.kept_bytes(), 0u);
  std::memset(block, 1, BlockCache::block_bytes(bytes));
  ASSERT_TRUE(cache.keep(block, 5 * kMiB + 1));
}

TEST(BlockCache, KeepsEachSizeUpToItsLimit) {
  BlockCache cache(300 * kMiB);
  for (size_t bytes = BlockCache::kBytesMin; bytes <= BlockCache::kBytesMax; bytes *= 2) {
    const uint64_t before = cache.kept_bytes();
    uint8_t* const block = allocate_aligned(bytes);
    ASSERT_TRUE(cache.keep(block, bytes));
    EXPECT_EQ(cache.kept_bytes(), before + bytes);
  }
  EXPECT_FALSE(cache.has_space(64 * kMiB));
  uint8_t* const refused = allocate_aligned(64 * kMiB);
  EXPECT_FALSE(cache.keep(refused, 64 * kMiB));
  free_aligned(refused);
  cache.drop_unused(0);
  EXPECT_EQ(cache.kept_bytes(), 0u);
  EXPECT_TRUE(cache.has_space(64 * kMiB));
}

TEST(BlockCache, DropsWhatWasNotUsedForAWhile) {
  BlockCache cache(64 * kMiB);
  ASSERT_TRUE(cache.keep(allocate_aligned(kMiB), kMiB));
  ASSERT_TRUE(cache.keep(allocate_aligned(2 * kMiB), 2 * kMiB));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  uint8_t* const used = cache.reuse(2 * kMiB);
  ASSERT_TRUE(cache.keep(used, 2 * kMiB));
  cache.drop_unused(3'600'000'000'000);
  EXPECT_EQ(cache.kept_bytes(), 3 * kMiB);
  cache.drop_unused(20'000'000);
  EXPECT_EQ(cache.kept_bytes(), 2 * kMiB);
}

TEST(BlockCache, MakesNoMoreSpaceThanIsNeeded) {
  BlockCache cache(64 * kMiB);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(cache.keep(allocate_aligned(2 * kMiB), 2 * kMiB));
  cache.make_space(3 * kMiB);
  EXPECT_EQ(cache.kept_bytes(), 4 * kMiB);
  cache.make_space(100 * kMiB);
  EXPECT_EQ(cache.kept_bytes(), 0u);
}

TEST(BlockCache, NotifiesWhenItStopsBeingEmpty) {
  BlockCache cache(64 * kMiB);
  int calls = 0;
  cache.on_first_block([&] { ++calls; });
  ASSERT_TRUE(cache.keep(allocate_aligned(kMiB), kMiB));
  ASSERT_TRUE(cache.keep(allocate_aligned(kMiB), kMiB));
  EXPECT_EQ(calls, 1);
  cache.drop_unused(0);
  ASSERT_TRUE(cache.keep(allocate_aligned(kMiB), kMiB));
  EXPECT_EQ(calls, 2);
  cache.on_first_block({});
  cache.drop_unused(0);
  ASSERT_TRUE(cache.keep(allocate_aligned(kMiB), kMiB));
  EXPECT_EQ(calls, 2);
}

TEST(BlockCache, GivesABufferTheMemoryOfAnEarlierOne) {
  MemoryBudget budget(64 * kMiB);
  const auto reserve = [&](size_t bytes) {
    ByteBuffer buffer;
    buffer.charge_to(&budget);
    EXPECT_TRUE(buffer.reserve(bytes));
    return buffer.base();
  };
  const uint8_t* const first = reserve(3 * kMiB - 5000);
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_EQ(budget.blocks().kept_bytes(), 3 * kMiB);
  EXPECT_EQ(reserve(3 * kMiB - 9000), first);
}

TEST(BlockCache, MakesSpaceForRequests) {
  MemoryBudget budget(64 * kMiB);
  for (const size_t mib : {3, 4}) {
    ByteBuffer buffer;
    buffer.charge_to(&budget);
    ASSERT_TRUE(buffer.reserve(mib * kMiB));
  }
  EXPECT_GT(budget.blocks().kept_bytes(), 7 * kMiB);
  EXPECT_TRUE(budget.take(50 * kMiB));
  EXPECT_GT(budget.blocks().kept_bytes(), 7 * kMiB);
  EXPECT_TRUE(budget.take(14 * kMiB)) << "the limit is for requests";
  EXPECT_EQ(budget.blocks().kept_bytes(), 0u);
  budget.give(64 * kMiB);
}

}  // namespace
}  // namespace serval
