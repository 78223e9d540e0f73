// The memory budget, and that buffers and arenas count their memory in it.
#include "base/memory_budget.h"

#include <gtest/gtest.h>

#include "base/buffer.h"

namespace serval {
namespace {

constexpr uint64_t kMiB = 1u << 20;

TEST(MemoryBudget, RefusesWhatDoesNotFitAndCountsIt) {
  MemoryBudget budget(kMiB);
  EXPECT_TRUE(budget.take(kMiB));
  EXPECT_FALSE(budget.take(MemoryBudget::kAlwaysBytes + 1));
  EXPECT_EQ(budget.used(), kMiB);
  EXPECT_EQ(budget.refused(), 1u);
  budget.give(kMiB);
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_EQ(budget.large_gives(), 1u);
}

TEST(MemoryBudget, SmallThingsHaveAReserveAndWhatIsThereIsCounted) {
  MemoryBudget budget(16 * kMiB);
  EXPECT_TRUE(budget.add(16 * kMiB));
  EXPECT_FALSE(budget.take(MemoryBudget::kAlwaysBytes + 1));
  uint64_t small = 0;
  while (budget.take(MemoryBudget::kAlwaysBytes)) small += MemoryBudget::kAlwaysBytes;
  EXPECT_EQ(small, kMiB);
  // half of the reserve is not available for data that waits for clients
  EXPECT_FALSE(budget.add(1));
  EXPECT_EQ(budget.used(), 17 * kMiB + 1);
  budget.give(kMiB);
  EXPECT_TRUE(budget.add(1));
}

TEST(MemoryBudget, HasNoLimitThatOverflows) {
  MemoryBudget budget(UINT64_MAX);
  EXPECT_TRUE(budget.take(kMiB));
  EXPECT_TRUE(budget.add(kMiB));
}

TEST(MemoryBudget, CountsABuffersMemoryWhereverItMoves) {
  MemoryBudget budget(4 * kMiB);
  {
    ByteBuffer one;
    one.charge_to(&budget);
    ASSERT_TRUE(one.reserve(kMiB));
    EXPECT_EQ(budget.used(), kMiB);
    ByteBuffer other;
    other.charge_to(&budget);
    std::swap(one, other);
    EXPECT_EQ(budget.used(), kMiB);
    other.shrink(0);
    EXPECT_EQ(budget.used(), 0u);
    ASSERT_TRUE(other.reserve(2 * kMiB));
    // Growing needs space for the old and the new memory.
    EXPECT_EQ(other.room(3 * kMiB), nullptr);
    EXPECT_EQ(budget.used(), 2 * kMiB);
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, CountsAnArenasBlocks) {
  MemoryBudget budget(8 * kMiB);
  {
    Arena arena;
    arena.charge_to(&budget);
    EXPECT_NE(arena.allocate(6 * kMiB), nullptr);
    EXPECT_EQ(arena.allocate(3 * kMiB), nullptr);
    EXPECT_EQ(budget.used(), 6 * kMiB);
    arena.reset();
    EXPECT_LE(budget.used(), 4 * kMiB);
  }
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace serval
