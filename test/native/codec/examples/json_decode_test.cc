// REST bodies of classify and regress. Source: tfserving.md 1.3, 1.7; upstream's json_tensor.cc,
// json_tensor_test.cc; Example bytes of TensorFlow's own API.
#include <gtest/gtest.h>

#include "codec/examples/json.h"
#include "support/json_v1_support.h"
#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

using serval::testing::PaddedBody;

std::vector<Signature> regress_signatures() {
  return {tf_signature({tf_spec("inputs", DType::Bytes)}, {tf_spec("outputs", DType::Fp32)}),
          tf_signature({tf_spec("inputs", DType::Bytes)}, {tf_spec("outputs", DType::Fp32)}, "r",
                       "tensorflow/serving/regress")};
}

struct Decoded {
  explicit Decoded(std::string_view text, std::vector<Signature> models = regress_signatures(),
                   Method method = Method::Regress, bool check_method = false, Limits limits = {})
      : body(text), signatures(std::move(models)) {
    status =
        decode_v1_examples(body.span(), method, check_method, signatures, limits, arena, request);
  }
  std::string error() const { return status.ok() ? "none" : status.error().message; }
  ErrorCode code() const { return status.ok() ? ErrorCode::Ok : status.error().code; }
  std::vector<std::string> examples() const {
    EXPECT_EQ(error(), "none");
    if (!status.ok()) return {};
    const TensorView& input = request.inputs.at(0);
    EXPECT_EQ(input.shape.to_string(), "[" + std::to_string(input.strings.size()) + "]");
    EXPECT_EQ(request.outputs.size(), 1u);
    return {input.strings.begin(), input.strings.end()};
  }

  PaddedBody body;
  std::vector<Signature> signatures;
  Arena arena;
  DecodedRequest request;
  Status status;
};

// Returns the bytes of one example, in hex.
std::string example_hex(const std::string& json) {
  const auto examples = Decoded("{\"examples\":[" + json + "]}").examples();
  return examples.size() == 1 ? to_hex(examples[0]) : "";
}

std::string example_error(const std::string& json) {
  return Decoded("{\"examples\":[" + json + "]}").error();
}

TEST(JsonExamplesDecode, BytesOfTheRealApi) {
  EXPECT_EQ(example_hex("{\"x\":1.0}"), kExampleX1);
  EXPECT_EQ(example_hex("{\"x\":[2.0]}"), kExampleX2);
  EXPECT_EQ(example_hex("{\"c\":7}"), kExampleC7);
  EXPECT_EQ(example_hex("{\"n\":[0,127,128,-1,9223372036854775807]}"), kExampleInts);
  EXPECT_EQ(example_hex("{\"n\":[1e0,0.5,Infinity,-Inf]}"), kExampleFloats);
  EXPECT_EQ(example_hex(R"({"n":["",{"b64":"YWI"},{"b64":"AP8="}]})"), kExampleBytes);
  EXPECT_EQ(example_hex("{\"n\":[]}"), kExampleEmptyList);
  EXPECT_EQ(example_hex("{}"), "");
}

TEST(JsonExamplesDecode, KindsOfFeatures) {
  const auto feature = [](uint32_t kind, const std::string& list) {
    const WireBuilder value = WireBuilder().message(2, WireBuilder().bytes(kind, list));
    const WireBuilder entry = WireBuilder().bytes(1, "f").raw(value.str());
    return to_hex(WireBuilder().message(1, WireBuilder().message(1, entry)).str());
  };
  const auto ints = [&](std::initializer_list<int64_t> values) {
    return feature(3, WireBuilder().packed(1, values).str());
  };
  const auto reals = [&](std::initializer_list<float> values) {
    return feature(2, WireBuilder().packed_fixed<float>(1, values).str());
  };
  EXPECT_EQ(example_hex("{\"f\":[true,false,5]}"), ints({1, 0, 5}));
  EXPECT_EQ(example_hex("{\"f\":-0}"), ints({0}));
  EXPECT_EQ(example_hex("{\"f\":-9223372036854775808}"), ints({INT64_MIN}));
  EXPECT_EQ(example_hex("{\"f\":-0.0}"), reals({-0.0f}));
  EXPECT_EQ(example_hex("{\"f\":18446744073709551616}"), reals({18446744073709551616.0f}));
  EXPECT_EQ(example_hex("{\"f\":[1e39,1e-50,2E1]}"),
            reals({std::numeric_limits<float>::infinity(), 0.0f, 20.0f}));
  EXPECT_EQ(example_hex("{\"f\":[NaN]}").substr(0, 22), reals({0}).substr(0, 22));
  EXPECT_EQ(example_hex("{\"f\":\"a\\u0000\\u00e9\"}"),
            feature(1, WireBuilder().bytes(1, std::string("a\0\xc3\xa9", 4)).str()));
}

