// gather, slice_rows and PieceOutputs on thousands of random tensors, against element-by-element
// references. Fixed seeds.
#include <gtest/gtest.h>

#include <numeric>

#include "batch/batch_tensors.h"

namespace serval::test {
namespace {

struct Case {
  std::deque<OwnedTensor> tensors;
  std::vector<std::vector<TensorView>> views;  // for each part
  std::vector<BatchPart> parts;
  uint32_t rows_out = 0;
  bool pad_inner = false;
};

// Requests with the same inputs that differ in rows and, with pad_inner, in the inner dimensions.
void make_case(RandomTensors& random, Case& one) {
  one.pad_inner = random.below(2) == 0;
  const size_t inputs = random.below(4);
  std::vector<std::pair<DType, std::vector<int64_t>>> specs(inputs);
  for (auto& [dtype, dims] : specs) {
    dtype = random.dtype();
    dims.resize(1 + random.below(4));
    for (int64_t& dim : dims) dim = random.below(5);
  }
  const size_t parts = 1 + random.below(5);
  one.views.resize(parts);
  for (std::vector<TensorView>& views : one.views) {
    const uint32_t rows_all = random.below(6);
    const uint32_t first_row = random.below(rows_all + 1);
    const uint32_t rows = random.below(rows_all - first_row + 1);
    for (auto& [dtype, dims] : specs) {
      dims[0] = rows_all;
      for (size_t i = 1; one.pad_inner && i < dims.size(); ++i) {
        if (random.below(3) == 0) dims[i] = random.below(6);
      }
      random.fill(one.tensors.emplace_back(), dtype, dims);
      views.push_back(one.tensors.back().view);
    }
    one.parts.push_back({views, first_row, rows});
    one.rows_out += rows;
  }
  if (random.below(2) == 0) one.rows_out += random.below(5);
}

TEST(GatherProperty, EqualsTheBatchMadeElementByElement) {
  RandomTensors random(7);
  GatherMemory memory;  // kept between batches, as an instance keeps it
  std::vector<TensorView> out;
  size_t elements = 0;
  for (int round = 0; round < 6000; ++round) {
    Case one;
    make_case(random, one);
    ASSERT_TRUE(gather(one.parts, one.rows_out, one.pad_inner, memory, out).ok()) << round;
    ASSERT_EQ(out.size(), one.views[0].size());
    for (size_t i = 0; i < out.size(); ++i) {
      const PlainBatch expected = plain_gather(one.parts, i, one.rows_out);
      ASSERT_EQ(out[i].shape, shape_of(expected.dims)) << round << ' ' << i;
      ASSERT_EQ(out[i].dtype, one.views[0][i].dtype);
      const bool strings = out[i].dtype == DType::Bytes;
      ASSERT_EQ(out[i].bytes, expected.elements.size() * dtype_bytes(out[i].dtype));
      ASSERT_EQ(out[i].strings.size(), strings ? expected.elements.size() : 0);
      ASSERT_EQ(elements_of(out[i]), expected.elements) << round << ' ' << i;
      elements += expected.elements.size();
    }
  }
  EXPECT_GT(elements, 100'000u) << "the tensors are too small to try anything";
}

TEST(GatherProperty, SlicesAreTheRows) {
  RandomTensors random(8);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int64_t> dims(1 + random.below(4));
    for (int64_t& dim : dims) dim = random.below(5);
    OwnedTensor tensor;
    random.fill(tensor, random.dtype(), dims);
    const auto rows_all = static_cast<uint32_t>(dims[0]);
    const uint32_t first_row = random.below(rows_all + 1);
    const uint32_t rows = random.below(rows_all - first_row + 1);
    const TensorView slice = slice_rows(tensor.view, first_row, rows);
    const std::vector<std::string> all = elements_of(tensor.view);
    const size_t per_row = rows_all == 0 ? 0 : all.size() / rows_all;
    const auto begin = all.begin() + static_cast<ptrdiff_t>(first_row * per_row);
    const std::vector<std::string> expected(begin, begin + static_cast<ptrdiff_t>(rows * per_row));
    ASSERT_EQ(slice.shape[0], int64_t{rows}) << round;
    ASSERT_EQ(elements_of(slice), expected) << round;
    ASSERT_EQ(slice.bytes, expected.size() * dtype_bytes(slice.dtype));
  }
}

// A tensor that is cut at random rows is put together again unchanged.
TEST(PieceOutputsProperty, PiecesComeBackWhole) {
  RandomTensors random(9);
  PieceOutputs pieces;
  for (int round = 0; round < 3000; ++round) {
    std::deque<OwnedTensor> whole;
    const uint32_t rows_total = random.below(9);
    const size_t outputs = random.below(4);
    for (size_t i = 0; i < outputs; ++i) {
      std::vector<int64_t> dims(1 + random.below(3));
      for (int64_t& dim : dims) dim = random.below(5);
      dims[0] = rows_total;
      random.fill(whole.emplace_back(), random.dtype(), dims);
    }
    pieces.begin(rows_total);
    uint32_t row = 0;
    do {
      const uint32_t rows = random.below(rows_total - row + 1);
      std::vector<TensorView> cut;
      for (const OwnedTensor& one : whole) cut.push_back(slice_rows(one.view, row, rows));
      ASSERT_TRUE(pieces.append(cut, rows).ok()) << round;
      row += rows;
    } while (row < rows_total);
    const std::span<const TensorView> views = pieces.finish();
    ASSERT_EQ(views.size(), outputs);
    for (size_t i = 0; i < outputs; ++i) {
      ASSERT_EQ(views[i].shape, whole[i].view.shape) << round;
      ASSERT_EQ(views[i].bytes, whole[i].view.bytes);
      ASSERT_EQ(elements_of(views[i]), elements_of(whole[i].view)) << round;
    }
  }
}

}  // namespace
}  // namespace serval::test
