// LookupFind: keys of each type, defaults, vector values, and a table that is read only once.
#include <gtest/gtest.h>

#include "operators/support/fake_context.h"

namespace serval::operators {
namespace {

Result<std::vector<FakeTensor>> find(std::vector<FakeTensor> inputs) {
  return run_operator("LookupFind", {}, std::move(inputs), 1);
}

FakeTensor longs(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return FakeTensor::of<int64_t>(DType::Int64, std::move(dims), values);
}

TEST(LookupFind, StringsToIntegersAndBack) {
  const FakeTensor words = FakeTensor::of_texts({3}, {"a", "", std::string("b\0c", 3)});
  const FakeTensor numbers = longs({3}, {10, 20, 30});
  auto got = find({FakeTensor::of_texts({2, 2}, {"", "b", std::string("b\0c", 3), "a"}),
                   longs({}, {-1}), words, numbers});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0], longs({2, 2}, {20, -1, 30, 10}));
  got = find({longs({3}, {30, 31, 20}), FakeTensor::of_texts({}, {"none"}), numbers, words});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0], FakeTensor::of_texts({3}, {std::string("b\0c", 3), "none", ""}));
}

TEST(LookupFind, SmallTypesAndNegativeKeys) {
  const FakeTensor keys = FakeTensor::of<int32_t>(DType::Int32, {3}, {-1, 0, INT32_MIN});
  const FakeTensor values = FakeTensor::of<float>(DType::Fp32, {3}, {1, 2, 3});
  const auto got = find({FakeTensor::of<int32_t>(DType::Int32, {4}, {INT32_MIN, 5, -1, 0}),
                         FakeTensor::of<float>(DType::Fp32, {}, {-9}), keys, values});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0].values<float>(), (std::vector<float>{3, -9, 1, 2}));
}

TEST(LookupFind, VectorValues) {
  const auto got = find(
      {longs({2}, {7, 8}), longs({2}, {-1, -2}), longs({2}, {8, 9}), longs({2, 2}, {1, 2, 3, 4})});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0], longs({2, 2}, {-1, -2, 1, 2}));
}

TEST(LookupFind, EmptyTableEmptyKeysAndRepeatedKeys) {
  auto got = find({longs({2}, {1, 2}), longs({}, {5}), longs({0}, {}), longs({0}, {})});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0], longs({2}, {5, 5}));
  got = find({longs({0}, {}), longs({}, {5}), longs({1}, {1}), longs({1}, {1})});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0], longs({0}, {}));
  got = find({longs({1}, {1}), longs({}, {5}), longs({2}, {1, 1}), longs({2}, {3, 4})});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0], longs({1}, {4}));
}

TEST(LookupFind, ManyKeys) {
  std::vector<int64_t> keys, values;
  for (int64_t i = 0; i < 5000; ++i) {
    keys.push_back(i * 4096);
    values.push_back(i);
  }
  const auto got =
      find({longs({5000}, keys), longs({}, {-1}), longs({5000}, keys), longs({5000}, values)});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0], longs({5000}, values));
}

TEST(LookupFind, TheTableOfTheFirstRunStays) {
  auto kernel = operator_named("LookupFind").make(FakeAttributes());
  ASSERT_TRUE(kernel.ok());
  for (const int64_t value : {1, 2}) {
    FakeContext context({longs({1}, {7}), longs({}, {0}), longs({1}, {7}), longs({1}, {value})}, 1);
    ASSERT_TRUE(kernel.value()->run(context).ok());
    EXPECT_EQ(context.outputs()[0], longs({1}, {1}));
  }
}

TEST(LookupFind, WhatDoesNotFitIsRefused) {
  const FakeTensor text = FakeTensor::of_texts({1}, {"a"});
  EXPECT_FALSE(find({text, longs({}, {0}), longs({1}, {1}), longs({1}, {1})}).ok());
  EXPECT_FALSE(find({longs({1}, {1}), text, longs({1}, {1}), longs({1}, {1})}).ok());
  EXPECT_FALSE(find({longs({1}, {1}), longs({}, {0}), longs({2}, {1, 2}), longs({1}, {1})}).ok());
  EXPECT_FALSE(find({longs({1}, {1}), longs({2}, {0, 0}), longs({1}, {1}), longs({1}, {1})}).ok());
  EXPECT_FALSE(find({longs({1}, {1}), longs({}, {0})}).ok());
}

}  // namespace
}  // namespace serval::operators
