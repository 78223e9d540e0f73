// PredictResponse, ClassificationResponse and RegressionResponse, byte by byte against TensorFlow
// Serving's own API. Source: tfserving.md 1.7, 2; upstream's classifier.cc, regressor.cc.
#include <gtest/gtest.h>

#include <limits>

#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

const AnswerModel kModel{"m", "5"};

// A request for every output of `signature`, with `examples` examples.
DecodedRequest request_for(const Signature& signature, int64_t examples = 1) {
  DecodedRequest request;
  for (uint32_t i = 0; i < signature.outputs.size(); ++i) request.outputs.push_back({i});
  TensorView input;
  input.dtype = DType::Bytes;
  (void)input.shape.push_back(examples);
  request.inputs.push_back(input);
  return request;
}

struct Encoded {
  std::string bytes, error;
  ErrorCode code = ErrorCode::Ok;
};

// The buffer's contents must be unchanged after an error.
Encoded finish(const Status& status, const ByteBuffer& out) {
  const std::string all(reinterpret_cast<const char*>(out.data()), out.size());
  EXPECT_EQ(all.substr(0, 3), "old");
  if (status.ok()) return {all.substr(3), "none"};
  EXPECT_EQ(all, "old");
  return {"", status.error().message, status.error().code};
}

Encoded encode_predict(const AnswerModel& model, const std::vector<OwnedTensor>& outputs,
                       TfTensorForm form = TfTensorForm::Typed, const Limits& limits = {}) {
  Signature signature = tf_signature({}, {});
  std::vector<TensorView> views;
  for (size_t i = 0; i < outputs.size(); ++i) {
    signature.outputs.push_back(
        tf_spec(std::string(1, static_cast<char>('y' + i)), outputs[i].dtype));
    views.push_back(outputs[i].view());
  }
  ByteBuffer out;
  EXPECT_TRUE(out.append("old"));
  const Status status =
      encode_tf_predict(model, signature, request_for(signature), views, form, limits, out);
  return finish(status, out);
}

Encoded encode_results(Method method, std::vector<std::string> names,
                       const std::vector<OwnedTensor>& outputs, int64_t examples,
                       const Limits& limits = {}) {
  Signature signature = tf_signature({tf_spec("inputs", DType::Bytes)}, {});
  std::vector<TensorView> views;
  for (size_t i = 0; i < outputs.size(); ++i) {
    signature.outputs.push_back(tf_spec(names[i], outputs[i].dtype));
    views.push_back(outputs[i].view());
  }
  ByteBuffer out;
  EXPECT_TRUE(out.append("old"));
  const Status status = encode_tf_results(method, kModel, signature,
                                          request_for(signature, examples), views, limits, out);
  return finish(status, out);
}

std::string classify_error(std::vector<std::string> names, std::vector<OwnedTensor> outputs,
                           int64_t examples) {
  return encode_results(Method::Classify, std::move(names), outputs, examples).error;
}

std::string regress_error(OwnedTensor output, int64_t examples) {
  return encode_results(Method::Regress, {"outputs"}, {std::move(output)}, examples).error;
}

TEST(WireTfEncode, PredictBytesOfTheRealApi) {
  const OwnedTensor y = floats({2}, {2.5, 3});
  EXPECT_EQ(to_hex(encode_predict({"m", "123"}, {y}).bytes), kPredictAnswer);
  EXPECT_EQ(to_hex(encode_predict({"m", "123"}, {y}, TfTensorForm::Content).bytes),
            kPredictAnswerContent);
  // Strings stay in string_val; an empty Int64Value is version 0.
  for (TfTensorForm form : {TfTensorForm::Typed, TfTensorForm::Content}) {
    EXPECT_EQ(to_hex(encode_predict({"m", "0"}, {texts({}, {""})}, form).bytes),
              kPredictAnswerScalar);
  }
}

