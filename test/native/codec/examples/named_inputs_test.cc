// Examples as the inputs of a classifier that has tensor inputs; its named scores as classes.
#include "codec/examples/named_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "codec/examples/json.h"
#include "codec/examples/signature.h"
#include "support/json_v1_support.h"
#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

using serval::testing::PaddedBody;

TensorSpec spec_of(std::string name, DType dtype, std::vector<int64_t> dims, bool absent = false) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.dtype = dtype;
  spec.dims = std::move(dims);
  spec.may_be_absent = absent;
  return spec;
}

Signature classifier(std::vector<TensorSpec> inputs) {
  TensorSpec label = spec_of("label", DType::Int64, {-1});
  TensorSpec scores = spec_of("probabilities", DType::Fp32, {-1, 2});
  scores.labels = {"no", "yes"};
  return {"serving_default", std::move(inputs), {label, scores}, ""};
}

// A REST body, read as a classify request of `signature`.
struct NamedRead {
  NamedRead(const std::string& examples, Signature of)
      : body("{\"examples\":[" + examples + "]}"), signatures{std::move(of)} {
    status = decode_v1_examples(body.span(), Method::Classify, false, signatures, Limits(), arena,
                                request);
    if (status.ok()) status = examples_to_inputs(signatures[0], arena, request);
    compare_direct();
  }
  // Expects the same inputs from the path that makes no Examples.
  void compare_direct() {
    Arena memory;
    DecodedRequest other;
    const Status done =
        decode_v1_classify(body.span(), false, signatures, Limits(), memory, other, direct);
    if (!direct) return;
    ASSERT_TRUE(done.ok() && status.ok()) << error();
    EXPECT_EQ(other.outputs.size(), request.outputs.size());
    ASSERT_EQ(other.inputs.size(), request.inputs.size());
    for (size_t i = 0; i < other.inputs.size(); ++i) {
      const TensorView& a = other.inputs[i];
      const TensorView& b = request.inputs[i];
      EXPECT_EQ(a.dtype, b.dtype);
      EXPECT_EQ(a.shape.to_string(), b.shape.to_string());
      ASSERT_EQ(a.bytes, b.bytes);
      if (a.bytes != 0) {
        EXPECT_EQ(std::memcmp(a.data, b.data, a.bytes), 0);
      }
      EXPECT_TRUE(
          std::equal(a.strings.begin(), a.strings.end(), b.strings.begin(), b.strings.end()));
    }
  }
  std::string error() const { return status.ok() ? "none" : status.error().message; }
  const TensorView& input(size_t i) const { return request.inputs.at(i); }

  PaddedBody body;
  std::vector<Signature> signatures;
  Arena arena;
  DecodedRequest request;
  Status status;
  bool direct = false;
};

std::string error_of(const std::string& examples, std::vector<TensorSpec> inputs) {
  return NamedRead(examples, classifier(std::move(inputs))).error();
}

TEST(NamedInputs, RowsOfNumbers) {
  const NamedRead read("{\"x\":[1.5,2.0],\"more\":\"z\"},{\"x\":[3,-4]}",
                       classifier({spec_of("x", DType::Fp32, {-1, 2})}));
  ASSERT_EQ(read.error(), "none");
  EXPECT_EQ(read.request.outputs.size(), 1u);
  EXPECT_EQ(read.request.outputs[0].index, 1u);
  EXPECT_EQ(read.input(0).shape.to_string(), "[2,2]");
  EXPECT_EQ(values_of<float>(read.input(0)), (std::vector<float>{1.5f, 2, 3, -4}));
}

