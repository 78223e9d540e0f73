// Tests of decode_v2_infer (codec/v2/json.h): refused bodies, with code and text. Source of the
// rules: v2-protocol.md 1.1 "suggested", 1.2; KServe's V2 inference protocol.
#include <gtest/gtest.h>

#include "support/json_v2_compare.h"

namespace serval {
namespace {

using test::one_input;
using test::PaddedBody;
using test::spec;

struct JsonRefusal {
  std::string body;
  std::string part;  // a part of the message
  ErrorCode code = ErrorCode::InvalidArgument;
};

void expect_refused(const JsonRefusal& wrong, const Signature& signature,
                    int64_t json_bytes = kNoJsonHeader, const Limits& limits = {}) {
  const auto both = test::compare_decoders(wrong.body, json_bytes, signature, limits);
  EXPECT_FALSE(both.fast) << wrong.body;
  const PaddedBody body(wrong.body);
  Arena arena;
  DecodedRequest request;
  Status status = decode_v2_infer(body.bytes(), json_bytes, &signature, limits, arena, request);
  ASSERT_FALSE(status.ok()) << wrong.body;
  EXPECT_EQ(status.error().code, wrong.code) << wrong.body << "\n" << status.error().message;
  EXPECT_NE(status.error().message.find(wrong.part), std::string::npos)
      << wrong.body << "\n got: " << status.error().message << "\nwant: " << wrong.part;
}

Signature two_inputs() {
  Signature signature = one_input(DType::Fp32);
  signature.inputs.push_back(spec("b", DType::Int64, {-1}));
  return signature;
}

const std::string kGood = R"({"name":"x","datatype":"FP32","shape":[1],"data":[1]})";

std::string with_input(const std::string& input) { return R"({"inputs":[)" + input + "]}"; }

std::string with_data(std::string_view dtype, std::string_view data, std::string_view shape) {
  return R"({"inputs":[{"name":"x","datatype":")" + std::string(dtype) + R"(","shape":)" +
         std::string(shape) + R"(,"data":)" + std::string(data) + "}]}";
}

TEST(RefuseV2, MalformedJson) {
  constexpr ErrorCode kCode = ErrorCode::MalformedBody;
  const std::vector<JsonRefusal> cases = {
      {"", "the request body is empty", kCode},
      {" ", "malformed JSON at byte 1: expected a value, got the end of the text", kCode},
      {"x", "at byte 0: expected a value, got 'x'", kCode},
      {"{", "at byte 1: expected a member's name in quotes, got the end of the text", kCode},
      {"{}x", "at byte 2: expected the end of the text, got 'x'", kCode},
      {with_input(kGood) + "{}", "expected the end of the text, got '{'", kCode},
      {std::string("{}\0", 3), "at byte 2: expected the end of the text, got byte 0", kCode},
      {R"({"inputs":[)" + kGood, "expected ',' or ']', got the end of the text", kCode},
      {R"({"inputs":[)" + kGood + "}", "expected ',' or ']', got '}'", kCode},
      {R"({"inputs":[)" + kGood + ",]}", "expected a value, got ']'", kCode},
      {R"({"inputs" [)", "expected ':', got '['", kCode},
      {R"({"inputs":[],})", "expected a member's name in quotes, got '}'", kCode},
      {R"({'inputs':[]})", "expected a member's name in quotes, got '''", kCode},
      {R"({"a":1 "b":2})", "expected ',' or '}', got '\"'", kCode},
      {R"({"a":01})", "expected ',' or '}', got '1'", kCode},
      {R"({"a":+1})", "expected a value, got '+'", kCode},
      {R"({"a":1.})", "Miss fraction part in number", kCode},
      {R"({"a":.5})", "expected a value, got '.'", kCode},
      {R"({"a":1e})", "Miss exponent in number", kCode},
      {R"({"a":1e309})", "Number too big to be stored in double", kCode},
      {R"({"a":nul})", "expected a value, got '}'", kCode},
      {R"({"a":nan})", "expected a value, got 'a'", kCode},
      {R"({"a":"b)", "Missing a closing quotation mark in string", kCode},
      {R"({"a":"\x"})", "Invalid escape character in string", kCode},
      {R"({"a":"\ud800"})", "The surrogate pair in string is invalid", kCode},
      {R"({"a":"\u12g4"})", "Incorrect hex digit", kCode},
      {"{\"a\":\"\n\"}", "at byte 6", kCode},
      {"{\"a\":\"\xff\"}", "at byte 6: expected UTF-8, got an invalid byte", kCode},
      {"{\"a\":\"\xc3\"}", "at byte 6: expected UTF-8", kCode},
      {"{\"a\":\"\xed\xa0\x80\"}", "at byte 6: expected UTF-8", kCode},
      {"{/**/}", "got '/'", kCode},
  };
  for (const JsonRefusal& wrong : cases) expect_refused(wrong, one_input(DType::Fp32));
}

TEST(RefuseV2, EveryTruncation) {
  const std::string good = with_data("FP32", "[[1.5,-2e3],[NaN,0]]", "[2,2]");
  const Signature signature = one_input(DType::Fp32);
  for (size_t bytes = 1; bytes < good.size(); ++bytes) {
    expect_refused({good.substr(0, bytes), "malformed JSON at byte", ErrorCode::MalformedBody},
                   signature);
  }
}

TEST(RefuseV2, WrongTopLevel) {
  const std::vector<JsonRefusal> cases = {
      {"[]", "request body: expected an object, got Array"},
      {"7", "request body: expected an object, got Number"},
      {"{}", "request body: 'inputs' is missing"},
      {R"({"inputs":{}})", "'inputs': expected an array of objects, got Object"},
      {R"({"inputs":null})", "'inputs': expected an array of objects, got Null"},
      {R"({"inputs":[7]})", "inputs[0]: expected an object, got Number"},
      {R"({"inputs":[],"inputs":[]})", "request body: 'inputs' twice"},
      {R"({"id":7,"inputs":[]})", "request body: 'id': expected a string, got Number"},
      {R"({"id":7,"inputs":[]})", "'id': expected a string, got Number"},
      {R"({"inputs":[)" + kGood + R"(],"id":")" + std::string(kIdBytesMax + 1, 'i') + "\"}",
       "id: expected at most 65536 bytes, got 65537"},
      {R"({"inputs":[)" + kGood + R"(],"outputs":{}})",
       "'outputs': expected an array of objects, got Object"},
      {R"({"inputs":[)" + kGood + R"(],"parameters":[]})",
       "parameters: expected an object, got Array"},
      {R"({"inputs":[)" + kGood + R"(],"parameters":{"a":{}}})",
       "parameters 'a': expected a string, number or boolean, got Object"},
      {R"({"inputs":[)" + kGood + R"(],"parameters":{"a":null}})", "got Null"},
      {R"({"inputs":[)" + kGood + R"(],"parameters":{"binary_data_output":1}})",
       "parameters 'binary_data_output': expected true or false, got Number"},
      {R"({"inputs":[)" + kGood +
           R"(],"parameters":{"binary_data_output":true,"binary_data_output":true}})",
       "parameters: 'binary_data_output' twice"},
  };
  for (const JsonRefusal& wrong : cases) expect_refused(wrong, one_input(DType::Fp32));
}

TEST(RefuseV2, WrongInputMembers) {
  const std::vector<JsonRefusal> cases = {
      {with_input(R"({"datatype":"FP32","shape":[1],"data":[1]})"), "inputs[0]: 'name' is missing"},
      {with_input(R"({"name":7,"datatype":"FP32","shape":[1],"data":[1]})"),
       "inputs[0]: 'name': expected a string, got Number"},
      {with_input(R"({"name":"x","shape":[1],"data":[1]})"), "input 'x': 'datatype' is missing"},
      {with_input(R"({"name":"x","datatype":1,"shape":[1],"data":[1]})"),
       "input 'x': 'datatype': expected a string, got Number"},
      {with_input(R"({"name":"x","datatype":"float32","shape":[1],"data":[1]})"),
       "input 'x': unknown datatype 'float32'"},
      {with_input(R"({"name":"x","datatype":"fp32","shape":[1],"data":[1]})"),
       "unknown datatype 'fp32'"},
      {with_input(R"({"name":"x","datatype":"INVALID","shape":[1],"data":[1]})"),
       "unknown datatype 'INVALID'"},
      {with_input(R"({"name":"x","datatype":"FP64","shape":[1],"data":[1]})"),
       "input 'x': expected datatype FP32, got FP64"},
      {with_input(R"({"name":"x","datatype":"FP32","data":[1]})"), "'shape' is missing"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":1,"data":[1]})"),
       "input 'x': 'shape': expected an array, got Number"},
      {with_input(R"({"name":"x","name":"x","datatype":"FP32","shape":[1],"data":[1]})"),
       "inputs[0]: 'name' twice"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":[1],"data":[1],"data":[1]})"),
       "'data' twice"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":7})"),
       "input 'x': parameters: expected an object, got Number"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":{"a":[]}})"),
       "input 'x': parameters 'a': expected a string, number or boolean, got Array"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":[1]})"),
       "expected exactly one of 'data', parameters 'binary_data_size' and parameters "
       "'shared_memory_region', got 0"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":[1],"data":[1],
                      "parameters":{"binary_data_size":4}})"),
       "got 2"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":[1],"data":[1],
                      "parameters":{"shared_memory_region":"r"}})"),
       "got 2"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":[1],
                      "parameters":{"shared_memory_region":"r"}})"),
       "input 'x': parameters: 'shared_memory_byte_size' is missing"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":[1],
                      "parameters":{"shared_memory_offset":4,"shared_memory_byte_size":4}})"),
       "input 'x': parameters: 'shared_memory_region' is missing"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":[1],
                      "parameters":{"shared_memory_region":7,"shared_memory_byte_size":4}})"),
       "input 'x': parameters: 'shared_memory_region': expected a string, got Number"},
      {with_input(R"({"name":"x","datatype":"FP32","shape":[1],
                      "parameters":{"shared_memory_region":"r","shared_memory_byte_size":-4}})"),
       "input 'x': parameters 'shared_memory_byte_size': expected an integer from 0, got -4"},
  };
  for (const JsonRefusal& wrong : cases) expect_refused(wrong, one_input(DType::Fp32));
}

