// Tests of decode_v2_infer (codec/v2/json.h) with binary tensor data: sections after the JSON, the
// raw form, and the number of copies. Source: v2-protocol.md 1.3.
#include <gtest/gtest.h>

#include "base/copies.h"
#include "support/json_v2_compare.h"

namespace serval {
namespace {

using test::PaddedBody;
using test::spec;

Signature binary_signature() {
  Signature signature;
  signature.inputs = {spec("f", DType::Fp32, {-1}), spec("i", DType::Int8, {-1}),
                      spec("s", DType::Bytes, {-1})};
  signature.outputs = {spec("y", DType::Fp32, {-1})};
  return signature;
}

template <typename T>
std::string raw(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

std::string element(const std::string& text) {
  return raw<uint32_t>({static_cast<uint32_t>(text.size())}) + text;
}

std::string binary_input(const std::string& name, const std::string& dtype,
                         const std::string& shape, const std::string& size) {
  return R"({"name":")" + name + R"(","shape":)" + shape + R"(,"datatype":")" + dtype +
         R"(","parameters":{"binary_data_size":)" + size + "}}";
}

const std::string kF = binary_input("f", "FP32", "[2]", "8");
const std::string kI = binary_input("i", "INT8", "[3]", "3");
const std::string kS = binary_input("s", "BYTES", "[2]", "11");
const std::string kFloats = raw<float>({1.5f, -2.0f});
const std::string kStrings = element("abc") + element("");

std::string json_of(const std::string& inputs, const std::string& more = "") {
  return R"({"inputs":[)" + inputs + "]" + more + "}";
}

struct Decoded {
  Decoded(std::string_view text, int64_t json_bytes, const Signature& signature)
      : body(text),
        status(decode_v2_infer(body.bytes(), json_bytes, &signature, {}, arena, request)) {}
  PaddedBody body;
  Arena arena;
  DecodedRequest request;
  Status status;
};

TEST(BinaryV2, ReadsTensorsInTheOrderOfInputs) {
  const Signature signature = binary_signature();
  for (const auto& [inputs, bytes] : std::vector<std::pair<std::string, std::string>>{
           {kF + "," + kI + "," + kS, kFloats + "\x01\xff\x7f" + kStrings},
           {kS + "," + kF + "," + kI, kStrings + kFloats + "\x01\xff\x7f"}}) {
    const std::string json = json_of(inputs);
    const auto json_bytes = static_cast<int64_t>(json.size());
    const auto both = test::compare_decoders(json + bytes, json_bytes, signature);
    EXPECT_TRUE(both.fast);
    EXPECT_EQ(both.fault, "");
    const Decoded decoded(json + bytes, json_bytes, signature);
    ASSERT_TRUE(decoded.status.ok()) << decoded.status.error().message;
    const auto& tensors = decoded.request.inputs;
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(tensors[0].data), 8), kFloats);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(tensors[1].data), 3), "\x01\xff\x7f");
    ASSERT_EQ(tensors[2].strings.size(), 2u);
    EXPECT_EQ(tensors[2].strings[0], "abc");
    EXPECT_FALSE(decoded.request.outputs[0].binary);
  }
}

TEST(BinaryV2, MixesJsonAndBinary) {
  const std::string json =
      json_of(kI + R"(,{"name":"f","shape":[1],"datatype":"FP32","data":[0.5]},)" + kS,
              R"(,"parameters":{"binary_data_output":true})");
  const std::string body = json + "\x01\x02\x03" + kStrings;
  const Signature signature = binary_signature();
  const auto json_bytes = static_cast<int64_t>(json.size());
  EXPECT_EQ(test::compare_decoders(body, json_bytes, signature).fault, "");
  const Decoded decoded(body, json_bytes, signature);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.error().message;
  EXPECT_EQ(decoded.request.inputs[1].data[2], 3);
  EXPECT_EQ(decoded.request.inputs[2].strings[0], "abc");
  EXPECT_TRUE(decoded.request.outputs[0].binary);
}

