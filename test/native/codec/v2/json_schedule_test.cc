// Tests of peek_v2_schedule (codec/v2/json.h) and of the request parameters that the decoders read:
// priority, timeout, classification. Source: v2-protocol.md 2 "schedule policy", "classification".
#include <gtest/gtest.h>

#include "support/json_v2_compare.h"

namespace serval {
namespace {

using test::one_input;
using test::PaddedBody;

const std::string kInput = R"({"name":"x","datatype":"FP32","shape":[1],"data":[1]})";

SchedulePolicy peek(std::string_view text, int64_t json_bytes = kNoJsonHeader) {
  const PaddedBody body(text);
  SchedulePolicy out{7, 7};
  const Status status = peek_v2_schedule(body.bytes(), json_bytes, out);
  EXPECT_TRUE(status.ok()) << text << "\n" << (status.ok() ? "" : status.error().message);
  return out;
}

// Expects that both decoders accept the body, and that the peek finds these two values.
void expect_schedule(const std::string& body, uint64_t priority, uint64_t timeout_us) {
  const auto both = test::compare_decoders(body, kNoJsonHeader, one_input(DType::Fp32));
  EXPECT_EQ(both.fault, "") << body;
  EXPECT_TRUE(both.plain) << body;
  const SchedulePolicy found = peek(body);
  EXPECT_EQ(found.priority, priority) << body;
  EXPECT_EQ(found.timeout_us, timeout_us) << body;
}

TEST(ScheduleV2, FindsTheParametersWhereverTheyStand) {
  const std::string inputs = R"("inputs":[)" + kInput + "]";
  const std::string given = R"("parameters":{"priority":2,"timeout":1500000})";
  expect_schedule("{" + given + "," + inputs + "}", 2, 1500000);
  expect_schedule("{" + inputs + "," + given + "}", 2, 1500000);
  expect_schedule("{\n \"id\" : \"}{\" ,\t" + inputs + " , " + given + " }\n", 2, 1500000);
  expect_schedule("\xEF\xBB\xBF{" + inputs + "," + given + "}", 2, 1500000);
  expect_schedule(R"({"parameters":{"a":"\"priority\":9","timeout":3},)" + inputs + "}", 0, 3);
  expect_schedule(R"({"parameters":{"b":true , "priority" : 3 ,"c":-1.5e3},)" + inputs + "}", 3, 0);
  expect_schedule("{" + inputs + R"(,"other":{"parameters":{"priority":9}}})", 0, 0);
  expect_schedule("{" + inputs + R"(,"parameters":{}})", 0, 0);
  expect_schedule("{" + inputs + "}", 0, 0);
}

TEST(ScheduleV2, StepsOverOtherParametersAndNames) {
  const std::string input =
      R"({"name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":{"priority":9}})";
  expect_schedule(R"({"inputs":[)" + input + R"(],"outputs":[{"name":"y","parameters":)" +
                      R"({"timeout":8}}],"parameters":{"Priority":5,"timeouts":6,"timeou":7}})",
                  0, 0);
  expect_schedule(R"({"inputs":[)" + kInput + R"(],"parameters":{"sequence_id":"a",)" +
                      R"("triton_enable_empty_final_response":true,"priority":1}})",
                  1, 0);
}

TEST(ScheduleV2, TakesEveryWholeNumber) {
  const std::vector<std::pair<std::string, uint64_t>> values = {
      {"0", 0},
      {"-0", 0},
      {"9", 9},
      {"1000000000000000000", 1000000000000000000u},
      {"9223372036854775808", 9223372036854775808u},
      {"18446744073709551615", UINT64_MAX}};
  for (const auto& [text, value] : values) {
    const std::string inputs = R"("inputs":[)" + kInput + "]}";
    expect_schedule(R"({"parameters":{"priority":)" + text + "}," + inputs, value, 0);
    expect_schedule(R"({"parameters":{"timeout":)" + text + "}," + inputs, 0, value);
  }
}