TEST(RefuseV2, WrongShapes) {
  const std::string end = ": expected an integer from 0 to 9223372036854775807, got ";
  const std::vector<JsonRefusal> cases = {
      {with_data("FP32", "[1]", "[-1]"), "input 'x': shape[0]" + end + "-1"},
      {with_data("FP32", "[1]", "[1,1.0]"), "shape[1]" + end + "1.0"},
      {with_data("FP32", "[1]", "[1e0]"), "shape[0]" + end + "1e0"},
      {with_data("FP32", "[1]", "[\"1\"]"), "shape[0]" + end + "\"1\""},
      {with_data("FP32", "[1]", "[NaN]"), "shape[0]" + end + "NaN"},
      {with_data("FP32", "[1]", "[[1]]"), "shape[0]" + end + "[1]"},
      {with_data("FP32", "[1]", "[9223372036854775808]"), "got 9223372036854775808"},
      {with_data("FP32", "[1]", "[99999999999999999999999]"), "got 99999999999999999999999"},
      {with_data("FP32", "[1]", "[4294967296,4294967296]"),
       "input 'x': shape [4294967296,4294967296] overflows"},
      {with_data("FP32", "[1]", "[9223372036854775807,2,0]"),
       "expected 0 elements (shape [9223372036854775807,2,0]), got 1"},
      {with_data("FP32", "[1]",
                 "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                 "1]"),
       "shape has more than 32 dimensions"},
      {with_data("FP32", "[1]", "[2]"), "input 'x': expected 2 elements (shape [2]), got 1"},
      {with_data("FP32", "[1,2,3]", "[2]"), "expected 2 elements (shape [2]), got 3"},
      {with_data("FP32", "[[1],[2,3]]", "[2,2]"), "expected 4 elements (shape [2,2]), got 3"},
      {with_data("FP32", "[]", "[]"), "expected 1 elements (shape []), got 0"},
      {with_data("FP32", "[1]", "[0]"), "expected 0 elements (shape [0]), got 1"},
      {with_data("FP32", "[1]", "[1000000000000000]"), "expected 1000000000000000 elements"},
  };
  for (const JsonRefusal& wrong : cases) expect_refused(wrong, one_input(DType::Fp32));
}

