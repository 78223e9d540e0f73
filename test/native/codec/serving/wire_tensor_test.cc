// TensorProto to tensors. Source: tfserving.md 2 "TensorProto reading rules", 9 (integers out of
// range); bytes of TensorFlow's own API in wire_tf_support.h.
#include <gtest/gtest.h>

#include "base/copies.h"
#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

// A decoded TensorProto; `arena` and the bytes live as long as it.
struct DecodedTensor {
  explicit DecodedTensor(std::string proto) : bytes(std::move(proto)) {
    status = decode_tensor_proto(as_bytes(bytes), "x", arena, tensor);
  }
  explicit DecodedTensor(const WireBuilder& proto) : DecodedTensor(proto.str()) {}

  std::string error() const { return status.ok() ? "none" : status.error().message; }
  ErrorCode code() const { return status.ok() ? ErrorCode::Ok : status.error().code; }

  std::string bytes;
  Arena arena;
  TensorView tensor;
  Status status;
};

template <typename T>
std::vector<T> decoded_values(const WireBuilder& proto) {
  const DecodedTensor decoded(proto);
  EXPECT_EQ(decoded.error(), "none");
  return values_of<T>(decoded.tensor);
}

std::vector<std::string> decoded_strings(const WireBuilder& proto) {
  const DecodedTensor decoded(proto);
  EXPECT_EQ(decoded.error(), "none");
  return {decoded.tensor.strings.begin(), decoded.tensor.strings.end()};
}

const std::string kParsing = "tensor parsing error: x";

TEST(WireTfTensor, EveryDtypeBothForms) {
  for (const TensorFixture& fixture : kTensorFixtures) {
    for (std::string_view hex : {fixture.typed, fixture.content}) {
      const DecodedTensor decoded(from_hex(hex));
      ASSERT_EQ(decoded.error(), "none") << hex;
      EXPECT_EQ(decoded.tensor.dtype, fixture.dtype);
      EXPECT_EQ(decoded.tensor.shape.to_string(), "[3]");
      EXPECT_EQ(data_hex(decoded.tensor), fixture.elements);
    }
  }
}

