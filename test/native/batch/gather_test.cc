// gather by hand: what is copied and what is not, padding, memory that is kept, sizes that
// overflow. Also same_batch, slice_rows and outputs_have_rows.
#include <gtest/gtest.h>

#include <numeric>

#include "batch/gather.h"

namespace serval {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

TensorView floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return {DType::Fp32,
          Shape(std::span(dims)),
          reinterpret_cast<const uint8_t*>(values.data()),
          values.size() * sizeof(float),
          {}};
}

TensorView texts(std::vector<int64_t> dims, const std::vector<std::string_view>& values) {
  return {DType::Bytes, Shape(std::span(dims)), nullptr, 0, values};
}

// A tensor without elements, whatever its other dimensions are.
TensorView empty(DType dtype, std::vector<int64_t> dims) {
  return {dtype, Shape(std::span(dims)), nullptr, 0, {}};
}

std::vector<float> values(const TensorView& tensor) {
  const auto* data = reinterpret_cast<const float*>(tensor.data);
  return {data, data + tensor.bytes / sizeof(float)};
}

class Gather : public ::testing::Test {
 protected:
  Status run(std::vector<BatchPart> parts, uint32_t rows_out, bool pad_inner = false) {
    return gather(parts, rows_out, pad_inner, memory_, out_);
  }

  GatherMemory memory_;
  std::vector<TensorView> out_;
};

TEST_F(Gather, JoinsRequestsInOrder) {
  const std::vector<float> a = {1, 2}, b = {3, 4, 5, 6};
  const std::vector<TensorView> first = {floats({1, 2}, a)}, second = {floats({2, 2}, b)};
  ASSERT_TRUE(run({{first, 0, 1}, {second, 0, 2}}, 3).ok());
  EXPECT_EQ(out_[0].shape.to_string(), "[3,2]");
  EXPECT_EQ(values(out_[0]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(out_[0].data) % kTensorAlignment, 0u);
}

TEST_F(Gather, OmittedInputsStayOmitted) {
  const std::vector<float> a = {1}, b = {2}, c = {3};
  const std::vector<TensorView> first = {TensorView(), floats({1}, a)};
  const std::vector<TensorView> second = {TensorView(), floats({1}, b)};
  const std::vector<TensorView> whole = {floats({1}, c), floats({1}, c)};
  EXPECT_TRUE(same_batch(first, second, false));
  EXPECT_FALSE(same_batch(first, whole, false));
  EXPECT_FALSE(same_batch(whole, first, true));
  ASSERT_TRUE(run({{first, 0, 1}, {second, 0, 1}}, 3).ok());
  EXPECT_EQ(out_[0].dtype, DType::Invalid);
  EXPECT_EQ(values(out_[1]), (std::vector<float>{1, 2, 2}));
  ASSERT_TRUE(run({{first, 0, 1}}, 1).ok());
  EXPECT_EQ(out_[0].dtype, DType::Invalid);
  EXPECT_EQ(values(out_[1]), std::vector<float>{1});
}

// Memory for a device's copies, available for the first input only.
struct OnePlace : InputPlaces {
  uint8_t* input_place(size_t index, size_t bytes) override {
    asked += 1;
    if (index != 0) return nullptr;
    place.resize(bytes / sizeof(float));
    return reinterpret_cast<uint8_t*>(place.data());
  }
  std::vector<float> place;
  int asked = 0;
};

TEST_F(Gather, InputsStandWhereTheyAreWanted) {
  const std::vector<float> a = {1}, b = {3, 4};
  const std::vector<TensorView> first = {floats({1}, a), floats({1}, a)};
  const std::vector<TensorView> second = {floats({2}, b), floats({2}, b)};
  OnePlace places;
  memory_.places = &places;
  ASSERT_TRUE(run({{first, 0, 1}, {second, 0, 2}}, 4).ok());
  EXPECT_EQ(out_[0].data, reinterpret_cast<const uint8_t*>(places.place.data()));
  EXPECT_EQ(values(out_[0]), (std::vector<float>{1, 3, 4, 3}));
  EXPECT_EQ(out_[1].data, memory_.bytes[1].data());
  EXPECT_EQ(values(out_[1]), (std::vector<float>{1, 3, 4, 3}));
  EXPECT_EQ(memory_.bytes[0].size(), 0u);
  ASSERT_TRUE(run({{second, 0, 2}}, 2).ok());
  EXPECT_EQ(out_[0].data, second[0].data) << "one request is not gathered";
  EXPECT_EQ(places.asked, 2);
}

TEST_F(Gather, OnePartWithoutPaddingIsAView) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<std::string_view> b = {"x", "y", "z"};
  const std::vector<TensorView> inputs = {floats({3, 2}, a), texts({3}, b)};
  ASSERT_TRUE(run({{inputs, 1, 2}}, 2, true).ok());
  EXPECT_EQ(out_[0].data, inputs[0].data + 2 * sizeof(float));
  EXPECT_EQ(out_[0].bytes, 4 * sizeof(float));
  EXPECT_EQ(out_[0].shape.to_string(), "[2,2]");
  EXPECT_EQ(out_[1].strings.data(), b.data() + 1);
  EXPECT_EQ(out_[1].strings.size(), 2u);
  EXPECT_TRUE(memory_.bytes.empty()) << "nothing was copied";
}

