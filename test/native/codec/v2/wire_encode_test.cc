// Encoding of ModelInferResponse: exact bytes, limits, the stream's wrapper. Source: KServe's V2
// inference protocol, "ModelInferResponse"; v2-protocol.md 11 for ModelStreamInferResponse.
#include <gtest/gtest.h>

#include "support/wire_builder.h"
#include "support/wire_plain_decode.h"

namespace serval::test {
namespace {

const AnswerModel kModel{"half", "3"};

std::string text_of(const ByteBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

TensorView view(DType dtype, std::initializer_list<int64_t> dims, std::string_view data) {
  TensorView tensor;
  tensor.dtype = dtype;
  tensor.shape = Shape(std::span(dims.begin(), dims.size()));
  tensor.data = reinterpret_cast<const uint8_t*>(data.data());
  tensor.bytes = data.size();
  return tensor;
}

Signature signature_of(std::initializer_list<DType> dtypes) {
  Signature signature{"s", {}, {}};
  for (DType dtype : dtypes) {
    const std::string name = "out" + std::to_string(signature.outputs.size());
    signature.outputs.push_back({name, dtype, {-1}, {}, false});
  }
  return signature;
}

DecodedRequest asks_for(std::initializer_list<uint32_t> outputs, std::string_view id = "") {
  DecodedRequest request;
  request.id = id;
  request.has_id = !id.empty();
  for (uint32_t index : outputs) request.outputs.push_back({index, false});
  return request;
}

// The entry of parameters that marks the last response to a request of a stream.
WireBuilder final_response() {
  return WireBuilder().bytes(1, "triton_final_response").message(2, WireBuilder().varint(1, 1));
}

// The infer_response of an error in a stream.
WireBuilder final_reply(std::string_view id) {
  WireBuilder reply;
  if (!id.empty()) reply.bytes(3, id);
  return reply.message(4, final_response());
}

// Encodes with default limits and expects success.
std::string encoded(const Signature& signature, const DecodedRequest& request,
                    std::span<const TensorView> outputs, bool stream = false,
                    const AnswerModel& model = kModel) {
  ByteBuffer buffer;
  const Status status =
      encode_wire_v2(model, signature, request, outputs, stream, Limits(), buffer);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return text_of(buffer);
}

TEST(WireV2Encode, ExactBytes) {
  const Signature signature = signature_of({DType::Fp32, DType::Int8});
  const std::string floats = raw_of({1.f, 2.f});
  const TensorView outputs[] = {view(DType::Int8, {3}, "abc"), view(DType::Fp32, {1, 2}, floats)};
  const std::string text = encoded(signature, asks_for({1, 0}, "req"), outputs);
  const WireBuilder expected = WireBuilder()
                                   .bytes(1, "half")
                                   .bytes(2, "3")
                                   .bytes(3, "req")
                                   .message(5, wire_input("out1", "INT8", {3}))
                                   .message(5, wire_input("out0", "FP32", {1, 2}))
                                   .bytes(6, "abc")
                                   .bytes(6, floats);
  EXPECT_EQ(text, expected.str());
}

TEST(WireV2Encode, EmptyTextsAndScalarsLeaveFieldsOut) {
  const Signature signature = signature_of({DType::Fp64});
  const std::string data = raw_of({0.5});
  const TensorView outputs[] = {view(DType::Fp64, {}, data)};
  EXPECT_EQ(encoded(signature, asks_for({0}), outputs, false, {"", ""}),
            WireBuilder().message(5, wire_input("out0", "FP64", {})).bytes(6, data).str());
}

TEST(WireV2Encode, EmptyTensorKeepsItsRawEntry) {
  const Signature signature = signature_of({DType::Fp32, DType::Bytes});
  TensorView strings = view(DType::Bytes, {0, 300}, "");
  const TensorView outputs[] = {view(DType::Fp32, {0}, ""), strings};
  const auto message = plain_message(encoded(signature, asks_for({0, 1}), outputs), true);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->raw, (std::vector<std::string>{"", ""}));
  EXPECT_EQ(message->outputs[1].shape, (std::vector<int64_t>{0, 300}));
}

TEST(WireV2Encode, BytesTensor) {
  const Signature signature = signature_of({DType::Bytes});
  const std::string long_text(300, 'x');
  const std::string_view elements[] = {"ab", "", std::string_view("\0\xff", 2), long_text};
  TensorView tensor = view(DType::Bytes, {4}, "");
  tensor.strings = elements;
  const std::string text = encoded(signature, asks_for({0}), {&tensor, 1});
  const std::string raw = std::string("\2\0\0\0ab\0\0\0\0\2\0\0\0\0\xff\x2c\1\0\0", 20) + long_text;
  EXPECT_EQ(text, WireBuilder()
                      .bytes(1, "half")
                      .bytes(2, "3")
                      .message(5, wire_input("out0", "BYTES", {4}))
                      .bytes(6, raw)
                      .str());
}

TEST(WireV2Encode, EveryDtypeHasItsName) {
  for (int i = 1; i <= 14; ++i) {
    const DType dtype = static_cast<DType>(i);
    const Signature signature = signature_of({dtype});
    const TensorView tensor = view(dtype, {0}, "");
    const std::string text = encoded(signature, asks_for({0}), {&tensor, 1});
    EXPECT_EQ(plain_message(text, true)->outputs[0].datatype, dtype_name(dtype));
  }
}

// Lengths around each step in a varint's size.
TEST(WireV2Encode, SizesAtVarintSteps) {
  const Signature signature = signature_of({DType::Uint8});
  for (size_t size : {0, 1, 110, 127, 128, 129, 16383, 16384, 2097151, 2097152}) {
    const std::string data(size, 'd');
    const TensorView tensor = view(DType::Uint8, {static_cast<int64_t>(size)}, data);
    for (bool stream : {false, true}) {
      WireBuilder expected;
      expected.bytes(1, "half").bytes(2, "3");
      if (stream) expected.message(4, final_response());
      expected.message(5, wire_input("out0", "UINT8", {static_cast<int64_t>(size)})).bytes(6, data);
      if (stream) expected = WireBuilder().message(2, expected);
      const std::string text = encoded(signature, asks_for({0}), {&tensor, 1}, stream);
      EXPECT_TRUE(text == expected.str()) << size;  // too large to print
    }
  }
}

TEST(WireV2Encode, AppendsToTheBuffer) {
  const Signature signature = signature_of({DType::Uint8});
  const TensorView tensor = view(DType::Uint8, {1}, "d");
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.append("frame"));
  const DecodedRequest request = asks_for({0});
  ASSERT_TRUE(
      encode_wire_v2(kModel, signature, request, {&tensor, 1}, false, Limits(), buffer).ok());
  EXPECT_EQ(text_of(buffer), "frame" + encoded(signature, request, {&tensor, 1}));
}

TEST(WireV2Encode, ResponseLimitIsExact) {
  const Signature signature = signature_of({DType::Uint8});
  const TensorView tensor = view(DType::Uint8, {4}, "data");
  const DecodedRequest request = asks_for({0});
  for (bool stream : {false, true}) {
    const size_t size = encoded(signature, request, {&tensor, 1}, stream).size();
    Limits limits;
    limits.response_bytes_max = size;
    ByteBuffer buffer;
    EXPECT_TRUE(
        encode_wire_v2(kModel, signature, request, {&tensor, 1}, stream, limits, buffer).ok());
    limits.response_bytes_max = size - 1;
    ByteBuffer refused;
    ASSERT_TRUE(refused.append("before"));
    const Status status =
        encode_wire_v2(kModel, signature, request, {&tensor, 1}, stream, limits, refused);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::BodyTooLarge);
    EXPECT_EQ(status.error().message, "the ModelInferResponse would be over the limit of " +
                                          std::to_string(size - 1) + " bytes");
    EXPECT_EQ(text_of(refused), "before");
  }
}

