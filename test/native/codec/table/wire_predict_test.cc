// PredictRequest and PredictResponse of tabular models: fields as inputs, outputs as TensorProtos,
// and what these cannot express. Source: tabular.md 2.1 X2, X3, X4, X6, X16, X24, X25, 2.4;
// tfserving.md 2.
#include <gtest/gtest.h>

#include <cmath>

#include "support/table_support.h"
#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

constexpr int64_t kFloat = 1, kDouble = 2, kInt32 = 3, kString = 7, kInt64 = 9, kBool = 10;

TableModel predict_model(std::vector<FieldSpec> fields) {
  return {std::move(fields), {field("y", Type::Double), field("label", Type::String)}};
}

WireBuilder doubles(std::initializer_list<int64_t> dims, std::initializer_list<double> values) {
  return tensor_proto(kDouble, dims).packed_fixed<double>(6, values);
}
WireBuilder strings(std::initializer_list<int64_t> dims,
                    std::initializer_list<std::string_view> values) {
  WireBuilder proto = tensor_proto(kString, dims);
  for (const std::string_view value : values) proto.bytes(8, value);
  return proto;
}

struct Input {
  std::string_view alias;
  WireBuilder proto;
};

WireBuilder message_of(std::initializer_list<Input> inputs,
                       std::initializer_list<std::string_view> filter = {},
                       std::string_view signature = "") {
  WireBuilder message = model_spec(signature);
  for (const Input& input : inputs) message.raw(input_entry(input.alias, input.proto).str());
  for (const std::string_view name : filter) message.bytes(3, name);
  return message;
}

std::string decoded(const TableModel& model, std::initializer_list<Input> inputs) {
  return TableDecoded(Protocol::TfPredict, model, message_of(inputs).str()).text();
}

TEST(TablePredict, FieldsAreInputs) {
  const TableModel model = predict_model({field("a", Type::Double), field("s", Type::String),
                                          field("n", Type::Int32), field("b", Type::Bool),
                                          vector_field("v", 2), list_field("words", Type::String)});
  EXPECT_EQ(decoded(model, {{"s", strings({2}, {"one", "two"})},
                            {"a", doubles({2, 1}, {1.5, -2})},
                            {"v", doubles({2, 2}, {1, 2, 3, 4})},
                            {"n", tensor_proto(kInt32, {2}).packed(7, {7, -8})},
                            {"b", tensor_proto(kBool, {2}).packed(11, {1, 0})},
                            {"words", strings({2, 2}, {"a", "b", "c", "d"})},
                            {"passed over", strings({2}, {"x", "y"})}}),
            "FP64[2]: 1.5, -2; STRING[2]: 'one', 'two'; INT32[2]: 7, -8; BOOL[2]: true, false; "
            "VECTOR[2,2]: [1, 2], [3, 4]; STRING[2,2]: ['a', 'b'], ['c', 'd']");
}

TEST(TablePredict, WidensAndRepeatsTheLastValue) {
  const TableModel model = predict_model({field("a", Type::Double), field("n", Type::Int64)});
  EXPECT_EQ(decoded(model, {{"a", tensor_proto(kFloat, {3}).packed_fixed<float>(5, {0.5f})},
                            {"n", tensor_proto(kInt32, {3}).packed(7, {1, 2, 3})}}),
            "FP64[3]: 0.5, 0.5, 0.5; INT64[3]: 1, 2, 3");
  EXPECT_EQ(decoded(model, {{"a", doubles({0}, {})}, {"n", tensor_proto(kInt64, {0})}}),
            "FP64[0]:; INT64[0]:");
}

TEST(TablePredict, StringsAreDaysAndTimestampsWhereTheFieldIs) {
  const TableModel model = predict_model(
      {field("day", Type::Date), field("at", Type::Timestamp), list_field("days", Type::Date)});
  EXPECT_EQ(decoded(model, {{"day", strings({2}, {"1970-01-02", ""})},
                            {"at", strings({2}, {"01/01/1970 00:00:01", "1970-01-01T00:00:02"})},
                            {"days", strings({2, 1}, {"1970-01-03", "1970-01-04"})}}),
            "DATE[2]: 1, null; TIMESTAMP[2]: 1000000, 2000000; DATE[2,1]: [2], [3]");
  EXPECT_EQ(
      decoded(model, {{"day", strings({1}, {"2021-02-30"})},
                      {"at", strings({1}, {"01/01/1970 00:00:01"})},
                      {"days", strings({1, 1}, {"1970-01-03"})}}),
      "error: input 'day', row 0: expected a date of the form YYYY-MM-DD, year 0001 to 9999, got "
      "'2021-02-30'");
}

