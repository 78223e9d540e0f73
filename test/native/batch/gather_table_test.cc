// Batches of tabular models (batch/gather.h): states, ragged rows, decimals, pieces.
#include <gtest/gtest.h>

#include "batch/gather.h"
#include "support/table_support.h"

namespace serval::test {
namespace {

// A field of one request that owns its memory.
struct Field {
  TensorView view;
  std::vector<double> reals;
  std::vector<std::string_view> texts;
  std::vector<uint8_t> states;
  std::vector<uint32_t> lengths;

  Field& of(std::vector<double> values, std::vector<int64_t> dims, DType dtype = DType::Fp64) {
    reals = std::move(values);
    view.dtype = dtype;
    view.shape = Shape(dims);
    view.data = reinterpret_cast<const uint8_t*>(reals.data());
    view.bytes = reals.size() * sizeof(double);
    return *this;
  }
  Field& of_text(std::vector<std::string_view> values, std::vector<int64_t> dims) {
    texts = std::move(values);
    view.dtype = DType::String;
    view.shape = Shape(dims);
    view.strings = texts;
    return *this;
  }
  Field& with_states(std::vector<uint8_t> given) {
    states = std::move(given);
    view.states = states.data();
    return *this;
  }
  Field& with_lengths(std::vector<uint32_t> given) {
    lengths = std::move(given);
    view.lengths = lengths.data();
    return *this;
  }
};

// Gathers the batch of one input.
std::string gathered(std::vector<const Field*> fields, uint32_t rows_out) {
  std::vector<std::vector<TensorView>> inputs;
  for (const Field* field : fields) inputs.push_back({field->view});
  std::vector<BatchPart> parts;
  for (const auto& one : inputs) {
    parts.push_back({one, 0, static_cast<uint32_t>(one[0].shape[0])});
  }
  GatherMemory memory;
  std::vector<TensorView> out;
  const Status done = gather(parts, rows_out, false, memory, out);
  return done.ok() ? show(out[0]) : done.error().message;
}

TEST(GatherTable, StatesOfSomeParts) {
  Field a, b;
  a.of({1, 2}, {2});
  b.of({3, 4}, {2}).with_states({0, 1});
  EXPECT_EQ(gathered({&a, &b}, 4), "FP64[4]: 1, 2, 3, null");
  EXPECT_EQ(gathered({&b, &a}, 4), "FP64[4]: 3, null, 1, 2");
  EXPECT_EQ(gathered({&a, &b}, 6), "FP64[6]: 1, 2, 3, null, 3, 3");  // padded with b's first row
}

TEST(GatherTable, RaggedRows) {
  Field a, b, none;
  a.of({1, 2, 3}, {2, -1}, DType::Vector).with_lengths({1, 2});
  b.of({9}, {3, -1}, DType::Vector).with_lengths({0, 1, 0}).with_states({1, 0, 0});
  none.of({}, {0, -1}, DType::Vector).with_lengths({});
  none.view.lengths = a.lengths.data();
  EXPECT_EQ(gathered({&a, &b}, 5), "VECTOR[5,-1]: [1], [2, 3], null, [9], []");
  EXPECT_EQ(gathered({&b, &none, &a}, 6), "VECTOR[6,-1]: null, [9], [], [1], [2, 3], [1]");
  EXPECT_EQ(gathered({&a}, 2), "VECTOR[2,-1]: [1], [2, 3]");
}

TEST(GatherTable, RaggedText) {
  Field a, b;
  a.of_text({"x", "y"}, {1, -1}).with_lengths({2});
  b.of_text({"z"}, {2, -1}).with_lengths({1, 0});
  EXPECT_EQ(gathered({&a, &b}, 3), "STRING[3,-1]: ['x', 'y'], ['z'], []");
}

TEST(GatherTable, WhatGoesTogether) {
  Field dense, ragged, other;
  dense.of({1, 2}, {1, 2}, DType::Vector);
  other.of({1, 2, 3}, {1, 3}, DType::Vector);
  ragged.of({1, 2}, {1, -1}, DType::Vector).with_lengths({2});
  const auto same = [](const Field& a, const Field& b, bool pad = false) {
    return same_batch({&a.view, 1}, {&b.view, 1}, pad);
  };
  EXPECT_TRUE(same(dense, dense));
  EXPECT_TRUE(same(ragged, ragged));
  EXPECT_FALSE(same(dense, ragged));
  EXPECT_FALSE(same(dense, ragged, true));
  EXPECT_FALSE(same(dense, other));
  Field cents = dense, mills = dense;
  cents.view.scale = 2;
  mills.view.scale = 3;
  EXPECT_FALSE(same(cents, mills));
}

TEST(GatherTable, Slices) {
  Field field;
  field.of({1, 2, 3, 4}, {4, -1}, DType::Vector).with_lengths({1, 0, 2, 1});
  field.with_states({0, 1, 0, 0});
  EXPECT_EQ(show(slice_rows(field.view, 1, 2)), "VECTOR[2,-1]: null, [2, 3]");
  EXPECT_EQ(show(slice_rows(field.view, 3, 1)), "VECTOR[1,-1]: [4]");
  EXPECT_EQ(show(slice_rows(field.view, 4, 0)), "VECTOR[0,-1]:");
}

TEST(GatherTable, Pieces) {
  Field dense, ragged, scalar, missing;
  dense.of({1, 2, 3, 4}, {2, 2}, DType::Vector);
  ragged.of({5}, {2, -1}, DType::Vector).with_lengths({0, 1}).with_states({1, 0});
  scalar.of({7, 8}, {2});
  missing.of({9, 0}, {2}).with_states({0, 1});
  PieceOutputs pieces;
  const std::vector<TensorView> first = {dense.view, scalar.view};
  const std::vector<TensorView> second = {ragged.view, missing.view};
  pieces.begin(4, true);
  ASSERT_TRUE(pieces.append(first, 2).ok());
  ASSERT_TRUE(pieces.append(second, 2).ok());
  const std::span<const TensorView> all = pieces.finish();
  EXPECT_EQ(show(all[0]), "VECTOR[4,-1]: [1, 2], [3, 4], null, [5]");
  EXPECT_EQ(show(all[1]), "FP64[4]: 7, 8, 9, null");
  pieces.begin(4, true);
  ASSERT_TRUE(pieces.append(first, 2).ok());
  ASSERT_TRUE(pieces.append(first, 2).ok());
  EXPECT_EQ(show(pieces.finish()[0]), "VECTOR[4,2]: [1, 2], [3, 4], [1, 2], [3, 4]");
  pieces.begin(4);  // pieces of another model: the first piece determines the inner dimensions
  ASSERT_TRUE(pieces.append(first, 2).ok());
  EXPECT_FALSE(pieces.append(second, 2).ok());
}

}  // namespace
}  // namespace serval::test