TEST(WireTfEncode, EveryDtypeBothForms) {
  for (const TensorFixture& fixture : kTensorFixtures) {
    const OwnedTensor tensor{fixture.dtype, {3}, from_hex(fixture.elements), {}};
    for (TfTensorForm form : {TfTensorForm::Typed, TfTensorForm::Content}) {
      const std::string bytes = encode_predict({"m", "x"}, {tensor}, form).bytes;
      const std::string proto =
          from_hex(form == TfTensorForm::Typed ? fixture.typed : fixture.content);
      WireBuilder wanted;
      wanted.message(1, WireBuilder().bytes(1, "y").bytes(2, proto));
      wanted.message(2, WireBuilder().bytes(1, "m").bytes(3, "serving_default"));
      EXPECT_EQ(to_hex(bytes), to_hex(wanted.str()));
    }
  }
}

TEST(WireTfEncode, ShapesAndOrder) {
  const std::string bytes =
      encode_predict({"", ""}, {floats({0, 300}, {}), texts({2}, {"a", ""})}).bytes;
  WireBuilder shape = WireBuilder().message(2, WireBuilder());
  shape.message(2, WireBuilder().varint(1, 300));
  WireBuilder wanted;
  wanted.message(
      1, WireBuilder().bytes(1, "y").message(2, WireBuilder().varint(1, 1).message(2, shape)));
  wanted.message(
      1, WireBuilder().bytes(1, "z").message(2, tensor_proto(7, {2}).bytes(8, "a").bytes(8, "")));
  wanted.message(2, WireBuilder().bytes(3, "serving_default"));
  EXPECT_EQ(to_hex(bytes), to_hex(wanted.str()));
}

TEST(WireTfEncode, PredictErrors) {
  Limits limits;
  const OwnedTensor y = floats({2}, {2.5, 3});
  limits.response_bytes_max = kPredictAnswer.size() / 2 - 1;
  EXPECT_EQ(encode_predict({"m", "3"}, {y}, TfTensorForm::Typed, limits).error,
            "the PredictResponse would be over the limit of " +
                std::to_string(limits.response_bytes_max) + " bytes");
  ++limits.response_bytes_max;
  EXPECT_EQ(encode_predict({"m", "3"}, {y}, TfTensorForm::Typed, limits).error, "none");
  OwnedTensor wrong = y;
  wrong.dims = {3};
  EXPECT_EQ(encode_predict({"m", "3"}, {wrong}).code, ErrorCode::Internal);
  wrong = texts({1}, {"a", "b"});
  EXPECT_EQ(encode_predict({"m", "3"}, {wrong}).error,
            "output 'y' has 0 bytes and 2 strings for shape [1] of string");
  EXPECT_EQ(encode_predict({"m", "3"}, {OwnedTensor{}}).code, ErrorCode::Internal);
}

TEST(WireTfEncode, ResultsOfTheRealApi) {
  const OwnedTensor classes = texts({2, 2}, {"cat", "", "d\xc3\xb6g", "x"});
  const OwnedTensor scores = floats({2, 2}, {0.5f, 0.0f, -0.0f, 1e9f});
  EXPECT_EQ(
      to_hex(encode_results(Method::Classify, {"classes", "scores"}, {classes, scores}, 2).bytes),
      kClassifyAnswer);
  EXPECT_EQ(
      to_hex(encode_results(Method::Classify, {"scores", "classes"}, {scores, classes}, 2).bytes),
      kClassifyAnswer);
  EXPECT_EQ(
      to_hex(encode_results(Method::Regress, {"outputs"}, {floats({3}, {2.5, 0, -1})}, 3).bytes),
      kRegressAnswer);
  EXPECT_EQ(
      to_hex(encode_results(Method::Regress, {"outputs"}, {floats({3, 1}, {2.5, 0, -1})}, 3).bytes),
      kRegressAnswer);
}

TEST(WireTfEncode, OneOfClassesAndScores) {
  const auto wanted = [](const WireBuilder& row) {
    WireBuilder bytes = WireBuilder().message(1, WireBuilder().message(1, row));
    return bytes
        .message(2, WireBuilder()
                        .bytes(1, "m")
                        .message(2, WireBuilder().varint(1, 5))
                        .bytes(3, "serving_default"))
        .str();
  };
  EXPECT_EQ(encode_results(Method::Classify, {"classes"}, {texts({1, 1}, {"a"})}, 1).bytes,
            wanted(WireBuilder().message(1, WireBuilder().bytes(1, "a"))));
  EXPECT_EQ(encode_results(Method::Classify, {"scores"}, {floats({1, 1}, {2})}, 1).bytes,
            wanted(WireBuilder().message(1, WireBuilder().fixed<float>(2, 2))));
  EXPECT_EQ(encode_results(Method::Classify, {"scores"}, {floats({1, 0}, {})}, 1).bytes,
            wanted(WireBuilder()));
}