TEST(NamedInputs, EachTypeOfInput) {
  const auto numbers = [](DType dtype) {
    NamedRead read("{\"x\":[0,1]},{\"x\":[1,0]}", classifier({spec_of("x", dtype, {-1, 2})}));
    EXPECT_EQ(read.error(), "none");
    EXPECT_EQ(read.input(0).dtype, dtype);
    return data_hex(read.input(0));
  };
  EXPECT_EQ(numbers(DType::Bool), "00010100");
  EXPECT_EQ(numbers(DType::Int8), "00010100");
  EXPECT_EQ(numbers(DType::Uint16), "0000010001000000");
  EXPECT_EQ(numbers(DType::Int32), "00000000010000000100000000000000");
  EXPECT_EQ(numbers(DType::Fp16), "0000003c003c0000");
  EXPECT_EQ(numbers(DType::Bf16), "0000803f803f0000");
  EXPECT_EQ(numbers(DType::Fp64),
            "0000000000000000000000000000f03f000000000000f03f0000000000000000");
  EXPECT_EQ(numbers(DType::Int64),
            "0000000000000000010000000000000001000000000000000000000000000000");
}

TEST(NamedInputs, SeveralInputsAndTexts) {
  const NamedRead read(
      "{\"age\":41,\"city\":\"Köln\"},{\"city\":{\"b64\":\"AP8=\"},\"age\":7}",
      classifier({spec_of("city", DType::Bytes, {-1, 1}), spec_of("age", DType::Int64, {-1})}));
  ASSERT_EQ(read.error(), "none");
  EXPECT_EQ(read.input(0).shape.to_string(), "[2,1]");
  EXPECT_EQ(read.input(0).strings[0], "Köln");
  EXPECT_EQ(to_hex(read.input(0).strings[1]), "00ff");
  EXPECT_EQ(read.input(1).shape.to_string(), "[2]");
  EXPECT_EQ(values_of<int64_t>(read.input(1)), (std::vector<int64_t>{41, 7}));
}