TEST(WireTfTensor, LastValueRepeats) {
  using V = std::vector<float>;
  EXPECT_EQ(decoded_values<float>(tensor_proto(1, {4}).packed_fixed<float>(5, {1, 2})),
            (V{1, 2, 2, 2}));
  EXPECT_EQ(decoded_values<float>(tensor_proto(1, {3}).packed_fixed<float>(5, {7})), (V{7, 7, 7}));
  EXPECT_EQ(decoded_values<float>(tensor_proto(1, {3})), (V{0, 0, 0}));
  EXPECT_EQ(decoded_values<double>(tensor_proto(2, {2}).packed_fixed<double>(6, {0.5})),
            (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(decoded_values<int64_t>(tensor_proto(9, {3}).packed(10, {-4})),
            (std::vector<int64_t>{-4, -4, -4}));
  EXPECT_EQ(decoded_values<uint8_t>(tensor_proto(10, {2}).packed(11, {1})),
            (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(decoded_values<uint16_t>(tensor_proto(19, {2}).packed(13, {0x3c00})),
            (std::vector<uint16_t>{0x3c00, 0x3c00}));
  EXPECT_EQ(decoded_values<int32_t>(tensor_proto(3, {2, 0})), std::vector<int32_t>());
  EXPECT_EQ(decoded_strings(tensor_proto(7, {3}).bytes(8, "a").bytes(8, "b")),
            (std::vector<std::string>{"a", "b", "b"}));
  EXPECT_EQ(decoded_strings(tensor_proto(7, {2})), (std::vector<std::string>{"", ""}));
}

TEST(WireTfTensor, SurplusIsIgnored) {
  EXPECT_EQ(decoded_values<float>(tensor_proto(1, {2}).packed_fixed<float>(5, {1, 2, 3})),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(decoded_values<int32_t>(tensor_proto(3, {1}).packed(7, {1, 2})),
            (std::vector<int32_t>{1}));
  // A surplus value is not checked: 300 does not fit a uint8.
  EXPECT_EQ(decoded_values<uint8_t>(tensor_proto(4, {1}).packed(7, {1, 300})),
            (std::vector<uint8_t>{1}));
  EXPECT_EQ(decoded_strings(tensor_proto(7, {}).bytes(8, "a").bytes(8, "b")),
            std::vector<std::string>{"a"});
  // Neither is checked for an empty tensor.
  EXPECT_EQ(DecodedTensor(tensor_proto(1, {0}).bytes(4, "abc")).error(), "none");
  // Values in a field of another dtype are ignored.
  EXPECT_EQ(decoded_values<float>(tensor_proto(1, {1}).packed(7, {5})), std::vector<float>{0});
}

TEST(WireTfTensor, PiecesInAnyForm) {
  WireBuilder mixed = tensor_proto(1, {5});
  mixed.packed_fixed<float>(5, {1, 2}).bytes(5, "").fixed<float>(5, 3).packed_fixed<float>(5, {4});
  EXPECT_EQ(decoded_values<float>(mixed), (std::vector<float>{1, 2, 3, 4, 4}));
  WireBuilder numbers = tensor_proto(9, {12});
  numbers.packed(10, {1, 2, 3, 4, 5, 6, 7, 8, 300}).varint(10, -1).packed(10, {1000000});
  EXPECT_EQ(decoded_values<int64_t>(numbers),
            (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 300, -1, 1000000, 1000000}));
  // Values that precede the dtype and the shape.
  const WireBuilder late = WireBuilder().packed(7, {5, 6}).raw(tensor_proto(3, {2}).str());
  EXPECT_EQ(decoded_values<int32_t>(late), (std::vector<int32_t>{5, 6}));
}

TEST(WireTfTensor, OneByteRunsStopAtTheShape) {
  WireBuilder run;
  for (int i = 0; i < 64; ++i) run.bare_varint(static_cast<uint64_t>(i));
  for (int64_t wanted : {1, 7, 8, 9, 15, 16, 17, 63, 64}) {
    const auto values = decoded_values<int8_t>(tensor_proto(6, {wanted}).bytes(7, run.str()));
    ASSERT_EQ(values.size(), static_cast<size_t>(wanted));
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<int8_t>(i));
  }
}

TEST(WireTfTensor, MergesAndSkips) {
  // The last dtype and content count; dims are appended; fields that are unknown or of the wrong
  // type are skipped.
  WireBuilder proto = tensor_proto(1, {2});
  proto.varint(3, 27).bytes(4, "no").raw(tensor_proto(3, {1}).str()).bytes(4, raw_of<int>({8, 9}));
  proto.varint(99, 1).fixed<uint32_t>(1, 7).varint(4, 7).fixed<uint64_t>(7, 1);
  const DecodedTensor decoded(proto);
  ASSERT_EQ(decoded.error(), "none");
  EXPECT_EQ(decoded.tensor.shape.to_string(), "[2,1]");
  EXPECT_EQ(values_of<int>(decoded.tensor), (std::vector<int>{8, 9}));
  // An empty tensor_content counts as absent.
  EXPECT_EQ(decoded_values<int>(tensor_proto(3, {1}).bytes(4, "").packed(7, {3})),
            std::vector<int>{3});
  // A Dim without a size is 0; a later unknown_rank 0 overrides an earlier 1.
  WireBuilder empty = WireBuilder().varint(1, 1);
  empty.message(2, WireBuilder().message(2, WireBuilder().bytes(2, "n")).varint(3, 1).varint(3, 0));
  EXPECT_EQ(decoded_values<float>(empty), std::vector<float>());
}

TEST(WireTfTensor, Strings) {
  const std::string content = std::string("\x01\x00\x03", 3) + "a" + "b\xff\n";
  EXPECT_EQ(decoded_strings(tensor_proto(7, {3}).bytes(4, content)),
            (std::vector<std::string>{"a", "", "b\xff\n"}));
  for (const std::string& bad :
       {std::string("\x01\x00", 2), content + "z", content.substr(0, 5), std::string("\x01\x80"),
        std::string("\xff\xff\xff\xff\xff\x01\x01", 7), std::string(9, '\x7f')}) {
    EXPECT_EQ(DecodedTensor(tensor_proto(7, {3}).bytes(4, bad)).error(), kParsing) << to_hex(bad);
  }
  EXPECT_EQ(DecodedTensor(tensor_proto(7, {INT64_C(1) << 61}).bytes(4, "\1a")).error(), kParsing);
}

TEST(WireTfTensor, ShapesThatAreNotDefined) {
  EXPECT_EQ(DecodedTensor(tensor_proto(1, {-1})).error(), kParsing);
  EXPECT_EQ(DecodedTensor(tensor_proto(1, {2, INT64_MIN})).error(), kParsing);
  EXPECT_EQ(DecodedTensor(tensor_proto(1, {INT64_MAX, 3})).error(), kParsing);
  EXPECT_EQ(DecodedTensor(tensor_proto(1, {INT64_C(1) << 31, INT64_C(1) << 31, 2})).error(),
            kParsing);
  const WireBuilder unknown = WireBuilder().varint(1, 1).message(2, WireBuilder().varint(3, 1));
  EXPECT_EQ(DecodedTensor(unknown).error(), kParsing);
  WireBuilder shape;
  for (size_t i = 0; i < kRankMax; ++i) shape.message(2, WireBuilder().varint(1, 1));
  EXPECT_EQ(DecodedTensor(WireBuilder().varint(1, 1).message(2, shape)).error(), "none");
  shape.message(2, WireBuilder().varint(1, 1));
  const DecodedTensor deep(WireBuilder().varint(1, 1).message(2, shape));
  EXPECT_EQ(deep.error(), kParsing);
  EXPECT_EQ(deep.status.error().detail, "shape has 33 dimensions; the limit is 32");
}

TEST(WireTfTensor, ContentOfAnotherLength) {
  for (size_t bytes : {1u, 7u, 9u, 16u}) {
    const DecodedTensor decoded(tensor_proto(1, {2}).bytes(4, std::string(bytes, 'a')));
    EXPECT_EQ(decoded.error(), kParsing) << bytes;
    EXPECT_EQ(decoded.code(), ErrorCode::InvalidArgument);
  }
  // It takes precedence over typed values, which would fit.
  EXPECT_EQ(DecodedTensor(tensor_proto(3, {1}).bytes(4, "ab").packed(7, {1})).error(), kParsing);
  EXPECT_EQ(DecodedTensor(tensor_proto(2, {INT64_C(1) << 61}).bytes(4, "abcdefgh")).error(),
            kParsing);
  EXPECT_EQ(DecodedTensor(tensor_proto(10, {2}).bytes(4, std::string("\1\7"))).error(),
            "input 'x': BOOL element 1: expected byte 0 or 1, got 7");
}

TEST(WireTfTensor, Dtypes) {
  for (int64_t bad : {0, 33, 101, 1000, -1}) {
    EXPECT_EQ(DecodedTensor(tensor_proto(bad, {1})).error(), kParsing) << bad;
  }
  const std::pair<int64_t, const char*> missing[] = {
      {8, "complex64"}, {11, "qint8"},       {12, "quint8"},     {13, "qint32"},
      {15, "qint16"},   {16, "quint16"},     {18, "complex128"}, {20, "resource"},
      {21, "variant"},  {24, "float8_e5m2"}, {29, "int4"},       {32, "uint2"}};
  for (const auto& [number, name] : missing) {
    const DecodedTensor decoded(tensor_proto(number, {1}));
    EXPECT_EQ(decoded.error(),
              "input 'x': dtype " + std::string(name) + " is not implemented by this server");
    EXPECT_EQ(decoded.code(), ErrorCode::Unimplemented);
  }
}

TEST(WireTfTensor, SmallIntegersOutOfRange) {
  const auto error = [](int64_t dtype, int64_t value) {
    return DecodedTensor(tensor_proto(dtype, {2}).packed(7, {1, value})).error();
  };
  const std::string at = "input 'x': value ";
  EXPECT_EQ(error(4, 300), at + "300 at index 1 is out of range for uint8 (0 to 255)");
  EXPECT_EQ(error(4, -1), at + "-1 at index 1 is out of range for uint8 (0 to 255)");
  EXPECT_EQ(error(6, 128), at + "128 at index 1 is out of range for int8 (-128 to 127)");
  EXPECT_EQ(error(5, -32769), at + "-32769 at index 1 is out of range for int16 (-32768 to 32767)");
  EXPECT_EQ(error(17, 65536), at + "65536 at index 1 is out of range for uint16 (0 to 65535)");
  // 32-bit values are truncated as in protobuf, half_val as in TensorFlow; any bool but 0 is true.
  EXPECT_EQ(decoded_values<int32_t>(tensor_proto(3, {1}).packed(7, {INT64_C(1) << 32 | 5})),
            std::vector<int32_t>{5});
  EXPECT_EQ(decoded_values<uint16_t>(tensor_proto(14, {1}).packed(13, {-1})),
            std::vector<uint16_t>{0xffff});
  EXPECT_EQ(decoded_values<uint8_t>(tensor_proto(10, {2}).packed(11, {INT64_C(1) << 40, 0})),
            (std::vector<uint8_t>{1, 0}));
}

TEST(WireTfTensor, RepeatedValuesAreBounded) {
  for (int64_t dtype : {1, 3, 7, 9, 10}) {
    const DecodedTensor decoded(tensor_proto(dtype, {1'000'000'000'000}).packed(7, {1}));
    EXPECT_EQ(decoded.code(), ErrorCode::BodyTooLarge) << dtype;
  }
  EXPECT_EQ(
      DecodedTensor(tensor_proto(1, {1'000'000, 1'000'000}).packed_fixed<float>(5, {1})).error(),
      "input 'x': shape [1000000,1000000] of float with 1 values is over the limit of a "
      "request's size");
  EXPECT_EQ(DecodedTensor(tensor_proto(2, {INT64_C(1) << 62})).code(), ErrorCode::BodyTooLarge);
}

TEST(WireTfTensor, AlignedBytesAreViewed) {
  const std::string proto = tensor_proto(1, {2}).packed_fixed<float>(5, {1, 2}).str();
  const std::string content = tensor_proto(1, {2}).bytes(4, raw_of<float>({1, 2})).str();
  for (const std::string& bytes : {proto, content}) {
    size_t viewed = 0;
    for (size_t offset = 0; offset < 4; ++offset) {
      const std::string memory = std::string(offset, '\0') + bytes;
      const auto message = as_bytes(memory).subspan(offset);
      Arena arena;
      TensorView tensor;
      ASSERT_TRUE(decode_tensor_proto(message, "x", arena, tensor).ok());
      EXPECT_EQ(values_of<float>(tensor), (std::vector<float>{1, 2}));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data) % 4, 0u);
      viewed += tensor.data >= message.data() && tensor.data < message.data() + message.size();
    }
    EXPECT_EQ(viewed, 1u);
  }
}

TEST(WireTfTensor, MalformedProto) {
  for (std::string_view bad : {"\x08",
                               "\x2a\x03"
                               "abc",
                               "\x3a\x01\x80", "\x12\x05", "\x0f"}) {
    EXPECT_EQ(DecodedTensor(std::string(bad)).error(), kParsing) << to_hex(bad);
  }
  EXPECT_EQ(DecodedTensor(std::string("\x3a\x01\x80")).status.error().detail,
            "varint cut off or over 64 bits at byte 2");
}

}  // namespace
}  // namespace serval::test
