// Memory of idle owners: what is counted, what is freed, and in which order.
#include "base/memory/idle_memory.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/memory_budget.h"

namespace serval {
namespace {

struct Counted final : IdleMemory::Owner {
  void free_idle() override { ++freed; }
  int freed = 0;
};

TEST(IdleMemory, FreesTheLongestUnusedFirst) {
  IdleMemory idle(1000);
  const auto first = std::make_shared<Counted>(), second = std::make_shared<Counted>();
  ASSERT_TRUE(idle.keep(second.get(), second, 300));
  ASSERT_TRUE(idle.keep(first.get(), first, 400));
  EXPECT_EQ(idle.kept_bytes(), 700u);
  idle.make_space(200);
  EXPECT_EQ(second->freed, 1);
  EXPECT_EQ(first->freed, 0);
  EXPECT_EQ(idle.kept_bytes(), 400u);
  idle.drop_unused(3'600'000'000'000);
  EXPECT_EQ(first->freed, 0);
  idle.drop_unused(0);
  EXPECT_EQ(first->freed, 1);
  EXPECT_EQ(idle.kept_bytes(), 0u);
}

TEST(IdleMemory, RefusesMoreThanItsLimit) {
  IdleMemory idle(1000);
  const auto one = std::make_shared<Counted>(), other = std::make_shared<Counted>();
  EXPECT_TRUE(idle.keep(one.get(), one, 600));
  EXPECT_FALSE(idle.keep(other.get(), other, 401));
  EXPECT_FALSE(idle.keep(other.get(), other, UINT64_MAX));
  EXPECT_EQ(idle.kept_bytes(), 600u);
  idle.reuse(one.get());
  EXPECT_TRUE(idle.keep(other.get(), other, 1000));
}

TEST(IdleMemory, DoesNotFreeWhatIsUsedAgain) {
  IdleMemory idle(1000);
  const auto one = std::make_shared<Counted>();
  ASSERT_TRUE(idle.keep(one.get(), one, 600));
  idle.reuse(one.get());
  idle.reuse(one.get());
  EXPECT_EQ(idle.kept_bytes(), 0u);
  idle.drop_unused(0);
  EXPECT_EQ(one->freed, 0);
}

TEST(IdleMemory, ForgetsAnOwnerThatIsGone) {
  IdleMemory idle(1000);
  {
    const auto one = std::make_shared<Counted>();
    ASSERT_TRUE(idle.keep(one.get(), one, 600));
  }
  idle.make_space(1);
  EXPECT_EQ(idle.kept_bytes(), 0u);
}

TEST(IdleMemory, ReportsWhenItStopsBeingEmpty) {
  MemoryBudget budget(1u << 20);
  int calls = 0;
  budget.on_first_kept([&] { ++calls; });
  const auto one = std::make_shared<Counted>(), other = std::make_shared<Counted>();
  ASSERT_TRUE(budget.idle().keep(one.get(), one, 10));
  ASSERT_TRUE(budget.idle().keep(other.get(), other, 10));
  EXPECT_EQ(calls, 1);
  budget.drop_unused(0);
  ASSERT_TRUE(budget.idle().keep(one.get(), one, 10));
  EXPECT_EQ(calls, 2);
  budget.on_first_kept({});
  EXPECT_EQ(budget.kept_bytes(), 10u);
}

}  // namespace
}  // namespace serval