// A row of random features, most of which fit: the path without Examples fills the same inputs as
// the Examples describe.
TEST(NamedInputs, WithoutExamplesTheSameInputs) {
  std::mt19937 random(31);
  const auto one_of = [&](const std::vector<std::string>& texts) {
    return texts[random() % texts.size()];
  };
  const std::vector<std::string> reals = {"1.5", "-0.0", "1e300", "0.1", "NaN", "1e-60"};
  const std::vector<std::string> wholes = {"1", "0", "-4", "false", "true", "300", "9000000000"};
  const std::vector<std::string> words = {R"("a")", R"({"b64":"YWI="})", R"("\u00e4")", R"("")"};
  const std::vector<DType> kinds = {DType::Fp32,  DType::Fp64, DType::Fp16, DType::Int64,
                                    DType::Uint8, DType::Bool, DType::Bytes};
  size_t direct = 0;
  for (int round = 0; round < 4'000; ++round) {
    const std::vector<TensorSpec> inputs = {
        spec_of("a", kinds[random() % kinds.size()], {-1, 2}),
        spec_of("b", kinds[random() % kinds.size()], {-1, -1}, random() % 2 == 0),
        spec_of("c", kinds[random() % kinds.size()], {-1})};
    std::string examples;
    for (int row = 0; row < 3; ++row) {
      std::string features = R"("other":[1,2])";
      for (const TensorSpec& spec : inputs) {
        if (random() % 30 == 0 || (spec.may_be_absent && round % 2 == 0)) continue;
        const auto& texts = spec.dtype == DType::Bytes                    ? words
                            : dtype_is_real(spec.dtype) && round % 3 != 0 ? reals
                                                                          : wholes;
        std::string list;
        const size_t count = spec.name == "c" ? 1 : 2 + (random() % 40 == 0);
        for (size_t i = 0; i < count; ++i) {
          list += (i == 0 ? "" : ",") + one_of(texts);
        }
        const bool bare = count == 1 && random() % 2 == 0;
        features += ",\"" + spec.name + "\":" + (bare ? list : "[" + list + "]");
        if (random() % 60 == 0) features += ",\"" + spec.name + "\":[" + list + "]";
      }
      examples += (row == 0 ? "{" : ",{") + features + "}";
    }
    const NamedRead read(examples, classifier(inputs));
    direct += read.direct;
    ASSERT_FALSE(HasFatalFailure()) << examples;
  }
  EXPECT_GT(direct, 1'000u) << "too few fit to say anything";
  const NamedRead plain("{\"x\":[1.5,2]}", classifier({spec_of("x", DType::Fp32, {-1, 2})}));
  EXPECT_NE(plain.error(), "none");
  EXPECT_TRUE(
      NamedRead("{\"x\":[1.5,2.5]}", classifier({spec_of("x", DType::Fp32, {-1, 2})})).direct);
}

TEST(NamedInputs, ContextIsInEachExample) {
  const PaddedBody body("{\"context\":{\"x\":[1,2]},\"examples\":[{},{\"x\":[3,4]}]}");
  const std::vector<Signature> signatures{classifier({spec_of("x", DType::Fp32, {-1, 2})})};
  Arena arena;
  DecodedRequest request;
  ASSERT_TRUE(
      decode_v1_examples(body.span(), Method::Classify, false, signatures, Limits(), arena, request)
          .ok());
  ASSERT_TRUE(examples_to_inputs(signatures[0], arena, request).ok());
  EXPECT_EQ(values_of<float>(request.inputs[0]), (std::vector<float>{1, 2, 3, 4}));
}

TEST(NamedInputs, FreeDimsAndUnknownRanks) {
  TensorSpec any = spec_of("y", DType::Fp32, {});
  any.unknown_rank = true;
  const NamedRead read("{\"x\":[1,2,3,4],\"y\":[5,6]},{\"x\":[5,6,7,8],\"y\":[7,8]}",
                       classifier({spec_of("x", DType::Fp32, {-1, 2, -1}), any}));
  ASSERT_EQ(read.error(), "none");
  EXPECT_EQ(read.input(0).shape.to_string(), "[2,2,2]");
  EXPECT_EQ(read.input(1).shape.to_string(), "[2,2]");
  EXPECT_EQ(error_of("{\"x\":[1,2]},{\"x\":[1,2,3]}", {spec_of("x", DType::Fp32, {-1, -1})}),
            "example 1: feature 'x' for input 'x' (FP32 [-1,-1]): expected 2 values as in example "
            "0, got 3");
  EXPECT_EQ(error_of("{\"x\":[1,2,3]}", {spec_of("x", DType::Fp32, {-1, 2, -1})}),
            "example 0: feature 'x' for input 'x' (FP32 [-1,2,-1]): expected a multiple of 2 "
            "values, got 3");
}

TEST(NamedInputs, InputsThatMayBeAbsent) {
  const std::vector<TensorSpec> inputs{spec_of("x", DType::Fp32, {-1}),
                                       spec_of("k", DType::Int32, {-1}, true)};
  const NamedRead without("{\"x\":1},{\"x\":2}", classifier(inputs));
  ASSERT_EQ(without.error(), "none");
  EXPECT_EQ(without.input(1).dtype, DType::Invalid);
  const NamedRead with("{\"x\":1,\"k\":5},{\"x\":2,\"k\":6}", classifier(inputs));
  ASSERT_EQ(with.error(), "none");
  EXPECT_EQ(values_of<int32_t>(with.input(1)), (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(error_of("{\"x\":1},{\"x\":2,\"k\":6}", inputs),
            "example 1: feature 'k' for input 'k' (INT32 [-1]): expected it in all examples or in "
            "none; example 0 does not have it");
  EXPECT_EQ(error_of("{\"x\":1,\"k\":5},{\"x\":2}", inputs),
            "example 1: expected a feature 'k' for input 'k' (INT32 [-1]), got 'x'");
}

TEST(NamedInputs, WhatDoesNotFit) {
  const std::vector<TensorSpec> x{spec_of("x", DType::Fp32, {-1, 2})};
  EXPECT_EQ(error_of("{\"a\":1,\"b\":[2]}", x),
            "example 0: expected a feature 'x' for input 'x' (FP32 [-1,2]), got 'a', 'b'");
  EXPECT_EQ(error_of("{}", x),
            "example 0: expected a feature 'x' for input 'x' (FP32 [-1,2]), got no features");
  EXPECT_EQ(error_of("{\"x\":[1,2]},{\"x\":[1,2,3]}", x),
            "example 1: feature 'x' for input 'x' (FP32 [-1,2]): expected 2 values, got 3");
  EXPECT_EQ(error_of("{\"x\":[]}", x),
            "example 0: expected a feature 'x' for input 'x' (FP32 [-1,2]), got one "
            "without values");
  EXPECT_EQ(error_of("{\"x\":[\"a\",\"b\"]}", x),
            "example 0: feature 'x' for input 'x' (FP32 [-1,2]): expected numbers, got texts");
  EXPECT_EQ(error_of("{\"x\":1.5}", {spec_of("x", DType::Int8, {-1})}),
            "example 0: feature 'x' for input 'x' (INT8 [-1]): expected whole numbers, got reals");
  EXPECT_EQ(error_of("{\"x\":1},{\"x\":128}", {spec_of("x", DType::Int8, {-1})}),
            "example 1: feature 'x' for input 'x' (INT8 [-1]): value 128 at index 0 is out of the "
            "range of INT8");
  EXPECT_EQ(error_of("{\"x\":2}", {spec_of("x", DType::Bool, {-1})}),
            "example 0: feature 'x' for input 'x' (BOOL [-1]): value 2 at index 0 is out of the "
            "range of BOOL");
  EXPECT_EQ(error_of("{\"x\":1}", {spec_of("x", DType::Bytes, {-1})}),
            "example 0: feature 'x' for input 'x' (BYTES [-1]): expected texts, got whole numbers");
  EXPECT_EQ(
      error_of("{\"x\":1}", {spec_of("x", DType::Fp32, {})}),
      "classify: input 'x' (FP32 []) has no dimension for rows, so Examples cannot be used; use "
      "predict");
  EXPECT_EQ(
      error_of("{\"x\":1}", {spec_of("x", DType::Fp32, {-1, -1, -1})}),
      "classify: input 'x' (FP32 [-1,-1,-1]) has several free trailing dimensions, which a flat "
      "list of values cannot describe; use predict");
}

// Arbitrary bytes in place of an Example are read to their end and no further.
TEST(NamedInputs, BytesThatAreNoExamples) {
  const std::vector<Signature> signatures{classifier({spec_of("x", DType::Fp32, {-1, 2})})};
  const std::string whole = from_hex("0a100a0e0a0178120912070a05") + "\x01\x02\x03\x04\x05";
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    const std::string bytes = whole.substr(0, cut);
    const std::string_view view = bytes;
    Arena arena;
    DecodedRequest request;
    set_example_input({&view, 1}, request);
    EXPECT_FALSE(examples_to_inputs(signatures[0], arena, request).ok()) << cut;
  }
}

TEST(NamedInputs, ScoresWithTheirNames) {
  const Signature signature = classifier({spec_of("x", DType::Fp32, {-1, 2})});
  const OwnedTensor scores = floats({2, 2}, {0.25, 0.75, 1, 0});
  DecodedRequest request;
  request.outputs.push_back({1});
  request.inputs.emplace_back();
  (void)request.inputs[0].shape.push_back(2);
  const TensorView view = scores.view();
  ByteBuffer out;
  ASSERT_TRUE(
      encode_v1_results(Method::Classify, signature, request, {&view, 1}, Limits(), out).ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(out.data()), out.size()),
            "{\"results\":[[[\"no\",0.25],[\"yes\",0.75]],[[\"no\",1.0],[\"yes\",0.0]]]}");
  ByteBuffer message;
  ASSERT_TRUE(encode_tf_results(Method::Classify, {"m", "1"}, signature, request, {&view, 1},
                                Limits(), message)
                  .ok());
  const std::string bytes(reinterpret_cast<const char*>(message.data()), message.size());
  // result {classifications {classes {label, score} ...} ...}
  EXPECT_EQ(to_hex(bytes.substr(0, 40)),
            "0a2d0a170a090a026e6f150000803e0a0a0a03796573150000403f0a120a090a026e6f150000803f");
}

TEST(NamedInputs, TwoNamedOutputsAreNoClassifier) {
  Signature signature = classifier({spec_of("x", DType::Fp32, {-1, 2})});
  signature.outputs.push_back(signature.outputs[1]);
  EXPECT_EQ(find_named_scores(signature), -1);
  EXPECT_EQ(find_named_scores(classifier({})), 1);
}

}  // namespace
}  // namespace serval::test
