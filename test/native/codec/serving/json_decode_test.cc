// Decoding of V1 predict bodies, and which of them the fast decoder accepts. Source: tfserving.md
// 1.4, 1.5, 9; upstream's util/json_tensor_test.cc. Errors: json_error_test.cc.
#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"
#include "support/json_v1_support.h"

namespace serval {
namespace {

using testing::make_signature;
using testing::one_input;
using testing::PaddedBody;
using testing::tensor_spec;

// A body decoded by decode_v1_predict; `fast`: the fast decoder accepted it.
struct Decoded {
  PaddedBody body;
  Arena arena;
  DecodedRequest request;
  Status status;
  bool fast;

  Decoded(std::string_view text, std::span<const Signature> signatures) : body(text) {
    const Limits limits;
    Arena scratch;
    DecodedRequest unused;
    fast = decode_v1_predict_fast(body.span(), signatures, limits, scratch, unused);
    status = decode_v1_predict(body.span(), signatures, limits, arena, request);
    const testing::FastAgainstPlain both = testing::compare_decoders(text, signatures);
    EXPECT_EQ(both.difference, "") << text;
  }
  Decoded(std::string_view text, const Signature& signature) : Decoded(text, {&signature, 1}) {}

  std::string error() const { return status.ok() ? "" : status.error().message; }
  const TensorView& input(size_t index = 0) const { return request.inputs.at(index); }
};

template <typename T>
std::vector<T> values(const TensorView& tensor) {
  std::vector<T> out(tensor.bytes / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), tensor.data, tensor.bytes);
  return out;
}

std::vector<std::string> strings(const TensorView& tensor) {
  return {tensor.strings.begin(), tensor.strings.end()};
}

struct ShapeCase {
  const char* body;
  const char* shape;
  std::vector<float> values;
  bool fast = true;
};

void expect_shapes(const std::vector<ShapeCase>& cases) {
  const Signature signature = one_input(DType::Fp32);
  for (const ShapeCase& c : cases) {
    SCOPED_TRACE(c.body);
    const Decoded decoded(c.body, signature);
    ASSERT_TRUE(decoded.status.ok()) << decoded.error();
    EXPECT_EQ(decoded.input().shape.to_string(), c.shape);
    EXPECT_EQ(values<float>(decoded.input()), c.values);
    EXPECT_EQ(decoded.input().dtype, DType::Fp32);
    EXPECT_EQ(decoded.fast, c.fast);
  }
}

TEST(JsonV1Decode, RowShapes) {
  expect_shapes({
      {R"({"instances": [1.0, 2.0, 5.0, 7.5]})", "[4]", {1, 2, 5, 7.5}},
      {R"({"instances":[1]})", "[1]", {1}},
      {R"({"instances": [[1, 2], [3, 4], [5, 6]]})", "[3,2]", {1, 2, 3, 4, 5, 6}},
      {R"({"instances": [[[1], [2]], [[3], [4]]]})", "[2,2,1]", {1, 2, 3, 4}},
      {R"({"instances": [[]]})", "[1,0]", {}},
      {R"({"instances": [[], []]})", "[2,0]", {}},
      {R"({"instances": [[[], []]]})", "[1,2,0]", {}},
      {R"({"instances": [{"x": 1}, {"x": 2}]})", "[2]", {1, 2}},
      {R"({"instances": [{"x": [1, 2]}, {"x": [3, 4]}, {"x": [5, 6]}]})",
       "[3,2]",
       {1, 2, 3, 4, 5, 6}},
      {R"({"instances": [{"x": [[7]]}]})", "[1,1,1]", {7}},
      {R"({"instances": [{"x": []}, {"x": []}]})", "[2,0]", {}},
      {" \t\r\n{ \"instances\" :\n[ [ 1 , 2 ] , [ 3 , 4 ] ] } \n", "[2,2]", {1, 2, 3, 4}},
      {"{\"instances\":[\n1\n,\n2\n]\n}", "[2]", {1, 2}},
  });
}

TEST(JsonV1Decode, ColumnShapes) {
  expect_shapes({
      {R"({"inputs": 5})", "[]", {5}},
      {R"({"inputs": []})", "[0]", {}},
      {R"({"inputs": [1, 2]})", "[2]", {1, 2}},
      {R"({"inputs": [[1], [2]]})", "[2,1]", {1, 2}},
      {R"({"inputs": [[[1, 2], [3, 4], [5, 6]]]})", "[1,3,2]", {1, 2, 3, 4, 5, 6}},
      {R"({"inputs": {"x": 5}})", "[]", {5}},
      {R"({"inputs": {"x": [[1, 2]]}})", "[1,2]", {1, 2}},
  });
}

// Source: tfserving.md 1.4: data after the closing brace is ignored, a byte order mark is accepted,
// other keys are ignored, the first of two equal keys wins.
TEST(JsonV1Decode, LenientParts) {
  expect_shapes({
      {"{\"instances\": [1]} trailing {", "[1]", {1}, false},
      {"{\"instances\": [1]}}", "[1]", {1}, false},
      {"\xEF\xBB\xBF{\"instances\": [1]}", "[1]", {1}, false},
      {R"({"instances": [1], "instances": [2]})", "[1]", {1}, false},
      {R"({"inputs": {"x": [1], "x": [2]}})", "[1]", {1}, false},
      {R"({"inst\u0061nces": [1]})", "[1]", {1}, false},
      {R"({"instances": [{"\u0078": 1}]})", "[1]", {1}, false},
      {R"({"options": {"a": [1, -2.5e3, null, true, false, "s"], "b": {}}, "instances": [1]})",
       "[1]",
       {1}},
      {R"({"instances": [1], "context": [[], [[]], "\u00e9"]})", "[1]", {1}, false},
      {R"({"context": [NaN, Infinity], "examples": 1, "Instances": 2, "instances": [1]})",
       "[1]",
       {1}},
  });
}

// Source: tfserving.md 1.4 "Tokens", 1.5 "Types" (FLOAT: silently rounded, overflow -> Infinity).
TEST(JsonV1Decode, FloatNumbers) {
  const Signature signature = one_input(DType::Fp32);
  const float infinity = INFINITY;
  const struct {
    const char* text;
    float value;
    bool fast = true;
  } cases[] = {
      {"1", 1},
      {"-1", -1},
      {"0", 0},
      {"-0", 0},
      {"-0.0", -0.0f},
      {"1e2", 100},
      {"1.5E-3", 0.0015f},
      {"16777217", 16777216},
      {"1435774380", 1435774336},
      {"123456789012345", 123456789012345.0f},
      {"1234567890123456", 1234567890123456.0f},
      {"18446744073709551616", 18446744073709551616.0f},
      {"123456789012345678901234567890", 123456789012345678901234567890.0f},
      {"0.1", 0.1f},
      {"0.10000000149011612", 0.1f},
      {"3.14159274", 3.14159274f},
      {"-12345.678901", -12345.678901f},
      {"0.000000000000000000000000001", 1e-27f},
      {"1e39", infinity},
      {"-1e39", -infinity},
      {"1e-50", 0},
      {"-1e-50", -0.0f},
      {"1e-400", 0, false},
      {"Infinity", infinity},
      {"-Infinity", -infinity},
      {"Inf", infinity},
      {"-Inf", -infinity},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const Decoded decoded("{\"instances\": [" + std::string(c.text) + "]}", signature);
    ASSERT_TRUE(decoded.status.ok()) << decoded.error();
    const float value = values<float>(decoded.input()).at(0);
    EXPECT_EQ(value, c.value);
    EXPECT_EQ(std::signbit(value), std::signbit(c.value));
    EXPECT_EQ(decoded.fast, c.fast);
  }
  const Decoded nan(R"({"instances": [NaN, -NaN]})", signature);
  EXPECT_TRUE(nan.fast);
  for (float value : values<float>(nan.input())) EXPECT_TRUE(std::isnan(value));
}

// Source: tfserving.md 9 "half, bfloat16, ... in JSON".
TEST(JsonV1Decode, SixteenBitFloats) {
  const std::string body = R"({"instances": [1, -2.5, 65519, 65520, 1e-8, -0.0, NaN, -Infinity]})";
  const Decoded half(body, one_input(DType::Fp16));
  ASSERT_TRUE(half.status.ok()) << half.error();
  EXPECT_EQ(values<uint16_t>(half.input()),
            (std::vector<uint16_t>{0x3c00, 0xc100, 0x7bff, 0x7c00, 0, 0x8000, 0x7e00, 0xfc00}));
  const Decoded bf16(body, one_input(DType::Bf16));
  ASSERT_TRUE(bf16.status.ok()) << bf16.error();
  EXPECT_EQ(values<uint16_t>(bf16.input()).at(0), 0x3f80);
  EXPECT_EQ(values<uint16_t>(bf16.input()).at(1), 0xc020);
  // 1 + 2^-11 is the midpoint of two halves, and a little more rounds up: no detour through float.
  const Decoded once(R"({"instances": [1.00048828125, 1.000488281250001]})",
                     one_input(DType::Fp16));
  EXPECT_EQ(values<uint16_t>(once.input()), (std::vector<uint16_t>{0x3c00, 0x3c01}));
  EXPECT_TRUE(half.fast && bf16.fast && once.fast);
}

template <typename T>
void expect_integers(DType dtype, const char* list, std::vector<T> expected) {
  SCOPED_TRACE(dtype_name(dtype));
  const Decoded decoded("{\"instances\": " + std::string(list) + "}", one_input(dtype));
  ASSERT_TRUE(decoded.status.ok()) << decoded.error();
  EXPECT_EQ(values<T>(decoded.input()), expected);
  EXPECT_TRUE(decoded.fast);
}

TEST(JsonV1Decode, IntegersToTheirLimits) {
  expect_integers<int8_t>(DType::Int8, "[-128, 127, 0, -0]", {INT8_MIN, INT8_MAX, 0, 0});
  expect_integers<uint8_t>(DType::Uint8, "[0, 255, -0]", {0, UINT8_MAX, 0});
  expect_integers<int16_t>(DType::Int16, "[-32768, 32767]", {INT16_MIN, INT16_MAX});
  expect_integers<uint16_t>(DType::Uint16, "[0, 65535]", {0, UINT16_MAX});
  expect_integers<int32_t>(DType::Int32, "[-2147483648, 2147483647]", {INT32_MIN, INT32_MAX});
  expect_integers<uint32_t>(DType::Uint32, "[0, 4294967295]", {0, UINT32_MAX});
  expect_integers<int64_t>(DType::Int64,
                           "[-9223372036854775808, 9223372036854775807, 9007199254740993, "
                           "123456789012345, 1234567890123456, -123456789012345, -12345678901234]",
                           {INT64_MIN, INT64_MAX, 9007199254740993, 123456789012345,
                            1234567890123456, -123456789012345, -12345678901234});
  expect_integers<uint64_t>(DType::Uint64, "[0, 18446744073709551615, 9223372036854775808]",
                            {0, UINT64_MAX, uint64_t{1} << 63});
}

TEST(JsonV1Decode, DoublesAreCorrectlyRounded) {
  const Decoded decoded(
      R"({"instances": [0.1, 9007199254740993, 1.7976931348623157e308, 5e-324, -0.0,
          2.2250738585072011e-308, 0.30000000000000004, 123456789.123456789,
          1.00000000000000011102230246251565404236316680908203125]})",
      one_input(DType::Fp64));
  ASSERT_TRUE(decoded.status.ok()) << decoded.error();
  EXPECT_EQ(values<double>(decoded.input()),
            (std::vector<double>{0.1, 9007199254740992.0, 1.7976931348623157e308, 5e-324, -0.0,
                                 2.2250738585072011e-308, 0.30000000000000004, 123456789.123456789,
                                 1.0}));
}

