// PredictRequest against signatures. Source: tfserving.md 1.10, 2; upstream's predict_util.cc.
#include <gtest/gtest.h>

#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

struct Decoded {
  Decoded(std::string message, const std::vector<Signature>& signatures, Limits limits = {})
      : bytes(std::move(message)) {
    status = decode_tf_predict(as_bytes(bytes), signatures, limits, arena, request);
  }
  std::string error() const { return status.ok() ? "none" : status.error().message; }
  ErrorCode code() const { return status.ok() ? ErrorCode::Ok : status.error().code; }

  std::string bytes;
  Arena arena;
  DecodedRequest request;
  Status status;
};

std::vector<Signature> two_inputs() {
  return {tf_signature({tf_spec("x", DType::Fp32), tf_spec("s", DType::Bytes)},
                       {tf_spec("y", DType::Fp32), tf_spec("z", DType::Fp32)}, "sig")};
}

std::vector<Signature> one_input() {
  return {tf_signature({tf_spec("x", DType::Fp32)}, {tf_spec("y", DType::Fp32)})};
}

WireBuilder float_proto(float value) {
  return tensor_proto(1, {1}).packed_fixed<float>(5, {value});
}

std::string peek_error(const WireBuilder& wire) {
  TfModelRef model;
  const Status status = peek_tf(wire.span(), model);
  return status.ok() ? "none" : status.error().message;
}