TEST(RefuseV2, WrongElements) {
  const auto code = ErrorCode::InvalidArgument;
  const std::vector<std::pair<DType, JsonRefusal>> cases = {
      {DType::Uint8, {"300", "is out of range for UINT8 (0 to 255)", code}},
      {DType::Uint8, {"-1", "-1 is out of range for UINT8", code}},
      {DType::Int8, {"128", "is out of range for INT8 (-128 to 127)", code}},
      {DType::Uint16, {"65536", "is out of range for UINT16 (0 to 65535)", code}},
      {DType::Int16, {"-32769", "is out of range for INT16 (-32768 to 32767)", code}},
      {DType::Uint32, {"4294967296", "out of range for UINT32 (0 to 4294967295)", code}},
      {DType::Int32, {"2147483648", "out of range for INT32", code}},
      {DType::Int64, {"9223372036854775808", "out of range for INT64", code}},
      {DType::Uint64, {"18446744073709551616", "out of range for UINT64", code}},
      {DType::Uint64, {"-1", "-1 is out of range for UINT64", code}},
      {DType::Int32, {"1.0", "expected an integer for INT32, got 1.0", code}},
      {DType::Int32, {"1e2", "expected an integer for INT32, got 1e2", code}},
      {DType::Int32, {"NaN", "expected an integer for INT32, got NaN", code}},
      {DType::Int32, {"true", "expected an integer for INT32, got true", code}},
      {DType::Int32, {"\"1\"", "expected an integer for INT32, got \"1\"", code}},
      {DType::Fp32, {"\"1\"", "expected a number for FP32, got \"1\"", code}},
      {DType::Fp32, {"null", "expected a number for FP32, got null", code}},
      {DType::Fp32, {"{}", "expected a number for FP32, got {}", code}},
      {DType::Fp32, {"false", "expected a number for FP32, got false", code}},
      {DType::Fp32, {"3.4028236e38", "3.4028236e38 is out of range for FP32", code}},
      {DType::Fp32, {"-1e39", "-1e39 is out of range for FP32", code}},
      {DType::Fp64, {"true", "expected a number for FP64, got true", code}},
      {DType::Fp16, {"65520", "65520 is out of range for FP16", code}},
      {DType::Bf16, {"3.4e38", "", code}},
      {DType::Bool, {"1", "expected true or false for BOOL, got 1", code}},
      {DType::Bool, {"\"true\"", "expected true or false for BOOL, got \"true\"", code}},
      {DType::Bytes, {"1", "expected a string for BYTES, got 1", code}},
      {DType::Bytes, {R"({"b64":"QQ=="})", R"(expected a string for BYTES, got {"b64")", code}},
      {DType::Bytes, {"null", "expected a string for BYTES, got null", code}},
  };
  for (const auto& [dtype, wrong] : cases) {
    if (dtype == DType::Bf16) continue;
    const bool text = dtype == DType::Bytes;
    const std::string good = dtype == DType::Bool ? "true" : text ? "\"s\"" : "1";
    JsonRefusal refusal = wrong;
    refusal.body =
        with_data(dtype_name(dtype), "[[" + good + "," + good + "]," + wrong.body + "]", "[3]");
    refusal.part = "input 'x', element 2: ";
    expect_refused(refusal, one_input(dtype));
    refusal.part = wrong.part;
    expect_refused(refusal, one_input(dtype));
  }
  expect_refused({with_data("BF16", "[3.4e38]", "[1]"), "out of range for BF16"},
                 one_input(DType::Bf16));
}

