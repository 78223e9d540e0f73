// Tests of classify_output (codec/classification.h): order, text, shapes, tensors without classes,
// and the responses that carry classes. Source: v2-protocol.md 2 "classification".
#include "codec/classification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/half.h"
#include "support/json_v2_compare.h"
#include "support/wire_builder.h"
#include "support/wire_plain_decode.h"

namespace serval {
namespace {

using test::spec;
using Texts = std::vector<std::string>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
TensorView tensor_of(DType dtype, const std::vector<int64_t>& dims, const std::vector<T>& values) {
  return {dtype,
          Shape(dims),
          reinterpret_cast<const uint8_t*>(values.data()),
          values.size() * sizeof(T),
          {}};
}

// Classes of a tensor, with the memory that their text borrows.
struct Classes {
  Classes(const TensorView& input, uint32_t k, bool batch_dim, const Texts& names = {})
      : output(input), status(classify_output("y", k, batch_dim, names, arena, output)) {}

  Texts texts() const { return {output.strings.begin(), output.strings.end()}; }
  std::vector<int64_t> dims() const {
    return {output.shape.dims().begin(), output.shape.dims().end()};
  }

  Arena arena;
  TensorView output;
  Status status;
};

template <typename T>
Texts classes_of(DType dtype, const std::vector<T>& values, uint32_t k = 99) {
  const std::vector<int64_t> dims = {static_cast<int64_t>(values.size())};
  const Classes classes(tensor_of(dtype, dims, values), k, false);
  EXPECT_TRUE(classes.status.ok());
  EXPECT_EQ(classes.output.dtype, DType::Bytes);
  EXPECT_EQ(classes.output.bytes, 0u);
  EXPECT_EQ(classes.output.data, nullptr);
  return classes.texts();
}

TEST(Classification, LargestFirstThenLowerIndex) {
  EXPECT_EQ(classes_of<float>(DType::Fp32, {0.1f, 0.826453f, -3.f, 0.826453f}, 3),
            (Texts{"0.826453:1", "0.826453:3", "0.100000:0"}));
  EXPECT_EQ(classes_of<int32_t>(DType::Int32, {5, 5, 5, 7, 5}, 2), (Texts{"7:3", "5:0"}));
  EXPECT_EQ(classes_of<float>(DType::Fp32, {1.f, 2.f}, 1), (Texts{"2.000000:1"}));
}

TEST(Classification, NanIsLastAndInfinityIsANumber) {
  EXPECT_EQ(classes_of<float>(DType::Fp32, {kNan, -kInfinity, -kNan, 0.f, kInfinity}),
            (Texts{"inf:4", "0.000000:3", "-inf:1", "nan:0", "nan:2"}));
  EXPECT_EQ(classes_of<float>(DType::Fp32, {kNan, kNan, kNan}, 2), (Texts{"nan:0", "nan:1"}));
  EXPECT_EQ(classes_of<float>(DType::Fp32, {kNan, 1.f}, 1), (Texts{"1.000000:1"}));
  EXPECT_EQ(classes_of<float>(DType::Fp32, {-0.f, 0.f}), (Texts{"-0.000000:0", "0.000000:1"}));
}

TEST(Classification, EveryDtypeInItsText) {
  EXPECT_EQ(classes_of<uint8_t>(DType::Uint8, {0, 255}), (Texts{"255:1", "0:0"}));
  EXPECT_EQ(classes_of<uint16_t>(DType::Uint16, {65535, 7}), (Texts{"65535:0", "7:1"}));
  EXPECT_EQ(classes_of<uint32_t>(DType::Uint32, {1, 4294967295u}), (Texts{"4294967295:1", "1:0"}));
  EXPECT_EQ(classes_of<uint64_t>(DType::Uint64, {1, UINT64_MAX}),
            (Texts{"18446744073709551615:1", "1:0"}));
  EXPECT_EQ(classes_of<int8_t>(DType::Int8, {-128, 127}), (Texts{"127:1", "-128:0"}));
  EXPECT_EQ(classes_of<int16_t>(DType::Int16, {-1, -2}), (Texts{"-1:0", "-2:1"}));
  EXPECT_EQ(classes_of<int64_t>(DType::Int64, {INT64_MIN, INT64_MAX}),
            (Texts{"9223372036854775807:1", "-9223372036854775808:0"}));
  EXPECT_EQ(classes_of<uint16_t>(DType::Fp16, {float_to_half(1.5f), float_to_half(-kInfinity)}),
            (Texts{"1.500000:0", "-inf:1"}));
  EXPECT_EQ(classes_of<uint16_t>(DType::Bf16, {float_to_bf16(-2.f), float_to_bf16(kNan)}),
            (Texts{"-2.000000:0", "nan:1"}));
  EXPECT_EQ(classes_of<double>(DType::Fp64, {0.1, 1e-9}), (Texts{"0.100000:0", "0.000000:1"}));
}

TEST(Classification, LongNumbersHaveRoom) {
  std::vector<double> values;
  for (int exponent = -330; exponent <= 308; ++exponent) {
    values.push_back(9.999999999999999 * std::pow(10, exponent));
    values.push_back(-values.back());
  }
  values.push_back(std::numeric_limits<double>::max());
  values.push_back(-9999999999999998.0);
  const Texts texts = classes_of<double>(DType::Fp64, values, 100000);
  ASSERT_EQ(texts.size(), values.size());
  for (const std::string& text : texts) {
    const size_t colon = text.find(':');
    const double value = values[std::stoul(text.substr(colon + 1))];
    char expected[400];
    std::snprintf(expected, sizeof(expected), "%f", value);
    EXPECT_EQ(text.substr(0, colon), expected);
  }
  EXPECT_EQ(classes_of<float>(DType::Fp32, {3.4028234e38f}),
            (Texts{"340282346638528859811704183484516925440.000000:0"}));
}

TEST(Classification, LabelsMayBeShortOrEmpty) {
  const std::vector<float> values = {3.f, 2.f, 1.f, 0.f};
  const TensorView tensor = tensor_of(DType::Fp32, {4}, values);
  const std::string long_label(5000, 'l');
  EXPECT_EQ(Classes(tensor, 4, false, {"a b", "", long_label}).texts(),
            (Texts{"3.000000:0:a b", "2.000000:1", "1.000000:2:" + long_label, "0.000000:3"}));
  EXPECT_EQ(Classes(tensor, 1, false, {"COFFEE MUG:x"}).texts(),
            (Texts{"3.000000:0:COFFEE MUG:x"}));
}

TEST(Classification, ShapesWithAndWithoutABatch) {
  const std::vector<int32_t> values = {1, 9, 3, 4, 5, 6, 12, 11, 10, 9, 8, 7};
  struct Case {
    std::vector<int64_t> dims;
    bool batch_dim;
    uint32_t k;
    std::vector<int64_t> expected;
    Texts texts;
  };
  const std::vector<Case> cases = {
      {{12}, false, 2, {2}, {"12:6", "11:7"}},
      {{2, 6}, false, 2, {2}, {"12:6", "11:7"}},
      {{2, 6}, true, 2, {2, 2}, {"9:1", "6:5", "12:0", "11:1"}},
      {{2, 3, 2}, true, 1, {2, 1}, {"9:1", "12:0"}},
      {{1, 12}, true, 1, {1, 1}, {"12:6"}},
      {{12},
       true,
       5,
       {12, 1},
       {"1:0", "9:0", "3:0", "4:0", "5:0", "6:0", "12:0", "11:0", "10:0", "9:0", "8:0", "7:0"}},
      {{4, 3},
       true,
       100,
       {4, 3},
       {"9:1", "3:2", "1:0", "6:2", "5:1", "4:0", "12:0", "11:1", "10:2", "9:0", "8:1", "7:2"}},
  };
  for (const Case& one : cases) {
    const Classes classes(tensor_of(DType::Int32, one.dims, values), one.k, one.batch_dim);
    ASSERT_TRUE(classes.status.ok());
    EXPECT_EQ(classes.dims(), one.expected);
    EXPECT_EQ(classes.texts(), one.texts);
  }
}

TEST(Classification, ScalarsAndNothing) {
  const std::vector<float> one = {4.f};
  const std::vector<float> none;
  for (const bool batch_dim : {false, true}) {
    const Classes scalar(tensor_of(DType::Fp32, {}, one), 3, batch_dim);
    EXPECT_EQ(scalar.dims(), std::vector<int64_t>{1});
    EXPECT_EQ(scalar.texts(), Texts{"4.000000:0"});
  }
  EXPECT_EQ(Classes(tensor_of(DType::Fp32, {0, 7}, none), 3, true).dims(),
            (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(Classes(tensor_of(DType::Fp32, {0, 7}, none), 3, false).dims(),
            (std::vector<int64_t>{0}));
  EXPECT_EQ(Classes(tensor_of(DType::Fp32, {2, 0}, none), 3, true).dims(),
            (std::vector<int64_t>{2, 0}));
}

TEST(Classification, ReadsUnalignedMemory) {
  std::vector<uint8_t> memory(1 + 3 * sizeof(double));
  const double values[] = {1, 3, 2};
  std::memcpy(memory.data() + 1, values, sizeof(values));
  const int64_t dims[] = {3};
  const TensorView tensor{DType::Fp64, Shape(dims), memory.data() + 1, sizeof(values), {}};
  EXPECT_EQ(Classes(tensor, 2, false).texts(), (Texts{"3.000000:1", "2.000000:2"}));
}

TEST(Classification, RefusesWhatHasNoOrder) {
  const std::vector<uint8_t> bools = {1, 0};
  const std::string_view strings[] = {"a"};
  TensorView text = tensor_of<uint8_t>(DType::Bytes, {1}, {});
  text.strings = strings;
  const std::vector<std::pair<TensorView, std::string>> cases = {
      {tensor_of(DType::Bool, {2}, bools), "BOOL"}, {text, "BYTES"}};
  for (const auto& [tensor, dtype] : cases) {
    const Classes classes(tensor, 1, false);
    ASSERT_FALSE(classes.status.ok());
    EXPECT_EQ(classes.status.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(classes.status.error().message,
              "output 'y': classification: expected a numeric output, got " + dtype);
    EXPECT_EQ(classes.output.dtype, tensor.dtype);
  }
}

TEST(Classification, RefusesATensorThatDoesNotFitItsShape) {
  const std::vector<float> values = {1.f, 2.f};
  const Classes classes(tensor_of(DType::Fp32, {3}, values), 1, false);
  ASSERT_FALSE(classes.status.ok());
  EXPECT_EQ(classes.status.error().code, ErrorCode::Internal);
  EXPECT_EQ(classes.status.error().message,
            "output 'y': classification: 8 bytes do not fit shape [3]");
}

// Compares with a plain sort of the whole row, with many equal values and NaNs.
TEST(Classification, AgreesWithASort) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const size_t rows = 1 + random() % 4, columns = 1 + random() % 40;
    const uint32_t k = 1 + static_cast<uint32_t>(random() % 45);
    std::vector<float> values(rows * columns);
    for (float& value : values) {
      const uint32_t pick = random() % 12;
      value = pick == 0 ? kNan : pick == 1 ? kInfinity : static_cast<float>(pick) - 6;
    }
    Texts expected;
    for (size_t row = 0; row < rows; ++row) {
      const float* const first = values.data() + row * columns;
      std::vector<size_t> order(columns);
      for (size_t i = 0; i < columns; ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(), [first](size_t a, size_t b) {
        return first[a] > first[b] || (!std::isnan(first[a]) && std::isnan(first[b]));
      });
      order.resize(std::min<size_t>(k, columns));
      for (size_t index : order) {
        const float value = first[index];
        expected.push_back((std::isnan(value) ? "nan" : std::to_string(value)) + ":" +
                           std::to_string(index));
      }
    }
    const std::vector<int64_t> dims = {static_cast<int64_t>(rows), static_cast<int64_t>(columns)};
    ASSERT_EQ(Classes(tensor_of(DType::Fp32, dims, values), k, true).texts(), expected);
  }
}

// A response's names come from the signature; its datatype and shape come from the classes.
struct Answer {
  explicit Answer(const Texts& labels)
      : classes(tensor_of(DType::Fp32, {1, 3}, values), 2, true, labels) {
    signature.outputs = {spec("y", DType::Fp32, {-1, 3})};
  }
  DecodedRequest asking(bool binary) const {
    DecodedRequest request;
    request.outputs = {{0, binary, 2}};
    return request;
  }
  Status encode(bool binary) {
    return encode_v2_infer({"m", "1"}, signature, asking(binary), {&classes.output, 1}, {}, out,
                           json_bytes);
  }
  std::string text() const { return {reinterpret_cast<const char*>(out.data()), out.size()}; }

  const std::vector<float> values = {0.25f, 0.5f, 0.125f};
  Classes classes;
  Signature signature;
  ByteBuffer out;
  size_t json_bytes = 0;
};

TEST(Classification, AnswersAsJson) {
  Answer answer({"cat", "d\"og", "cow"});
  ASSERT_TRUE(answer.encode(false).ok());
  EXPECT_EQ(answer.text(), R"({"model_name":"m","model_version":"1","outputs":[{"name":"y",)"
                           R"("datatype":"BYTES","shape":[1,2],)"
                           R"("data":["0.500000:1:d\"og","0.250000:0:cat"]}]})");
}

