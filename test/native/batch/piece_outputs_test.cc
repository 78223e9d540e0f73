// PieceOutputs by hand: pieces that do not fit together, repeated use.
#include <gtest/gtest.h>

#include "batch/gather.h"

namespace serval {
namespace {

TensorView float_rows(std::vector<int64_t> dims, const std::vector<float>& values) {
  return {DType::Fp32,
          Shape(std::span(dims)),
          reinterpret_cast<const uint8_t*>(values.data()),
          values.size() * sizeof(float),
          {}};
}

class PieceOutputsTest : public ::testing::Test {
 protected:
  Status append(TensorView output, uint32_t rows) {
    return pieces_.append(std::span(&output, 1), rows);
  }
  void expect_failed(TensorView output, uint32_t rows, std::string_view message) {
    const Status status = append(output, rows);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::BackendFailed);
    EXPECT_EQ(status.error().message, message);
  }

  const std::vector<float> values_ = {1, 2, 3, 4};
  PieceOutputs pieces_;
};

TEST_F(PieceOutputsTest, PiecesFollowEachOther) {
  pieces_.begin(3);
  ASSERT_TRUE(append(float_rows({2, 2}, values_), 2).ok());
  EXPECT_EQ(pieces_.finish()[0].shape.to_string(), "[2,2]") << "never more than there is";
  ASSERT_TRUE(append(float_rows({1, 2}, {9, 8}), 1).ok());
  const TensorView& all = pieces_.finish()[0];
  EXPECT_EQ(all.shape.to_string(), "[3,2]");
  ASSERT_EQ(all.bytes, 24u);
  const auto* data = reinterpret_cast<const float*>(all.data);
  EXPECT_EQ(std::vector<float>(data, data + 6), (std::vector<float>{1, 2, 3, 4, 9, 8}));
}

TEST_F(PieceOutputsTest, StringsOutliveThePiece) {
  pieces_.begin(2);
  for (const char* value : {"first", ""}) {
    std::string text(value);
    const std::vector<std::string_view> strings = {text};
    const Shape shape(std::vector<int64_t>{1});
    ASSERT_TRUE(append({DType::Bytes, shape, nullptr, 0, strings}, 1).ok());
    text.assign(text.size(), '?');
  }
  const std::span<const std::string_view> strings = pieces_.finish()[0].strings;
  ASSERT_EQ(strings.size(), 2u);
  EXPECT_EQ(strings[0], "first");
  EXPECT_EQ(strings[1], "");
}

TEST_F(PieceOutputsTest, BeginForgets) {
  pieces_.begin(2);
  ASSERT_TRUE(append(float_rows({2, 2}, values_), 2).ok());
  pieces_.begin(1);
  EXPECT_TRUE(pieces_.finish().empty());
  ASSERT_TRUE(append(float_rows({1, 4}, values_), 1).ok());
  EXPECT_EQ(pieces_.finish()[0].shape.to_string(), "[1,4]");
  EXPECT_EQ(pieces_.finish()[0].bytes, 16u);
}

TEST_F(PieceOutputsTest, WrongRows) {
  pieces_.begin(4);
  expect_failed(float_rows({2, 2}, values_), 1,
                "split request: output 0 of a piece is expected to be FP32 [1,2], got FP32 [2,2]");
  pieces_.begin(4);
  expect_failed(float_rows({}, {1}), 1,
                "split request: output 0 is a scalar; expected a batch dim");
}

TEST_F(PieceOutputsTest, PiecesThatDiffer) {
  pieces_.begin(4);
  ASSERT_TRUE(append(float_rows({2, 2}, values_), 2).ok());
  expect_failed(float_rows({1, 4}, values_), 1,
                "split request: output 0 of a piece is expected to be FP32 [1,2], got FP32 [1,4]");
  expect_failed(float_rows({1, 2, 2}, values_), 1,
                "split request: output 0 of a piece is expected to be FP32 [1,2], got FP32 "
                "[1,2,2]");
  TensorView other = float_rows({1, 2}, values_);
  other.dtype = DType::Int32;
  expect_failed(other, 1,
                "split request: output 0 of a piece is expected to be FP32 [1,2], got INT32 [1,2]");
  const Status none = pieces_.append({}, 1);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "split request: a piece has 0 outputs, expected 1");
}

// One row that claims 2^40 bytes, times 2^30 rows: it is refused before anything is read.
TEST_F(PieceOutputsTest, MemoryThatIsNotThere) {
  pieces_.begin(uint32_t{1} << 30);
  TensorView output = float_rows({1, int64_t{1} << 38}, values_);
  output.bytes = size_t{1} << 40;
  const Status status = append(output, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::MemoryFull);
  EXPECT_EQ(status.error().message, "split request: out of memory for output 0");
}

}  // namespace
}  // namespace serval
