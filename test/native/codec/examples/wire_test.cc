// ClassificationRequest and RegressionRequest. Source: tfserving.md 1.7, 2; upstream's
// classifier.cc, regressor.cc, servables/util.cc.
#include <gtest/gtest.h>

#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

Signature classify_signature(std::string name = "serving_default") {
  return tf_signature({tf_spec("inputs", DType::Bytes)},
                      {tf_spec("scores", DType::Fp32), tf_spec("classes", DType::Bytes)},
                      std::move(name), "tensorflow/serving/classify");
}

Signature regress_signature() {
  return tf_signature({tf_spec("inputs", DType::Fp32)}, {tf_spec("outputs", DType::Fp32)},
                      "serving_default", "tensorflow/serving/regress");
}

struct DecodedWire {
  DecodedWire(std::string message, Method method, const std::vector<Signature>& signatures,
              bool check_method = false, Limits limits = {})
      : bytes(std::move(message)) {
    status = decode_tf_examples(as_bytes(bytes), method, check_method, signatures, limits, arena,
                                request);
  }
  std::string error() const { return status.ok() ? "none" : status.error().message; }
  ErrorCode code() const { return status.ok() ? ErrorCode::Ok : status.error().code; }
  std::vector<std::string> examples() const {
    EXPECT_EQ(error(), "none");
    if (!status.ok()) return {};
    const TensorView& input = request.inputs.at(0);
    EXPECT_EQ(input.dtype, DType::Bytes);
    EXPECT_EQ(input.shape.to_string(), "[" + std::to_string(input.strings.size()) + "]");
    return {input.strings.begin(), input.strings.end()};
  }

  std::string bytes;
  Arena arena;
  DecodedRequest request;
  Status status;
};

WireBuilder list_of(std::initializer_list<const char*> examples) {
  WireBuilder list;
  for (const char* example : examples) list.bytes(1, example);
  return list;
}

// A request with one Input of one list.
std::string request_of(uint32_t kind, const WireBuilder& list) {
  return model_spec().message(2, WireBuilder().message(kind, list)).str();
}

std::string classify_error(std::vector<Signature> signatures, bool check_method = false) {
  return DecodedWire(request_of(1, list_of({"a"})), Method::Classify, signatures, check_method)
      .error();
}

std::string regress_error(std::vector<Signature> signatures, bool check_method = false) {
  return DecodedWire(request_of(1, list_of({"a"})), Method::Regress, signatures, check_method)
      .error();
}

using Texts = std::vector<std::string>;

TEST(WireTfExamples, RealRequests) {
  const std::string x1 = from_hex(kExampleX1), x2 = from_hex(kExampleX2), c7 = from_hex(kExampleC7);
  const DecodedWire classify(from_hex(kClassifyRequest), Method::Classify,
                             {regress_signature(), classify_signature("c")});
  EXPECT_EQ(classify.examples(), (Texts{x1, x2}));
  EXPECT_EQ(classify.request.signature_index, 1u);
  ASSERT_EQ(classify.request.outputs.size(), 2u);
  EXPECT_EQ(classify.request.outputs[0].index, 1u);  // classes precede scores
  EXPECT_EQ(classify.request.outputs[1].index, 0u);
  const char* const text = classify.request.inputs[0].strings[0].data();
  EXPECT_TRUE(text > classify.bytes.data() && text < classify.bytes.data() + classify.bytes.size());
  // The input's declared dtype (FLOAT here, as in half_plus_three) is not checked.
  const DecodedWire regress(from_hex(kRegressRequest), Method::Regress, {regress_signature()});
  EXPECT_EQ(regress.examples(), (Texts{c7 + x1, c7 + x2}));
  ASSERT_EQ(regress.request.outputs.size(), 1u);
}

TEST(WireTfExamples, InputsAreMerged) {
  const auto examples = [](const WireBuilder& inputs) {
    return DecodedWire(model_spec().raw(inputs.str()).str(), Method::Regress, {regress_signature()})
        .examples();
  };
  const auto input = [](uint32_t kind, const WireBuilder& list) {
    return WireBuilder().message(2, WireBuilder().message(kind, list)).str();
  };
  WireBuilder context = list_of({"3"});
  context.bytes(2, "C").bytes(1, "4").bytes(2, "D");
  EXPECT_EQ(examples(WireBuilder().raw(input(1, list_of({"1"}))).raw(input(1, list_of({"2", ""})))),
            (Texts{"1", "2", ""}));
  EXPECT_EQ(examples(WireBuilder().raw(input(2, context)).raw(input(2, list_of({"5"})))),
            (Texts{"CD3", "CD4", "CD5"}));
  // A list of the other kind replaces the earlier one, as in any oneof.
  EXPECT_EQ(examples(WireBuilder().raw(input(2, context)).raw(input(1, list_of({"1"})))),
            Texts{"1"});
  WireBuilder both;
  both.message(1, list_of({"1"})).message(2, list_of({"2"})).message(1, list_of({"3"}));
  EXPECT_EQ(examples(WireBuilder().message(2, both)), Texts{"3"});
  // Field 2 of an ExampleList is unknown and skipped, as are fields of another wire type.
  EXPECT_EQ(examples(WireBuilder().raw(input(1, context.varint(1, 7)))), (Texts{"3", "4"}));
  EXPECT_EQ(examples(WireBuilder().raw(input(2, list_of({"1"}).bytes(2, "")))), Texts{"1"});
}