TEST(ScheduleV2, StepsOverStringsWithEscapes) {
  for (const std::string& quoted : std::vector<std::string>{
           R"(a\"b)", R"(\\)", R"(\\\\\")", R"([\"{\\)", std::string(100, ']'),
           "\\\"" + std::string(40, ' ') + "\\\\", std::string(62, '\\') + "]"}) {
    expect_schedule(R"({"id":")" + quoted + R"(","inputs":[)" + kInput + R"(],"other":[["x",")" +
                        quoted + R"("]],"parameters":{"x":")" + quoted + R"(","timeout":4}})",
                    0, 4);
  }
}

TEST(ScheduleV2, ReadsNamesWithEscapes) {
  const std::string inputs = R"("inputs":[)" + kInput + "]}";
  expect_schedule(R"({"p\u0061ramet\u0065rs":{"\u0070riorit\u0079":4},)" + inputs, 4, 0);
  expect_schedule(R"({"parameters":{"\u0074\u0069\u006D\u006f\u0065\u0075\u0074":5},)" + inputs, 0,
                  0);
  expect_schedule(R"({"parameters":{"\u0074\u0069\u006D\u0065\u006f\u0075\u0074":5},)" + inputs, 0,
                  5);
  expect_schedule(R"({"parameters":{"priorit\u0179":5,"priority\n":6,"\/riority":7},)" + inputs, 0,
                  0);
}

TEST(ScheduleV2, ReadsNoFurtherThanTheJson) {
  const std::string json = R"({"inputs":[]})";
  const std::string behind = R"(,"parameters":{"priority":1}})";
  EXPECT_EQ(peek(json + behind, static_cast<int64_t>(json.size())).priority, 0u);
  const std::string whole = R"({"parameters":{"priority":1}})";
  EXPECT_EQ(peek(whole, 0).priority, 0u);  // a raw body that looks like JSON
  EXPECT_EQ(peek(whole, static_cast<int64_t>(whole.size())).priority, 1u);
  EXPECT_EQ(peek(whole, static_cast<int64_t>(whole.size()) - 3).priority, 0u);
  EXPECT_EQ(peek(whole, 1000).priority, 0u);
  EXPECT_EQ(peek(whole, -5).priority, 0u);
}

TEST(ScheduleV2, LeavesWhatIsNoJsonToTheDecoder) {
  const std::string whole =
      R"({"id":"a\"","x":[[1,{"b":"]"}]],"parameters":{"priority":-1,"timeout":"a"}})";
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const SchedulePolicy found = peek(whole.substr(0, bytes));
    EXPECT_EQ(found.priority + found.timeout_us, 0u) << bytes;
  }
  for (const std::string& body :
       std::vector<std::string>{"",
                                " ",
                                "[]",
                                "7",
                                "{",
                                "{}",
                                "\"",
                                "{\"",
                                "\xEF\xBB\xBF",
                                "{]",
                                "{,}",
                                "{\"a\"}",
                                R"({"parameters")",
                                R"({"parameters":})",
                                R"({"parameters":[1]})",
                                R"({"parameters":7})",
                                R"({"parameters":{"priority":}})",
                                R"({"parameters":{"priority":,"timeout":)",
                                R"({"parameters":{"priority":nul)",
                                R"({"parameters":{"priority":null}})",
                                R"({"parameters":{"priority":[-1]}})",
                                R"({"parameters":{"priority":{}}})",
                                R"({"parameters":{"priority":-1} x)",
                                R"({"parameters":{"priority":"a)",
                                R"({"parameters":{"priority":1.5,})",
                                std::string(100000, '['),
                                std::string(100000, '{'),
                                std::string(100000, '\\'),
                                R"({"parameters":{)" + std::string(100000, '"')}) {
    const SchedulePolicy found = peek(body);
    EXPECT_EQ(found.priority + found.timeout_us, 0u) << body.substr(0, 100);
  }
}