TEST(Classification, AnswersInBinary) {
  Answer answer({});
  ASSERT_TRUE(answer.encode(true).ok());
  const std::string json = R"({"model_name":"m","model_version":"1","outputs":[{"name":"y",)"
                           R"("datatype":"BYTES","shape":[1,2],)"
                           R"("parameters":{"binary_data_size":28}}]})";
  ASSERT_EQ(answer.json_bytes, json.size());
  EXPECT_EQ(answer.text(), json + std::string("\x0a\0\0\0", 4) + "0.500000:1" +
                               std::string("\x0a\0\0\0", 4) + "0.250000:0");
}

TEST(Classification, AnswersOverGrpc) {
  Answer answer({});
  ASSERT_TRUE(encode_wire_v2({"m", "1"}, answer.signature, answer.asking(false),
                             {&answer.classes.output, 1}, false, {}, answer.out)
                  .ok());
  const auto message = test::plain_message(answer.text(), true);
  ASSERT_TRUE(message.has_value());
  ASSERT_EQ(message->outputs.size(), 1u);
  EXPECT_EQ(message->outputs[0].name, "y");
  EXPECT_EQ(message->outputs[0].datatype, "BYTES");
  EXPECT_EQ(message->outputs[0].shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(message->raw[0].substr(0, 14), std::string("\x0a\0\0\0", 4) + "0.500000:1");
}

TEST(Classification, LabelsThatAreNotUtf8AreForBinaryAnswers) {
  Answer answer({"a", "\xff"});
  EXPECT_TRUE(answer.encode(true).ok());
  const Status refused = answer.encode(false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().message.substr(0, 43), "output 'y', element 0: not valid UTF-8, so ");
}

}  // namespace
}  // namespace serval
