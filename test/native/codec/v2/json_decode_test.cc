// Tests of decode_v2_infer (codec/v2/json.h): accepted bodies and their tensors, refused ones and
// the reasons. Source of the rules: v2-protocol.md 1.1-1.3, 10; KServe's V2 inference protocol.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/copies.h"
#include "support/json_v2_compare.h"

namespace serval {
namespace {

using test::one_input;
using test::PaddedBody;
using test::spec;

// A decoded body with the memory that it borrows.
struct JsonDecoded {
  JsonDecoded(std::string_view text, const Signature& signature, int64_t json_bytes = kNoJsonHeader,
              const Limits& limits = {})
      : body(text),
        status(decode_v2_infer(body.bytes(), json_bytes, &signature, limits, arena, request)) {}

  template <typename T>
  std::vector<T> values(size_t input = 0) const {
    const TensorView& tensor = request.inputs[input];
    std::vector<T> out(tensor.bytes / sizeof(T));
    if (tensor.bytes != 0) std::memcpy(out.data(), tensor.data, tensor.bytes);
    return out;
  }

  PaddedBody body;
  Arena arena;
  DecodedRequest request;
  Status status;
};

TEST(V2JsonSequence, ParametersOfBothKindsOfIds) {
  using Id = SequenceParameters::Id;
  const auto decode = [](const std::string& parameters) {
    const std::string body =
        R"({"parameters":{)" + parameters +
        R"(},"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]})";
    const JsonDecoded decoded(body, one_input(DType::Fp32));
    EXPECT_TRUE(decoded.status.ok());
    SequenceParameters sequence = decoded.request.sequence;
    if (sequence.id == Id::Text) EXPECT_EQ(sequence.text, "a\"b");
    return sequence;
  };
  const SequenceParameters number =
      decode(R"("sequence_id":18446744073709551615,"sequence_start":true,"sequence_end":false)");
  EXPECT_EQ(number.id, Id::Number);
  EXPECT_EQ(number.number, UINT64_MAX);
  EXPECT_TRUE(number.start);
  EXPECT_FALSE(number.end);
  const SequenceParameters text = decode(R"("sequence_end":true,"sequence_id":"a\"b")");
  EXPECT_EQ(text.id, Id::Text);
  EXPECT_TRUE(text.end);
  EXPECT_EQ(decode(R"("sequence_id":0)").id, Id::None);
  EXPECT_EQ(decode(R"("sequence_id":"")").id, Id::None);
  EXPECT_EQ(decode("").id, Id::None);
  for (const std::string wrong : {"-1", "1.5", "true", "18446744073709551616"}) {
    EXPECT_EQ(decode(R"("sequence_id":)" + wrong).id, Id::Wrong) << wrong;
  }
  EXPECT_TRUE(decode(R"("sequence_start":1)").wrong_start);
  EXPECT_TRUE(decode(R"("sequence_end":"true")").wrong_end);
}

// A signature with three inputs and two outputs.
Signature three_inputs() {
  Signature signature;
  signature.inputs = {spec("a", DType::Fp32, {-1, 2}), spec("b", DType::Int64, {-1}),
                      spec("c", DType::Bytes, {-1})};
  signature.outputs = {spec("y", DType::Fp32, {-1}), spec("z", DType::Fp32, {-1})};
  return signature;
}

std::string input_json(std::string_view dtype, std::string_view shape, std::string_view data) {
  return R"({"name":"x","datatype":")" + std::string(dtype) + R"(","shape":)" + std::string(shape) +
         R"(,"data":)" + std::string(data) + "}";
}

std::string body_json(std::string_view dtype, std::string_view shape, std::string_view data) {
  return R"({"inputs":[)" + input_json(dtype, shape, data) + "]}";
}

// Decodes, and expects that the fast and the plain decoder agree.
JsonDecoded decode_one(DType dtype, std::string_view shape, std::string_view data) {
  const Signature signature = one_input(dtype);
  const std::string body = body_json(dtype_name(dtype), shape, data);
  EXPECT_EQ(test::compare_decoders(body, kNoJsonHeader, signature).fault, "") << body;
  return JsonDecoded(body, signature);
}