TEST(JsonV1Decode, Bools) {
  const Decoded decoded(R"({"instances": [[true, false], [false, true]]})", one_input(DType::Bool));
  ASSERT_TRUE(decoded.status.ok()) << decoded.error();
  EXPECT_EQ(values<uint8_t>(decoded.input()), (std::vector<uint8_t>{1, 0, 0, 1}));
  EXPECT_EQ(decoded.input().shape.to_string(), "[2,2]");
  EXPECT_TRUE(decoded.fast);
}

// Source: tfserving.md 1.5 "b64", 1.4 "Strings".
TEST(JsonV1Decode, Strings) {
  const Signature signature = one_input(DType::Bytes);
  const struct {
    std::string body;
    const char* shape;
    std::vector<std::string> values;
    bool fast = true;
  } cases[] = {
      {R"({"instances": ["foo", "", "b\u00e4r\n"]})", "[3]", {"foo", "", "b\xc3\xa4r\n"}},
      {R"({"instances": ["\u0000"]})", "[1]", {std::string(1, '\0')}},
      {"{\"instances\": [\"\xff\xfe\"]}", "[1]", {"\xff\xfe"}},
      {R"({"instances": [{"b64": "aGVsbG8="}, {"b64": "d29ybGQ"}]})", "[2]", {"hello", "world"}},
      {R"({"instances": [[{"b64": "aGVsbG8="}], ["plain"]]})", "[2,1]", {"hello", "plain"}},
      {R"({"instances": [{ "b64" : "aGV sbG8=" } , "x"]})", "[2]", {"hello", "x"}},
      {R"({"instances": [{"b64": "\/\/\/\/"}]})", "[1]", {"\xff\xff\xff"}},
      {R"({"instances": [{"b64": ""}]})", "[1]", {""}},
      {R"({"instances": [{"x": {"b64": "aGVsbG8="}}]})", "[1]", {"hello"}},
      {R"({"inputs": {"b64": "aGVsbG8="}})", "[]", {"hello"}},
      {R"({"inputs": {"x": ["a", {"b64": "YQ=="}]}})", "[2]", {"a", "a"}},
      {R"({"inputs": "text"})", "[]", {"text"}},
      {R"({"instances": [{"\u0062\u0036\u0034": "YQ=="}]})", "[1]", {"a"}, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.body);
    const Decoded decoded(c.body, signature);
    ASSERT_TRUE(decoded.status.ok()) << decoded.error();
    EXPECT_EQ(decoded.input().shape.to_string(), c.shape);
    EXPECT_EQ(strings(decoded.input()), c.values);
    EXPECT_EQ(decoded.fast, c.fast);
  }
}