TEST(JsonExamplesDecode, NamesAndOrder) {
  // Features are in the JSON's order; the last one of a name counts, as it is the last on the wire.
  const auto entry = [](const char* name, int64_t value) {
    const WireBuilder list = WireBuilder().packed(1, {value});
    return WireBuilder().bytes(1, name).message(2, WireBuilder().message(3, list));
  };
  WireBuilder features;
  features.message(1, entry("b", 1)).message(1, entry("a", 2)).message(1, entry("b", 3));
  EXPECT_EQ(example_hex("{\"b\":1,\"a\":[2],\"b\":3}"),
            to_hex(WireBuilder().message(1, features).str()));
  EXPECT_EQ(example_hex("{\"\":1}"),
            to_hex(WireBuilder().message(1, WireBuilder().message(1, entry("", 1))).str()));
  // An example is an object of features even if it looks like base64.
  EXPECT_NE(example_hex("{\"b64\":\"YWI=\"}"), "");
}

TEST(JsonExamplesDecode, Context) {
  const std::string x1 = from_hex(kExampleX1), x2 = from_hex(kExampleX2), c7 = from_hex(kExampleC7);
  const std::string body = R"({"examples":[{"x":1.0},{},{"x":2.0}],"context":{"c":7}, "more":1})";
  EXPECT_EQ(Decoded(body).examples(), (std::vector<std::string>{c7 + x1, c7, c7 + x2}));
  EXPECT_EQ(Decoded(R"({"context":{},"examples":[{"x":1.0}]})").examples(),
            std::vector<std::string>{x1});
  EXPECT_EQ(Decoded(R"({"context":null,"examples":[{}]})").error(),
            "Example must be JSON object but got JSON Null");
  EXPECT_EQ(Decoded(R"({"context":[{}],"examples":[{}]})").error(),
            "Example must be JSON object but got JSON Array");
  EXPECT_EQ(Decoded(R"({"context":{"c":null},"examples":[{}]})").error(),
            "Feature: c has element with unexpected JSON type: Null");
}

TEST(JsonExamplesDecode, FeatureErrors) {
  const std::string unexpected = "Feature: f has element with unexpected JSON type: ";
  EXPECT_EQ(example_error("{\"f\":null}"), unexpected + "Null");
  EXPECT_EQ(example_error("{\"f\":[1,null]}"), unexpected + "Null");
  EXPECT_EQ(example_error("{\"f\":[[1]]}"), unexpected + "Array");
  EXPECT_EQ(example_error("{\"f\":{\"a\":1}}"), unexpected + "Object");
  EXPECT_EQ(example_error("{\"f\":{}}"), unexpected + "Object");
  EXPECT_EQ(example_error("{\"f\":[{\"b64\":\"\",\"c\":1}]}"), unexpected + "Object");
  EXPECT_EQ(example_error("{\"f\":[{\"b64\":1}]}"), unexpected + "Object");
  const std::string kind = "Unexpected element type in feature: f expecting type: ";
  EXPECT_EQ(example_error("{\"f\":[1,2.0]}"), kind + "int64");
  EXPECT_EQ(example_error("{\"f\":[2.0,1]}"), kind + "float");
  EXPECT_EQ(example_error("{\"f\":[true,NaN]}"), kind + "int64");
  EXPECT_EQ(example_error("{\"f\":[\"a\",1]}"), kind + "bytes");
  EXPECT_EQ(example_error("{\"f\":[1,{\"b64\":\"\"}]}"), kind + "int64");
  EXPECT_EQ(example_error("{\"f\":[{\"b64\":\"\"},false]}"), kind + "bytes");
  EXPECT_EQ(example_error("{\"f\":[0.5,18446744073709551615]}"), kind + "float");
  const std::string large = "Feature: f has uint64_t element. Only int64_t is supported.";
  EXPECT_EQ(example_error("{\"f\":9223372036854775808}"), large);
  EXPECT_EQ(example_error("{\"f\":[1,18446744073709551615]}"), large);
  EXPECT_EQ(example_error("{\"f\":{\"b64\":\"_-\"}}"), "Unable to base64 decode");
  EXPECT_EQ(example_error("{\"f\":[\"a\",{\"b64\":\"YWI==\"}]}"), "Unable to base64 decode");
  // An element is checked even if its name is repeated later.
  EXPECT_EQ(example_error("{\"f\":null,\"f\":1}"), unexpected + "Null");
}