TEST(RefuseV2, WrongDataKinds) {
  const std::vector<JsonRefusal> cases = {
      {with_data("FP32", "7", "[1]"), "input 'x': 'data': expected an array, got Number"},
      {with_data("FP32", "{}", "[]"), "input 'x': 'data': expected an array, got Object"},
      {with_data("FP32", "null", "[1]"), "expected an array, got Null"},
      {with_data("FP32", "null", "[]"), "element 0: expected a number for FP32, got null"},
  };
  for (const JsonRefusal& wrong : cases) expect_refused(wrong, one_input(DType::Fp32));
}

TEST(RefuseV2, WrongSetsOfInputs) {
  const std::string b = R"({"name":"b","datatype":"INT64","shape":[1],"data":[1]})";
  const std::vector<JsonRefusal> cases = {
      {R"({"inputs":[]})", "input 'x' is missing"},
      {with_input(kGood), "input 'b' is missing"},
      {with_input(b), "input 'x' is missing"},
      {with_input(kGood + "," + b + "," + kGood), "input 'x' is given twice"},
      {with_input(R"({"name":"q","datatype":"FP32","shape":[1],"data":[1]})"),
       "inputs[0]: unexpected input 'q'; the model takes 'x', 'b'"},
      {with_input(kGood + R"(,{"name":"X","datatype":"FP32","shape":[1],"data":[1]})"),
       "inputs[1]: unexpected input 'X'"},
      {with_input(R"({"name":")" + std::string(5000, 'n') + R"(","datatype":"FP32"})"), "nnn..."},
  };
  for (const JsonRefusal& wrong : cases) expect_refused(wrong, two_inputs());
}