template <typename T>
void expect_values(DType dtype, std::string_view data, const std::vector<T>& expected) {
  const std::string shape = "[" + std::to_string(expected.size()) + "]";
  const JsonDecoded decoded = decode_one(dtype, shape, data);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.error().message << data;
  const std::vector<T> got = decoded.values<T>();
  ASSERT_EQ(got.size(), expected.size());
  EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)), 0)
      << dtype_name(dtype) << " " << data;
}

TEST(DecodeV2, ReadsEveryType) {
  expect_values<uint8_t>(DType::Bool, "[true,false]", {1, 0});
  expect_values<uint8_t>(DType::Uint8, "[0,255]", {0, 255});
  expect_values<uint16_t>(DType::Uint16, "[65535]", {65535});
  expect_values<uint32_t>(DType::Uint32, "[4294967295]", {4294967295u});
  expect_values<uint64_t>(DType::Uint64, "[18446744073709551615,9007199254740993]",
                          {18446744073709551615u, 9007199254740993u});
  expect_values<int8_t>(DType::Int8, "[-128,127]", {-128, 127});
  expect_values<int16_t>(DType::Int16, "[-32768,-0]", {-32768, 0});
  expect_values<int32_t>(DType::Int32, "[-2147483648,2147483647]", {INT32_MIN, INT32_MAX});
  expect_values<int64_t>(DType::Int64, "[-9223372036854775808,9007199254740993]",
                         {INT64_MIN, 9007199254740993});
  expect_values<double>(DType::Fp64, "[0.1,1e300,-0.0,3]", {0.1, 1e300, -0.0, 3});
  expect_values<uint16_t>(DType::Fp16, "[1,65504,65519.99,1e-8,2.980232238769531e-8]",
                          {0x3c00, 0x7bff, 0x7bff, 0, 0});
  expect_values<uint16_t>(DType::Bf16, "[1,3.140625,1.00390625]", {0x3f80, 0x4049, 0x3f80});
}

TEST(DecodeV2, ReadsFloats) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  expect_values<float>(DType::Fp32, "[1,-2.5,1e-7,0.1,16777217]",
                       {1.0f, -2.5f, 1e-7f, 0.1f, 16777216.0f});
  expect_values<float>(DType::Fp32, "[Infinity,-Infinity,Inf]", {kInfinity, -kInfinity, kInfinity});
  expect_values<float>(DType::Fp32, "[1e-50,3.4028235e38,1e-45]", {0.0f, 3.4028235e38f, 1e-45f});
  const JsonDecoded nan = decode_one(DType::Fp32, "[1]", "[NaN]");
  ASSERT_TRUE(nan.status.ok());
  EXPECT_TRUE(std::isnan(nan.values<float>()[0]));
}

TEST(DecodeV2, RoundsFloatsOnce) {
  // This is halfway between 1 and the next float as a double, but above it as text.
  expect_values<float>(DType::Fp32, "[1.00000005960464477540]", {std::nextafter(1.0f, 2.0f)});
  expect_values<float>(DType::Fp32, "[1.000000059604644775390625]", {1.0f});
  expect_values<float>(DType::Fp32, "[1.00000005960464477538]", {1.0f});
  expect_values<float>(DType::Fp32, "[7.00649232162408535461864791644958e-46]", {0.0f});
  expect_values<float>(DType::Fp32, "[7.00649232162408535461864791644959e-46]", {1e-45f});
}

TEST(DecodeV2, ReadsStrings) {
  using namespace std::string_view_literals;
  const JsonDecoded decoded =
      decode_one(DType::Bytes, "[5]", R"(["","plain","\u0000\n\"","é","\ud83d\ude00"])");
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.error().message;
  const std::vector<std::string_view> expected = {"", "plain", "\0\n\""sv, "\xc3\xa9",
                                                  "\xf0\x9f\x98\x80"};
  const auto& strings = decoded.request.inputs[0].strings;
  EXPECT_EQ(std::vector<std::string_view>(strings.begin(), strings.end()), expected);
}