TEST(JsonExamplesDecode, ExamplesKey) {
  const auto echoed = [](const char* json, const char* what) {
    return "JSON Value: " + std::string(json) + " " + what;
  };
  EXPECT_EQ(Decoded("{}").error(),
            echoed("{}", "When method is classify, key 'examples' is expected and was not found"));
  EXPECT_EQ(Decoded("{\"examples\":{}}").error(),
            echoed("{\n    \"examples\": {}\n}", "Expecting 'examples' value to be an list/array"));
  EXPECT_EQ(Decoded("{\"examples\":[]}").error(),
            echoed("{\n    \"examples\": []\n}", "'examples' value is an empty array"));
  EXPECT_EQ(Decoded("{\"examples\":[{},7]}").error(),
            "Example must be JSON object but got JSON Number");
  EXPECT_EQ(Decoded("[]").error(), echoed("[]", "Is not object"));
  EXPECT_EQ(Decoded("{\"examples\":[{}],\"signature_name\":null}").code(),
            ErrorCode::InvalidArgument);
  // The first of two equal keys counts.
  EXPECT_EQ(Decoded("{\"examples\":[{\"x\":1.0}],\"examples\":7}").examples().size(), 1u);
}

// Source: tfserving.md 1.3: URL, JSON, signature_name, context, examples, model, signature.
TEST(JsonExamplesDecode, OrderOfChecks) {
  const auto unknown = [](std::string_view body) { return Decoded(body, {}); };
  const Decoded model = unknown("{\"examples\":[{}]}");
  EXPECT_EQ(model.code(), ErrorCode::ModelNotFound);
  EXPECT_EQ(model.error(), "");
  EXPECT_EQ(unknown("{\"examples\"").error(),
            "JSON Parse error: Missing a colon after a name of object member. at offset: 11");
  EXPECT_EQ(unknown("").error(), "JSON Parse error: The document is empty");
  EXPECT_NE(unknown("{\"signature_name\":1,\"context\":1}").error().find("signature_name"),
            std::string::npos);
  EXPECT_EQ(unknown("{\"examples\":[],\"context\":1}").error(),
            "Example must be JSON object but got JSON Number");
  EXPECT_EQ(unknown("{\"examples\":[{\"f\":null}]}").code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(Decoded("{\"examples\":[{\"f\":null}],\"signature_name\":\"none\"}").error(),
            "Feature: f has element with unexpected JSON type: Null");
}

TEST(JsonExamplesDecode, Signatures) {
  const std::string named = R"({"signature_name":"r","examples":[{}]})";
  EXPECT_EQ(Decoded(named).request.signature_index, 1u);
  EXPECT_EQ(Decoded(R"({"signature_name":"","examples":[{}]})").error(), "none");
  const Decoded none(R"({"signature_name":"n","examples":[{}]})");
  EXPECT_EQ(none.error(), "No signature was found with the name: n");
  EXPECT_EQ(none.code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(Decoded(named, regress_signatures(), Method::Regress, true).error(), "none");
  EXPECT_EQ(Decoded(named, regress_signatures(), Method::Classify, true).error(),
            "Expected classification signature method_name to be tensorflow/serving/classify. Was: "
            "tensorflow/serving/regress");
  EXPECT_EQ(Decoded(named, regress_signatures(), Method::Classify).code(),
            ErrorCode::SignatureNotFound);
}

TEST(JsonExamplesDecode, ContextIsBounded) {
  std::string body = "{\"context\":{\"c\":\"" + std::string(1000, 'c') + "\"},\"examples\":[{}";
  for (int i = 1; i < 100; ++i) body += ",{}";
  body += "]}";
  Limits limits;
  limits.body_bytes_max = 100'000;
  const Decoded over(body, regress_signatures(), Method::Regress, false, limits);
  EXPECT_EQ(over.code(), ErrorCode::BodyTooLarge);
  EXPECT_EQ(over.error(),
            "100 examples with a context of 1018 bytes each are over the limit of 100000 bytes");
  limits.body_bytes_max = 101'800;
  EXPECT_EQ(Decoded(body, regress_signatures(), Method::Regress, false, limits).error(), "none");
}

}  // namespace
}  // namespace serval::test