TEST(WireTfEncode, ClassificationErrors) {
  const OwnedTensor score = floats({1, 2}, {1, 2});
  EXPECT_EQ(classify_error({"scores"}, {floats({2}, {1, 2})}, 2),
            "Expected Tensor shape: [batch_size num_classes] but got [2]");
  EXPECT_EQ(classify_error({"classes"}, {texts({1, 1, 1}, {"a"})}, 1),
            "Expected Tensor shape: [batch_size num_classes] but got [1,1,1]");
  EXPECT_EQ(classify_error({"classes"}, {score}, 1),
            "Expected classes Tensor of DT_STRING. Got: DT_FLOAT");
  const OwnedTensor longs{DType::Int64, {1, 1}, std::string(8, '\0'), {}};
  EXPECT_EQ(classify_error({"scores"}, {longs}, 1),
            "Expected scores Tensor of DT_FLOAT. Got: DT_INT64");
  EXPECT_EQ(classify_error({"scores"}, {score}, 3),
            "Expected scores output batch size of 3. Got: 1");
  EXPECT_EQ(classify_error({"classes"}, {texts({2, 1}, {"a", "b"})}, 1),
            "Expected classes output batch size of 1. Got: 2");
  EXPECT_EQ(classify_error({"classes", "scores"}, {texts({1, 1}, {"a"}), score}, 1),
            "Tensors class and score should match in dim_size(1). Got 1 vs. 2");
  EXPECT_EQ(classify_error({"classes"}, {texts({1, 2}, {"a", "\xff"})}, 1),
            "output 'classes': label 1 is not valid UTF-8, which a gRPC answer cannot carry; REST "
            "can");
  OwnedTensor wrong = score;
  wrong.bytes.resize(4);
  EXPECT_EQ(encode_results(Method::Classify, {"scores"}, {wrong}, 1).code, ErrorCode::Internal);
}

TEST(WireTfEncode, RegressionErrors) {
  const std::string shape =
      "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got ";
  EXPECT_EQ(regress_error(floats({}, {1}), 1), shape + "[]");
  EXPECT_EQ(regress_error(floats({1, 2}, {1, 2}), 1), shape + "[1,2]");
  EXPECT_EQ(regress_error(floats({1, 1, 1}, {1}), 1), shape + "[1,1,1]");
  EXPECT_EQ(regress_error(floats({2}, {1, 2}), 3),
            "Input batch size did not match output batch size: 3 vs. 2");
  EXPECT_EQ(regress_error({DType::Fp64, {1}, std::string(8, '\0'), {}}, 1),
            "Expected output Tensor of DT_FLOAT.  Got: DT_DOUBLE");
  EXPECT_EQ(encode_results(Method::Regress, {"y"}, {floats({1}, {1})}, 1).error,
            "Could not find output tensor 'outputs'");
}

TEST(WireTfEncode, ResultLimits) {
  Limits limits;
  limits.response_bytes_max = kRegressAnswer.size() / 2;
  const OwnedTensor values = floats({3}, {2.5, 0, -1});
  EXPECT_EQ(encode_results(Method::Regress, {"outputs"}, {values}, 3, limits).error, "none");
  --limits.response_bytes_max;
  const Encoded over = encode_results(Method::Regress, {"outputs"}, {values}, 3, limits);
  EXPECT_EQ(over.code, ErrorCode::BodyTooLarge);
  limits.response_bytes_max = 20;
  EXPECT_EQ(encode_results(Method::Classify, {"scores"}, {floats({1, 1}, {2})}, 1, limits).error,
            "the ClassificationResponse would be over the limit of 20 bytes");
}

}  // namespace
}  // namespace serval::test
