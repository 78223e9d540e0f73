// Copies of a traced request's tensors: which elements they have.
#include "engine/observe/traced_tensors.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <span>

namespace serval {
namespace {

TensorSpec tensor_spec(const char* name) {
  TensorSpec spec;
  spec.name = name;
  return spec;
}

Shape shape_of(std::initializer_list<int64_t> dims) {
  return Shape(std::span<const int64_t>(dims.begin(), dims.size()));
}

class TracedTensors : public testing::Test {
 protected:
  TracedTensors() {
    signature_.inputs = {tensor_spec("a"), tensor_spec("b")};
    signature_.outputs = {tensor_spec("x"), tensor_spec("y")};
    trace_.has_tensors = true;
  }

  template <typename T, size_t N>
  static TensorView view_of(DType dtype, const std::array<T, N>& elements, Shape shape) {
    TensorView view;
    view.dtype = dtype;
    view.shape = shape;
    view.data = reinterpret_cast<const uint8_t*>(elements.data());
    view.bytes = sizeof elements;
    return view;
  }

  Signature signature_;
  DecodedRequest decoded_;
  Trace trace_;
};

TEST_F(TracedTensors, InputsAndTheRequestedOutputs) {
  const std::array<float, 2> floats{1.5f, 2};
  const std::array<std::string_view, 2> texts{"", "ab"};
  TensorView text;
  text.dtype = DType::String;
  text.shape = shape_of({2});
  text.strings = texts;
  TensorView none;
  none.dtype = DType::Invalid;
  decoded_.inputs = {none, view_of(DType::Fp32, floats, shape_of({1, 2}))};
  decoded_.outputs = {{.index = 1}};
  const std::array<TensorView, 1> outputs{text};
  trace_tensors(signature_, decoded_, outputs, &trace_);
  ASSERT_EQ(trace_.tensors.size(), 2u);
  const TracedTensor& input = trace_.tensors[0];
  EXPECT_EQ(input.name, "b");
  EXPECT_FALSE(input.output || input.left_out);
  EXPECT_EQ(input.dims, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(input.data.size(), 8u);
  const TracedTensor& output = trace_.tensors[1];
  EXPECT_EQ(output.name, "y");
  EXPECT_TRUE(output.output);
  EXPECT_EQ(output.dtype, DType::Bytes);
  EXPECT_EQ(output.data, (std::vector<uint8_t>{0, 0, 0, 0, 2, 0, 0, 0, 'a', 'b'}));
}

TEST_F(TracedTensors, RowsWithoutAValueAreMarked) {
  const std::array<int64_t, 3> days{1, 2, 3};
  const std::array<uint8_t, 3> states{0, 1, 0};
  TensorView column = view_of(DType::Date, days, shape_of({3}));
  column.states = states.data();
  decoded_.inputs = {column};
  trace_tensors(signature_, decoded_, {}, &trace_);
  ASSERT_EQ(trace_.tensors.size(), 1u);
  EXPECT_EQ(trace_.tensors[0].dtype, DType::Int64);
  EXPECT_EQ(trace_.tensors[0].missing, (std::vector<uint8_t>{0, 1, 0}));
}

TEST_F(TracedTensors, ElementsThatHaveNoFormAreLeftOut) {
  const std::array<double, 2> numbers{1, 2};
  const std::array<uint32_t, 2> lengths{0, 2};
  TensorView ragged = view_of(DType::Fp64, numbers, shape_of({2, -1}));
  ragged.lengths = lengths.data();
  decoded_.inputs = {ragged};
  trace_tensors(signature_, decoded_, {}, &trace_);
  ASSERT_EQ(trace_.tensors.size(), 1u);
  EXPECT_TRUE(trace_.tensors[0].left_out);
  EXPECT_TRUE(trace_.tensors[0].data.empty());
  EXPECT_EQ(trace_.tensors[0].dtype, DType::Fp64);
}

TEST_F(TracedTensors, ElementsOverTheLimitAreLeftOut) {
  const std::vector<uint8_t> bytes(kTracedBytesMax);
  TensorView large;
  large.dtype = DType::Uint8;
  large.shape = shape_of({static_cast<int64_t>(bytes.size())});
  large.data = bytes.data();
  large.bytes = bytes.size();
  const std::array<uint8_t, 1> one{7};
  decoded_.inputs = {large, view_of(DType::Uint8, one, shape_of({1}))};
  trace_tensors(signature_, decoded_, {}, &trace_);
  ASSERT_EQ(trace_.tensors.size(), 2u);
  EXPECT_FALSE(trace_.tensors[0].left_out);
  EXPECT_TRUE(trace_.tensors[1].left_out);
}

TEST_F(TracedTensors, NothingIsCopiedUnlessItsRuleAsks) {
  const std::array<uint8_t, 1> one{7};
  decoded_.inputs = {view_of(DType::Uint8, one, shape_of({1}))};
  trace_.has_tensors = false;
  trace_tensors(signature_, decoded_, {}, &trace_);
  EXPECT_TRUE(trace_.tensors.empty());
  trace_tensors(signature_, decoded_, {}, nullptr);
}

}  // namespace
}  // namespace serval
