// REST responses of classify and regress. Source: tfserving.md 1.6 (floats), 1.7, 9 (labels that
// are not UTF-8; compact layout).
#include <gtest/gtest.h>

#include <limits>

#include "codec/examples/json.h"
#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

struct Encoded {
  std::string text, error;
  ErrorCode code = ErrorCode::Ok;
};

Encoded encode(Method method, std::vector<std::string> names,
               const std::vector<OwnedTensor>& outputs, int64_t examples,
               const Limits& limits = {}) {
  Signature signature = tf_signature({tf_spec("inputs", DType::Bytes)}, {});
  DecodedRequest request;
  std::vector<TensorView> views;
  for (size_t i = 0; i < outputs.size(); ++i) {
    signature.outputs.push_back(tf_spec(names[i], outputs[i].dtype));
    request.outputs.push_back({static_cast<uint32_t>(i)});
    views.push_back(outputs[i].view());
  }
  request.inputs.emplace_back();
  (void)request.inputs[0].shape.push_back(examples);
  ByteBuffer out;
  EXPECT_TRUE(out.append("old"));
  const Status status = encode_v1_results(method, signature, request, views, limits, out);
  const std::string all(reinterpret_cast<const char*>(out.data()), out.size());
  EXPECT_EQ(all.substr(0, 3), "old");
  if (status.ok()) return {all.substr(3), "none"};
  EXPECT_EQ(all, "old");
  return {"", status.error().message, status.error().code};
}

std::string classify(std::vector<std::string> names, const std::vector<OwnedTensor>& outputs,
                     int64_t examples) {
  const Encoded encoded = encode(Method::Classify, std::move(names), outputs, examples);
  return encoded.error == "none" ? encoded.text : encoded.error;
}

std::string regress(const OwnedTensor& output, int64_t examples) {
  const Encoded encoded = encode(Method::Regress, {"outputs"}, {output}, examples);
  return encoded.error == "none" ? encoded.text : encoded.error;
}

TEST(JsonExamplesEncode, Regression) {
  EXPECT_EQ(regress(floats({3}, {2.5, 3, 4.5}), 3), "{\"results\":[2.5,3.0,4.5]}");
  EXPECT_EQ(regress(floats({2, 1}, {0.1f, 1e20f}), 2), "{\"results\":[0.1,1e+20]}");
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(regress(floats({3}, {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}), 3),
            "{\"results\":[NaN,Infinity,-Infinity]}");
}

TEST(JsonExamplesEncode, LongRegression) {
  std::string bytes, wanted = "{\"results\":[";
  constexpr size_t kCount = 70'000;  // more than one step of the writer
  for (size_t i = 0; i < kCount; ++i) {
    bytes += raw_of<float>({static_cast<float>(i % 10)});
    wanted += (i == 0 ? "" : ",") + std::to_string(i % 10) + ".0";
  }
  const OwnedTensor tensor{DType::Fp32, {static_cast<int64_t>(kCount)}, bytes, {}};
  EXPECT_EQ(regress(tensor, kCount), wanted + "]}");
}

TEST(JsonExamplesEncode, Classification) {
  const OwnedTensor classes = texts({2, 2}, {"cat", "d\xc3\xb6g", "", "a\"b\n"});
  const OwnedTensor scores = floats({2, 2}, {0.25, 0.75, 1, -0.0});
  EXPECT_EQ(classify({"classes", "scores"}, {classes, scores}, 2),
            "{\"results\":[[[\"cat\",0.25],[\"d\xc3\xb6g\",0.75]],"
            "[[\"\",1.0],[\"a\\\"b\\n\",-0.0]]]}");
  // Missing labels are "" and missing scores 0.
  EXPECT_EQ(classify({"classes"}, {texts({1, 1}, {"a"})}, 1), "{\"results\":[[[\"a\",0.0]]]}");
  EXPECT_EQ(classify({"scores"}, {floats({2, 1}, {1, 2})}, 2),
            "{\"results\":[[[\"\",1.0]],[[\"\",2.0]]]}");
  EXPECT_EQ(classify({"scores"}, {floats({2, 0}, {})}, 2), "{\"results\":[[],[]]}");
}

TEST(JsonExamplesEncode, LabelsThatAreNoText) {
  EXPECT_EQ(classify({"classes"}, {texts({1, 2}, {"\xff\xfe", "ok"})}, 1),
            "{\"results\":[[[{\"b64\":\"//4=\"},0.0],[\"ok\",0.0]]]}");
}

TEST(JsonExamplesEncode, Errors) {
  EXPECT_EQ(classify({"scores"}, {floats({0, 3}, {})}, 0),
            "Cannot convert empty ClassificationResults to JSON");
  EXPECT_EQ(regress(floats({0}, {}), 0), "Cannot convert empty RegressionResults to JSON");
  EXPECT_EQ(regress(floats({2}, {1, 2}), 1),
            "Input batch size did not match output batch size: 1 vs. 2");
  EXPECT_EQ(classify({"scores"}, {floats({2, 1}, {1, 2})}, 1),
            "Expected scores output batch size of 1. Got: 2");
  EXPECT_EQ(encode(Method::Classify, {"scores"}, {floats({1}, {1})}, 1).code,
            ErrorCode::InvalidArgument);
}

TEST(JsonExamplesEncode, Limits) {
  Limits limits;
  const std::string text = "{\"results\":[2.5,3.0,4.5]}";
  limits.response_bytes_max = text.size();
  const OwnedTensor values = floats({3}, {2.5, 3, 4.5});
  EXPECT_EQ(encode(Method::Regress, {"outputs"}, {values}, 3, limits).text, text);
  --limits.response_bytes_max;
  const Encoded over = encode(Method::Regress, {"outputs"}, {values}, 3, limits);
  EXPECT_EQ(over.code, ErrorCode::BodyTooLarge);
  EXPECT_EQ(over.error, "response is larger than 24 bytes");
  const OwnedTensor classes = texts({1, 3}, {"a", "b", "c"});
  const std::string rows = "{\"results\":[[[\"a\",0.0],[\"b\",0.0],[\"c\",0.0]]]}";
  limits.response_bytes_max = rows.size();
  EXPECT_EQ(encode(Method::Classify, {"classes"}, {classes}, 1, limits).text, rows);
  for (uint64_t bytes = 0; bytes < rows.size(); ++bytes) {
    limits.response_bytes_max = bytes;
    EXPECT_EQ(encode(Method::Classify, {"classes"}, {classes}, 1, limits).code,
              ErrorCode::BodyTooLarge);
  }
}

}  // namespace
}  // namespace serval::test
