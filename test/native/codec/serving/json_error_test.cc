// The V1 predict bodies that are refused, the order of checks, and the messages. Source:
// tfserving.md 1.3, 1.4, 1.5, 1.10, 9; upstream's util/json_tensor.cc. Each case names its source.
#include <gtest/gtest.h>

#include "support/json_v1_support.h"

namespace serval {
namespace {

using testing::make_signature;
using testing::one_input;
using testing::PaddedBody;
using testing::tensor_spec;
using namespace std::string_view_literals;

struct Refused {
  std::string_view body;
  std::string_view message;
  const char* source;
  ErrorCode code = ErrorCode::InvalidArgument;
};

Status decode(std::string_view text, std::span<const Signature> signatures) {
  const PaddedBody body(text);
  const Limits limits;
  Arena arena;
  DecodedRequest request;
  return decode_v1_predict(body.span(), signatures, limits, arena, request);
}

void expect_refused(std::span<const Signature> signatures, const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    SCOPED_TRACE(std::string(c.body) + "  (" + c.source + ")");
    const Status status = decode(c.body, signatures);
    EXPECT_FALSE(status.ok());
    if (status.ok()) continue;
    EXPECT_EQ(status.error().message, c.message);
    EXPECT_EQ(status.error().code, c.code);
    EXPECT_EQ(testing::compare_decoders(c.body, signatures).difference, "");
  }
}

void expect_refused(const Signature& signature, const std::vector<Refused>& cases) {
  expect_refused({&signature, 1}, cases);
}

TEST(JsonV1Error, Document) {
  constexpr auto kMalformed = ErrorCode::MalformedBody;
  expect_refused(
      one_input(DType::Fp32),
      {
          {"", "JSON Parse error: The document is empty", "1.10", kMalformed},
          {"  ", "JSON Parse error: The document is empty. at offset: 2", "1.10", kMalformed},
          {R"({"instances": [1.0)",
           "JSON Parse error: Missing a comma or ']' after an array element. at offset: 18", "1.10",
           kMalformed},
          {R"({"instances": [1,]})", "JSON Parse error: Invalid value. at offset: 17", "1.4",
           kMalformed},
          {R"({"instances": [01]})",
           "JSON Parse error: Missing a comma or ']' after an array element. at offset: 16", "1.4",
           kMalformed},
          {R"({"instances": [1e309]})",
           "JSON Parse error: Number too big to be stored in double. at offset: 15", "1.4",
           kMalformed},
          {R"({"instances": [nan]})", "JSON Parse error: Invalid value. at offset: 16", "1.4",
           kMalformed},
          {R"({"instances": [1],})",
           "JSON Parse error: Missing a name for object member. at offset: 18", "1.10", kMalformed},
          {R"({"instances": [1] "a": 2})",
           "JSON Parse error: Missing a comma or '}' after an object member. at offset: 18", "1.10",
           kMalformed},
          {R"({"ignored": tru, "instances": [1]})",
           "JSON Parse error: Invalid value. at offset: 15", "1.4", kMalformed},
          {"[1]", "JSON Value: [\n    1\n] Is not object", "1.3"},
          {"null", "JSON Value: null Is not object", "1.3"},
          {"\"a\"", "JSON Value: \"a\" Is not object", "1.3"},
          {"1.50 x", "JSON Value: 1.50 Is not object", "1.3"},
      });
}

TEST(JsonV1Error, Format) {
  expect_refused(
      one_input(DType::Fp32),
      {
          {"{}", "Missing 'inputs' or 'instances' key", "1.5"},
          {R"({"Instances": [1]})", "Missing 'inputs' or 'instances' key", "1.4 case-sensitive"},
          {R"({"instances": [1], "inputs": null})",
           "JSON Value: {\n    \"instances\": [\n        1\n    ],\n    \"inputs\": null\n} "
           "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ",
           "1.5 even null"},
          {R"({"instances": {}})",
           "JSON Value: {\n    \"instances\": {}\n} Expecting 'instances' to be an list/array",
           "1.5"},
          {R"({"instances": 1})",
           "JSON Value: {\n    \"instances\": 1\n} Expecting 'instances' to be an list/array",
           "1.5"},
          {R"({"instances": []})",
           "JSON Value: {\n    \"instances\": []\n} No values in 'instances' array", "1.5"},
          {R"({"signature_name": 5, "instances": [1]})",
           "JSON Value: {\n    \"signature_name\": 5,\n    \"instances\": [\n        1\n    ]\n} "
           "not formatted correctly. 'signature_name' key must be a string value.",
           "1.5"},
          {R"({"signature_name": null})",
           "JSON Value: {\n    \"signature_name\": null\n} "
           "not formatted correctly. 'signature_name' key must be a string value.",
           "1.5 null is an error"},
      });
}

// Source: tfserving.md 1.3: JSON, object, signature_name, model, signature, inputs.
TEST(JsonV1Error, OrderOfChecks) {
  const std::vector<Signature> unknown_model;
  expect_refused(unknown_model,
                 {
                     {"{", "JSON Parse error: Missing a name for object member. at offset: 1",
                      "1.3", ErrorCode::MalformedBody},
                     {"[]", "JSON Value: [] Is not object", "1.3"},
                     {R"({"signature_name": []})",
                      "JSON Value: {\n    \"signature_name\": []\n} not formatted correctly. "
                      "'signature_name' key must be a string value.",
                      "1.3"},
                     {R"({"signature_name": "none"})", "", "1.3", ErrorCode::ModelNotFound},
                     {R"({"instances": [1]})", "", "1.3", ErrorCode::ModelNotFound},
                     {"{}", "", "1.3", ErrorCode::ModelNotFound},
                 });
  constexpr auto kNoSignature = ErrorCode::SignatureNotFound;
  const Signature other = make_signature({tensor_spec("x", DType::Fp32)}, {}, "other");
  expect_refused(
      other,
      {
          {R"({"signature_name": "none"})",
           "Serving signature name: \"none\" not found in signature def", "1.10", kNoSignature},
          {R"({"instances": []})",
           "Serving signature name: \"serving_default\" not found in signature def", "1.10",
           kNoSignature},
          {R"({"instances": [1], "signature_name": ""})",
           "Serving signature name: \"serving_default\" not found in signature def", "1.10",
           kNoSignature},
          {R"({"signature_name": "other", "instances": ["a"]})",
           "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: "
           "JSON Value: \"a\" Type: String is not of expected type: float",
           "1.5"},
      });
}

TEST(JsonV1Error, RowShapes) {
#define IN_ELEMENT(n)             \
  "Failed to process element: " n \
  " of 'instances' list. Error: " \
  "INVALID_ARGUMENT: "
  expect_refused(
      one_input(DType::Fp32),
      {
          {R"({"instances": [[1, 2], [3, 4], [5, 6, 7]]})",
           IN_ELEMENT("2") "Expecting tensor size: 2 but got: 3", "1.5 count first"},
          {R"({"instances": [[1, 2], [[3, 4]]]})",
           IN_ELEMENT("1") "Expecting shape [2] but got: [1,2]", "1.5"},
          {R"({"instances": [1, [1]]})", IN_ELEMENT("1") "Expecting shape [] but got: [1]", "1.5"},
          {R"({"instances": [[1], 1]})", IN_ELEMENT("1") "Expecting shape [1] but got: []", "1.5"},
          {R"({"instances": [[], 1]})", IN_ELEMENT("1") "Expecting tensor size: 0 but got: 1",
           "1.5"},
          {R"({"instances": [[[]], [[], []]]})",
           IN_ELEMENT("1") "Expecting shape [1,0] but got: [2,0]", "1.5"},
          {R"({"instances": [[[1, 2], [3]]]})",
           IN_ELEMENT("0") "Encountered list at unexpected size: 1 at level: 1 expected size: 2",
           "1.5 ragged"},
          {R"({"instances": [[1, [2]]]})",
           IN_ELEMENT("0") "Encountered list at unexpected level: 1 expected < 1", "1.5 mix"},
          {R"({"instances": [[[1], 2]]})",
           IN_ELEMENT("0") "JSON Value: 2 found at incorrect level: 2 in the JSON DOM. "
                           "Expected at level: 2",
           "1.5 mix"},
          {R"({"instances": [[1, {"a": 1}]]})",
           IN_ELEMENT("0") "JSON Value: {\n    \"a\": 1\n} Type: Object is not of expected type: "
                           "float",
           "1.5"},
          {R"({"instances": [1, {"x": 2}]})",
           "Expecting value/list but got object at item 1 of input list", "1.5"},
          {R"({"instances": [{"x": 2}, 1]})",
           "Expecting object but got list at item 1 of input list", "1.5"},
          {R"({"instances": [{"x": 2}, {"b64": "YQ=="}]})",
           "Expecting object but got list at item 1 of input list", "1.5"},
      });
#undef IN_ELEMENT
}

TEST(JsonV1Error, RowObjects) {
#define AT(n, key)                             \
  "Failed to process element: " n " key: " key \
  " of 'instances' list. Error: "              \
  "INVALID_ARGUMENT: "
  const Signature signature =
      make_signature({tensor_spec("b", DType::Int32), tensor_spec("a", DType::Bytes)});
  expect_refused(
      signature,
      {
          {R"({"instances": [1]})",
           "instances is a plain list, but expecting list of objects as multiple input tensors "
           "required as per tensorinfo_map",
           "1.5"},
          {R"({"instances": [{"b64": "YQ=="}]})",
           "instances is a plain list, but expecting list of objects as multiple input tensors "
           "required as per tensorinfo_map",
           "1.5, and no value in an arbitrary input"},
          {R"({"instances": [{"b": 1, "a": "x", "c": 1}]})",
           AT("0", "c") "JSON object: does not have named input: c", "1.5"},
          {R"({"instances": [{"b": 1, "a": "x"}, {"b": 1}]})",
           "Failed to process element: 1 of 'instances' list. JSON object: {\n    \"b\": 1\n} keys "
           "must be equal to: a,b",
           "1.5"},
          {R"({"instances": [{}]})",
           "Failed to process element: 0 of 'instances' list. JSON object: {} keys must be equal "
           "to: a,b",
           "1.5"},
          {R"({"instances": [{"b": 1, "a": "x", "b": 2}]})",
           AT("0", "b") "JSON object: has more than one value for input: b",
           "9 surplus values never make wrong batches"},
          {R"({"instances": [{"b": 1, "a": "x"}, {"b": [1], "a": "x"}]})",
           AT("1", "b") "Expecting shape [] but got: [1]", "1.5"},
          {R"({"instances": [{"b": [1, 2], "a": "x"}, {"b": [1], "a": "x"}]})",
           AT("1", "b") "Expecting tensor size: 2 but got: 1", "1.5"},
          {R"({"instances": [{"b": 1.0, "a": "x"}]})",
           AT("0", "b") "JSON Value: 1.0 Type: Number is not of expected type: int32", "1.5"},
          {R"({"instances": [{"b": 1, "a": {"b64": "?"}}]})",
           AT("0", "a") "Unable to base64 decode", "1.5"},
          {R"({"instances": [{"b": 1, "a": {"b64": "YQ==", "c": 1}}]})",
           AT("0", "a") "JSON Value: {\n    \"b64\": \"YQ==\",\n    \"c\": 1\n} not formatted "
                        "correctly for base64 data",
           "1.5"},
          {R"({"instances": [{"b": 1, "a": {"b64": 5}}]})",
           AT("0", "a") "JSON Value: {\n    \"b64\": 5\n} not formatted correctly for base64 data",
           "1.5"},
      });
#undef AT
}

TEST(JsonV1Error, Columns) {
  const Signature several =
      make_signature({tensor_spec("x", DType::Int32), tensor_spec("y", DType::Fp32)});
  constexpr std::string_view kPlain =
      "inputs is a plain value/list, but expecting an object as multiple input tensors required "
      "as per tensorinfo_map";
  expect_refused(
      several,
      {
          {R"({"inputs": [1]})", kPlain, "1.5"},
          {R"({"inputs": 1})", kPlain, "1.5"},
          {R"({"inputs": null})", kPlain, "1.5"},
          {R"({"inputs": {"b64": "YQ=="}})", kPlain, "1.5"},
          {R"({"inputs": {}})", "Missing named input: x in 'inputs' object.", "1.5"},
          {R"({"inputs": {"x": 1, "z": 2}})", "Missing named input: y in 'inputs' object.", "1.5"},
          {R"({"inputs": {"x": 1, "z": 2, "y": 1}})", "JSON object: does not have named input: z",
           "as for rows; there it is ignored"},
          {R"({"inputs": {"x": [1, "a"], "y": 1}})",
           "JSON Value: \"a\" Type: String is not of expected type: int32", "1.5"},
          {R"({"inputs": {"x": [[1], [2, 3]], "y": 1}})",
           "Encountered list at unexpected size: 2 at level: 1 expected size: 1", "1.5"},
          {R"({"inputs": {"x": [1, [2]], "y": 1}})",
           "Encountered list at unexpected level: 1 expected < 1", "1.5"},
          {R"({"inputs": {"x": [[1], 2], "y": 1}})",
           "JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2",
           "1.5"},
          {R"({"inputs": {"x": {"a": 1}, "y": 1}})",
           "JSON Value: {\n    \"a\": 1\n} Type: Object is not of expected type: int32", "1.5"},
      });
  expect_refused(one_input(DType::Fp32),
                 {{R"({"inputs": null})",
                   "JSON Value: null Type: Null is not of expected type: float", "1.5 null"}});
  expect_refused(make_signature({}),
                 {{R"({"instances": [1]})",
                   "instances is a plain list, but expecting list of empty objects as no input "
                   "tensors required as per tensorinfo_map",
                   "9 signatures without inputs"},
                  {R"({"instances": [{"x": 1}]})",
                   "Failed to process element: 0 key: x of 'instances' list. Error: "
                   "INVALID_ARGUMENT: JSON object: does not have named input: x",
                   "9 signatures without inputs"},
                  {R"({"inputs": {"x": [1]}})", "JSON object: does not have named input: x",
                   "as for rows; there it is ignored"},
                  {R"({"inputs": [1]})",
                   "inputs is a plain value/list, but expecting an empty object as no input "
                   "tensors required as per tensorinfo_map",
                   "9 signatures without inputs"}});
}

// One refused value of a dtype, alone in an "inputs" list after a valid one.
struct BadValue {
  DType dtype;
  const char* value;
  const char* message;
};

TEST(JsonV1Error, Types) {
#define TYPE(v, kind, type) "JSON Value: " v " Type: " kind " is not of expected type: " type
#define RANGE(v, type, range) \
  "JSON Value: " v " of input: x at index: 1 is out of range for type: " type ". Expected " range
  const BadValue cases[] = {
      {DType::Fp32, "true", TYPE("true", "True", "float")},
      {DType::Fp32, "null", TYPE("null", "Null", "float")},
      {DType::Fp32, "\"1\"", TYPE("\"1\"", "String", "float")},
      {DType::Fp64, "false", TYPE("false", "False", "double")},
      {DType::Fp16, "\"1\"", TYPE("\"1\"", "String", "half")},
      {DType::Bf16, "null", TYPE("null", "Null", "bfloat16")},
      {DType::Fp32, "{\"b64\": \"YQ==\"}", TYPE("{\n    \"b64\": \"YQ==\"\n}", "Object", "float")},
      {DType::Int32, "1.0", TYPE("1.0", "Number", "int32")},
      {DType::Int32, "1e2", TYPE("1e2", "Number", "int32")},
      {DType::Int32, "2147483648", TYPE("2147483648", "Number", "int32")},
      {DType::Int32, "-2147483649", TYPE("-2147483649", "Number", "int32")},
      {DType::Int32, "NaN", TYPE("NaN", "Number", "int32")},
      {DType::Int32, "true", TYPE("true", "True", "int32")},
      {DType::Int64, "9223372036854775808", TYPE("9223372036854775808", "Number", "int64")},
      {DType::Int64, "-9223372036854775809", TYPE("-9223372036854775809", "Number", "int64")},
      {DType::Int64, "1.5", TYPE("1.5", "Number", "int64")},
      {DType::Int64, "\"1\"", TYPE("\"1\"", "String", "int64")},
      {DType::Uint32, "-1", TYPE("-1", "Number", "uint32")},
      {DType::Uint32, "4294967296", TYPE("4294967296", "Number", "uint32")},
      {DType::Uint64, "-1", TYPE("-1", "Number", "uint64")},
      {DType::Uint64, "18446744073709551616", TYPE("18446744073709551616", "Number", "uint64")},
      {DType::Uint8, "256", RANGE("256", "uint8", "0 to 255")},
      {DType::Uint8, "-1", RANGE("-1", "uint8", "0 to 255")},
      {DType::Uint8, "1.0", TYPE("1.0", "Number", "uint8")},
      {DType::Int8, "128", RANGE("128", "int8", "-128 to 127")},
      {DType::Int8, "-129", RANGE("-129", "int8", "-128 to 127")},
      {DType::Int16, "32768", RANGE("32768", "int16", "-32768 to 32767")},
      {DType::Int16, "-32769", RANGE("-32769", "int16", "-32768 to 32767")},
      {DType::Int16, "null", TYPE("null", "Null", "int16")},
      {DType::Uint16, "65536", RANGE("65536", "uint16", "0 to 65535")},
      {DType::Uint16, "18446744073709551615",
       RANGE("18446744073709551615", "uint16", "0 to 65535")},
      {DType::Bool, "1", TYPE("1", "Number", "bool")},
      {DType::Bool, "0", TYPE("0", "Number", "bool")},
      {DType::Bool, "\"true\"", TYPE("\"true\"", "String", "bool")},
      {DType::Bytes, "1", TYPE("1", "Number", "string")},
      {DType::Bytes, "null", TYPE("null", "Null", "string")},
      {DType::Bytes, "{}", "JSON Value: {} not formatted correctly for base64 data"},
      {DType::Bytes, "{\"b64\": \"a\"}", "Unable to base64 decode"},
      {DType::Bytes, "{\"b64\": \"YQ===\"}", "Unable to base64 decode"},
      {DType::Bytes, "{\"b64\": \"-_-_\"}", "Unable to base64 decode"},
  };
#undef TYPE
#undef RANGE
  for (const BadValue& c : cases) {
    const Signature signature = one_input(c.dtype);
    const char* good = c.dtype == DType::Bytes ? "\"a\"" : c.dtype == DType::Bool ? "true" : "1";
    const std::string list = "[" + std::string(good) + ", " + c.value + "]";
    const std::string in_row =
        "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: ";
    const std::string column = "{\"inputs\": " + list + "}";
    const std::string row = "{\"instances\": [" + list + "]}";
    const std::string row_message = in_row + c.message;
    expect_refused(signature, {{column, c.message, "1.5 Types"}, {row, row_message, "1.5 Types"}});
  }
}

// Source: tfserving.md 1.5: `Conversion of ...` is 501 by column, 400 by row.
TEST(JsonV1Error, DtypeWithoutJsonForm) {
  const Signature signature = one_input(DType::Invalid);
  expect_refused(
      signature,
      {{R"({"inputs": [1]})", "Conversion of JSON Value: 1 to type: invalid", "1.5",
        ErrorCode::Unimplemented},
       {R"({"instances": [1]})",
        "Failed to process element: 0 of 'instances' list. Error: UNIMPLEMENTED: Conversion of "
        "JSON Value: 1 to type: invalid",
        "1.5 flattened"}});
}

TEST(JsonV1Error, RankOverTheLimit) {
  const auto nested = [](const char* key, size_t depth) {
    std::string body = "{\"";
    body.append(key).append("\":").append(depth, '[').append("1").append(depth, ']').append("}");
    return body;
  };
  const std::string column = nested("inputs", kRankMax + 1);
  const std::string row = nested("instances", kRankMax + 1);
  const std::string deep = nested("inputs", 500000);
  constexpr std::string_view kColumn =
      "Encountered list nested deeper than 32 levels in the value of input: x";
  expect_refused(
      one_input(DType::Fp32),
      {{column, kColumn, "limits.h"},
       {deep, kColumn, "limits.h, 1.4 half a million brackets"},
       {row,
        "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: Encountered "
        "list nested deeper than 31 levels in the value of input: x",
        "limits.h"}});
}

// An ignored member may be nested to any depth.
TEST(JsonV1Error, DeepIgnoredValueIsNoError) {
  std::string body = "{\"a\":";
  body.append(500000, '[').append(500000, ']').append(",\"inputs\":1}");
  EXPECT_TRUE(decode(body, {}).error().code == ErrorCode::ModelNotFound);
  const Signature signature = one_input(DType::Fp32);
  EXPECT_TRUE(decode(body, {&signature, 1}).ok());
}

// Source: tfserving.md 1.5 "The echoed value is cut at about 256 bytes".
TEST(JsonV1Error, EchoedValuesAreShortAndValidUtf8) {
  const Signature signature = one_input(DType::Fp32);
  const std::string euro = "\xe2\x82\xac";
  std::string text;
  for (int i = 0; i < 300; ++i) text += euro;
  std::string shown = "\"";
  for (int i = 0; i < 85; ++i) shown += euro;  // 1 + 85 * 3 = 256
  const Status cut = decode("{\"inputs\": \"" + text + "\"}", {&signature, 1});
  EXPECT_EQ(cut.error().message,
            "JSON Value: " + shown + "... Type: String is not of expected type: float");
  const Status invalid = decode("{\"inputs\": \"a\xff\"}", {&signature, 1});
  EXPECT_EQ(invalid.error().message,
            "JSON Value: \"a\xef\xbf\xbd\" Type: String is not of expected type: float");
  const Status name = decode("{\"instances\": [{\"\x80\": 1}]}", {&signature, 1});
  EXPECT_EQ(name.error().message,
            "Failed to process element: 0 key: \xef\xbf\xbd of 'instances' list. Error: "
            "INVALID_ARGUMENT: JSON object: does not have named input: \xef\xbf\xbd");
  std::string deep = "{\"inputs\":";
  for (int i = 0; i < 500000; ++i) deep += "{\"a\":";
  deep += "1" + std::string(500001, '}');
  const Status nested = decode(deep, {&signature, 1});
  EXPECT_EQ(nested.error().message, "Missing named input: x in 'inputs' object.");
  const Status echoed = decode("[" + deep + "]", {&signature, 1});
  EXPECT_LT(echoed.error().message.size(), kErrorValueBytesMax + 64);
}

// Every proper prefix of a body is refused, whatever the bytes after it are.
TEST(JsonV1Error, TruncatedBodies) {
  const std::vector<Signature> signatures = {
      make_signature({tensor_spec("s", DType::Bytes), tensor_spec("x", DType::Fp64)})};
  const std::string body =
      R"({"o": [1, "\u00e9", {}], "signature_name": "serving_default", "instances": )"
      R"([{"s": "a\n", "x": [1.5, -2e-3]}, {"x": [12345678901234567890.5, NaN], )"
      R"("s": {"b64": "YQ=="}}]})";
  ASSERT_TRUE(decode(body, signatures).ok());
  for (size_t length = 0; length < body.size(); ++length) {
    for (std::string_view padding : {"\0"sv, "]"sv, "}"sv, "1"sv, "\""sv, " "sv, "]}"sv}) {
      const testing::FastAgainstPlain both =
          testing::compare_decoders(body.substr(0, length), signatures, padding);
      EXPECT_FALSE(both.fast_accepts) << length;
      EXPECT_FALSE(both.plain_accepts) << length;
    }
    // The bytes after the end are the rest of the body itself.
    const PaddedBody whole(body);
    Arena arena;
    DecodedRequest request;
    EXPECT_FALSE(
        decode_v1_predict_fast(whole.span().first(length), signatures, Limits(), arena, request))
        << length;
  }
}

}  // namespace
}  // namespace serval
