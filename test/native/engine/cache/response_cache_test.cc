// The table of the response cache: its limit, the order in which entries leave, its share of the
// memory budget.
#include "engine/cache/response_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace serval::test {
namespace {

CacheKey key_of(uint64_t number) { return {{number, 1, 2, 3}}; }

TensorView bytes_view(const std::vector<uint8_t>& bytes) {
  TensorView view;
  view.dtype = DType::Uint8;
  EXPECT_TRUE(view.shape.push_back(static_cast<int64_t>(bytes.size())));
  view.data = bytes.data();
  view.bytes = bytes.size();
  return view;
}

class ResponseCacheTest : public ::testing::Test {
 protected:
  void store(ResponseCache& cache, uint64_t number, uint64_t owner = 1) {
    const std::vector<uint8_t> bytes(4096, static_cast<uint8_t>(number));
    const TensorView view = bytes_view(bytes);
    cache.store(key_of(number), owner, {&view, 1});
  }
  static bool has(ResponseCache& cache, uint64_t number) {
    ResponseCache::Outputs found;
    if (cache.find(key_of(number), false, found) != ResponseCache::Found::Hit) return false;
    const TensorView& view = found->outputs()[0];
    EXPECT_EQ(view.bytes, 4096u);
    EXPECT_EQ(view.data[4095], static_cast<uint8_t>(number));
    return true;
  }

  MemoryBudget budget_{1 << 20};
};

TEST_F(ResponseCacheTest, TheLeastRecentlyUsedEntriesLeave) {
  ResponseCache cache(15'000, budget_);  // space for three
  for (uint64_t i = 1; i <= 3; ++i) store(cache, i);
  EXPECT_TRUE(has(cache, 1));
  store(cache, 4);
  EXPECT_TRUE(has(cache, 1));
  EXPECT_FALSE(has(cache, 2));
  EXPECT_TRUE(has(cache, 3));
  EXPECT_TRUE(has(cache, 4));
  const ResponseCache::Reading reading = cache.read();
  EXPECT_EQ(reading.entries, 3u);
  EXPECT_EQ(reading.evicted, 1u);
  EXPECT_LE(reading.bytes, reading.limit);
  EXPECT_EQ(budget_.used(), reading.bytes);
}

TEST_F(ResponseCacheTest, AnEntryLargerThanTheCacheIsNotStored) {
  ResponseCache cache(4096, budget_);
  store(cache, 1);
  EXPECT_FALSE(has(cache, 1));
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(ResponseCacheTest, StoringAKeyAgainReplacesItsEntry) {
  ResponseCache cache(100'000, budget_);
  store(cache, 1);
  store(cache, 1);
  EXPECT_EQ(cache.read().entries, 1u);
  EXPECT_EQ(budget_.used(), cache.read().bytes);
}

TEST_F(ResponseCacheTest, GivesItsMemoryBackWhenTheBudgetIsUsedUp) {
  MemoryBudget small(200'000);
  ResponseCache cache(1'000'000, small);
  const std::vector<uint8_t> bytes(80'000, 7);
  const TensorView view = bytes_view(bytes);
  for (uint64_t i = 1; i <= 5; ++i) cache.store(key_of(i), 1, {&view, 1});
  ResponseCache::Outputs found;
  EXPECT_EQ(cache.find(key_of(5), false, found), ResponseCache::Found::Hit);
  EXPECT_LE(small.used(), 200'000u);
  EXPECT_EQ(cache.read().entries, 2u);
}

TEST_F(ResponseCacheTest, ForgetsAllEntriesOfAnOwnerAndNoOther) {
  ResponseCache cache(10'000'000, budget_);
  for (uint64_t i = 0; i < 200; ++i) store(cache, i, 1 + i % 2);
  cache.forget(2);
  cache.forget(3);
  EXPECT_EQ(cache.read().entries, 100u);
  EXPECT_TRUE(has(cache, 0));
  EXPECT_FALSE(has(cache, 1));
  cache.forget(1);
  EXPECT_EQ(cache.read().bytes, 0u);
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(ResponseCacheTest, OneLeadsAndOthersWaitUntilItEnds) {
  ResponseCache cache(100'000, budget_);
  ResponseCache::Outputs found;
  EXPECT_EQ(cache.find(key_of(1), true, found), ResponseCache::Found::Lead);
  EXPECT_EQ(cache.find(key_of(1), true, found), ResponseCache::Found::Wait);
  EXPECT_EQ(cache.find(key_of(1), false, found), ResponseCache::Found::Miss);
  EXPECT_EQ(cache.find(key_of(2), true, found), ResponseCache::Found::Lead);
  EXPECT_TRUE(cache.has_leader(key_of(1)));
  cache.end_run(key_of(1));
  EXPECT_FALSE(cache.has_leader(key_of(1)));
  EXPECT_EQ(cache.find(key_of(1), true, found), ResponseCache::Found::Lead);
}

TEST_F(ResponseCacheTest, OutputsOfAHitOutliveTheirEntry) {
  ResponseCache cache(100'000, budget_);
  store(cache, 9);
  ResponseCache::Outputs found;
  ASSERT_EQ(cache.find(key_of(9), false, found), ResponseCache::Found::Hit);
  cache.forget(1);
  EXPECT_EQ(found->outputs()[0].data[0], 9);
  found.reset();
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(ResponseCacheTest, CopiesTextsStatesAndLengths) {
  ResponseCache cache(100'000, budget_);
  {
    const std::string first(100, 'a'), second;
    const std::array<std::string_view, 2> texts{first, second};
    const std::array<uint8_t, 2> states{0, 1};
    const std::array<uint32_t, 2> lengths{3, 4};
    TensorView view;
    view.dtype = DType::Bytes;
    ASSERT_TRUE(view.shape.push_back(2));
    view.strings = texts;
    view.states = states.data();
    view.lengths = lengths.data();
    cache.store(key_of(1), 1, {&view, 1});
  }
  ResponseCache::Outputs found;
  ASSERT_EQ(cache.find(key_of(1), false, found), ResponseCache::Found::Hit);
  const TensorView& view = found->outputs()[0];
  EXPECT_EQ(view.strings[0], std::string(100, 'a'));
  EXPECT_EQ(view.strings[1], "");
  EXPECT_EQ(view.states[1], 1);
  EXPECT_EQ(view.lengths[1], 4u);
}

TEST_F(ResponseCacheTest, ManyThreadsShareIt) {
  ResponseCache cache(50'000, budget_);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 2000; ++i) {
        const uint64_t number = (i * 7 + t) % 40;
        ResponseCache::Outputs found;
        const auto result = cache.find(key_of(number), true, found);
        if (result == ResponseCache::Found::Hit) {
          EXPECT_EQ(found->outputs()[0].data[100], static_cast<uint8_t>(number));
        } else if (result == ResponseCache::Found::Lead) {
          store(cache, number, t);
          cache.end_run(key_of(number));
        }
        if (i % 500 == 499) cache.forget(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t t = 0; t < 4; ++t) cache.forget(t);
  EXPECT_EQ(cache.read().bytes, 0u);
  EXPECT_EQ(budget_.used(), 0u);
}

}  // namespace
}  // namespace serval::test