TEST(WireTfExamples, EmptyInput) {
  const std::vector<Signature> signatures{regress_signature()};
  for (const std::string& message :
       {model_spec().str(), model_spec().message(2, WireBuilder()).str(),
        request_of(1, WireBuilder()), request_of(2, WireBuilder().bytes(2, "context"))}) {
    const DecodedWire decoded(message, Method::Regress, signatures);
    EXPECT_EQ(decoded.error(), "Input is empty.");
    EXPECT_EQ(decoded.code(), ErrorCode::InvalidArgument);
  }
  // The signature is checked first.
  EXPECT_EQ(DecodedWire(model_spec("s").str(), Method::Regress, signatures).error(),
            "No signature was found with the name: s");
}

TEST(WireTfExamples, ContextIsBounded) {
  WireBuilder list = WireBuilder().bytes(2, std::string(100, 'c'));
  for (int i = 0; i < 20; ++i) list.bytes(1, "");
  Limits limits;
  limits.body_bytes_max = 2000;
  const std::string message = request_of(2, list);
  EXPECT_EQ(DecodedWire(message, Method::Regress, {regress_signature()}, false, limits).error(),
            "none");
  limits.body_bytes_max = 1999;
  const DecodedWire over(message, Method::Regress, {regress_signature()}, false, limits);
  EXPECT_EQ(over.code(), ErrorCode::BodyTooLarge);
  EXPECT_EQ(over.error(),
            "RegressionRequest: 20 examples with a context of 100 bytes each are over the limit of "
            "1999 bytes");
  limits.body_bytes_max = 10;
  EXPECT_EQ(DecodedWire(message, Method::Classify, {}, false, limits).error(),
            "ClassificationRequest is " + std::to_string(message.size()) +
                " bytes long; the limit is 10");
}

TEST(WireTfExamples, ClassifySignatures) {
  EXPECT_EQ(classify_error({}), "No signature was found with the name: serving_default");
  EXPECT_EQ(classify_error({classify_signature()}, true), "none");
  Signature other = classify_signature();
  other.method_name = "tensorflow/serving/predict";
  EXPECT_EQ(classify_error({other}), "none");
  EXPECT_EQ(classify_error({other}, true),
            "Expected classification signature method_name to be tensorflow/serving/classify. Was: "
            "tensorflow/serving/predict");
  other = classify_signature();
  other.inputs.push_back(tf_spec("more", DType::Bytes));
  EXPECT_EQ(classify_error({other}), "Expected one input Tensor.");
  other.inputs.clear();
  EXPECT_EQ(classify_error({other}), "Expected one input Tensor.");
  other = classify_signature();
  other.inputs[0].name = "x";
  EXPECT_EQ(classify_error({other}),
            "No classification inputs found in SignatureDef: inputs: x; outputs: classes,scores; "
            "method_name: tensorflow/serving/classify");
  other = classify_signature();
  other.outputs[0].name = "a";
  EXPECT_EQ(classify_error({other}), "none");  // only classes
  other.outputs[1].name = "b";
  EXPECT_EQ(classify_error({other}),
            "Expected classification signature outputs to contain at least one of \"classes\" or "
            "\"scores\". Signature was: inputs: inputs; outputs: a,b; method_name: "
            "tensorflow/serving/classify");
  other.outputs.clear();
  EXPECT_EQ(classify_error({other}), "Expected one or two output Tensors, found 0");
  other.outputs.resize(3);
  EXPECT_EQ(classify_error({other}), "Expected one or two output Tensors, found 3");
}

TEST(WireTfExamples, RegressSignatures) {
  EXPECT_EQ(regress_error({regress_signature()}, true), "none");
  EXPECT_EQ(regress_error({classify_signature()}, true),
            "Expected regression signature method_name to be tensorflow/serving/regress. Was: "
            "tensorflow/serving/classify");
  EXPECT_EQ(regress_error({classify_signature()}), "Expected one output Tensor.");
  Signature other = regress_signature();
  other.inputs[0].name = "x";
  EXPECT_EQ(regress_error({other}),
            "No regression inputs found in SignatureDef: inputs: x; outputs: outputs; method_name: "
            "tensorflow/serving/regress");
  const DecodedWire decoded(request_of(1, list_of({"a"})), Method::Regress, {other});
  EXPECT_EQ(decoded.code(), ErrorCode::InvalidArgument);  // the same code as upstream
  other = regress_signature();
  other.outputs[0].name = "y";
  EXPECT_EQ(regress_error({other}),
            "No regression outputs found in SignatureDef: inputs: inputs; outputs: y; method_name: "
            "tensorflow/serving/regress");
}

TEST(WireTfExamples, Malformed) {
  const auto error = [](Method method, const WireBuilder& rest) {
    const DecodedWire decoded(model_spec().raw(rest.str()).str(), method, {});
    EXPECT_EQ(decoded.code(), ErrorCode::MalformedBody);
    return decoded.error();
  };
  EXPECT_EQ(error(Method::Classify, WireBuilder().tag(2, 2)),
            "malformed ClassificationRequest: varint cut off at byte 6");
  EXPECT_EQ(error(Method::Regress, WireBuilder().message(2, WireBuilder().raw("\x0e"))),
            "malformed RegressionRequest: unknown wire type at byte 7");
  const WireBuilder list = WireBuilder().tag(1, 2).bare_varint(9).raw("short");
  EXPECT_EQ(error(Method::Regress, WireBuilder().message(2, WireBuilder().message(1, list))),
            "malformed RegressionRequest: length past the end of its message at byte 9");
  EXPECT_EQ(error(Method::Regress, WireBuilder().message(1, WireBuilder().bytes(3, "\xff"))),
            "malformed RegressionRequest: string that is not valid UTF-8 at byte 9");
}

}  // namespace
}  // namespace serval::test
