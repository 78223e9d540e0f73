// Tests of encode_v2_infer (codec/v2/json.h). Source: KServe's V2 inference protocol, "Inference
// Response JSON Object"; v2-protocol.md 1.2, 1.3.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "support/json_v2_compare.h"

namespace serval {
namespace {

using test::spec;

template <typename T>
TensorView fixed(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  TensorView tensor;
  tensor.dtype = dtype;
  tensor.shape = Shape(dims);
  tensor.data = reinterpret_cast<const uint8_t*>(values.data());
  tensor.bytes = values.size() * sizeof(T);
  return tensor;
}

TensorView bytes_tensor(std::vector<int64_t> dims, const std::vector<std::string_view>& strings) {
  TensorView tensor;
  tensor.dtype = DType::Bytes;
  tensor.shape = Shape(dims);
  tensor.strings = strings;
  return tensor;
}

Signature answer_signature() {
  Signature signature;
  signature.outputs = {spec("y", DType::Fp32, {-1}), spec("s\"", DType::Bytes, {-1})};
  return signature;
}

struct Encoded {
  Encoded(const DecodedRequest& request, const std::vector<TensorView>& outputs,
          const Limits& limits = {}) {
    ByteBuffer out;
    status = encode_v2_infer({"model", "3"}, answer_signature(), request, outputs, limits, out,
                             json_bytes);
    text.assign(reinterpret_cast<const char*>(out.data()), out.size());
  }
  Status status;
  std::string text;
  size_t json_bytes = 77;
};

DecodedRequest asking(std::vector<RequestedOutput> outputs) {
  DecodedRequest request;
  request.outputs = std::move(outputs);
  return request;
}

TEST(EncodeV2, WritesJson) {
  const std::vector<float> floats = {1.0f, 0.1f, std::numeric_limits<float>::infinity()};
  const std::vector<std::string_view> strings = {"a", "\"\n", "\xc3\xa9", ""};
  const Encoded encoded(asking({{0, false}, {1, false}}),
                        {fixed(DType::Fp32, {3, 1}, floats), bytes_tensor({4}, strings)});
  ASSERT_TRUE(encoded.status.ok()) << encoded.status.error().message;
  EXPECT_EQ(encoded.text,
            R"({"model_name":"model","model_version":"3","outputs":[)"
            R"({"name":"y","datatype":"FP32","shape":[3,1],"data":[1.0,0.1,Infinity]},)"
            R"({"name":"s\"","datatype":"BYTES","shape":[4],"data":["a","\"\n",")"
            "\xc3\xa9"
            R"(",""]}]})");
  EXPECT_EQ(encoded.json_bytes, 0u);
}

TEST(EncodeV2, RepeatsTheIdWhenThereIsOne) {
  DecodedRequest request = asking({{0, false}});
  const std::vector<float> floats = {2.0f};
  request.has_id = true;
  const Encoded empty(request, {fixed(DType::Fp32, {}, floats)});
  EXPECT_EQ(empty.text, R"({"model_name":"model","model_version":"3","id":"","outputs":[)"
                        R"({"name":"y","datatype":"FP32","shape":[],"data":[2.0]}]})");
  request.id = "4\"2";
  const Encoded other(request, {fixed(DType::Fp32, {1}, floats)});
  EXPECT_NE(other.text.find(R"("id":"4\"2",)"), std::string::npos);
}

TEST(EncodeV2, KeepsTheRequestedOrder) {
  const std::vector<float> floats = {2.0f};
  const std::vector<std::string_view> strings = {"x"};
  const Encoded encoded(asking({{1, false}, {0, false}}),
                        {bytes_tensor({1}, strings), fixed(DType::Fp32, {1}, floats)});
  EXPECT_LT(encoded.text.find("BYTES"), encoded.text.find("FP32"));
}

TEST(EncodeV2, WritesBinarySections) {
  const std::vector<float> floats = {1.0f, 2.0f};
  const std::vector<std::string_view> strings = {"ab", "\xff"};
  const Encoded encoded(asking({{1, true}, {0, true}}),
                        {bytes_tensor({2}, strings), fixed(DType::Fp32, {2}, floats)});
  ASSERT_TRUE(encoded.status.ok());
  const std::string json =
      R"({"model_name":"model","model_version":"3","outputs":[)"
      R"({"name":"s\"","datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":11}},)"
      R"({"name":"y","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}}]})";
  ASSERT_EQ(encoded.json_bytes, json.size());
  EXPECT_EQ(encoded.text.substr(0, json.size()), json);
  const std::string bytes("\x02\0\0\0ab\x01\0\0\0\xff\0\0\x80\x3f\0\0\0\x40", 19);
  EXPECT_EQ(encoded.text.substr(json.size()), bytes);
}