TEST(BinaryV2, ViewsAlignedAndCopiesOtherTensors) {
  Signature signature;
  signature.inputs = {spec("f", DType::Fp32, {-1})};
  signature.outputs = {spec("y", DType::Fp32, {-1})};
  size_t views = 0;
  for (size_t blanks = 0; blanks < 4; ++blanks) {
    const std::string json = json_of(kF) + std::string(blanks, ' ');
    const uint64_t copied = copy_count().copied_bytes;
    const uint64_t viewed = copy_count().viewed_bytes;
    const Decoded decoded(json + kFloats, static_cast<int64_t>(json.size()), signature);
    ASSERT_TRUE(decoded.status.ok());
    const bool view = decoded.request.inputs[0].data == decoded.body.bytes().data() + json.size();
    views += view;
    EXPECT_EQ(copy_count().copied_bytes - copied, view ? 0u : 8u);
    EXPECT_EQ(copy_count().viewed_bytes - viewed, view ? 8u : 0u);
  }
  EXPECT_EQ(views, 1u);
}

TEST(BinaryV2, CountsNoJsonTensors) {
  Signature signature;
  signature.inputs = {spec("f", DType::Fp32, {-1})};
  signature.outputs = {spec("y", DType::Fp32, {-1})};
  const uint64_t before = copy_count().copied_bytes + copy_count().viewed_bytes;
  const Decoded decoded(json_of(R"({"name":"f","shape":[1],"datatype":"FP32","data":[0.5]})"), -1,
                        signature);
  ASSERT_TRUE(decoded.status.ok());
  EXPECT_EQ(copy_count().copied_bytes + copy_count().viewed_bytes, before);
}

struct Refusal {
  std::string json;
  std::string bytes;
  std::string part;
};