// Source: tfserving.md 1.5 "If a signature's only input is itself called `b64`".
TEST(JsonV1Decode, InputCalledB64) {
  const Signature text = make_signature({tensor_spec("b64", DType::Bytes)});
  const Decoded row(R"({"instances": [{"b64": "YQ=="}]})", text);
  ASSERT_TRUE(row.status.ok()) << row.error();
  EXPECT_EQ(strings(row.input()), std::vector<std::string>{"a"});
  const Decoded nested(R"({"instances": [{"b64": {"b64": "YQ=="}}]})", text);
  ASSERT_TRUE(nested.status.ok()) << nested.error();
  EXPECT_EQ(strings(nested.input()), std::vector<std::string>{"a"});
  const Signature number = make_signature({tensor_spec("b64", DType::Fp32)});
  const Decoded named(R"({"inputs": {"b64": [1, 2]}})", number);
  ASSERT_TRUE(named.status.ok()) << named.error();
  EXPECT_EQ(values<float>(named.input()), (std::vector<float>{1, 2}));
}

Signature three_inputs() {
  return make_signature({tensor_spec("tag", DType::Bytes), tensor_spec("signal", DType::Int32),
                         tensor_spec("sensor", DType::Fp64)},
                        {tensor_spec("a", DType::Fp32), tensor_spec("b", DType::Fp32)});
}

