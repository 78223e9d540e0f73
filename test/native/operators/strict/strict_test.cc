// The strict operators on inputs that no client should send: positions and sizes at the limits of
// their types, shapes that do not fit, rows full of NaN. A run may fail or succeed; it must not
// read or write past an end (the sanitizer builds check that).
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>

#include "operators/strict/simple_case.h"
#include "operators/strict/sort.h"
#include "operators/support/fake_context.h"

namespace serval::operators {
namespace {

FakeTensor wide(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return FakeTensor::of<int64_t>(DType::Int64, std::move(dims), values);
}

std::string refusal(std::string_view name, std::vector<FakeTensor> inputs,
                    const FakeAttributes& attributes = {}) {
  const auto got = run_operator(name, attributes, std::move(inputs), 1);
  if (got.ok()) return "";
  EXPECT_EQ(got.error().code, ErrorCode::InvalidArgument);
  return got.error().message;
}

TEST(CheckIndices, NamesTheFirstIndexThatNoElementHas) {
  EXPECT_EQ(refusal("CheckIndices", {wide({1}, {3}), wide({2, 2}, {0, 1, 2, 7})}),
            "indices[1,1] = 7 is not in [0, 3)");
  EXPECT_EQ(refusal("CheckIndices", {wide({1}, {3}), wide({}, {-1})}),
            "indices = -1 is not in [0, 3)");
  EXPECT_EQ(refusal("CheckIndices", {wide({1}, {0}), wide({1}, {0})}),
            "indices[0] = 0 is not in [0, 0)");
  EXPECT_EQ(refusal("CheckIndices", {wide({1}, {3}), wide({3}, {0, 1, 2})}), "");
  const auto narrow = FakeTensor::of<int32_t>(DType::Int32, {2}, {INT32_MAX, INT32_MIN});
  EXPECT_EQ(refusal("CheckIndices", {wide({1}, {INT64_MAX}), narrow}),
            "indices[1] = -2147483648 is not in [0, 9223372036854775807)");
}

TEST(CheckTuples, NamesTheRow) {
  EXPECT_EQ(refusal("CheckTuples", {wide({2}, {3, 4}), wide({2, 2}, {0, 1, 2, 4})}),
            "indices[1] = [2, 4] does not index into shape [3,4]");
  EXPECT_EQ(refusal("CheckTuples", {wide({1}, {3}), wide({1, 2}, {0, 0})}),
            "index innermost dimension length must be <= params rank; saw: 2 vs. 1");
  EXPECT_EQ(refusal("CheckTuples", {wide({1}, {3}), wide({0, 1}, {})}), "");
}

TEST(SliceEnds, TakesNoNumberOverTheEndOfItsType) {
  EXPECT_EQ(refusal("SliceEnds", {wide({1}, {4}), wide({1}, {2}), wide({1}, {INT64_MAX})}),
            "Expected size[0] in [0, 2], but got 9223372036854775807");
  EXPECT_NE(refusal("SliceEnds", {wide({1}, {4}), wide({1}, {INT64_MIN}), wide({1}, {-1})}), "");
  EXPECT_NE(refusal("SliceEnds", {wide({2}, {4, 4}), wide({1}, {0}), wide({1}, {1})}), "");
}

TEST(InvertPermutation, RefusesWhatIsNone) {
  for (const std::vector<int64_t>& wrong :
       {std::vector<int64_t>{0, 2}, {0, 0}, {-1, 0}, {INT64_MAX, 0}}) {
    EXPECT_NE(refusal("InvertPermutation", {wide({2}, wrong)}), "");
  }
}

TEST(ScatterExtreme, RefusesIndicesAndUpdatesThatDoNotFit) {
  const auto numbers = FakeTensor::of<float>(DType::Fp32, {2}, {1, 2});
  const auto one = FakeTensor::of<float>(DType::Fp32, {1}, {3});
  EXPECT_NE(refusal("ScatterExtreme", {wide({1, 1}, {2}), one, numbers}), "");
  EXPECT_NE(refusal("ScatterExtreme", {wide({2, 1}, {0, 1}), one, numbers}), "");
  EXPECT_NE(refusal("ScatterExtreme", {wide({1, 2}, {0, 0}), one, numbers}), "");
}

TEST(StrictSort, KeepsInsideOfARowFullOfNan) {
  std::mt19937 random(1);
  for (size_t count = 0; count < 300; ++count) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = random() % 3 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                : static_cast<float>(random() % 7);
    }
    std::vector<int32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    StrictSort sort([&values](int32_t a, int32_t b) {
      return values[static_cast<size_t>(b)] < values[static_cast<size_t>(a)];
    });
    sort(order.data(), order.data() + order.size());
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(order[i], static_cast<int32_t>(i));
  }
}

TEST(SimpleCase, ReadsTheLanguageOfALocale) {
  EXPECT_EQ(case_rules_of("C"), CaseRules::Ascii);
  EXPECT_EQ(case_rules_of("C.UTF-8"), CaseRules::Unicode);
  EXPECT_EQ(case_rules_of("tr_TR.UTF-8"), CaseRules::Turkish);
  EXPECT_EQ(case_rules_of("trv_TW"), CaseRules::Unicode);
  EXPECT_EQ(case_rules_of(""), CaseRules::Unicode);
}

}  // namespace
}  // namespace serval::operators
