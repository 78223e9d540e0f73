// A decoded request borrows from the body and its own arena, and from nothing that a later request
// on the same thread reuses. The batcher keeps several decoded requests at once, each with its
// arena.
#include <gtest/gtest.h>

#include "codec/serving/json.h"
#include "codec/v2/wire.h"
#include "support/json_v2_compare.h"
#include "support/wire_builder.h"

namespace serval {
namespace {

using test::PaddedBody;
using test::spec;

Signature model() {
  Signature signature;
  signature.name = "serving_default";
  signature.inputs = {spec("f", DType::Fp32, {-1}), spec("s", DType::Bytes, {-1}),
                      spec("i", DType::Int64, {-1})};
  signature.outputs = {spec("y", DType::Fp32, {-1})};
  return signature;
}

// A copy of a request's contents.
struct Held {
  explicit Held(const DecodedRequest& request) : id(request.id) {
    for (const TensorView& tensor : request.inputs) {
      shapes.push_back(tensor.shape.to_string());
      data.emplace_back(reinterpret_cast<const char*>(tensor.data), tensor.bytes);
      strings.insert(strings.end(), tensor.strings.begin(), tensor.strings.end());
    }
    for (const RequestedOutput& output : request.outputs) classes.push_back(output.classes);
  }
  bool operator==(const Held&) const = default;

  std::string id;
  std::vector<std::string> shapes, data, strings;
  std::vector<uint32_t> classes;
};

// Decodes `first` and copies its contents, then decodes many others on this thread, into new arenas
// and into reused ones, and compares the first one again. decode(body, arena, request) returns a
// Status.
template <typename Decode>
void expect_kept(const std::string& first, const std::vector<std::string>& others, Decode decode,
                 const std::string& id, const std::vector<std::string>& strings) {
  const PaddedBody body(first);
  Arena arena;
  DecodedRequest request;
  Status status = decode(body.bytes(), arena, request);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const Held held(request);
  EXPECT_EQ(held.id, id);
  EXPECT_EQ(held.strings, strings);
  const std::string floats = test::raw_of({1.5f, -2.25f});
  const std::string integers = test::raw_of({int64_t{-7}, INT64_MAX});
  EXPECT_EQ(held.data, (std::vector<std::string>{floats, "", integers}));
  Arena again;
  for (int round = 0; round < 3; ++round) {
    for (const std::string& other : others) {
      const PaddedBody other_body(other);
      Arena fresh;
      DecodedRequest second, third;
      again.reset();
      (void)decode(other_body.bytes(), fresh, second).ok();
      (void)decode(other_body.bytes(), again, third).ok();
    }
  }
  EXPECT_TRUE(Held(request) == held);
}

// Fills a template: '~' is replaced by escapes and longer text.
std::string filled(std::string text, const std::string& with) {
  for (size_t at = text.find('~'); at != std::string::npos; at = text.find('~')) {
    text.replace(at, 1, with);
  }
  return text;
}

std::vector<std::string> others_of(const std::string& text) {
  return {filled(text, "\\u0041\\n"),
          filled(text, ""),
          filled(text, std::string(3000, 'q') + "\\\""),
          filled(text, "\\x"),
          text.substr(0, text.size() / 2),
          filled(text, std::string(100'000, '\\'))};
}

const std::string kV1Columns = R"({"inputs":{"f":[1.5,-2.25],"s":["a~b","c\td",{"b64":"ZT\u0064m"}],
    "i":[-7,9223372036854775807]}})";
const std::string kV1Rows = R"({"instances":[{"f":1.5,"s":"a~b","i":-7},
    {"f":-2.25,"s":{"b64":"Yw=="},"i":9223372036854775807}]})";

void expect_v1_kept(const std::string& text, const std::vector<std::string>& strings) {
  const std::vector<Signature> signatures = {model()};
  expect_kept(
      filled(text, "\\\\"), others_of(text),
      [&](std::span<const uint8_t> body, Arena& arena, DecodedRequest& out) {
        return decode_v1_predict(body, signatures, {}, arena, out);
      },
      "", strings);
}

TEST(DecodedLifetime, V1Columns) {
  expect_v1_kept(kV1Columns, {"a\\b", "c\td", "e7f"});
  expect_v1_kept("\xEF\xBB\xBF" + kV1Columns, {"a\\b", "c\td", "e7f"});  // uses the plain decoder
}