// Sizes are claimed, not used: the limit is checked without memory of that size.
TEST(WireV2Encode, TwoGigabytesAreTooMuch) {
  const Signature signature = signature_of({DType::Uint8, DType::Uint8});
  TensorView tensor = view(DType::Uint8, {1}, "d");
  tensor.bytes = size_t{1} << 30;
  const TensorView outputs[] = {tensor, tensor};
  Limits limits;
  limits.response_bytes_max = UINT64_MAX;
  ByteBuffer buffer;
  const Status status =
      encode_wire_v2(kModel, signature, asks_for({0, 1}), outputs, false, limits, buffer);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::BodyTooLarge);
  tensor.bytes = SIZE_MAX - 4;
  const TensorView huge[] = {tensor, tensor};
  EXPECT_EQ(
      encode_wire_v2(kModel, signature, asks_for({0, 1}), huge, false, limits, buffer).error().code,
      ErrorCode::BodyTooLarge);
}

TEST(WireV2StreamError, CarriesMessageAndId) {
  ByteBuffer buffer;
  ASSERT_TRUE(encode_wire_v2_stream_error("r1", "no such model", buffer));
  EXPECT_EQ(text_of(buffer),
            WireBuilder().bytes(1, "no such model").message(2, final_reply("r1")).str());
  ByteBuffer empty;
  ASSERT_TRUE(encode_wire_v2_stream_error("", "bad", empty));
  EXPECT_EQ(text_of(empty), WireBuilder().bytes(1, "bad").message(2, final_reply("")).str());
}

TEST(WireV2StreamError, TextsAreValidUtf8) {
  ByteBuffer buffer;
  ASSERT_TRUE(encode_wire_v2_stream_error("id\xff", "caf\u00e9 \xc3", buffer));
  EXPECT_EQ(text_of(buffer),
            WireBuilder().bytes(1, "caf?? ?").message(2, final_reply("id?")).str());
  ByteBuffer kept;
  ASSERT_TRUE(encode_wire_v2_stream_error("", "caf\u00e9", kept));
  EXPECT_EQ(text_of(kept).substr(2, 5), "caf\u00e9");
}

}  // namespace
}  // namespace serval::test