// Three named inputs, by row and by column.
TEST(JsonV1Decode, SeveralInputs) {
  const Signature signature = three_inputs();
  for (const char* body : {
           R"({"instances": [
                {"tag": "foo", "signal": [1, 2, 3, 4, 5], "sensor": [[1, 2], [3, 4]]},
                {"sensor": [[4, 5], [6, 8]], "tag": "bar", "signal": [3, 4, 1, 2, 5]}]})",
           R"({"inputs": {"signal": [[1, 2, 3, 4, 5], [3, 4, 1, 2, 5]], "tag": ["foo", "bar"],
                "sensor": [[[1, 2], [3, 4]], [[4, 5], [6, 8]]]}})"}) {
    SCOPED_TRACE(body);
    const Decoded decoded(body, signature);
    ASSERT_TRUE(decoded.status.ok()) << decoded.error();
    EXPECT_TRUE(decoded.fast);
    EXPECT_EQ(strings(decoded.input(0)), (std::vector<std::string>{"foo", "bar"}));
    EXPECT_EQ(decoded.input(0).shape.to_string(), "[2]");
    EXPECT_EQ(values<int32_t>(decoded.input(1)),
              (std::vector<int32_t>{1, 2, 3, 4, 5, 3, 4, 1, 2, 5}));
    EXPECT_EQ(decoded.input(1).shape.to_string(), "[2,5]");
    EXPECT_EQ(values<double>(decoded.input(2)), (std::vector<double>{1, 2, 3, 4, 4, 5, 6, 8}));
    EXPECT_EQ(decoded.input(2).shape.to_string(), "[2,2,2]");
  }
}