TEST_F(Gather, PaddingRepeatsTheFirstRowOfTheLastPart) {
  const std::vector<float> a = {1, 2}, b = {3, 4, 5};
  const std::vector<TensorView> first = {floats({2}, a)}, second = {floats({3}, b)};
  ASSERT_TRUE(run({{first, 0, 2}, {second, 1, 2}}, 6).ok());
  EXPECT_EQ(values(out_[0]), (std::vector<float>{1, 2, 4, 5, 4, 4}));
  ASSERT_TRUE(run({{first, 1, 1}}, 3).ok());
  EXPECT_EQ(values(out_[0]), (std::vector<float>{2, 2, 2}));
}

TEST_F(Gather, PaddingOfRequestsWithoutRows) {
  const std::vector<float> a = {1, 2};
  const std::vector<TensorView> first = {floats({2}, a)}, none = {empty(DType::Fp32, {0})};
  ASSERT_TRUE(run({{first, 0, 2}, {none, 0, 0}}, 3).ok());
  EXPECT_EQ(values(out_[0]), (std::vector<float>{1, 2, 1}));
  ASSERT_TRUE(run({{none, 0, 0}, {none, 0, 0}}, 2).ok());
  EXPECT_EQ(values(out_[0]), (std::vector<float>{0, 0}));
}

TEST_F(Gather, InnerDimsGrowWhereAsked) {
  const std::vector<float> a = {1, 2, 3, 4}, b = {5, 6, 7};
  const std::vector<TensorView> first = {floats({1, 2, 2}, a)}, second = {floats({1, 1, 3}, b)};
  ASSERT_TRUE(run({{first, 0, 1}, {second, 0, 1}}, 3, true).ok());
  EXPECT_EQ(out_[0].shape.to_string(), "[3,2,3]");
  EXPECT_EQ(values(out_[0]), (std::vector<float>{1, 2, 0, 3, 4, 0, 5, 6, 7, 0, 0, 0,  //
                                                 5, 6, 7, 0, 0, 0}));
}

TEST_F(Gather, StringsGrowWithEmptyOnes) {
  const std::vector<std::string_view> a = {"a", "b"}, b = {"c"};
  const std::vector<TensorView> first = {texts({1, 2}, a)}, second = {texts({1, 1}, b)};
  const std::vector<std::string_view> expected = {"a", "b", "c", "", "c", ""};
  for (int i = 0; i < 2; ++i) {  // the second pass reuses the strings of the first
    ASSERT_TRUE(run({{first, 0, 1}, {second, 0, 1}}, 3, true).ok());
    EXPECT_TRUE(std::ranges::equal(out_[0].strings, expected));
  }
}

// Bytes of an earlier batch must not appear as padding.
TEST_F(Gather, KeptMemoryIsWrittenOver) {
  const std::vector<float> ones(64, 1), a = {2}, b = {3, 3};
  const std::vector<TensorView> large = {floats({16, 4}, ones)};
  const std::vector<TensorView> first = {floats({1, 1}, a)}, second = {floats({1, 2}, b)};
  ASSERT_TRUE(run({{large, 0, 8}, {large, 8, 8}}, 16).ok());
  const uint8_t* data = out_[0].data;
  ASSERT_TRUE(run({{first, 0, 1}, {second, 0, 1}}, 2, true).ok());
  EXPECT_EQ(out_[0].data, data) << "the memory is kept from batch to batch";
  EXPECT_EQ(values(out_[0]), (std::vector<float>{2, 0, 3, 3}));
}

TEST_F(Gather, TensorsWithoutElements) {
  const std::vector<TensorView> inputs = {empty(DType::Fp32, {2, 0, kHuge, kHuge}),
                                          empty(DType::Bytes, {2, 0})};
  ASSERT_TRUE(run({{inputs, 0, 2}, {inputs, 1, 1}}, 8).ok());
  EXPECT_EQ(out_[0].shape, Shape(std::vector<int64_t>{8, 0, kHuge, kHuge}));
  EXPECT_EQ(out_[0].bytes, 0u);
  EXPECT_EQ(out_[1].shape.to_string(), "[8,0]");
  EXPECT_TRUE(out_[1].strings.empty());
  const std::vector<TensorView> nothing;
  ASSERT_TRUE(run({{nothing, 0, 1}, {nothing, 0, 1}}, 2).ok());
  EXPECT_TRUE(out_.empty());
}

