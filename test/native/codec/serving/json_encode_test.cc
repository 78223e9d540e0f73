// V1 predict responses, byte by byte. Source: tfserving.md 1.6, 9 (compact layout is allowed; bytes
// that are not UTF-8; all dtypes); upstream's util/json_tensor_test.cc for the structures.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codec/json/text.h"
#include "support/json_v1_support.h"

namespace serval {
namespace {

using testing::make_signature;
using testing::tensor_spec;

// An output tensor that owns its memory.
struct Owned {
  DType dtype = DType::Invalid;
  Shape shape;
  std::vector<uint8_t> bytes;
  std::vector<std::string_view> strings;

  TensorView view() const {
    TensorView view;
    view.dtype = dtype;
    view.shape = shape;
    view.data = bytes.data();
    view.bytes = bytes.size();
    view.strings = strings;
    return view;
  }
};

template <typename T>
Owned tensor(DType dtype, std::vector<int64_t> dims, std::vector<T> values) {
  Owned owned;
  owned.dtype = dtype;
  owned.shape = Shape(dims);
  owned.bytes.resize(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = values[i];
    std::memcpy(owned.bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return owned;
}

Owned floats(std::vector<int64_t> dims, std::vector<float> values) {
  return tensor<float>(DType::Fp32, std::move(dims), std::move(values));
}

Owned text(std::vector<int64_t> dims, std::vector<std::string_view> values) {
  Owned owned;
  owned.dtype = DType::Bytes;
  owned.shape = Shape(dims);
  owned.strings = std::move(values);
  return owned;
}

struct Named {
  std::string name;
  Owned tensor;
};

struct Encoded {
  std::string text;
  Status status;
};

Encoded encode(const std::vector<Named>& outputs, bool row_format, const Limits& limits = {}) {
  Signature signature;
  DecodedRequest request;
  std::vector<TensorView> views;
  request.row_format = row_format;
  for (const Named& output : outputs) {
    signature.outputs.push_back(tensor_spec(output.name, output.tensor.dtype));
    request.outputs.push_back({static_cast<uint32_t>(views.size()), false});
    views.push_back(output.tensor.view());
  }
  ByteBuffer out;
  Encoded encoded;
  encoded.status = encode_v1_predict(signature, request, views, limits, out);
  encoded.text = {reinterpret_cast<const char*>(out.data()), out.size()};
  return encoded;
}

std::string row(const std::vector<Named>& outputs) {
  const Encoded encoded = encode(outputs, true);
  return encoded.status.ok() ? encoded.text : "error: " + encoded.status.error().message;
}

std::string column(const std::vector<Named>& outputs) {
  const Encoded encoded = encode(outputs, false);
  return encoded.status.ok() ? encoded.text : "error: " + encoded.status.error().message;
}

TEST(JsonV1Encode, OneOutput) {
  const std::vector<Named> vector = {{"y", floats({3}, {3.5f, 4.0f, 5.5f})}};
  EXPECT_EQ(row(vector), R"({"predictions":[3.5,4.0,5.5]})");
  EXPECT_EQ(column(vector), R"({"outputs":[3.5,4.0,5.5]})");
  const std::vector<Named> cube = {
      {"y", tensor<int32_t>(DType::Int32, {2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2})}};
  EXPECT_EQ(row(cube), R"({"predictions":[[[1,2],[3,4],[5,6]],[[7,8],[9,0],[1,2]]]})");
  EXPECT_EQ(column(cube), R"({"outputs":[[[1,2],[3,4],[5,6]],[[7,8],[9,0],[1,2]]]})");
  EXPECT_EQ(column({{"y", floats({}, {2})}}), R"({"outputs":2.0})");
  EXPECT_EQ(column({{"y", floats({1, 1, 1}, {2})}}), R"({"outputs":[[[2.0]]]})");
}

// Source: tfserving.md 1.6 "Dimension 0 = 0 -> []".
TEST(JsonV1Encode, EmptyDimensions) {
  EXPECT_EQ(row({{"y", floats({0, 2}, {})}}), R"({"predictions":[]})");
  EXPECT_EQ(row({{"y", floats({2, 0}, {})}}), R"({"predictions":[[],[]]})");
  EXPECT_EQ(row({{"y", floats({2, 0, 3}, {})}}), R"({"predictions":[[],[]]})");
  EXPECT_EQ(row({{"y", floats({1, 2, 0}, {})}}), R"({"predictions":[[[],[]]]})");
  EXPECT_EQ(column({{"y", floats({0}, {})}}), R"({"outputs":[]})");
  EXPECT_EQ(row({{"a", text({0, 1, 2}, {})}, {"b", floats({0, 3, 4}, {})}}),
            R"({"predictions":[]})");
  EXPECT_EQ(row({{"a", floats({2, 0}, {})}, {"b", floats({2}, {1, 2})}}),
            R"({"predictions":[{"a":[],"b":1.0},{"a":[],"b":2.0}]})");
}

TEST(JsonV1Encode, SeveralOutputs) {
  const std::vector<Named> outputs = {
      {"scalar", tensor<double>(DType::Fp64, {2}, {8, 9})},
      {"one", floats({2, 1}, {1, 2})},
      {"cube", tensor<int32_t>(DType::Int32, {2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2})},
      {"text", text({2, 2}, {"foo", "bar", "baz", "bat"})},
      {"text_bytes", text({2, 2}, {"hello", "world", "tf", "serving"})}};
  EXPECT_EQ(row(outputs),
            R"({"predictions":[{"scalar":8.0,"one":[1.0],"cube":[[1,2],[3,4],[5,6]],)"
            R"("text":["foo","bar"],"text_bytes":[{"b64":"aGVsbG8="},{"b64":"d29ybGQ="}]},)"
            R"({"scalar":9.0,"one":[2.0],"cube":[[7,8],[9,0],[1,2]],)"
            R"("text":["baz","bat"],"text_bytes":[{"b64":"dGY="},{"b64":"c2VydmluZw=="}]}]})");
  EXPECT_EQ(column(outputs), R"({"outputs":{"scalar":[8.0,9.0],"one":[[1.0],[2.0]],)"
                             R"("cube":[[[1,2],[3,4],[5,6]],[[7,8],[9,0],[1,2]]],)"
                             R"("text":[["foo","bar"],["baz","bat"]],)"
                             R"("text_bytes":[[{"b64":"aGVsbG8="},{"b64":"d29ybGQ="}],)"
                             R"([{"b64":"dGY="},{"b64":"c2VydmluZw=="}]]}})");
}

TEST(JsonV1Encode, ColumnsMayDifferInDimensionZero) {
  EXPECT_EQ(column({{"a", floats({}, {1})}, {"b", floats({2}, {1, 2})}}),
            R"({"outputs":{"a":1.0,"b":[1.0,2.0]}})");
}

TEST(JsonV1Encode, ChosenOutputsKeepTheirNames) {
  const Signature signature =
      make_signature({}, {tensor_spec("a", DType::Fp32), tensor_spec("quo\"te", DType::Fp32)});
  DecodedRequest request;
  request.outputs = {{1, false}, {0, false}};
  const Owned one = floats({1}, {1});
  const Owned two = floats({1}, {2});
  const std::vector<TensorView> views = {one.view(), two.view()};
  ByteBuffer out;
  ASSERT_TRUE(out.append("kept"));
  ASSERT_TRUE(encode_v1_predict(signature, request, views, Limits(), out).ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(out.data()), out.size()),
            R"(kept{"outputs":{"quo\"te":[1.0],"a":[2.0]}})");
}

// Source: tfserving.md 1.6 "Floats", "NaN, Infinity, -Infinity as bare tokens".
TEST(JsonV1Encode, NumbersOfEveryDtype) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(row({{"y", floats({4}, {NAN, infinity, 3, -infinity})}}),
            R"({"predictions":[NaN,Infinity,3.0,-Infinity]})");
  EXPECT_EQ(row({{"y", floats({3}, {0.1f, 3.14159274f, 16777216})}}),
            R"({"predictions":[0.1,3.1415927,16777216.0]})");
  EXPECT_EQ(row({{"y", tensor<double>(DType::Fp64, {2}, {0.1, -0.0})}}),
            R"({"predictions":[0.1,-0.0]})");
  EXPECT_EQ(row({{"y", tensor<uint8_t>(DType::Bool, {2}, {1, 0})}}),
            R"({"predictions":[true,false]})");
  EXPECT_EQ(row({{"y", tensor<uint8_t>(DType::Uint8, {2}, {0, 255})}}),
            R"({"predictions":[0,255]})");
  EXPECT_EQ(row({{"y", tensor<int8_t>(DType::Int8, {2}, {-128, 127})}}),
            R"({"predictions":[-128,127]})");
  EXPECT_EQ(row({{"y", tensor<int16_t>(DType::Int16, {1}, {-32768})}}),
            R"({"predictions":[-32768]})");
  EXPECT_EQ(row({{"y", tensor<uint16_t>(DType::Uint16, {1}, {65535})}}),
            R"({"predictions":[65535]})");
  EXPECT_EQ(row({{"y", tensor<uint32_t>(DType::Uint32, {1}, {4294967295u})}}),
            R"({"predictions":[4294967295]})");
  EXPECT_EQ(row({{"y", tensor<int64_t>(DType::Int64, {1}, {INT64_MIN})}}),
            R"({"predictions":[-9223372036854775808]})");
  EXPECT_EQ(row({{"y", tensor<uint64_t>(DType::Uint64, {1}, {UINT64_MAX})}}),
            R"({"predictions":[18446744073709551615]})");
  EXPECT_EQ(row({{"y", tensor<uint16_t>(DType::Fp16, {2}, {0x3c00, 0x3555})}}),
            R"({"predictions":[1.0,0.33325195]})");
  EXPECT_EQ(row({{"y", tensor<uint16_t>(DType::Bf16, {1}, {0x3f80})}}), R"({"predictions":[1.0]})");
}