TEST(TablePredict, Refused) {
  const TableModel model = predict_model({field("a", Type::Double), field("s", Type::String)});
  const auto refused = [&](std::initializer_list<Input> inputs) { return decoded(model, inputs); };
  EXPECT_EQ(refused({{"a", doubles({1}, {1})}}), "error: missing field: expected also 's'");
  EXPECT_EQ(refused({{"a", doubles({2}, {1, 2})}, {"s", strings({1}, {"x"})}}),
            "error: inputs 'a' and 's' must have the same number of rows, got 2 and 1");
  EXPECT_EQ(refused({{"a", doubles({1}, {1})}, {"s", strings({1}, {"\xff"})}}),
            "error: input 's', row 0: expected text in UTF-8, got bytes that are not");
  EXPECT_EQ(refused({{"a", strings({1}, {"1"})}, {"s", strings({1}, {"x"})}}),
            "error: input 'a': the model's type is FP64 (Double), got BYTES (shape [1])");
  EXPECT_EQ(refused({{"a", doubles({}, {1})}, {"s", strings({1}, {"x"})}}),
            "error: input 'a': shape []: expected rows as the first dimension, got a scalar");
  EXPECT_EQ(refused({{"a", doubles({1, 1, -1}, {1})}, {"s", strings({1}, {"x"})}}),
            "error: input 'a': shape [1,1,-1]: a TensorProto has no -1");
  EXPECT_EQ(refused({{"a", tensor_proto(8, {1})}, {"s", strings({1}, {"x"})}}),
            "error: input 'a': dtype complex64 is not implemented by this server");
  EXPECT_EQ(refused({{"a", tensor_proto(99, {1})}, {"s", strings({1}, {"x"})}}),
            "error: tensor parsing error: a");
  // A request with too many rows allocates no memory for them.
  EXPECT_EQ(TableDecoded(Protocol::TfPredict, model,
                         message_of({{"a", doubles({int64_t{1} << 40}, {1})}}).str())
                .code(),
            ErrorCode::BodyTooLarge);
  const TableDecoded unknown(Protocol::TfPredict, model, message_of({}, {}, "other").str());
  EXPECT_EQ(unknown.code(), ErrorCode::SignatureNotFound);
  EXPECT_EQ(unknown.error(), "Serving signature key \"other\" not found.");
}

TEST(TablePredict, OutputsThatAreAskedFor) {
  TableModel model = predict_model({field("a", Type::Double)});
  model.table.extra[1] = true;
  const auto outputs = [&](std::initializer_list<std::string_view> filter) {
    const std::string message = message_of({{"a", doubles({1}, {1})}}, filter).str();
    const TableDecoded got(Protocol::TfPredict, model, message);
    return got.ok() ? got.outputs() : got.error();
  };
  EXPECT_EQ(outputs({}), "0");
  EXPECT_EQ(outputs({"label", "y"}), "1,0");
  EXPECT_EQ(outputs({"z"}),
            "output tensor alias not found in signature: z Outputs expected to be in the set "
            "{label,y}.");
  EXPECT_EQ(outputs({"y", "y"}), "duplicate output tensor alias: y");
}

// A view of an output over the test's memory.
template <typename T>
TensorView view_of(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  TensorView view;
  view.dtype = dtype;
  view.shape = Shape(dims);
  if constexpr (std::same_as<T, std::string_view>) {
    view.strings = values;
  } else {
    view.data = reinterpret_cast<const uint8_t*>(values.data());
    view.bytes = values.size() * sizeof(T);
  }
  return view;
}

struct Encoded {
  std::string bytes, error = "none";
  ErrorCode code = ErrorCode::Ok;
};

