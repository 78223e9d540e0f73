// Bitcast and DynamicUpdateSlice: bytes that stay, shapes, positions that are clamped, and inputs
// that do not fit together.
#include <gtest/gtest.h>

#include <random>

#include "operators/support/fake_context.h"

namespace serval::operators {
namespace {

constexpr int64_t kOnnxFloat = 1, kOnnxUint8 = 2, kOnnxInt64 = 7, kOnnxBool = 9;

Result<std::vector<FakeTensor>> bitcast(FakeTensor input, int64_t to) {
  FakeAttributes attributes;
  attributes.ints["to"] = to;
  return run_operator("Bitcast", attributes, {std::move(input)}, 1);
}

TEST(Bitcast, BytesStayAndTheLastDimChanges) {
  const FakeTensor ones = FakeTensor::of<float>(DType::Fp32, {1, 2}, {1.0f, -2.0f});
  auto got = bitcast(ones, kOnnxUint8);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0].dims, (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(got.value()[0].raw, ones.raw);
  got = bitcast(got.value()[0], kOnnxFloat);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0], ones);
}

TEST(Bitcast, RefusesWhatIsNoWholeElement) {
  const FakeTensor bytes = FakeTensor::of<uint8_t>(DType::Uint8, {2, 3}, {1, 2, 3, 4, 5, 6});
  for (const int64_t to : {kOnnxFloat, kOnnxInt64}) {
    const auto got = bitcast(bytes, to);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(got.error().message.find("Cannot bitcast from uint8"), std::string::npos);
  }
  EXPECT_FALSE(bitcast(FakeTensor::of<uint8_t>(DType::Uint8, {}, {1}), kOnnxFloat).ok());
  EXPECT_FALSE(bitcast(FakeTensor::of_texts({4}, {"a", "b", "c", "d"}), kOnnxFloat).ok());
  EXPECT_FALSE(bitcast(bytes, kOnnxBool).ok());
}

Result<std::vector<FakeTensor>> update(FakeTensor input, FakeTensor part,
                                       std::vector<int64_t> starts) {
  const auto count = static_cast<int64_t>(starts.size());
  return run_operator(
      "DynamicUpdateSlice", {},
      {std::move(part), FakeTensor::of<int64_t>(DType::Int64, {count}, starts), std::move(input)},
      1);
}

FakeTensor counted(std::vector<int64_t> dims, int32_t from) {
  std::vector<int32_t> values(Shape(dims).elements().value_or(0));
  for (int32_t& value : values) value = from++;
  return FakeTensor::of<int32_t>(DType::Int32, std::move(dims), values);
}

// Computes every element by its own index.
std::vector<int32_t> expected(const FakeTensor& input, const FakeTensor& part,
                              std::vector<int64_t> starts) {
  std::vector<int32_t> out = input.values<int32_t>();
  const std::vector<int32_t> values = part.values<int32_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    size_t rest = i, at = 0, stride = 1;
    for (size_t axis = input.dims.size(); axis-- > 0;) {
      const int64_t room = input.dims[axis] - part.dims[axis];
      const auto start = static_cast<size_t>(std::clamp<int64_t>(starts[axis], 0, room));
      const auto dim = static_cast<size_t>(part.dims[axis]);
      at += (start + rest % dim) * stride;
      rest /= dim;
      stride *= static_cast<size_t>(input.dims[axis]);
    }
    out[at] = values[i];
  }
  return out;
}

TEST(DynamicUpdateSlice, AsElementByElement) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<int64_t> dims, part, starts;
    for (size_t axis = random() % 5; axis > 0; --axis) {
      dims.push_back(static_cast<int64_t>(random() % 4));
      part.push_back(static_cast<int64_t>(random() % static_cast<uint32_t>(dims.back() + 1)));
      starts.push_back(static_cast<int64_t>(random() % 9) - 4);
    }
    const FakeTensor input = counted(dims, 0), value = counted(part, 1000);
    const auto got = update(input, value, starts);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got.value()[0].dims, dims);
    EXPECT_EQ(got.value()[0].values<int32_t>(), expected(input, value, starts));
  }
}

TEST(DynamicUpdateSlice, RefusesWhatDoesNotFit) {
  const FakeTensor input = counted({2, 3}, 0);
  EXPECT_FALSE(update(input, counted({3, 3}, 0), {0, 0}).ok());
  EXPECT_FALSE(update(input, counted({3}, 0), {0, 0}).ok());
  EXPECT_FALSE(update(input, counted({1, 1}, 0), {0}).ok());
  EXPECT_FALSE(update(input, FakeTensor::of<float>(DType::Fp32, {1, 1}, {1}), {0, 0}).ok());
  const auto got = update(input, counted({1, 1}, 7), {INT64_MIN, INT64_MAX});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value()[0].values<int32_t>(), (std::vector<int32_t>{0, 1, 7, 3, 4, 5}));
}

}  // namespace
}  // namespace serval::operators