TEST(RefuseV2, WrongOutputs) {
  const auto body = [](const std::string& outputs) {
    return R"({"inputs":[)" + kGood + R"(],"outputs":[)" + outputs + "]}";
  };
  const std::vector<JsonRefusal> cases = {
      {body("7"), "outputs[0]: expected an object, got Number"},
      {body("{}"), "outputs[0]: 'name' is missing"},
      {body(R"({"name":null})"), "outputs[0]: 'name': expected a string, got Null"},
      {body(R"({"name":"q"})"), "outputs[0]: unknown output 'q'; the model has 'y', 'z'"},
      {body(R"({"name":"y","name":"z"})"), "outputs[0]: 'name' twice"},
      {body(R"({"name":"y","parameters":7})"), "output 'y': parameters: expected an object"},
      {body(R"({"name":"y","parameters":{"binary_data":1}})"),
       "output 'y': parameters 'binary_data': expected true or false, got Number"},
      {body(R"({"name":"y","parameters":{"binary_data":null}})"), "got Null"},
      {body(R"({"name":"y","parameters":{"shared_memory_region":"r"}})"),
       "output 'y': parameters: 'shared_memory_byte_size' is missing"},
      {body(R"({"name":"y","parameters":{"shared_memory_byte_size":4}})"),
       "output 'y': parameters: 'shared_memory_region' is missing"},
      {body(R"({"name":"y","parameters":{"shared_memory_region":"r","shared_memory_byte_size":4,
                                         "shared_memory_offset":0.5}})"),
       "output 'y': parameters 'shared_memory_offset': expected an integer from 0, got 0.5"},
  };
  for (const JsonRefusal& wrong : cases) expect_refused(wrong, one_input(DType::Fp32));
}

TEST(RefuseV2, WrongClassification) {
  const auto refused = [](const std::string& value, const std::string& text) {
    const std::string body = R"({"inputs":[)" + kGood + R"(],"outputs":[{"name":"z"},)" +
                             R"({"name":"y","parameters":{"classification":)" + value + "}}]}";
    expect_refused({body, "output 'y': parameters " + text}, one_input(DType::Fp32));
  };
  const std::string whole = "'classification': expected an integer from 1, got ";
  for (const std::string value : {"0", "-0", "-1", "1.0", "1e1", "NaN", "true", "\"1\"",
                                  "18446744073709551616", "-9223372036854775808"}) {
    refused(value, whole + value);
  }
  const std::string scalar = "'classification': expected a string, number or boolean, got ";
  refused("null", scalar + "Null");
  refused("[1]", scalar + "Array");
  refused("{}", scalar + "Object");
  expect_refused({R"({"inputs":[)" + kGood + R"(],"outputs":[{"name":"y","parameters":)" +
                      R"({"classification":1,"classification":1}}]})",
                  "output 'y': parameters: 'classification' twice"},
                 one_input(DType::Fp32));
  expect_refused({R"({"inputs":[)" + kGood + R"(],"outputs":[{"name":"y","parameters":)" +
                      R"({"classification":1,"shared_memory_region":"r"}}]})",
                  "output 'y' can't set both 'shared_memory_region' and 'classification'"},
                 one_input(DType::Fp32));
}

TEST(RefuseV2, WrongSchedule) {
  for (const std::string key : {"priority", "timeout"}) {
    const auto body = [&key](const std::string& value) {
      return R"({"inputs":[)" + kGood + R"(],"parameters":{")" + key + "\":" + value + "}}";
    };
    const std::string whole = "parameters '" + key + "': expected an integer from 0, got ";
    for (const std::string value : {"-1", "1.0", "1e1", "Infinity", "false", "\"1\"",
                                    "18446744073709551616", "-9223372036854775809"}) {
      expect_refused({body(value), whole + value}, one_input(DType::Fp32));
    }
    expect_refused({body("null"), "parameters '" + key + "': expected a string"},
                   one_input(DType::Fp32));
    expect_refused({body("1,\"" + key + "\":1"), "parameters: '" + key + "' twice"},
                   one_input(DType::Fp32));
  }
}

TEST(RefuseV2, DeepNesting) {
  const auto nested = [](size_t levels) {
    return with_data("FP32", std::string(levels, '[') + "1" + std::string(levels, ']'), "[1]");
  };
  const Signature signature = one_input(DType::Fp32);
  Limits limits;
  for (uint32_t depth : {1u, 2u, 512u}) {
    limits.json_depth_max = depth;
    EXPECT_TRUE(test::compare_decoders(nested(depth), kNoJsonHeader, signature, limits).plain);
    EXPECT_TRUE(test::compare_decoders(nested(depth), kNoJsonHeader, signature, limits).fast);
    expect_refused(
        {nested(depth + 1), "nested more than " + std::to_string(depth + 3) + " levels deep",
         ErrorCode::MalformedBody},
        signature, kNoJsonHeader, limits);
  }
  for (const std::string& body : {std::string(1'000'000, '['), std::string(1'000'000, '{'),
                                  R"({"x":)" + std::string(1'000'000, '[')}) {
    const PaddedBody padded(body);
    Arena arena;
    DecodedRequest request;
    Status status = decode_v2_infer(padded.bytes(), kNoJsonHeader, &signature, {}, arena, request);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::MalformedBody);
  }
}

}  // namespace
}  // namespace serval