TEST(JsonV1Decode, ColumnsMayDifferInDimensionZero) {
  const Decoded decoded(R"({"inputs": {"tag": "t", "signal": [1, 2, 3], "sensor": []}})",
                        three_inputs());
  ASSERT_TRUE(decoded.status.ok()) << decoded.error();
  EXPECT_EQ(decoded.input(0).shape.to_string(), "[]");
  EXPECT_EQ(decoded.input(1).shape.to_string(), "[3]");
  EXPECT_EQ(decoded.input(2).shape.to_string(), "[0]");
}

TEST(JsonV1Decode, ManyInstancesOfSeveralInputs) {
  std::string body = R"({"instances": [)";
  for (int i = 0; i < 1000; ++i) {
    if (i != 0) body += ',';
    body += "{\"tag\":\"t" + std::to_string(i) + "\\n\",\"signal\":[" + std::to_string(i) +
            "],\"sensor\":" + std::to_string(i) + ".5}";
  }
  body += "]}";
  const Decoded decoded(body, three_inputs());
  ASSERT_TRUE(decoded.status.ok()) << decoded.error();
  EXPECT_TRUE(decoded.fast);
  EXPECT_EQ(decoded.input(0).strings[999], "t999\n");
  EXPECT_EQ(values<int32_t>(decoded.input(1)).at(999), 999);
  EXPECT_EQ(values<double>(decoded.input(2)).at(999), 999.5);
}

TEST(JsonV1Decode, OutputsAndFormat) {
  const Signature signature = three_inputs();
  const Decoded row(R"({"instances": [{"tag": "a", "signal": 1, "sensor": 2}]})", signature);
  EXPECT_TRUE(row.request.row_format);
  ASSERT_EQ(row.request.outputs.size(), 2u);
  EXPECT_EQ(row.request.outputs[1].index, 1u);
  EXPECT_FALSE(row.request.outputs[1].binary);
  EXPECT_FALSE(row.request.has_id);
  const Decoded column(R"({"inputs": {"tag": "a", "signal": 1, "sensor": 2}})", signature);
  EXPECT_FALSE(column.request.row_format);
  EXPECT_EQ(column.request.outputs.size(), 2u);
}

// Source: tfserving.md 1.5 "empty string = default = serving_default".
TEST(JsonV1Decode, ChoosesSignatureWhereverItStands) {
  const std::vector<Signature> signatures = {
      make_signature({tensor_spec("other", DType::Int32)}, {}, "other"),
      make_signature({tensor_spec("x", DType::Fp32)})};
  const struct {
    const char* body;
    uint32_t index;
    bool fast = true;
  } cases[] = {
      {R"({"instances": [1]})", 1},
      {R"({"signature_name": "", "instances": [1]})", 1},
      {R"({"signature_name": "serving_default", "instances": [1]})", 1},
      {R"({"instances": [1], "signature_name": "serving_default"})", 1},
      {R"({"signature_name": "other", "instances": [1]})", 0},
      {R"({"instances": [1], "signature_name": "other"})", 0},
      {R"({"inputs": {"other": 2}, "signature_name": "other"})", 0, false},
      {R"({"signature_name": "o\u0074her", "instances": [1]})", 0, false},
      {R"({"signature_name": "other", "signature_name": "none", "instances": [1]})", 0, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.body);
    const Decoded decoded(c.body, signatures);
    ASSERT_TRUE(decoded.status.ok()) << decoded.error();
    EXPECT_EQ(decoded.request.signature_index, c.index);
    EXPECT_EQ(decoded.input().dtype, c.index == 0 ? DType::Int32 : DType::Fp32);
    EXPECT_EQ(decoded.fast, c.fast);
  }
}

