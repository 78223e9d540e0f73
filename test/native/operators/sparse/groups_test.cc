// EditDistance and SparseToSparseSetOperation on inputs that do not fit: they refuse indices
// outside of the tensor, and read nothing beyond an end. Their results: test/fixtures/scans.
#include <gtest/gtest.h>

#include <limits>

#include "operators/support/fake_context.h"

namespace serval::operators {
namespace {

using Longs = std::vector<int64_t>;

// Words at positions of a tensor with these dimensions.
std::vector<FakeTensor> sparse(const Longs& places, std::vector<std::string> words,
                               const Longs& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  const auto count = rank == 0 ? 0 : static_cast<int64_t>(places.size()) / rank;
  const auto size = static_cast<int64_t>(words.size());
  return {FakeTensor::of(DType::Int64, {count, rank}, places),
          FakeTensor::of_texts({size}, std::move(words)),
          FakeTensor::of(DType::Int64, {rank}, dims)};
}

std::string error_of(std::string_view name, std::vector<FakeTensor> first,
                     const std::vector<FakeTensor>& second,
                     const std::string& operation = "union") {
  FakeAttributes attributes;
  attributes.strings["set_operation"] = operation;
  first.insert(first.end(), second.begin(), second.end());
  const auto ran = run_operator(name, attributes, std::move(first), 3);
  return ran.ok() ? "" : ran.error().message;
}

constexpr std::string_view kDistance = "EditDistance", kSets = "SparseToSparseSetOperation";
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(SparseGroups, RefusePartsThatDoNotFit) {
  const auto good = sparse({0, 0, 0, 1, 1, 0}, {"a", "b", "c"}, {2, 3});
  const auto none = sparse({}, {}, {2, 3});
  const auto few = sparse({0, 0, 0, 1}, {"a"}, {2, 3});
  const auto flat = sparse({0}, {"a"}, {2});
  const auto scalar = sparse({}, {}, {});
  const auto outside = sparse({5, 0}, {"a"}, {2, 3});
  const auto below = sparse({-1, 0}, {"a"}, {2, 3});
  const auto huge = sparse({0, 0}, {"a"}, {kMost, kMost});
  const auto negative = sparse({0, 0}, {"a"}, {-2, 3});
  for (const std::string_view name : {kDistance, kSets}) {
    EXPECT_EQ(error_of(name, good, good), "") << name;
    EXPECT_EQ(error_of(name, good, none), "") << name;
    for (const auto& bad : {few, flat, scalar, outside, below, negative}) {
      EXPECT_NE(error_of(name, bad, good), "") << name << " " << bad[0].raw.size();
      EXPECT_NE(error_of(name, good, bad), "") << name << " " << bad[0].raw.size();
    }
    EXPECT_NE(error_of(name, huge, good), "") << name;
  }
  EXPECT_NE(error_of(kDistance, huge, huge), "");
}

TEST(SparseGroups, SetsRefuseWhatIsOutOfOrder) {
  const auto good = sparse({0, 0, 0, 1}, {"a", "b"}, {2, 3});
  const auto swapped = sparse({0, 1, 0, 0}, {"a", "b"}, {2, 3});
  const auto twice = sparse({0, 1, 0, 1}, {"a", "b"}, {2, 3});
  EXPECT_NE(error_of(kSets, swapped, good).find("is out of order"), std::string::npos);
  EXPECT_NE(error_of(kSets, good, twice).find("is repeated"), std::string::npos);
  EXPECT_NE(error_of(kSets, good, good, "xor"), "");
  auto numbers = good;
  numbers[1] = FakeTensor::of(DType::Int32, {2}, std::vector<int32_t>{1, 2});
  EXPECT_NE(error_of(kSets, numbers, good), "");
}

}  // namespace
}  // namespace serval::operators