TEST(DecodeV2, FlattensAnyNesting) {
  for (std::string_view data : {"[1,2,3,4]", "[[1,2],[3,4]]", "[[[1],[2,3]],4]", "[[],[1,2,3,4]]",
                                " [ 1 , [ 2,3 ] ,\n\t4 ] "}) {
    const JsonDecoded decoded = decode_one(DType::Int32, "[2,2]", data);
    ASSERT_TRUE(decoded.status.ok()) << decoded.status.error().message << data;
    EXPECT_EQ(decoded.values<int32_t>(), (std::vector<int32_t>{1, 2, 3, 4}));
    EXPECT_EQ(decoded.request.inputs[0].shape.to_string(), "[2,2]");
  }
}

TEST(DecodeV2, TakesScalarsAndNothing) {
  EXPECT_EQ(decode_one(DType::Fp32, "[]", "[7]").values<float>(), std::vector<float>{7});
  EXPECT_EQ(decode_one(DType::Fp32, "[]", "7.5").values<float>(), std::vector<float>{7.5});
  EXPECT_EQ(decode_one(DType::Bytes, "[]", R"("a\n")").request.inputs[0].strings[0], "a\n");
  for (std::string_view data : {"[]", "[[],[]]", " [ ] "}) {
    const JsonDecoded decoded = decode_one(DType::Fp32, "[2,0]", data);
    ASSERT_TRUE(decoded.status.ok());
    EXPECT_EQ(decoded.request.inputs[0].bytes, 0u);
    EXPECT_EQ(decoded.request.inputs[0].shape.to_string(), "[2,0]");
  }
}

TEST(DecodeV2, TakesMembersInAnyOrder) {
  const Signature signature = one_input(DType::Int8);
  const std::vector<std::string> members = {R"("name":"x")",
                                            R"("datatype":"INT8")",
                                            R"("shape":[2])",
                                            R"("data":[[1],[2]])",
                                            R"("parameters":{"note":"[\"]"})",
                                            R"("more":null)"};
  std::vector<size_t> order = {0, 1, 2, 3, 4, 5};
  do {
    std::string object;
    for (size_t i : order) object += (object.empty() ? "{" : ",") + members[i];
    const std::string body = R"({"inputs":[)" + object + "}]}";
    ASSERT_EQ(test::compare_decoders(body, kNoJsonHeader, signature).fault, "") << body;
    const JsonDecoded decoded(body, signature);
    ASSERT_TRUE(decoded.status.ok()) << decoded.status.error().message << body;
    ASSERT_EQ(decoded.values<int8_t>(), (std::vector<int8_t>{1, 2}));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(DecodeV2, IsFastWhereDataComesFirst) {
  const Signature signature = one_input(DType::Bytes);
  const std::string body =
      R"({"inputs":[{"data":["]","[[a",["b"]],"datatype":"BYTES","name":"x","shape":[3]}]})";
  const auto both = test::compare_decoders(body, kNoJsonHeader, signature);
  EXPECT_TRUE(both.fast);
  EXPECT_EQ(both.fault, "");
}

TEST(DecodeV2, PutsInputsInTheModelsOrder) {
  const Signature signature = three_inputs();
  const JsonDecoded decoded(
      R"({"id":"7\"","inputs":[{"name":"c","datatype":"BYTES","shape":[1],"data":["s"]},
          {"name":"b","shape":[2],"datatype":"INT64","data":[1,2]},
          {"name":"a","shape":[1,2],"datatype":"FP32","data":[0.5,1]}]})",
      signature);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.error().message;
  EXPECT_TRUE(decoded.request.has_id);
  EXPECT_EQ(decoded.request.id, "7\"");
  EXPECT_EQ(decoded.values<float>(0), (std::vector<float>{0.5f, 1.0f}));
  EXPECT_EQ(decoded.values<int64_t>(1), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(decoded.request.inputs[2].strings[0], "s");
  ASSERT_EQ(decoded.request.outputs.size(), 2u);
  EXPECT_EQ(decoded.request.outputs[1].index, 1u);
  EXPECT_FALSE(decoded.request.outputs[1].binary);
}

struct OutputCase {
  std::string members;  // members after the inputs
  std::string expected;
};

TEST(DecodeV2, ChoosesOutputs) {
  const Signature signature = one_input(DType::Int8);
  const std::vector<OutputCase> cases = {
      {"", "y json z json "},
      {R"(,"outputs":[])", "y json z json "},
      {R"(,"parameters":{"binary_data_output":true})", "y binary z binary "},
      {R"(,"outputs":[{"name":"z"},{"name":"y"}])", "z json y json "},
      {R"(,"outputs":[{"name":"z","parameters":{"binary_data":true}}])", "z binary "},
      {R"(,"outputs":[{"parameters":{"binary_data":false},"name":"z"},{"name":"y"}],
          "parameters":{"priority":1,"binary_data_output":true,"triton_x":true,"t":"a","f":0.5})",
       "z json y binary "},
      {R"(,"outputs":[{"name":"y","parameters":{},"extra":7}],"extra":"e","extra":1)", "y json "},
  };
  for (const OutputCase& one : cases) {
    const std::string body =
        R"({"inputs":[)" + input_json("INT8", "[1]", "[1]") + "]" + one.members + "}";
    ASSERT_EQ(test::compare_decoders(body, kNoJsonHeader, signature).fault, "") << body;
    const JsonDecoded decoded(body, signature);
    ASSERT_TRUE(decoded.status.ok()) << decoded.status.error().message << body;
    std::string got;
    for (const RequestedOutput& output : decoded.request.outputs) {
      got += signature.outputs[output.index].name + (output.binary ? " binary " : " json ");
    }
    EXPECT_EQ(got, one.expected) << body;
  }
}

