// Values of batch inputs, of each kind and datatype. Source: Triton's backend_input_collector.cc.
#include "batch/batch_inputs.h"

#include <gtest/gtest.h>

#include <cstring>

#include "batch/batch_tensors.h"

namespace serval::test {
namespace {

using Kind = fb::BatchInputKind;

struct Made {
  std::vector<int64_t> dims;
  std::vector<double> values;
  std::string error;
};

Made make(Kind kind, const std::vector<std::vector<int64_t>>& sources, DType dtype) {
  std::vector<Shape> shapes;
  for (const std::vector<int64_t>& dims : sources) shapes.push_back(shape_of(dims));
  ByteBuffer memory;
  TensorView view;
  const Status done = make_batch_input({"INDEX", kind, dtype, "x"}, shapes, memory, view);
  Made made;
  if (!done.ok()) {
    EXPECT_EQ(done.error().code, ErrorCode::InvalidArgument);
    made.error = done.error().message;
    return made;
  }
  EXPECT_EQ(view.dtype, dtype);
  made.dims.assign(view.shape.dims().begin(), view.shape.dims().end());
  EXPECT_EQ(view.bytes, *view.shape.elements() * 4);
  for (size_t at = 0; at < view.bytes; at += 4) {
    int32_t integer = 0;
    float number = 0;
    std::memcpy(&integer, view.data + at, 4);
    std::memcpy(&number, view.data + at, 4);
    made.values.push_back(dtype == DType::Fp32 ? static_cast<double>(number) : integer);
  }
  return made;
}

TEST(BatchInputs, CountsElementsOfEachRequest) {
  const std::vector<std::vector<int64_t>> sources = {{1, 3}, {2, 4}, {1, 0}, {1, 5}};
  struct Case {
    Kind kind;
    std::vector<int64_t> dims;
    std::vector<double> values;
  };
  const std::vector<Case> cases = {{Kind::ElementCount, {4}, {3, 8, 0, 5}},
                                   {Kind::AccumulatedElementCount, {4}, {3, 11, 11, 16}},
                                   {Kind::AccumulatedElementCountWithZero, {5}, {0, 3, 11, 11, 16}},
                                   {Kind::MaxElementCountAsShape, {8}, {0, 0, 0, 0, 0, 0, 0, 0}},
                                   {Kind::ItemShape, {5, 1}, {3, 4, 4, 0, 5}},
                                   {Kind::ItemShapeFlatten, {5}, {3, 4, 4, 0, 5}}};
  for (const Case& one : cases) {
    for (const DType dtype : {DType::Int32, DType::Fp32}) {
      const Made made = make(one.kind, sources, dtype);
      EXPECT_EQ(made.error, "");
      EXPECT_EQ(made.dims, one.dims) << static_cast<int>(one.kind);
      EXPECT_EQ(made.values, one.values) << static_cast<int>(one.kind);
    }
  }
}

TEST(BatchInputs, ItemShapesHaveAllDimsButTheRows) {
  const std::vector<std::vector<int64_t>> sources = {{2, 3, 4}, {1, 5, 6}};
  const Made table = make(Kind::ItemShape, sources, DType::Int32);
  EXPECT_EQ(table.dims, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(table.values, (std::vector<double>{3, 4, 3, 4, 5, 6}));
  const Made flat = make(Kind::ItemShapeFlatten, sources, DType::Fp32);
  EXPECT_EQ(flat.dims, (std::vector<int64_t>{6}));
  EXPECT_EQ(flat.values, table.values);
  EXPECT_EQ(make(Kind::ItemShape, {{4}, {1}}, DType::Int32).dims, (std::vector<int64_t>{5, 0}));
}

TEST(BatchInputs, RefusesNumbersThatTheDatatypeCannotHold) {
  const int64_t exact = int64_t{1} << 24;
  EXPECT_EQ(make(Kind::ElementCount, {{1, exact}}, DType::Fp32).error, "");
  EXPECT_EQ(make(Kind::ElementCount, {{1, exact + 1}}, DType::Int32).error, "");
  EXPECT_EQ(make(Kind::AccumulatedElementCount, {{1, exact}, {1, 1}}, DType::Fp32).error,
            "input 'x' is too large: the model's input 'INDEX' counts its elements as FP32, which "
            "cannot hold 16777217");
  const int64_t most = INT32_MAX;
  EXPECT_EQ(make(Kind::ElementCount, {{1, most}}, DType::Int32).error, "");
  EXPECT_NE(make(Kind::AccumulatedElementCount, {{1, most}, {1, 1}}, DType::Int32)
                .error.find("INT32, which cannot hold 2147483648"),
            std::string::npos);
  EXPECT_EQ(make(Kind::ElementCount, {{1, most}, {1, 1}}, DType::Int32).error, "")
      << "each count fits";
}

// Such shapes have no elements, so that no limit of bytes bounds them.
TEST(BatchInputs, RefusesTooManyRows) {
  const int64_t huge = int64_t{1} << 62;
  const std::string refused =
      "input 'x' is too large: the model's input 'INDEX' has at most 16777216 numbers for a batch";
  for (const Kind kind : {Kind::ItemShape, Kind::ItemShapeFlatten}) {
    EXPECT_EQ(make(kind, {{huge, 0}}, DType::Int32).error, refused);
    EXPECT_EQ(make(kind, {{huge, 0}, {huge, 0}, {huge, 0}, {huge, 0}}, DType::Int32).error,
              refused);
    EXPECT_EQ(make(kind, {{1, 2}, {16777216, 0}}, DType::Int32).error, refused);
    EXPECT_EQ(make(kind, {{8388609, 0, 3}}, DType::Int32).error, refused);
  }
  EXPECT_EQ(make(Kind::ItemShape, {{huge}}, DType::Int32).error, refused);
  EXPECT_EQ(make(Kind::MaxElementCountAsShape, {{1, 16777217}}, DType::Int32).error, refused);
  EXPECT_EQ(make(Kind::ItemShapeFlatten, {{8388608, 0, 3}}, DType::Int32).values.size(), 16777216u);
}

}  // namespace
}  // namespace serval::test