TEST_F(Gather, SizesThatOverflowAreErrors) {
  const auto fails = [&](DType dtype, int64_t a, int64_t b) {
    const std::vector<TensorView> first = {empty(dtype, {1, a, 0})};
    const std::vector<TensorView> second = {empty(dtype, {1, 0, b})};
    const Status status = run({{first, 0, 1}, {second, 0, 1}}, 2, true);
    return status.ok() ? std::string("no error") : status.error().message;
  };
  const std::string too_large =
      "batch: input 0 of shape [2,1099511627776,1099511627776] is too "
      "large";
  EXPECT_EQ(fails(DType::Fp32, kHuge, kHuge), too_large);
  EXPECT_EQ(fails(DType::Bytes, kHuge, kHuge), too_large);
  // 2^62 elements can be counted; 2^65 bytes cannot.
  EXPECT_EQ(fails(DType::Int64, int64_t{1} << 31, int64_t{1} << 30),
            "batch: input 0 of shape [2,2147483648,1073741824] is too large");
}

TEST_F(Gather, MemoryThatIsNotThereIsAnError) {
  for (const DType dtype : {DType::Fp16, DType::Bytes}) {  // 2^63 bytes, 2^62 strings
    const std::vector<TensorView> first = {empty(dtype, {1, int64_t{1} << 31, 0})};
    const std::vector<TensorView> second = {empty(dtype, {1, 0, int64_t{1} << 30})};
    const Status status = run({{first, 0, 1}, {second, 0, 1}}, 2, true);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::MemoryFull);
    EXPECT_EQ(status.error().message, "batch: out of memory for input 0");
  }
}

TEST(SameBatch, SameButForTheRows) {
  const std::vector<TensorView> a = {empty(DType::Fp32, {1, 2}), empty(DType::Bytes, {1})};
  const std::vector<TensorView> b = {empty(DType::Fp32, {9, 2}), empty(DType::Bytes, {9})};
  EXPECT_TRUE(same_batch(a, b, false));
  EXPECT_TRUE(same_batch(a, b, true));
  EXPECT_TRUE(same_batch({}, {}, false));
}

TEST(SameBatch, Differences) {
  const std::vector<TensorView> a = {empty(DType::Fp32, {1, 2})};
  const auto same = [&a](TensorView b, bool pad_inner) {
    return same_batch(a, std::span(&b, 1), pad_inner);
  };
  EXPECT_FALSE(same(empty(DType::Fp64, {1, 2}), true));
  EXPECT_FALSE(same(empty(DType::Fp32, {1, 2, 1}), true));
  EXPECT_FALSE(same(empty(DType::Fp32, {2}), true));
  EXPECT_FALSE(same(empty(DType::Fp32, {1, 3}), false));
  EXPECT_TRUE(same(empty(DType::Fp32, {1, 3}), true));
  EXPECT_FALSE(same_batch(a, {}, true));
  const std::vector<TensorView> scalar = {empty(DType::Fp32, {})};
  EXPECT_FALSE(same_batch(scalar, scalar, true)) << "a scalar has no rows";
  EXPECT_FALSE(same(scalar[0], true));
}

TEST(SliceRows, ViewsOfRows) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const TensorView tensor = floats({3, 2}, a);
  EXPECT_EQ(values(slice_rows(tensor, 1, 2)), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(slice_rows(tensor, 3, 0).bytes, 0u);
  EXPECT_EQ(slice_rows(tensor, 3, 0).shape.to_string(), "[0,2]");
  EXPECT_EQ(slice_rows(empty(DType::Fp32, {0, kHuge, kHuge}), 0, 0).bytes, 0u);
  EXPECT_EQ(slice_rows(empty(DType::Bytes, {2, 0}), 1, 1).shape.to_string(), "[1,0]");
}

TEST(OutputsHaveRows, EveryOutputHasTheRows) {
  const std::vector<TensorView> outputs = {empty(DType::Fp32, {4}), empty(DType::Bytes, {4, 2})};
  EXPECT_TRUE(outputs_have_rows(outputs, 4));
  EXPECT_TRUE(outputs_have_rows({}, 4));
  EXPECT_FALSE(outputs_have_rows(outputs, 3));
  const std::vector<TensorView> other = {empty(DType::Fp32, {4}), empty(DType::Fp32, {1, 4})};
  EXPECT_FALSE(outputs_have_rows(other, 4));
  const std::vector<TensorView> scalar = {empty(DType::Fp32, {})};
  EXPECT_FALSE(outputs_have_rows(scalar, 1));
}

}  // namespace
}  // namespace serval