TEST(BinaryV2, RefusesWrongSections) {
  Signature signature;
  signature.inputs = {spec("f", DType::Fp32, {-1}), spec("s", DType::Bytes, {-1})};
  signature.outputs = {spec("y", DType::Fp32, {-1})};
  const auto with_size = [](const std::string& size) {
    return json_of(binary_input("f", "FP32", "[2]", size) + "," + kS);
  };
  const std::vector<Refusal> cases = {
      {json_of(kF + "," + kS), "", "input 'f': binary_data_size 8 overruns the body: 0 bytes"},
      {json_of(kF + "," + kS), kFloats + "abc", "input 's': binary_data_size 11 overruns"},
      {json_of(kF + "," + kS), kFloats + kStrings + "x", "1 bytes left over after the last"},
      {with_size("4"), kFloats + kStrings, "expected 8 bytes (shape [2] of FP32), got 4"},
      {with_size("18446744073709551615"), kFloats, "binary_data_size 18446744073709551615"},
      {with_size("-1"), kFloats, "'binary_data_size': expected an integer from 0, got -1"},
      {with_size("8.0"), kFloats, "expected an integer from 0, got 8.0"},
      {with_size("\"8\""), kFloats, "expected an integer from 0, got \"8\""},
      {with_size("null"), kFloats, "expected a string, number or boolean, got Null"},
      {with_size("99999999999999999999"), kFloats, "got 99999999999999999999"},
      {with_size("8,\"binary_data_size\":8"), kFloats, "'binary_data_size' twice"},
      {json_of(kF + "," + binary_input("s", "BYTES", "[3]", "11")), kFloats + kStrings,
       "input 's': BYTES data: expected 3 elements of 4 bytes or more, got 11 bytes"},
      {json_of(kF + "," + binary_input("s", "BYTES", "[1]", "11")), kFloats + kStrings,
       "4 bytes left over after 1 elements"},
  };
  for (const Refusal& wrong : cases) {
    const auto json_bytes = static_cast<int64_t>(wrong.json.size());
    EXPECT_FALSE(test::compare_decoders(wrong.json + wrong.bytes, json_bytes, signature).fast);
    const Decoded decoded(wrong.json + wrong.bytes, json_bytes, signature);
    ASSERT_FALSE(decoded.status.ok()) << wrong.part;
    EXPECT_EQ(decoded.status.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(decoded.status.error().message.find(wrong.part), std::string::npos)
        << decoded.status.error().message << "\nwant: " << wrong.part;
  }
}

TEST(BinaryV2, RefusesWrongHeaders) {
  const Signature signature = binary_signature();
  const std::string json = json_of(kF + "," + kI + "," + kS);
  const auto bytes = static_cast<int64_t>(json.size());
  for (int64_t wrong : {INT64_MIN, int64_t{-2}, bytes + 1, INT64_MAX}) {
    const Decoded decoded(json, wrong, signature);
    ASSERT_FALSE(decoded.status.ok());
    EXPECT_EQ(decoded.status.error().code, ErrorCode::MalformedBody);
    EXPECT_EQ(decoded.status.error().message,
              "Inference-Header-Content-Length: expected 0 to " + std::to_string(bytes) +
                  " (the body's bytes), got " + std::to_string(wrong));
  }
  const Decoded cut(json, bytes - 1, signature);
  ASSERT_FALSE(cut.status.ok());
  EXPECT_EQ(cut.status.error().code, ErrorCode::MalformedBody);
  const Decoded without(json, kNoJsonHeader, signature);
  ASSERT_FALSE(without.status.ok());
  EXPECT_NE(without.status.error().message.find("no Inference-Header-Content-Length header"),
            std::string::npos);
}

Signature raw_signature(DType dtype, std::vector<int64_t> dims) {
  Signature signature;
  signature.inputs = {spec("x", dtype, std::move(dims))};
  signature.outputs = {spec("y", DType::Fp32, {-1}), spec("z", DType::Fp32, {-1})};
  return signature;
}

struct RawCase {
  DType dtype;
  std::vector<int64_t> dims;
  size_t bytes;
  std::string shape;  // or a part of the error
};

TEST(RawFormV2, InfersTheShape) {
  const std::vector<RawCase> cases = {
      {DType::Fp32, {-1}, 12, "[3]"},       {DType::Fp32, {-1, 4}, 32, "[2,4]"},
      {DType::Fp32, {-1, -1}, 12, "[1,3]"}, {DType::Fp32, {2, 2}, 16, "[2,2]"},
      {DType::Int8, {}, 1, "[]"},           {DType::Fp32, {-1, 2, -1}, 24, "[1,2,3]"},
      {DType::Bytes, {-1}, 5, "[1]"},       {DType::Bytes, {1}, 1, "[1]"},
      {DType::Bytes, {-1, -1}, 7, "[1,1]"}, {DType::Uint8, {3, -1}, 9, "[3,3]"},
  };
  for (const RawCase& one : cases) {
    const Signature signature = raw_signature(one.dtype, one.dims);
    const std::string body(one.bytes, '\0');
    EXPECT_EQ(test::compare_decoders(body, 0, signature).fault, "");
    const Decoded decoded(body, 0, signature);
    ASSERT_TRUE(decoded.status.ok()) << decoded.status.error().message;
    const TensorView& tensor = decoded.request.inputs[0];
    EXPECT_EQ(tensor.shape.to_string(), one.shape);
    if (one.dtype == DType::Bytes) {
      ASSERT_EQ(tensor.strings.size(), 1u);
      EXPECT_EQ(tensor.strings[0], body);
    } else {
      EXPECT_EQ(tensor.data, decoded.body.bytes().data());
      EXPECT_EQ(tensor.bytes, one.bytes);
    }
    ASSERT_EQ(decoded.request.outputs.size(), 2u);
    EXPECT_TRUE(decoded.request.outputs[0].binary && decoded.request.outputs[1].binary);
    EXPECT_FALSE(decoded.request.has_id);
  }
}

TEST(RawFormV2, RefusesWhatDoesNotFit) {
  const std::vector<RawCase> cases = {
      {DType::Fp32, {-1}, 7, "input 'x': expected a multiple of 4 bytes, got 7"},
      {DType::Fp32, {-1, 4}, 24, "expected a multiple of 16 bytes, got 24"},
      {DType::Fp32, {2}, 12, "expected 8 bytes (shape [2] of FP32), got 12"},
      {DType::Fp32, {-1, -1, -1}, 12, "does not follow from the body's size"},
      {DType::Fp32, {2, -1, -1}, 16, "does not follow from the body's size"},
      {DType::Fp32, {-1, 0}, 16, "expected a multiple of 0 bytes"},
      {DType::Bytes, {2}, 16, "one BYTES element, expected shape [1], the model has [2]"},
      {DType::Fp32, {-1}, 0, "the request body is empty"},
  };
  for (const RawCase& one : cases) {
    const Signature signature = raw_signature(one.dtype, one.dims);
    const Decoded decoded(std::string(one.bytes, '\0'), 0, signature);
    ASSERT_FALSE(decoded.status.ok()) << one.shape;
    EXPECT_NE(decoded.status.error().message.find(one.shape), std::string::npos)
        << decoded.status.error().message;
  }
  Signature unknown = raw_signature(DType::Fp32, {});
  unknown.inputs[0].unknown_rank = true;
  EXPECT_FALSE(Decoded("abcd", 0, unknown).status.ok());
  const Decoded several("abcd", 0, binary_signature());
  ASSERT_FALSE(several.status.ok());
  EXPECT_NE(several.status.error().message.find("the model must have 1 input, it has 3"),
            std::string::npos);
}

}  // namespace
}  // namespace serval