TEST(EncodeV2, MixesJsonAndBinary) {
  const std::vector<int8_t> values = {1, -1};
  const std::vector<std::string_view> strings = {"t"};
  const Encoded encoded(asking({{0, true}, {1, false}}),
                        {fixed(DType::Int8, {2}, values), bytes_tensor({1}, strings)});
  ASSERT_TRUE(encoded.status.ok());
  EXPECT_EQ(encoded.text.substr(encoded.json_bytes), "\x01\xff");
  EXPECT_NE(encoded.text.find(R"("data":["t"])"), std::string::npos);
}

TEST(EncodeV2, WritesNothingAsNothing) {
  const std::vector<float> none;
  const Encoded json(asking({{0, false}}), {fixed(DType::Fp32, {0, 3}, none)});
  EXPECT_NE(json.text.find(R"("shape":[0,3],"data":[]})"), std::string::npos);
  const Encoded binary(asking({{0, true}}), {fixed(DType::Fp32, {0, 3}, none)});
  EXPECT_NE(binary.text.find(R"("binary_data_size":0)"), std::string::npos);
  EXPECT_EQ(binary.json_bytes, 0u);
}

TEST(EncodeV2, RefusesJsonStringsThatAreNotUtf8) {
  const std::vector<std::string_view> strings = {"good", "\xff\xfe"};
  const Encoded encoded(asking({{1, false}}), {bytes_tensor({2}, strings)});
  ASSERT_FALSE(encoded.status.ok());
  EXPECT_EQ(encoded.status.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(encoded.status.error().message,
            "output 's\"', element 1: not valid UTF-8, so it cannot be written as JSON; ask for "
            "binary data (parameter binary_data: true)");
}

TEST(EncodeV2, KeepsTheLimit) {
  const std::vector<float> floats(1000, 0.5f);
  const std::string long_text(500, 'x');
  const std::vector<std::string_view> strings = {long_text, long_text};
  const std::vector<TensorView> outputs = {fixed(DType::Fp32, {1000}, floats),
                                           bytes_tensor({2}, strings)};
  for (bool binary : {false, true}) {
    for (const auto& chosen : {std::vector<TensorView>{outputs[0]}, {outputs[1]}}) {
      const uint32_t index = chosen[0].dtype == DType::Bytes ? 1 : 0;
      const Encoded whole(asking({{index, binary}}), chosen);
      ASSERT_TRUE(whole.status.ok());
      Limits limits;
      limits.response_bytes_max = whole.text.size();
      EXPECT_TRUE(Encoded(asking({{index, binary}}), chosen, limits).status.ok());
      for (size_t bytes : {whole.text.size() - 1, whole.text.size() / 3, size_t{1}}) {
        limits.response_bytes_max = bytes;
        const Encoded cut(asking({{index, binary}}), chosen, limits);
        ASSERT_FALSE(cut.status.ok());
        EXPECT_EQ(cut.status.error().code, ErrorCode::BodyTooLarge);
        EXPECT_NE(cut.status.error().message.find("the limit is " + std::to_string(bytes)),
                  std::string::npos);
      }
    }
  }
}

TEST(EncodeV2, WritesWhatTheDecoderReads) {
  const std::vector<double> doubles = {0.1, -1e300, 5e-324, 3};
  ByteBuffer out;
  size_t json_bytes = 0;
  Signature signature;
  signature.outputs = {spec("x", DType::Fp64, {-1})};
  ASSERT_TRUE(encode_v2_infer({"m", "1"}, signature, asking({{0, false}}),
                              std::vector<TensorView>{fixed(DType::Fp64, {4}, doubles)}, {}, out,
                              json_bytes)
                  .ok());
  std::string text(reinterpret_cast<const char*>(out.data()), out.size());
  text.replace(text.find("\"outputs\""), 9, "\"inputs\"");
  const test::PaddedBody body(text);
  Arena arena;
  DecodedRequest request;
  const Signature input = test::one_input(DType::Fp64);
  Status status = decode_v2_infer(body.bytes(), kNoJsonHeader, &input, {}, arena, request);
  ASSERT_TRUE(status.ok()) << status.error().message << text;
  EXPECT_EQ(std::memcmp(request.inputs[0].data, doubles.data(), 32), 0);
}

}  // namespace
}  // namespace serval