TEST(DecodeV2, AcceptsOddButValidBodies) {
  const Signature signature = one_input(DType::Int8);
  const std::string input = input_json("INT8", "[1]", "[1]");
  for (const std::string& body : std::vector<std::string>{
           "\xEF\xBB\xBF{\"inputs\":[" + input + "]}",
           " \r\n\t{ \"inputs\" : [ " + input + " ] } \n",
           R"({"\u0069nputs":[)" + input + "]}",
           R"({"inputs":[{"n\u0061me":"\u0078","datatype":"INT8","shape":[1],"data":[1]}]})",
           R"({"unknown":{"a":[1,{"b":"]"}]},"inputs":[)" + input + "]}",
           R"({"inputs":[)" + input + R"(],"id":""})",
       }) {
    EXPECT_EQ(test::compare_decoders(body, kNoJsonHeader, signature).fault, "") << body;
    const JsonDecoded decoded(body, signature);
    EXPECT_TRUE(decoded.status.ok()) << decoded.status.error().message << body;
  }
}

TEST(DecodeV2, AnswersModelNotFoundWithoutSignature) {
  PaddedBody body("not even JSON");
  Arena arena;
  DecodedRequest request;
  Status status = decode_v2_infer(body.bytes(), kNoJsonHeader, nullptr, {}, arena, request);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::ModelNotFound);
  EXPECT_EQ(status.error().message, "");
}

TEST(DecodeV2, KeepsBigTensors) {
  std::string data = "[";
  for (int i = 0; i < 20000; ++i) data += (i ? "," : "") + std::to_string(i * 3);
  const JsonDecoded decoded = decode_one(DType::Int32, "[100,200]", data + "]");
  ASSERT_TRUE(decoded.status.ok());
  const std::vector<int32_t> values = decoded.values<int32_t>();
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i * 3);
}

}  // namespace
}  // namespace serval