TEST(ScheduleV2, RefusesAsTheDecoderDoes) {
  for (const std::string key : {"priority", "timeout"}) {
    for (const std::string value : {"-1", "1.5", "1e3", "NaN", "true", "false", "\"2\"", "\"\\\"\"",
                                    "18446744073709551616", "-18446744073709551616"}) {
      const std::string text = R"({"inputs":[)" + kInput + R"(],"parameters":{"z":1,")" + key +
                               "\":" + value + R"(,"a":"b"}})";
      const PaddedBody body(text);
      SchedulePolicy out{7, 7};
      const Status status = peek_v2_schedule(body.bytes(), kNoJsonHeader, out);
      ASSERT_FALSE(status.ok()) << text;
      EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
      EXPECT_EQ(status.error().message,
                "parameters '" + key + "': expected an integer from 0, got " + value);
      EXPECT_EQ(out.priority + out.timeout_us, 0u);
      Arena arena;
      DecodedRequest request;
      const Signature signature = one_input(DType::Fp32);
      const Status decoded =
          decode_v2_infer(body.bytes(), kNoJsonHeader, &signature, {}, arena, request);
      ASSERT_FALSE(decoded.ok());
      EXPECT_EQ(decoded.error().message, status.error().message);
    }
  }
}

struct Chosen {
  std::string parameters;
  bool binary;
  uint32_t classes;
  bool fast = true;
};

TEST(ScheduleV2, ClassificationOfAnOutput) {
  const std::vector<Chosen> cases = {
      {R"({"classification":3})", false, 3},
      {R"({"classification":3,"binary_data":true})", true, 3},
      {R"({"binary_data":false, "any":"a", "classification" : 1})", false, 1},
      {R"({"classification":4294967295})", false, UINT32_MAX},
      {R"({"classification":4294967296})", false, UINT32_MAX},
      {R"({"classification":18446744073709551615})", false, UINT32_MAX},
      {R"({"cl\u0061ssification":2})", false, 2, false},
      {R"({"Classification":0,"binary_data":true})", true, 0},
  };
  const Signature signature = one_input(DType::Fp32);
  for (const Chosen& one : cases) {
    const std::string body = R"({"inputs":[)" + kInput +
                             R"(],"outputs":[{"name":"z"},{"name":"y","parameters":)" +
                             one.parameters + "}]}";
    const auto both = test::compare_decoders(body, kNoJsonHeader, signature);
    EXPECT_EQ(both.fault, "") << body;
    EXPECT_EQ(both.fast, one.fast) << body;
    const PaddedBody padded(body);
    Arena arena;
    DecodedRequest request;
    ASSERT_TRUE(
        decode_v2_infer(padded.bytes(), kNoJsonHeader, &signature, {}, arena, request).ok());
    ASSERT_EQ(request.outputs.size(), 2u);
    EXPECT_EQ(request.outputs[0].classes, 0u);
    EXPECT_EQ(request.outputs[1].index, 0u);
    EXPECT_EQ(request.outputs[1].classes, one.classes) << body;
    EXPECT_EQ(request.outputs[1].binary, one.binary) << body;
  }
}

TEST(ScheduleV2, ClassificationElsewhereMeansNothing) {
  const std::string input = R"({"name":"x","datatype":"FP32","shape":[1],"data":[1],)"
                            R"("parameters":{"classification":0}})";
  const std::string body =
      R"({"inputs":[)" + input + R"(],"parameters":{"classification":"none"}})";
  const Signature signature = one_input(DType::Fp32);
  const auto both = test::compare_decoders(body, kNoJsonHeader, signature);
  EXPECT_EQ(both.fault, "");
  EXPECT_TRUE(both.fast);
  const PaddedBody padded(body);
  Arena arena;
  DecodedRequest request;
  ASSERT_TRUE(decode_v2_infer(padded.bytes(), kNoJsonHeader, &signature, {}, arena, request).ok());
  for (const RequestedOutput& output : request.outputs) EXPECT_EQ(output.classes, 0u);
}

}  // namespace
}  // namespace serval
