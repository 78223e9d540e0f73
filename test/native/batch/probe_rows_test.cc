// Generated requests, and the comparison of responses to rows together and alone.
#include "batch/probe_rows.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/half.h"

namespace serval {
namespace {

TensorSpec spec(DType dtype, std::vector<int64_t> dims, std::vector<std::string> symbols = {}) {
  TensorSpec made;
  made.name = "x";
  made.dtype = dtype;
  made.dims = std::move(dims);
  made.symbols = std::move(symbols);
  return made;
}

template <typename T>
TensorView view(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  TensorView made;
  made.dtype = dtype;
  made.shape = Shape(dims);
  made.data = reinterpret_cast<const uint8_t*>(values.data());
  made.bytes = values.size() * sizeof(T);
  return made;
}

TEST(ProbeRows, SymbolsAndAxesGiveSizesThatAreTheSameWhereTheyMustBe) {
  const std::vector<TensorSpec> inputs = {
      spec(DType::Fp32, {-1, -1, -1}, {"n", "a", "b"}), spec(DType::Int64, {-1, -1}, {"n", "b"}),
      spec(DType::Bool, {-1, -1, 3}), spec(DType::Bytes, {-1, -1})};
  for (const uint32_t variant : {0u, 1u}) {
    ProbeTensors row;
    ASSERT_TRUE(row.make(inputs, {}, variant, 0));
    const Shape &first = row.views()[0].shape, &third = row.views()[2].shape;
    EXPECT_EQ(first[0], 1);
    EXPECT_NE(first[1], first[2]);
    EXPECT_EQ(row.views()[1].shape[1], first[2]);
    EXPECT_EQ(row.views()[3].shape[1], third[1]);
    EXPECT_EQ(third[2], 3);
    for (const TensorView& one : row.views()) EXPECT_GT(one.shape.elements(), 1u);
  }
}

TEST(ProbeRows, RowsDifferAndCanBeMadeAgain) {
  for (const DType dtype : {DType::Bool, DType::Int8, DType::Uint8, DType::Int64, DType::Fp16,
                            DType::Bf16, DType::Fp32, DType::Fp64, DType::Bytes}) {
    for (const bool narrow : {false, true}) {
      const std::vector<TensorSpec> inputs = {spec(dtype, {-1, 1})};
      ProbeTensors zero, again, one;
      ASSERT_TRUE(zero.make(inputs, {narrow, false}, 0, 0));
      ASSERT_TRUE(again.make(inputs, {narrow, false}, 0, 0));
      ASSERT_TRUE(one.make(inputs, {narrow, false}, 0, 1));
      EXPECT_EQ(sight_of(zero.views(), again.views()), ProbeSight::Constant);
      EXPECT_EQ(sight_of(zero.views(), one.views()), ProbeSight::Clear);
    }
  }
}

TEST(ProbeRows, ARowHasALimit) {
  ProbeTensors row;
  EXPECT_FALSE(row.make({spec(DType::Fp32, {-1, int64_t{1} << 62})}, {}, 0, 0));
  EXPECT_FALSE(
      row.make({spec(DType::Fp32, {-1, 3'000'000}), spec(DType::Fp32, {-1, 3'000'000})}, {}, 0, 0));
}

TEST(ProbeRows, FloatsMayDifferByWhatOtherKernelsRound) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> together = {9, 9, 9, 9, 1.0005f, nan, 0.00005f, -100};
  const std::vector<float> alone = {1, nan, 0, -100.05f}, other = {1, nan, 0.5f, -100.05f};
  const TensorView both = view(DType::Fp32, {2, 4}, together);
  EXPECT_EQ(row_difference(both, 2, 1, view(DType::Fp32, {1, 4}, alone)), std::nullopt);
  EXPECT_EQ(row_difference(both, 2, 1, view(DType::Fp32, {1, 4}, other)),
            "2 rows together return shape [2,4], one row alone returns [1,4]; row 1 differs in 1 "
            "of 4 elements, "
            "by up to 0.49995 (5e-05 together, 0.5 alone)");
  EXPECT_NE(row_difference(both, 2, 0, view(DType::Fp32, {1, 4}, alone)), std::nullopt);
  const std::vector<uint16_t> half = {float_to_half(1.005f)}, one = {float_to_half(1)};
  EXPECT_EQ(row_difference(view(DType::Fp16, {1, 1}, half), 1, 0, view(DType::Fp16, {1, 1}, one)),
            std::nullopt);
}

TEST(ProbeRows, FloatsMayDifferMoreWhereKernelsMultiplyWithFewDigits) {
  const std::vector<float> together = {0.7662587f, 0.1f}, alone = {0.7682465f, 0.1f};
  const TensorView both = view(DType::Fp32, {1, 2}, together);
  const TensorView one = view(DType::Fp32, {1, 2}, alone);
  EXPECT_NE(row_difference(both, 1, 0, one), std::nullopt);
  EXPECT_EQ(row_difference(both, 1, 0, one, ProbeDigits::Coarse), std::nullopt);
  const std::vector<float> other = {0.7f, 0.1f};
  EXPECT_NE(row_difference(both, 1, 0, view(DType::Fp32, {1, 2}, other), ProbeDigits::Coarse),
            std::nullopt);
}

TEST(ProbeRows, NumbersWithoutAPointAndTextAreExact) {
  const std::vector<int64_t> together = {7, 1'000'000}, alone = {1'000'001};
  EXPECT_EQ(
      row_difference(view(DType::Int64, {2, 1}, together), 2, 1, view(DType::Int64, {1, 1}, alone)),
      "2 rows together return shape [2,1], one row alone returns [1,1]; row 1 differs in 1 of 1 "
      "elements, "
      "by up to 1 (1000000 together, 1000001 alone)");
  const std::vector<std::string_view> words = {"a", "b"}, word = {"c"};
  TensorView texts, text;
  texts.dtype = text.dtype = DType::Bytes;
  texts.shape = Shape(std::vector<int64_t>{2});
  texts.strings = words;
  text.shape = Shape(std::vector<int64_t>{1});
  text.strings = word;
  EXPECT_EQ(row_difference(texts, 2, 1, text),
            "2 rows together return shape [2], one row alone returns [1]; row 1 differs in 1 of 1 "
            "elements");
}

TEST(ProbeRows, ShapesTellFirst) {
  const std::vector<float> values = {1, 2, 3, 4};
  const TensorView square = view(DType::Fp32, {2, 2}, values);
  const std::vector<float> first = {1};
  const TensorView one = view(DType::Fp32, {1, 1}, first);
  EXPECT_EQ(row_difference(square, 2, 0, one),
            "2 rows together return shape [2,2], one row alone returns [1,1]");
  const std::vector<float> nothing = {std::numeric_limits<float>::infinity()};
  const TensorView infinite = view(DType::Fp32, {1, 1}, nothing);
  EXPECT_EQ(sight_of({&infinite, 1}, {&infinite, 1}), ProbeSight::Blind);
}

}  // namespace
}  // namespace serval