// Source: tfserving.md 9 "signatures without inputs".
TEST(JsonV1Decode, SignatureWithoutInputs) {
  const Signature signature = make_signature({}, {tensor_spec("y", DType::Fp32)});
  for (const char* body :
       {R"({"instances": [{}]})", R"({"instances": [{}, { }]})", R"({"inputs": {}})"}) {
    SCOPED_TRACE(body);
    const Decoded decoded(body, signature);
    ASSERT_TRUE(decoded.status.ok()) << decoded.error();
    EXPECT_TRUE(decoded.fast);
    EXPECT_TRUE(decoded.request.inputs.empty());
    EXPECT_EQ(decoded.request.outputs.size(), 1u);
  }
}

TEST(JsonV1Decode, RanksUpToTheLimit) {
  const Signature signature = one_input(DType::Fp32);
  for (size_t rank : {1u, 16u, static_cast<unsigned>(kRankMax)}) {
    const std::string value = std::string(rank, '[') + "1" + std::string(rank, ']');
    for (const char* key : {"instances", "inputs"}) {
      std::string body = "{\"";
      body.append(key).append("\":").append(value).append("}");
      const Decoded decoded(body, signature);
      ASSERT_TRUE(decoded.status.ok()) << decoded.error();
      EXPECT_EQ(decoded.input().shape.rank(), rank);
      EXPECT_TRUE(decoded.fast);
    }
  }
}

TEST(JsonV1Decode, LargeArray) {
  std::string body = "{\"instances\":[[";
  std::vector<float> expected;
  for (int i = 0; i < 150528; ++i) {
    const float value = static_cast<float>(i % 997) / 7.0f - 60.0f;
    char text[32];
    std::snprintf(text, sizeof(text), "%s%.9g", i == 0 ? "" : ", ", static_cast<double>(value));
    body += text;
    expected.push_back(value);
  }
  body += "]]}";
  const Decoded decoded(body, one_input(DType::Fp32));
  ASSERT_TRUE(decoded.status.ok()) << decoded.error();
  EXPECT_TRUE(decoded.fast);
  EXPECT_EQ(decoded.input().shape.to_string(), "[1,150528]");
  EXPECT_EQ(values<float>(decoded.input()), expected);
}

// A request object and an arena are reused from request to request.
TEST(JsonV1Decode, ReusesRequestAndArena) {
  const Signature single = one_input(DType::Fp32);
  const Signature several = three_inputs();
  const Limits limits;
  Arena arena;
  DecodedRequest request;
  for (int round = 0; round < 3; ++round) {
    arena.reset();
    const PaddedBody three(
        R"({"instances": [{"tag": "a", "signal": 1, "sensor": 2}, {"tag": "b", "signal": 3,
            "sensor": 4}]})");
    ASSERT_TRUE(decode_v1_predict(three.span(), {&several, 1}, limits, arena, request).ok());
    EXPECT_EQ(request.inputs.size(), 3u);
    arena.reset();
    const PaddedBody one(R"({"inputs": [1, 2]})");
    ASSERT_TRUE(decode_v1_predict(one.span(), {&single, 1}, limits, arena, request).ok());
    EXPECT_EQ(request.inputs.size(), 1u);
    EXPECT_EQ(request.outputs.size(), 1u);
    EXPECT_EQ(values<float>(request.inputs[0]), (std::vector<float>{1, 2}));
  }
}

}  // namespace
}  // namespace serval