// Source: tfserving.md 1.6 "Strings", 9 "Bytes that are not valid UTF-8".
TEST(JsonV1Encode, Strings) {
  const std::string_view zero("\0", 1);
  EXPECT_EQ(row({{"y", text({5}, {"", "a\"\\/\n", zero, "\x7f", "\xc3\xa4"})}}),
            "{\"predictions\":[\"\",\"a\\\"\\\\/\\n\",\"\\u0000\",\"\x7f\",\"\xc3\xa4\"]}");
  EXPECT_EQ(row({{"y", text({2}, {"\xff\xfe", "ok"})}}),
            R"({"predictions":[{"b64":"//4="},"ok"]})");
  EXPECT_EQ(row({{"y_bytes", text({2}, {"", "\xff"})}}),
            R"({"predictions":[{"b64":""},{"b64":"/w=="}]})");
  EXPECT_EQ(column({{"_bytes", text({}, {"a"})}}), R"({"outputs":{"b64":"YQ=="}})");
  // The suffix only has a meaning for strings.
  EXPECT_EQ(row({{"y_bytes", floats({1}, {1})}}), R"({"predictions":[1.0]})");
}

TEST(JsonV1Encode, RefusesBatchesThatDoNotFit) {
  const struct {
    std::vector<Named> outputs;
    const char* message;
  } cases[] = {
      {{{"y", floats({}, {1})}}, "Tensor name: y has no shape information "},
      {{{"a", floats({2}, {1, 2})}, {"b", floats({}, {1})}},
       "Tensor name: b has no shape information "},
      {{{"a", floats({2}, {1, 2})}, {"b", floats({1}, {1})}},
       "Tensor name: b has inconsistent batch size: 1 expecting: 2"},
      {{{"a", floats({0}, {})}, {"b", floats({1}, {1})}},
       "Tensor name: b has inconsistent batch size: 1 expecting: 0"},
      {{}, "Cannot convert empty tensor map to JSON"},
      {{{"y", tensor<uint8_t>(DType::Invalid, {1}, {})}},
       "Failed to write JSON value for tensor type: invalid"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.message);
    const Encoded encoded = encode(c.outputs, true);
    ASSERT_FALSE(encoded.status.ok());
    EXPECT_EQ(encoded.status.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(encoded.status.error().message, c.message);
    EXPECT_EQ(encoded.text, "");
  }
}

TEST(JsonV1Encode, RefusesTensorsThatContradictTheirShape) {
  for (bool row_format : {true, false}) {
    const Encoded fixed = encode({{"y", floats({3}, {1, 2})}}, row_format);
    ASSERT_FALSE(fixed.status.ok());
    EXPECT_EQ(fixed.status.error().code, ErrorCode::Internal);
    EXPECT_EQ(fixed.status.error().message, "output 'y' has 2 elements for shape [3]");
    const Encoded strings = encode({{"y", text({1}, {"a", "b"})}}, row_format);
    ASSERT_FALSE(strings.status.ok());
    EXPECT_EQ(strings.status.error().message, "output 'y' has 2 elements for shape [1]");
    EXPECT_FALSE(encode({{"y", floats({-1}, {1})}}, row_format).status.ok());
  }
}

TEST(JsonV1Encode, ResponseLimit) {
  const std::vector<Named> several = {{"a", floats({3}, {1, 2, 3})},
                                      {"b", text({3}, {"x", "y", "z"})}};
  const std::vector<Named> single = {{"a", floats({3}, {1, 2, 3})}};
  for (const auto& outputs : {several, single}) {
    for (bool row_format : {true, false}) {
      const std::string whole = encode(outputs, row_format).text;
      for (size_t limit = 0; limit <= whole.size(); ++limit) {
        Limits limits;
        limits.response_bytes_max = limit;
        const Encoded encoded = encode(outputs, row_format, limits);
        ASSERT_EQ(encoded.status.ok(), limit == whole.size()) << limit;
        EXPECT_EQ(encoded.text, encoded.status.ok() ? whole : "");
        if (encoded.status.ok()) continue;
        EXPECT_EQ(encoded.status.error().code, ErrorCode::BodyTooLarge);
        EXPECT_EQ(encoded.status.error().message,
                  "response is larger than " + std::to_string(limit) + " bytes");
      }
    }
  }
}

// A shape can imply more brackets than memory holds: the limit stops the encoder.
TEST(JsonV1Encode, ManyEmptyListsStopAtTheLimit) {
  Limits limits;
  limits.response_bytes_max = 1000;
  const Encoded encoded = encode({{"y", floats({int64_t{1} << 40, 0}, {})}}, true, limits);
  ASSERT_FALSE(encoded.status.ok());
  EXPECT_EQ(encoded.status.error().code, ErrorCode::BodyTooLarge);
}

TEST(JsonV1Encode, ManyElements) {
  std::vector<float> values(200000);
  std::string expected = "{\"predictions\":[";
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
    expected += (i == 0 ? "" : ",") + std::to_string(i) + ".0";
  }
  expected += "]}";
  EXPECT_EQ(row({{"y", floats({200000}, values)}}), expected);
}

// Finite values are read back as the same tensor. Rows of every short length, with counts around
// the batch of eight and the step of 65,536, are written as if one by one.
TEST(JsonV1Encode, ShortRows) {
  const std::vector<std::pair<int64_t, int64_t>> shapes = {
      {1, 1}, {2, 1},  {9, 1},  {1, 3},      {5, 3},      {8, 3},      {3, 5}, {7, 7}, {4, 8},
      {3, 9}, {2, 63}, {2, 64}, {70'000, 1}, {21'846, 3}, {21'845, 3}, {3, 0}, {0, 3}};
  for (const auto& [rows, row] : shapes) {
    std::vector<float> values(static_cast<size_t>(rows * row));
    std::string expected = "[";
    for (int64_t i = 0; i < rows; ++i) {
      expected += i == 0 ? "[" : ",[";
      for (int64_t j = 0; j < row; ++j) {
        const float value = static_cast<float>(i * row + j) * (j % 2 == 0 ? 0.37f : -1e-9f);
        values[static_cast<size_t>(i * row + j)] = value;
        char digits[kFloatTextMax];
        if (j != 0) expected += ',';
        expected.append(digits, static_cast<size_t>(write_float(digits, value) - digits));
      }
      expected += ']';
    }
    const std::string answer = column({{"y", floats({rows, row}, values)}});
    EXPECT_EQ(answer, "{\"outputs\":" + expected + "]}") << rows << " x " << row;
  }
}

TEST(JsonV1Encode, RoundTrip) {
  const Owned original = floats({2, 2}, {1.17549435e-38f, -3.40282347e38f, 0.333333343f, 1e-45f});
  std::string body = column({{"x", original}});
  body.replace(body.find("outputs"), 7, "inputs");
  const Signature signature = testing::one_input(DType::Fp32);
  const testing::PaddedBody padded(body);
  Arena arena;
  DecodedRequest request;
  ASSERT_TRUE(decode_v1_predict(padded.span(), {&signature, 1}, Limits(), arena, request).ok());
  EXPECT_EQ(testing::tensor_difference(request.inputs[0], original.view()), "");
}

// The first elements are used to estimate the response's size, so that large memory is not copied
// and freed.
TEST(EncodeV1, ReservesMemoryOfALargeAnswerAtOnce) {
  std::vector<float> values(300'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0f / static_cast<float>(i + 3);
  const auto size = static_cast<int64_t>(values.size());
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{size}, {1, size / 3, 3}, {10, 100, 100, 3}, {3, size / 3}}) {
    const Owned owned = floats(dims, values);
    const TensorView view = owned.view();
    const Signature signature = make_signature({}, {tensor_spec("y", DType::Fp32)});
    DecodedRequest request;
    request.outputs = {{0, false}};
    MemoryBudget budget(1u << 30);
    ByteBuffer out;
    out.charge_to(&budget);
    ASSERT_TRUE(encode_v1_predict(signature, request, {&view, 1}, {}, out).ok());
    EXPECT_EQ(budget.large_gives(), 0u) << dims.size();
    EXPECT_LT(budget.used(), out.size() + out.size() / 3) << dims.size();
    out.shrink(0);
  }
}

}  // namespace
}  // namespace serval
