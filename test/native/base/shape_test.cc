// Shape: element counts without overflow, rank limit, text. DType: sizes and names.
#include <gtest/gtest.h>

#include <tuple>

#include "base/dtype.h"
#include "base/shape.h"

namespace serval {
namespace {

Shape shape(std::initializer_list<int64_t> dims) {
  return Shape(std::span<const int64_t>(dims.begin(), dims.size()));
}

TEST(Shape, Elements) {
  EXPECT_EQ(Shape().elements(), 1u);
  EXPECT_EQ(shape({}).elements(), 1u);
  EXPECT_EQ(shape({7}).elements(), 7u);
  EXPECT_EQ(shape({2, 3, 4}).elements(), 24u);
  EXPECT_EQ(shape({0}).elements(), 0u);
  EXPECT_EQ(shape({3, 0, 5}).elements(), 0u);
}

TEST(Shape, NegativeDimsHaveNoElements) {
  EXPECT_EQ(shape({-1}).elements(), std::nullopt);
  EXPECT_EQ(shape({2, -3}).elements(), std::nullopt);
  EXPECT_EQ(shape({0, -1}).elements(), std::nullopt);
  EXPECT_EQ(shape({-1, 0}).elements(), std::nullopt);
  EXPECT_EQ(shape({INT64_MIN, INT64_MIN}).elements(), std::nullopt);
}

TEST(Shape, ElementsStopAtTheLimit) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  EXPECT_EQ(shape({kLimit}).elements(), static_cast<uint64_t>(kLimit));
  EXPECT_EQ(shape({kLimit + 1}).elements(), std::nullopt);
  EXPECT_EQ(shape({int64_t{1} << 31, int64_t{1} << 31}).elements(), static_cast<uint64_t>(kLimit));
  EXPECT_EQ(shape({int64_t{1} << 31, int64_t{1} << 31, 2}).elements(), std::nullopt);
  EXPECT_EQ(shape({INT64_MAX, INT64_MAX}).elements(), std::nullopt);
  // 2^32 * 2^32 is 0 in 64 bits, and 2^32 * (2^32 + 1) is small: neither may pass.
  EXPECT_EQ(shape({int64_t{1} << 32, int64_t{1} << 32}).elements(), std::nullopt);
  EXPECT_EQ(shape({int64_t{1} << 32, (int64_t{1} << 32) + 1, 1}).elements(), std::nullopt);
}

// A product with a zero is zero, wherever the zero is.
TEST(Shape, ZeroWinsOverHugeDims) {
  EXPECT_EQ(shape({0, INT64_MAX, INT64_MAX}).elements(), 0u);
  EXPECT_EQ(shape({INT64_MAX, INT64_MAX, 0}).elements(), 0u);
  EXPECT_EQ(shape({INT64_MAX, 0, INT64_MAX}).elements(), 0u);
}

TEST(Shape, RankLimit) {
  Shape full;
  for (size_t i = 0; i < kRankMax; ++i) ASSERT_TRUE(full.push_back(1));
  EXPECT_FALSE(full.push_back(1));
  EXPECT_EQ(full.rank(), kRankMax);
  EXPECT_EQ(full.elements(), 1u);
  full.clear();
  EXPECT_EQ(full.rank(), 0u);
}

TEST(Shape, CopyCompareText) {
  Shape first = shape({2, -1, 3});
  const Shape second = first;
  EXPECT_TRUE(first == second);
  first.set(1, 5);
  EXPECT_FALSE(first == second);
  EXPECT_FALSE(shape({1, 2}) == shape({1}));
  EXPECT_FALSE(shape({1}) == shape({1, 2}));
  EXPECT_EQ(first[1], 5);
  EXPECT_EQ(first.to_string(), "[2,5,3]");
  EXPECT_EQ(second.to_string(), "[2,-1,3]");
  EXPECT_EQ(Shape().to_string(), "[]");
}

TEST(DType, SizesAndNames) {
  const struct {
    DType dtype;
    size_t bytes;
    const char* name;
    const char* tf_name;
  } kAll[] = {{DType::Bool, 1, "BOOL", "bool"},       {DType::Uint8, 1, "UINT8", "uint8"},
              {DType::Uint16, 2, "UINT16", "uint16"}, {DType::Uint32, 4, "UINT32", "uint32"},
              {DType::Uint64, 8, "UINT64", "uint64"}, {DType::Int8, 1, "INT8", "int8"},
              {DType::Int16, 2, "INT16", "int16"},    {DType::Int32, 4, "INT32", "int32"},
              {DType::Int64, 8, "INT64", "int64"},    {DType::Fp16, 2, "FP16", "half"},
              {DType::Fp32, 4, "FP32", "float"},      {DType::Fp64, 8, "FP64", "double"},
              {DType::Bytes, 0, "BYTES", "string"},   {DType::Bf16, 2, "BF16", "bfloat16"}};
  for (const auto& row : kAll) {
    EXPECT_EQ(dtype_bytes(row.dtype), row.bytes) << row.name;
    EXPECT_EQ(dtype_name(row.dtype), row.name);
    EXPECT_EQ(dtype_tf_name(row.dtype), row.tf_name);
    EXPECT_EQ(dtype_from_name(row.name), row.dtype);
    EXPECT_EQ(dtype_from_onnx(dtype_onnx(row.dtype)), row.dtype) << row.name;
    EXPECT_EQ(visit(row.dtype, []<typename T>(TypeTag<T>) { return dtype_for<T>(); }), row.dtype);
  }
  // Dtypes that only tabular models have: they have no other names.
  for (const auto& [dtype, name, bytes] :
       {std::tuple(DType::String, "STRING", size_t{0}), std::tuple(DType::Date, "DATE", size_t{8}),
        std::tuple(DType::Timestamp, "TIMESTAMP", size_t{8}),
        std::tuple(DType::Vector, "VECTOR", size_t{8})}) {
    EXPECT_EQ(dtype_name(dtype), name);
    EXPECT_EQ(dtype_from_name(name), dtype);
    EXPECT_EQ(dtype_bytes(dtype), bytes) << name;
  }
  for (const char* unknown : {"", "fp32", "FP3", "FP322", "INVALID", "float", "string", "TEXT"}) {
    EXPECT_EQ(dtype_from_name(unknown), DType::Invalid) << unknown;
  }
  EXPECT_EQ(dtype_bytes(DType::Invalid), 0u);
  EXPECT_EQ(dtype_for<void>(), DType::Invalid);
  for (const int64_t unknown : {-1, 0, 14, 15, 17}) {
    EXPECT_EQ(dtype_from_onnx(unknown), DType::Invalid) << unknown;
  }
}

}  // namespace
}  // namespace serval