Encoded encoded(std::vector<FieldSpec> outputs, std::vector<TensorView> views) {
  const TableModel model({}, std::move(outputs));
  DecodedRequest request;
  for (uint32_t i = 0; i < views.size(); ++i) request.outputs.push_back({i, false});
  Arena arena;
  ByteBuffer out;
  const Status done = encode_table_tf({"m", "5"}, model.table, model.signature, request, views,
                                      TfTensorForm::Typed, Limits(), arena, out);
  if (!done.ok()) return {"", done.error().message, done.error().code};
  return {std::string(reinterpret_cast<const char*>(out.data()), out.size())};
}

// An entry of PredictResponse.outputs.
std::string output_entry(std::string_view alias, const WireBuilder& proto) {
  return WireBuilder().message(1, WireBuilder().bytes(1, alias).message(2, proto)).str();
}

const std::string kSpec = WireBuilder()
                              .message(2, WireBuilder()
                                              .bytes(1, "m")
                                              .message(2, WireBuilder().varint(1, 5))
                                              .bytes(3, "serving_default"))
                              .str();

TEST(TablePredict, OutputsAreTensorProtos) {
  const std::vector<double> numbers = {1.5, 2.5}, vectors = {1, 2, 3, 4};
  const std::vector<std::string_view> texts = {"a", ""};
  const std::vector<int64_t> days = {0, 1};
  const std::vector<Decimal> decimals(2, Decimal{15});
  TensorView money = view_of(DType::Decimal, {2}, decimals);
  money.precision = 10;
  money.scale = 1;
  const Encoded got =
      encoded({field("y", Type::Double), vector_field("v"), field("label", Type::String),
               field("day", Type::Date), decimal_field("money", 10, 1)},
              {view_of(DType::Fp64, {2}, numbers), view_of(DType::Vector, {2, 2}, vectors),
               view_of(DType::String, {2}, texts), view_of(DType::Date, {2}, days), money});
  ASSERT_EQ(got.error, "none");
  EXPECT_EQ(to_hex(got.bytes),
            to_hex(output_entry("y", doubles({2}, {1.5, 2.5})) +
                   output_entry("v", doubles({2, 2}, {1, 2, 3, 4})) +
                   output_entry("label", strings({2}, {"a", ""})) +
                   output_entry("day", strings({2}, {"1970-01-01", "1970-01-02"})) +
                   output_entry("money", doubles({2}, {1.5, 1.5})) + kSpec));
}

TEST(TablePredict, MissingNumbersAreNaN) {
  const std::vector<double> numbers = {7, 8};
  const std::vector<uint8_t> states = {0, 1};
  TensorView view = view_of(DType::Fp64, {2}, numbers);
  view.states = states.data();
  const Encoded got = encoded({field("y", Type::Double)}, {view});
  EXPECT_EQ(to_hex(got.bytes), to_hex(output_entry("y", doubles({2}, {7, std::nan("")})) + kSpec));
}

TEST(TablePredict, WhatTensorsHaveNoFormForIsRefused) {
  const std::vector<std::string_view> texts = {"a", "b"};
  const std::vector<uint8_t> states = {0, 1};
  TensorView label = view_of(DType::String, {2}, texts);
  label.states = states.data();
  const Encoded missing = encoded({field("label", Type::String)}, {label});
  EXPECT_EQ(missing.code, ErrorCode::Unimplemented);
  EXPECT_EQ(missing.error,
            "output 'label', row 1: a missing value, for which TensorFlow's tensors have no form: "
            "leave it out by output_filter, or ask by the V2 protocol");
  const std::vector<double> numbers = {1, 2, 3};
  const std::vector<uint32_t> lengths = {1, 2};
  TensorView ragged = view_of(DType::Fp64, {2, -1}, numbers);
  ragged.lengths = lengths.data();
  const Encoded lists = encoded({list_field("list", Type::Double)}, {ragged});
  EXPECT_EQ(lists.code, ErrorCode::Unimplemented);
  EXPECT_NE(lists.error.find("output 'list': lists of different lengths"), std::string::npos);
}

}  // namespace
}  // namespace serval::test