TEST(WireTfPredict, RealRequests) {
  const Decoded typed(from_hex(kPredictTyped), two_inputs());
  ASSERT_EQ(typed.error(), "none");
  EXPECT_EQ(values_of<float>(typed.request.inputs[0]), (std::vector<float>{1.5, -2, 0, 3}));
  EXPECT_EQ(typed.request.inputs[0].shape.to_string(), "[2,2]");
  ASSERT_EQ(typed.request.inputs[1].strings.size(), 2u);
  EXPECT_EQ(typed.request.inputs[1].strings[1], std::string_view("\xff\0", 2));
  ASSERT_EQ(typed.request.outputs.size(), 2u);
  EXPECT_EQ(typed.request.outputs[0].index, 1u);
  EXPECT_EQ(typed.request.outputs[1].index, 0u);
  const Decoded content(from_hex(kPredictContent), one_input());
  ASSERT_EQ(content.error(), "none");
  EXPECT_EQ(values_of<float>(content.request.inputs[0]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(content.request.outputs.size(), 1u);
}

TEST(WireTfPredict, Peek) {
  TfModelRef model;
  const std::string typed = from_hex(kPredictTyped), content = from_hex(kPredictContent);
  ASSERT_TRUE(peek_tf(as_bytes(typed), model).ok());
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.signature_name, "sig");
  EXPECT_TRUE(model.has_version);
  EXPECT_EQ(model.version, 3);
  EXPECT_FALSE(model.has_label);
  ASSERT_TRUE(peek_tf(as_bytes(content), model).ok());
  EXPECT_TRUE(model.has_label);
  EXPECT_EQ(model.label, "canary");
  EXPECT_FALSE(model.has_version);
}

TEST(WireTfPredict, PeekMergesModelSpecs) {
  const auto version = [](int64_t value) { return WireBuilder().varint(1, value); };
  TfModelRef model;
  WireBuilder wire;
  wire.message(1, WireBuilder().bytes(1, "a").bytes(4, "l").message(2, version(7)));
  wire.message(1, WireBuilder().bytes(3, "s").message(2, WireBuilder()));
  ASSERT_TRUE(peek_tf(wire.span(), model).ok());
  EXPECT_EQ(model.name, "a");
  EXPECT_EQ(model.signature_name, "s");
  EXPECT_TRUE(model.has_version);
  EXPECT_EQ(model.version, 7);  // an Int64Value without a value, merged with one of 7
  EXPECT_FALSE(model.has_label);
  wire.message(1, WireBuilder().bytes(4, ""));
  ASSERT_TRUE(peek_tf(wire.span(), model).ok());
  EXPECT_TRUE(model.has_label);
  EXPECT_FALSE(model.has_version);
  wire.message(1, WireBuilder().message(2, WireBuilder()));
  ASSERT_TRUE(peek_tf(wire.span(), model).ok());
  EXPECT_EQ(model.version, 0);  // the label had replaced the 7
}

TEST(WireTfPredict, PeekErrors) {
  EXPECT_EQ(peek_error(WireBuilder()), "Missing ModelSpec");
  EXPECT_EQ(peek_error(WireBuilder().varint(1, 5)), "Missing ModelSpec");
  EXPECT_EQ(peek_error(WireBuilder().message(1, WireBuilder().bytes(3, "s"))),
            "ModelSpec has no name specified.");
  const std::string longest(kNameBytesMax, 'n');
  EXPECT_EQ(peek_error(WireBuilder().message(1, WireBuilder().bytes(1, longest))), "none");
  EXPECT_EQ(peek_error(WireBuilder().message(1, WireBuilder().bytes(1, longest + "n"))),
            "model_spec.name is 4097 bytes long; the limit is 4096");
  EXPECT_EQ(
      peek_error(WireBuilder().message(1, WireBuilder().bytes(1, "m").bytes(4, longest + "n"))),
      "model_spec.version_label is 4097 bytes long; the limit is 4096");
  EXPECT_EQ(
      peek_error(WireBuilder().message(1, WireBuilder().bytes(1, "m").bytes(3, longest + "n"))),
      "model_spec.signature_name is 4097 bytes long; the limit is 4096");
  EXPECT_EQ(peek_error(WireBuilder().message(1, WireBuilder().bytes(1, "\xff"))),
            "malformed request: string that is not valid UTF-8 at byte 4");
  EXPECT_EQ(peek_error(model_spec().tag(9, 0)), "malformed request: varint cut off at byte 6");
}

TEST(WireTfPredict, SignatureLookup) {
  const Decoded named(model_spec("none\n").str(), one_input());
  EXPECT_EQ(named.error(), "Serving signature key \"none\n\" not found.");
  EXPECT_EQ(named.code(), ErrorCode::SignatureNotFound);
  EXPECT_EQ(Decoded(model_spec().str(), two_inputs()).error(),
            "Serving signature key \"serving_default\" not found.");
  EXPECT_EQ(Decoded(model_spec().str(), {}).code(), ErrorCode::SignatureNotFound);
}

TEST(WireTfPredict, InputSizes) {
  const std::string head = model_spec().str();
  const WireBuilder x = input_entry("x", float_proto(1)), u = input_entry("u", float_proto(1));
  EXPECT_EQ(Decoded(head + x.str() + u.str(), one_input()).error(),
            "input size does not match signature: 2!=1 len({u,x}) != len({x}). Sent extra: {u}. "
            "Missing but required: {}.");
  EXPECT_EQ(Decoded(head, one_input()).error(),
            "input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. "
            "Missing but required: {x}.");
  EXPECT_EQ(Decoded(head + u.str(), one_input()).error(),
            "Signature input alias: x(feed name: x) not found in request and no default value "
            "provided. Inputs expected to be in the request {u}, or default input alias set: ");
  // A request without inputs is valid if the signature has none.
  EXPECT_EQ(Decoded(head, {tf_signature({}, {tf_spec("y", DType::Fp32)})}).error(), "none");
}

TEST(WireTfPredict, Defaults) {
  auto signatures = one_input();
  static constexpr float kDefault = 4;
  TensorView tensor;
  tensor.dtype = DType::Fp32;
  tensor.data = reinterpret_cast<const uint8_t*>(&kDefault);
  tensor.bytes = sizeof kDefault;
  TensorSpec spare = tf_spec("d", DType::Fp32);
  spare.default_value = std::make_shared<const TensorView>(tensor);
  signatures[0].inputs.push_back(spare);
  const std::string head = model_spec().str() + input_entry("x", float_proto(1)).str();
  const Decoded left_out(head, signatures);
  ASSERT_EQ(left_out.error(), "none");
  EXPECT_EQ(values_of<float>(left_out.request.inputs[1]), std::vector<float>{4});
  const Decoded given(head + input_entry("d", float_proto(5)).str(), signatures);
  ASSERT_EQ(given.error(), "none");
  EXPECT_EQ(values_of<float>(given.request.inputs[1]), std::vector<float>{5});
  EXPECT_EQ(Decoded(head + input_entry("u", float_proto(5)).str(), signatures).error(),
            "Inputs contains invalid name. Used request inputs: x, request input: u,x");
  EXPECT_EQ(Decoded(model_spec().str(), signatures).error(),
            "Signature input alias: x(feed name: x) not found in request and no default value "
            "provided. Inputs expected to be in the request {}, or default input alias set: d");
}

TEST(WireTfPredict, MapEntries) {
  // The value may precede the key; the last entry of a key counts; fields of an entry are merged.
  const WireBuilder shape = tensor_proto(1, {2});
  const WireBuilder values = WireBuilder().packed_fixed<float>(5, {1}).packed_fixed<float>(5, {2});
  WireBuilder entry;
  entry.message(2, shape).bytes(1, "nobody").varint(7, 1).message(2, values).bytes(1, "x");
  const std::string head = model_spec().str() + input_entry("x", float_proto(9)).str();
  const Decoded decoded(head + WireBuilder().message(2, entry).str(), one_input());
  ASSERT_EQ(decoded.error(), "none");
  EXPECT_EQ(values_of<float>(decoded.request.inputs[0]), (std::vector<float>{1, 2}));
  EXPECT_EQ(decoded.request.inputs[0].shape.to_string(), "[2]");
  // The same with values in two `value` fields, so that there is no single run of bytes to view.
  WireBuilder split;
  split.bytes(1, "x").message(2, float_proto(3)).message(2, WireBuilder().fixed<float>(5, 4));
  const Decoded merged(model_spec().str() + WireBuilder().message(2, split).str(), one_input());
  EXPECT_EQ(values_of<float>(merged.request.inputs[0]), std::vector<float>{3});
  // An entry without a value is a TensorProto without a dtype.
  EXPECT_EQ(Decoded(head + WireBuilder().message(2, WireBuilder().bytes(1, "x")).str(), one_input())
                .error(),
            "tensor parsing error: x");
  // A replaced entry need not be a tensor, only well-formed.
  const std::string bad = input_entry("x", WireBuilder()).str();
  EXPECT_EQ(Decoded(model_spec().str() + bad + input_entry("x", float_proto(1)).str(), one_input())
                .error(),
            "none");
}

TEST(WireTfPredict, OutputFilter) {
  const auto error = [](std::initializer_list<const char*> filter) {
    WireBuilder wire = model_spec("sig");
    wire.raw(input_entry("x", float_proto(1)).str());
    wire.raw(input_entry("s", tensor_proto(7, {1})).str());
    for (const char* alias : filter) wire.bytes(3, alias);
    return Decoded(wire.str(), two_inputs()).error();
  };
  EXPECT_EQ(error({}), "none");
  EXPECT_EQ(error({"z", "y"}), "none");
  EXPECT_EQ(error({"y", "q"}),
            "output tensor alias not found in signature: q Outputs expected to be in the set "
            "{y,z}.");
  EXPECT_EQ(error({"y", "z", "y"}), "duplicate output tensor alias: y");
}

TEST(WireTfPredict, DtypeOfAnother) {
  const std::string head = model_spec().str();
  const Decoded wrong(head + input_entry("x", tensor_proto(9, {1})).str(), one_input());
  EXPECT_EQ(wrong.error(), "Expects arg[0] to be float but int64 is provided: input 'x'");
  EXPECT_EQ(wrong.code(), ErrorCode::InvalidArgument);
  // The error of the entry follows the checks of the request.
  EXPECT_EQ(Decoded(head + input_entry("x", tensor_proto(9, {1})).bytes(3, "q").str(), one_input())
                .error(),
            "output tensor alias not found in signature: q Outputs expected to be in the set "
            "{y}.");
}

TEST(WireTfPredict, RepeatedValuesAreBoundedTogether) {
  const WireBuilder wide = tensor_proto(1, {200}).packed_fixed<float>(5, {1});
  std::string message = model_spec().str() + input_entry("a", wide).str();
  Limits limits;
  limits.body_bytes_max = 1000;
  const auto input = [](const char* name) { return tf_spec(name, DType::Fp32); };
  EXPECT_EQ(Decoded(message, {tf_signature({input("a")}, {})}, limits).error(), "none");
  message += input_entry("b", wide).str();
  const Decoded both(message, {tf_signature({input("a"), input("b")}, {})}, limits);
  EXPECT_EQ(both.code(), ErrorCode::BodyTooLarge);
  limits.body_bytes_max = 10;
  EXPECT_EQ(Decoded(message, one_input(), limits).error(),
            "PredictRequest is " + std::to_string(message.size()) + " bytes long; the limit is 10");
}

TEST(WireTfPredict, Malformed) {
  const std::string good = model_spec().str();
  const auto error = [&](const WireBuilder& rest) {
    const Decoded decoded(good + rest.str(), one_input());
    EXPECT_EQ(decoded.code(), ErrorCode::MalformedBody);
    return decoded.error();
  };
  const std::string start = "malformed PredictRequest: ";
  EXPECT_EQ(error(WireBuilder().bytes(3, "\xff")),
            start + "string that is not valid UTF-8 at byte 7");
  EXPECT_EQ(error(WireBuilder().message(2, WireBuilder().bytes(1, "\xff"))),
            start + "string that is not valid UTF-8 at byte 9");
  EXPECT_EQ(error(input_entry("x", WireBuilder().bytes(5, "abc"))),
            start + "packed values of which the last is cut off at byte 14");
  EXPECT_EQ(error(input_entry("x", WireBuilder().bytes(11, "\x80"))),
            start + "varint cut off or over 64 bits at byte 14");
  const WireBuilder dim = WireBuilder().message(2, WireBuilder().bytes(2, "\xff"));
  EXPECT_EQ(error(input_entry("x", WireBuilder().message(2, dim))),
            start + "string that is not valid UTF-8 at byte 18");
  WireBuilder many;
  for (size_t i = 0; i <= kInputsMax; ++i) many.message(2, WireBuilder());
  EXPECT_EQ(Decoded(many.str(), one_input()).error(), "inputs has 4097 entries; the limit is 4096");
}

// Any prefix of a real request, and any changed byte, is refused or decoded without a crash.
TEST(WireTfPredict, EveryPrefixAndByte) {
  const std::string whole = from_hex(kPredictTyped);
  for (size_t size = 0; size < whole.size(); ++size) {
    const Decoded cut(whole.substr(0, size), two_inputs());
    EXPECT_TRUE(!cut.status.ok() || cut.request.inputs.size() == 2) << size;
    for (int flip : {1, 8, 127, 128, 255}) {
      std::string damaged = whole;
      damaged[size] = static_cast<char>(damaged[size] ^ flip);
      const Decoded decoded(damaged, two_inputs());
      if (!decoded.status.ok()) EXPECT_FALSE(decoded.error().empty());
    }
  }
}

}  // namespace
}  // namespace serval::test
