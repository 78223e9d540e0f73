// Tests of codec/bytes_tensor.h and codec/checked.h: reading and writing raw tensors.
#include "codec/bytes_tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/copies.h"
#include "codec/checked.h"

namespace serval {
namespace {

std::span<const uint8_t> span_of(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::string element(std::string_view bytes) {
  const auto length = static_cast<uint32_t>(bytes.size());
  std::string raw(4, '\0');
  std::memcpy(raw.data(), &length, 4);
  return raw.append(bytes);
}

TEST(DecodeRawBytes, ViewsEveryElement) {
  const std::string raw = element("abc") + element("") + element(std::string("\0x", 2));
  Arena arena;
  TensorView tensor;
  ASSERT_TRUE(decode_raw_bytes(span_of(raw), 3, "in", arena, tensor).ok());
  EXPECT_EQ(tensor.dtype, DType::Bytes);
  ASSERT_EQ(tensor.strings.size(), 3u);
  EXPECT_EQ(tensor.strings[0], "abc");
  EXPECT_EQ(tensor.strings[0].data(), raw.data() + 4);
  EXPECT_EQ(tensor.strings[1], "");
  EXPECT_EQ(tensor.strings[2], std::string("\0x", 2));
  EXPECT_EQ(raw_bytes_size(tensor), raw.size());
  std::vector<uint8_t> out(raw.size());
  EXPECT_EQ(write_raw_tensor(out.data(), tensor), out.data() + out.size());
  EXPECT_EQ(std::memcmp(out.data(), raw.data(), raw.size()), 0);
}

TEST(DecodeRawBytes, TakesNoElements) {
  Arena arena;
  TensorView tensor;
  EXPECT_TRUE(decode_raw_bytes({}, 0, "in", arena, tensor).ok());
  EXPECT_TRUE(tensor.strings.empty());
}

TEST(DecodeRawBytes, RefusesWhatDoesNotFit) {
  struct Case {
    std::string raw;
    uint64_t elements;
    std::string part;
  };
  const std::vector<Case> cases = {
      {"", 1, "expected 1 elements of 4 bytes or more, got 0 bytes"},
      {"abc", 1, "got 3 bytes"},
      {element("abc") + "xy", 1, "2 bytes left over after 1 elements at byte 7"},
      {element("abc"), 0, "7 bytes left over"},
      {std::string("\x05\0\0\0abcd", 8), 1, "length 5 at byte 0 overruns the data: 4 bytes left"},
      {std::string("\xff\xff\xff\xff", 4), 1, "length 4294967295"},
      {element("abcdef"), 2, "ends after element 1: expected 2 elements"},
      {element("abcdef") + "\x01", 2, "ends after element 1"},
      {element("a"), 1ull << 62, "expected 4611686018427387904 elements"},
  };
  for (const Case& wrong : cases) {
    Arena arena;
    TensorView tensor;
    Status status = decode_raw_bytes(span_of(wrong.raw), wrong.elements, "words", arena, tensor);
    ASSERT_FALSE(status.ok()) << wrong.part;
    EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(status.error().message.find(wrong.part), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find("'words'"), std::string::npos);
  }
}

struct Raw {
  alignas(64) uint8_t bytes[64] = {};
};

TEST(RawFixedTensor, ViewsWhatIsAligned) {
  Raw raw;
  Arena arena;
  TensorView tensor;
  const int64_t dims[] = {2, 3};
  const uint64_t viewed = copy_count().viewed_bytes;
  ASSERT_TRUE(
      raw_fixed_tensor({raw.bytes + 8, 24}, DType::Fp32, Shape(dims), "x", arena, tensor).ok());
  EXPECT_EQ(tensor.data, raw.bytes + 8);
  EXPECT_EQ(tensor.bytes, 24u);
  EXPECT_EQ(tensor.dtype, DType::Fp32);
  EXPECT_EQ(tensor.shape, Shape(dims));
  EXPECT_EQ(copy_count().viewed_bytes - viewed, 24u);
}

TEST(RawFixedTensor, CopiesWhatIsNot) {
  Raw raw;
  raw.bytes[3] = 42;
  Arena arena;
  TensorView tensor;
  const int64_t dims[] = {2};
  const uint64_t copied = copy_count().copied_bytes;
  ASSERT_TRUE(
      raw_fixed_tensor({raw.bytes + 3, 16}, DType::Int64, Shape(dims), "x", arena, tensor).ok());
  EXPECT_NE(tensor.data, raw.bytes + 3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data) % 64, 0u);
  EXPECT_EQ(tensor.data[0], 42);
  EXPECT_EQ(copy_count().copied_bytes - copied, 16u);
}

TEST(RawFixedTensor, TakesScalarsAndNothing) {
  Raw raw;
  Arena arena;
  TensorView tensor;
  EXPECT_TRUE(raw_fixed_tensor({raw.bytes, 8}, DType::Fp64, Shape(), "x", arena, tensor).ok());
  const int64_t dims[] = {3, 0};
  EXPECT_TRUE(raw_fixed_tensor({}, DType::Fp64, Shape(dims), "x", arena, tensor).ok());
  EXPECT_NE(tensor.data, nullptr);
}

TEST(RawFixedTensor, RefusesWrongSizes) {
  Raw raw;
  Arena arena;
  TensorView tensor;
  const int64_t dims[] = {2, 2};
  for (size_t bytes : {0u, 15u, 17u, 32u}) {
    Status status =
        raw_fixed_tensor({raw.bytes, bytes}, DType::Fp32, Shape(dims), "x", arena, tensor);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(status.error().message,
              "input 'x': expected 16 bytes (shape [2,2] of FP32), got " + std::to_string(bytes));
  }
  const int64_t huge[] = {int64_t{1} << 61, 1};
  EXPECT_FALSE(raw_fixed_tensor({}, DType::Fp64, Shape(huge), "x", arena, tensor).ok());
  const int64_t negative[] = {-1};
  EXPECT_FALSE(raw_fixed_tensor({}, DType::Fp64, Shape(negative), "x", arena, tensor).ok());
  EXPECT_FALSE(raw_fixed_tensor({}, DType::Bytes, Shape(), "x", arena, tensor).ok());
}

TEST(RawFixedTensor, RefusesBoolsThatAreNeither) {
  for (size_t place = 0; place < 64; ++place) {
    Raw raw;
    raw.bytes[63 - place] = 1;
    Arena arena;
    TensorView tensor;
    const int64_t dims[] = {64};
    ASSERT_TRUE(raw_fixed_tensor(raw.bytes, DType::Bool, Shape(dims), "x", arena, tensor).ok());
    raw.bytes[place] = 2;
    Status status = raw_fixed_tensor(raw.bytes, DType::Bool, Shape(dims), "x", arena, tensor);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message,
              "input 'x': BOOL element " + std::to_string(place) + ": expected byte 0 or 1, got 2");
  }
}

}  // namespace
}  // namespace serval
