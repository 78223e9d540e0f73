// Large blocks that are kept for later requests: reuse, limits, and when they are freed.
#include "base/memory/block_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/buffer.h"
#include "base/memory/pinned_blocks.h"

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

// Pinned memory for one block.
class OneBlock final : public PinnedBlocks {
 public:
  explicit OneBlock(size_t bytes) : memory_(allocate_aligned(bytes)) {}
  ~OneBlock() { free_aligned(memory_); }
  uint8_t* take_block(size_t) override { return std::exchange(free_, false) ? memory_ : nullptr; }
  void give_block(uint8_t*) override { free_ = true; }
  bool has_block(const uint8_t* block) const override { return block == memory_; }
  bool has_room(size_t) override { return free_; }

 private:
  uint8_t* const memory_;
  bool free_ = true;
};

TEST(BlockCache, ReplacesOrdinaryBlocksWhilePinnedOnesAreLeft) {
  OneBlock pinned(8 * kMiB);
  MemoryBudget budget(1024 * kMiB);
  const auto make = [&] {
    ByteBuffer buffer;
    buffer.charge_to(&budget);
    EXPECT_TRUE(buffer.reserve(5 * kMiB));
    return buffer;
  };
  ByteBuffer ordinary = make();
  EXPECT_FALSE(should_be_pinned(ordinary));
  pinned_blocks().store(&pinned);
  EXPECT_TRUE(should_be_pinned(ordinary));
  EXPECT_FALSE(ordinary.frees_quickly());
  ordinary.shrink(0);
  EXPECT_EQ(budget.blocks().kept_bytes(), 0u);
  ByteBuffer first = make(), second = make();
  EXPECT_TRUE(pinned.has_block(first.base()));
  EXPECT_FALSE(pinned.has_block(second.base()));
  EXPECT_FALSE(should_be_pinned(second));  // there is no other pinned block
  std::memset(first.base(), 1, 5 * kMiB);
  release_pages(first.base(), 5 * kMiB);
  EXPECT_EQ(first.base()[4 * kMiB], 1);  // a GPU would still read the old pages
  second.shrink(0);
  first.shrink(0);
  EXPECT_GE(budget.blocks().kept_bytes(), 10 * kMiB);
  EXPECT_FALSE(pinned.has_room(1));
  budget.drop_unused(0);
  EXPECT_TRUE(pinned.has_room(1));
  EXPECT_EQ(budget.used(), 0u);
  pinned_blocks().store(nullptr);
}

}  // namespace
}  // namespace serval
