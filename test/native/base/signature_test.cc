// Lookups in a signature, and the check of a shape against a tensor spec.
#include <gtest/gtest.h>

#include "base/signature.h"

namespace serval {
namespace {

Shape shape_of(std::initializer_list<int64_t> dims) {
  return Shape(std::span<const int64_t>(dims.begin(), dims.size()));
}

TEST(Signature, FindsByExactName) {
  const Signature signature{"s",
                            {{"a", DType::Fp32, {}, {}, false}, {"b", DType::Int8, {}, {}, false}},
                            {{"b", DType::Fp32, {}, {}, false}}};
  EXPECT_EQ(signature.find_input("a"), 0);
  EXPECT_EQ(signature.find_input("b"), 1);
  EXPECT_EQ(signature.find_output("b"), 0);
  EXPECT_EQ(signature.find_output("a"), -1);
  EXPECT_EQ(signature.find_input("A"), -1);
  EXPECT_EQ(signature.find_input(""), -1);
  EXPECT_EQ(signature.find_input("aa"), -1);
  EXPECT_EQ(signature.find_input(std::string_view("a\0", 2)), -1);
  EXPECT_EQ(Signature().find_input("a"), -1);
}

TEST(CheckShape, FixedAndFreeDims) {
  const TensorSpec spec{"x", DType::Fp32, {-1, 4}, {}, false};
  EXPECT_TRUE(check_shape(spec, shape_of({1, 4})).ok());
  EXPECT_TRUE(check_shape(spec, shape_of({0, 4})).ok());
  EXPECT_TRUE(check_shape(spec, shape_of({1000000, 4})).ok());
  for (const Shape& wrong :
       {shape_of({1, 5}), shape_of({4}), shape_of({}), shape_of({1, 4, 1}), shape_of({4, 1})}) {
    const Status status = check_shape(spec, wrong);
    ASSERT_FALSE(status.ok()) << wrong.to_string();
    EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(status.error().message,
              "unexpected shape for input 'x': expected [-1,4], got " + wrong.to_string());
  }
}

TEST(CheckShape, ScalarsAndUnknownRank) {
  const TensorSpec scalar{"x", DType::Fp32, {}, {}, false};
  EXPECT_TRUE(check_shape(scalar, shape_of({})).ok());
  EXPECT_EQ(check_shape(scalar, shape_of({1})).error().message,
            "unexpected shape for input 'x': expected [], got [1]");
  const TensorSpec any{"x", DType::Fp32, {}, {}, true};
  EXPECT_TRUE(check_shape(any, shape_of({})).ok());
  EXPECT_TRUE(check_shape(any, shape_of({3, 2, 1})).ok());
}

}  // namespace
}  // namespace serval