TEST(DecodedLifetime, V1Rows) {
  expect_v1_kept(kV1Rows, {"a\\b", "c"});
  expect_v1_kept("\xEF\xBB\xBF" + kV1Rows, {"a\\b", "c"});
}

const std::string kV2 = R"({"id":"i~d","parameters":{"timeout":5},"inputs":[
    {"name":"s","datatype":"BYTES","shape":[2],"data":["a~b","\u00e9"]},
    {"name":"f","datatype":"FP32","shape":[2],"data":[1.5,-2.25]},
    {"name":"i","shape":[2],"datatype":"INT64","data":[-7,9223372036854775807]}],
    "outputs":[{"name":"y","parameters":{"classification":3}}]})";

TEST(DecodedLifetime, V2Rest) {
  const Signature signature = model();
  const auto fast = [&](std::span<const uint8_t> body, Arena& arena, DecodedRequest& out) {
    const bool good = decode_v2_infer_fast(body, kNoJsonHeader, signature, {}, arena, out);
    return good ? Status() : Status(invalid_argument("turned down"));
  };
  const auto plain = [&](std::span<const uint8_t> body, Arena& arena, DecodedRequest& out) {
    return decode_v2_infer_plain(body, kNoJsonHeader, signature, {}, arena, out);
  };
  const std::vector<std::string> strings = {"a\\b", "\xc3\xa9"};
  expect_kept(filled(kV2, "\\\\"), others_of(kV2), fast, "i\\d", strings);
  expect_kept(filled(kV2, "\\\\"), others_of(kV2), plain, "i\\d", strings);
}

// Aligned binary tensors are views of the body; others are copies in the arena.
TEST(DecodedLifetime, V2Binary) {
  const Signature signature = model();
  const std::string raw_strings("\x03\0\0\0a\\b\x01\0\0\0\xff", 12);
  const auto body_of = [&](const std::string& fill) {
    return filled(R"({"id":"i~d","inputs":[)"
                  R"({"name":"s","datatype":"BYTES","shape":[2],)"
                  R"("parameters":{"binary_data_size":12}},)"
                  R"({"name":"f","datatype":"FP32","shape":[2],)"
                  R"("parameters":{"binary_data_size":8}},)"
                  R"({"name":"i","datatype":"INT64","shape":[2],)"
                  R"("parameters":{"binary_data_size":16}}]})",
                  fill);
  };
  const std::string binary =
      raw_strings + test::raw_of({1.5f, -2.25f}) + test::raw_of({int64_t{-7}, INT64_MAX});
  const auto decode = [&](std::span<const uint8_t> body, Arena& arena, DecodedRequest& out) {
    const auto json_bytes = static_cast<int64_t>(body.size() - binary.size());
    return decode_v2_infer(body, json_bytes, &signature, {}, arena, out);
  };
  const std::vector<std::string> others = {body_of("\\u0041") + binary, body_of("") + binary,
                                           body_of(std::string(5000, 'z')) + binary};
  expect_kept(body_of("\\n") + binary, others, decode, "i\nd", {"a\\b", "\xff"});
}

TEST(DecodedLifetime, Grpc) {
  const Signature signature = model();
  const auto decode = [&](std::span<const uint8_t> body, Arena& arena, DecodedRequest& out) {
    return decode_wire_v2(body, signature, {}, arena, out);
  };
  const auto message = [](const std::string& text, float value) {
    using test::wire_input;
    using test::WireBuilder;
    WireBuilder floats = wire_input("f", "FP32", {2});
    floats.message(5, WireBuilder().fixed(6, value).fixed(6, -2.25f));
    WireBuilder strings = wire_input("s", "BYTES", {2});
    strings.message(5, WireBuilder().bytes(8, text).bytes(8, "\xff"));
    WireBuilder integers = wire_input("i", "INT64", {2});
    integers.message(5, WireBuilder().packed(3, {-7, INT64_MAX}));
    return WireBuilder()
        .bytes(1, "m")
        .bytes(3, "i" + text)
        .message(5, integers)
        .message(5, strings)
        .message(5, floats)
        .str();
  };
  const std::vector<std::string> others = {message("other", 3.f), message("", 4.f),
                                           message(std::string(70'000, 'w'), 5.f), "\x80"};
  expect_kept(message("a\\b", 1.5f), others, decode, "ia\\b", {"a\\b", "\xff"});
}

}  // namespace
}  // namespace serval
