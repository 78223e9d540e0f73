// ModelInferRequests that a tabular model refuses: every error of tabular.md 2.3, with tensor,
// field and row. Also parts of the extension that other models refuse (X1).
#include <gtest/gtest.h>

#include <cmath>

#include "codec/v2/json.h"
#include "codec/v2/wire.h"
#include "support/table_support.h"

namespace serval::test {
namespace {

const TableModel& number_model() {
  static const TableModel model = model_of({field("x", Type::Double)});
  return model;
}

// Returns the error of a request to a model with one field x, a double.
std::string refused(std::initializer_list<TableInput> inputs) {
  const std::string text = decoded_wire(number_model(), inputs);
  return text.starts_with("error: ") ? text.substr(7) : "accepted: " + text;
}
std::string refused_by(const TableModel& model, std::initializer_list<TableInput> inputs) {
  const std::string text = decoded_wire(model, inputs);
  return text.starts_with("error: ") ? text.substr(7) : "accepted: " + text;
}

TEST(TableRefuse, Contents) {
  EXPECT_EQ(refused({TableInput("x", "FP64", {1}).floats({1})}),
            "input 'x': datatype FP64 is given in fp64_contents, got 1 values in fp32_contents");
  EXPECT_EQ(refused({TableInput("x", "FP64", {1}).doubles({1}).floats({1})}),
            "input 'x': datatype FP64 is given in fp64_contents, got 1 values in fp32_contents");
  EXPECT_EQ(refused({TableInput("x", "FP64", {2}).doubles({1})}),
            "input 'x': expected 2 values in fp64_contents (shape [2]), got 1");
  const TableModel text = model_of({list_field("s", Type::String)});
  EXPECT_EQ(refused_by(text, {TableInput("s", "STRING", {1, 1, 2}).doubles({1, 2})}),
            "input 's': datatype STRING is given in bytes_contents, got 2 values in "
            "fp64_contents");  // X20
  const TableModel vector = model_of({vector_field("v")});
  EXPECT_EQ(refused_by(vector, {TableInput("v", "VECTOR", {1, 2}).floats({1, 2})}),
            "input 'v': datatype VECTOR is given in fp64_contents, got 2 values in fp32_contents");
  WireBuilder both = table_message({TableInput("x", "FP64", {1}).doubles({1})});
  both.bytes(7, raw_of<double>({1}));
  EXPECT_EQ(decoded_wire(number_model(), both),
            "error: input 'x': contents must not be given together with raw_input_contents");
  WireBuilder few = WireBuilder().message(5, wire_input("x", "FP64", {1}));
  few.bytes(7, "abc");
  EXPECT_EQ(decoded_wire(number_model(), few),
            "error: input 'x': expected 8 bytes (shape [1] of FP64), got 3");
}

TEST(TableRefuse, Dims) {
  EXPECT_EQ(refused({TableInput("x", "FP64", {}).doubles({1})}),
            "input 'x': shape []: expected rows as the first dimension, got a scalar");
  EXPECT_EQ(refused({TableInput("x", "FP64", {1, 1, 1, 1}).doubles({1})}),
            "input 'x': shape [1,1,1,1]: expected 1 to 3 dimensions: rows, fields, elements");
  EXPECT_EQ(refused({TableInput("x", "FP64", {1, -1}).doubles({1})}),
            "input 'x': shape [1,-1]: -1 is only allowed as the last of three dimensions: send "
            "[1,1,-1]");
  EXPECT_EQ(refused({TableInput("x", "FP64", {-1}).doubles({1})}),
            "input 'x': shape [-1]: dimension 0 is negative; only the last of three may be -1, for "
            "cells of different length");
  EXPECT_EQ(refused({TableInput("x", "FP64", {1, 1, -2}).doubles({1})}),
            "input 'x': shape [1,1,-2]: dimension 2 is negative; only the last of three may be -1, "
            "for cells of different length");
  EXPECT_EQ(refused({TableInput("x", "FP64", {1, 2}).doubles({1, 2})}),
            "input 'x': shape [1,2], but the model's field 'x' is no vector or array: name the "
            "fields in the parameter 'features', or send shape [1]");
  EXPECT_EQ(refused({TableInput("x", "VECTOR", {1}).doubles({1})}),
            "input 'x': shape [1]: a VECTOR has the shape [rows, elements], [rows, fields, "
            "elements] or [rows, fields, -1]");
}

TEST(TableRefuse, Companions) {
  const TableModel model = model_of({any_field("v", Type::Vector)});
  const TableInput v = TableInput("v", "VECTOR", {2, 1, -1}).doubles({1, 2, 3});
  const auto with = [&](const TableInput& companion) { return refused_by(model, {v, companion}); };
  EXPECT_EQ(refused_by(model, {v}),
            "input 'v': shape [2,1,-1] needs the lengths of its cells: expected an input "
            "'v_shape' of INT32");
  EXPECT_EQ(with(TableInput("v_shape", "FP32", {1}).floats({1, 2})),
            "input 'v_shape', the shape tensor of 'v': expected datatype INT32, got FP32");
  EXPECT_EQ(with(TableInput("v_shape", "INT32", {3}).ints({1, 1, 1})),
            "input 'v_shape', the shape tensor of 'v': expected shape [1], [2] or [2,1], got [3]");
  EXPECT_EQ(with(TableInput("v_shape", "INT32", {1}).ints({3})),
            "input 'v_shape': expected 2 values in int_contents (shape [1]), got 1 (a length for "
            "each row and field of 'v')");
  EXPECT_EQ(with(TableInput("v_shape", "INT32", {1}).ints({4, -1})),
            "input 'v_shape', element 1: expected a length of 0 or more, got -1");
  EXPECT_EQ(with(TableInput("v_shape", "INT32", {1}).ints({2, 2})),
            "input 'v': expected 4 values in fp64_contents (shape [2,1,-1]), got 3 ('v_shape' adds "
            "up to 4 elements)");
}

TEST(TableRefuse, RowsAndNames) {
  const TableModel two = model_of({field("x", Type::Double), field("z", Type::Double)});
  EXPECT_EQ(refused_by(two, {TableInput("x", "FP64", {1}).doubles({1}),
                             TableInput("z", "FP64", {2}).doubles({1, 2})}),
            "inputs 'x' and 'z' must have the same number of rows, got 1 and 2");
  EXPECT_EQ(refused_by(two, {TableInput("x", "FP64", {1}).doubles({1}),
                             TableInput("x", "FP64", {1}).doubles({1})}),
            "input 'x' is given twice");
  EXPECT_EQ(
      refused_by(two,
                 {TableInput("x", "FP64", {1}).doubles({1}),
                  TableInput("t", "FP64", {1, 2}).parameter("features", "z,x").doubles({1, 2})}),
      "input 't': field 'x' is given more than once");
  EXPECT_EQ(refused_by(two, {TableInput("x", "FP64", {1}).doubles({1})}),
            "missing field: expected also 'z'");
  EXPECT_EQ(refused_by(two, {}), "the request has no inputs: expected some rows");
  WireBuilder strict = table_message({TableInput("x", "FP64", {1}).doubles({1}),
                                      TableInput("z", "FP64", {1}).doubles({1}),
                                      TableInput("q", "FP64", {1}).doubles({1})});
  strict.message(4, text_parameter("strict", "true"));
  EXPECT_EQ(decoded_wire(two, strict),
            "error: input 'q': the model has no field 'q' (parameter 'strict')");
}

TEST(TableRefuse, Features) {
  const TableModel two = model_of({field("x", Type::Double), field("z", Type::Double)});
  const auto features = [&](std::string_view names) {
    return refused_by(
        two, {TableInput("t", "FP64", {1, 2}).parameter("features", names).doubles({1, 2})});
  };
  EXPECT_EQ(features("x"),
            "input 't': shape [1,2]: has 2 fields, but the parameter 'features' names 1");
  EXPECT_EQ(features("x,z,q"),
            "input 't': shape [1,2]: has 2 fields, but the parameter 'features' names 3");
  EXPECT_EQ(features("x,,z"),
            "input 't': parameter 'features': expected names with commas between them, got "
            "'x,,z'");
  EXPECT_EQ(features("x,z,").substr(0, 46), "input 't': parameter 'features': expected name");
  EXPECT_EQ(features("x,\"z"),
            "input 't': parameter 'features': expected a closing quotation mark, got 'x,\"z'");
  EXPECT_EQ(features("x,x"), "input 't': field 'x' is given more than once");
  const WireBuilder number =
      WireBuilder().bytes(1, "features").message(2, WireBuilder().varint(2, 5));
  EXPECT_EQ(refused_by(two, {TableInput("t", "FP64", {1, 2}).parameter(number).doubles({1, 2})}),
            "input 't': parameter 'features': expected a string (string_param), got 'an "
            "int64_param'");  // X15
}

TEST(TableRefuse, Types) {
  const auto typed = [](Type type, const TableInput& input) {
    return refused_by(model_of({field("x", type)}), {input});
  };
  EXPECT_EQ(typed(Type::Int32, TableInput("x", "INT64", {1}).longs({1})),
            "input 'x': the model's type is INT32 (Int32), got INT64 (shape [1])");
  EXPECT_EQ(typed(Type::Double, TableInput("x", "STRING", {1}).texts({"1"})),
            "input 'x': the model's type is FP64 (Double), got STRING (shape [1])");
  EXPECT_EQ(typed(Type::String, TableInput("x", "INT32", {1}).ints({1})),
            "input 'x': the model's type is STRING (String), got INT32 (shape [1])");
  EXPECT_EQ(typed(Type::Bool, TableInput("x", "INT8", {1}).ints({1})),
            "input 'x': the model's type is BOOL (Bool), got INT8 (shape [1])");
  EXPECT_EQ(typed(Type::Double, TableInput("x", "FP64", {1, 1, 2}).doubles({1, 2})),
            "input 'x': the model's type is FP64 (Double), got ARRAY<FP64> (shape [1,1,2])");
  EXPECT_EQ(typed(Type::Double, TableInput("x", "VECTOR", {1, 2}).doubles({1, 2})),
            "input 'x': the model's type is FP64 (Double), got VECTOR (shape [1,2])");
  EXPECT_EQ(
      typed(Type::Int64, TableInput("x", "UINT64", {1}).contents(WireBuilder().packed(5, {1}))),
      "input 'x': datatype UINT64 is not supported by tabular models");
  EXPECT_EQ(typed(Type::Double, TableInput("x", "DECIMAL", {1}).doubles({1})),
            "input 'x': unknown datatype 'DECIMAL'");
}

TEST(TableRefuse, Values) {
  const auto typed = [](FieldSpec spec, const TableInput& input) {
    spec.name = "x";
    return refused_by(model_of({spec}), {input});
  };
  EXPECT_EQ(typed(field("", Type::Int8), TableInput("x", "INT8", {2}).ints({1, 128})),
            "input 'x': value 128 at index 1 is out of range for INT8 (-128 to 127)");  // X26
  EXPECT_EQ(
      typed(field("", Type::Double), TableInput("x", "INT64", {2}).longs({1, 9007199254740993})),
      "input 'x', row 1: expected an integer that a double has exactly (up to 2^53), got "
      "9007199254740993");
  EXPECT_EQ(typed(field("", Type::Float), TableInput("x", "FP64", {1}).doubles({1e39})),
            "input 'x', row 0: expected a number within a float's range, got 1e+39");
  EXPECT_EQ(typed(field("", Type::String), TableInput("x", "STRING", {2}).texts({"a", "\xC3"})),
            "input 'x', row 1: expected text in UTF-8, got bytes that are not");
  EXPECT_EQ(typed(field("", Type::Date), TableInput("x", "DATE", {1}).texts({"2021-02-30"})),
            "input 'x', row 0: expected a date of the form YYYY-MM-DD, year 0001 to 9999, got "
            "'2021-02-30'");
  EXPECT_EQ(typed(field("", Type::Timestamp),
                  TableInput("x", "TIMESTAMP", {1}).texts({"2021-02-01 00:00:00"})),
            "input 'x', row 0: expected a timestamp of the form dd/mm/yyyy HH:MM:SS, got "
            "'2021-02-01 00:00:00'");
  EXPECT_EQ(typed(vector_field("", 3), TableInput("x", "VECTOR", {2, 2}).doubles({1, 2, 3, 4})),
            "input 'x', row 0: expected 3 elements, got 2");
  EXPECT_EQ(typed(pmml_field("", Type::Int32), TableInput("x", "FP64", {1}).doubles({1.5})),
            "input 'x', row 0: expected a whole number, got 1.5");
  EXPECT_EQ(typed(pmml_field("", Type::Double), TableInput("x", "STRING", {1}).texts({"abc"})),
            "input 'x', row 0: expected a number, got 'abc'");
  EXPECT_EQ(typed(pmml_field("", Type::Int8), TableInput("x", "STRING", {1}).texts({"300"})),
            "input 'x', row 0: expected a Int8 (-128 to 127), got 300");
}

// Each value that cannot be converted needs a check whether its row is null.
TEST(TableRefuse, ManyNullRowsOfRaggedData) {
  constexpr uint32_t kRows = 1u << 17;
  std::string nulls, texts;
  WireBuilder lengths;
  for (uint32_t row = 0; row < kRows; ++row) {
    if (row + 1 < kRows) nulls += (row == 0 ? "" : ",") + std::to_string(row);
    texts += std::string("\2\0\0\0no", 6);
    lengths.bare_fixed(int32_t{1});
  }
  WireBuilder message;
  message.message(5,
                  TableInput("d", "DATE", {kRows, 1, -1}).parameter("null_indices", nulls).wire());
  message.message(5, TableInput("d_shape", "INT32", {1}).wire());
  message.bytes(7, texts);
  message.bytes(7, lengths.str());
  EXPECT_EQ(decoded_wire(model_of({list_field("d", Type::Date)}), message),
            "error: input 'd', row 131071, element 0: expected a date of the form YYYY-MM-DD, year "
            "0001 to 9999, got 'no'");
}

TEST(TableRefuse, FieldOfAGroup) {
  const TableModel two = model_of({field("a", Type::Date), field("b", Type::Date)});
  EXPECT_EQ(refused_by(two, {TableInput("t", "DATE", {2, 2})
                                 .parameter("features", "a,b")
                                 .texts({"", "2021-01-01", "", "bad"})}),
            "input 't', field 'b', row 1: expected a date of the form YYYY-MM-DD, year 0001 to "
            "9999, got 'bad'");
}

TEST(TableRefuse, DecimalsAndNulls) {
  const TableModel any = model_of({any_field("d")});
  const auto decimal = [&](std::string_view precision, std::string_view scale, double value) {
    return refused_by(any, {TableInput("d", "FP64", {1})
                                .parameter("precision", precision)
                                .parameter("scale", scale)
                                .doubles({value})});
  };
  EXPECT_EQ(decimal("5", "2", 1000),
            "input 'd', row 0: expected a decimal of precision 5 and scale 2, got 1000");
  EXPECT_EQ(decimal("5", "2", NAN).substr(0, 64),
            "input 'd', row 0: expected a decimal of precision 5 and scale 2,");
  EXPECT_EQ(decimal("39", "2", 1),
            "input 'd': parameter 'precision': expected an integer from 1 to 38 (string_param), "
            "got '39'");
  EXPECT_EQ(decimal("x", "2", 1).substr(0, 40), "input 'd': parameter 'precision': expect");
  EXPECT_EQ(decimal("2", "3", 1),
            "input 'd': parameter 'scale': expected at most the precision, 2, got 3");
  EXPECT_EQ(refused_by(any, {TableInput("d", "FP64", {1}).parameter("scale", "1").doubles({1})}),
            "input 'd': expected both parameters 'precision' and 'scale' or neither, got only "
            "'scale'");
  EXPECT_EQ(refused_by(any, {TableInput("d", "INT32", {1})
                                 .parameter("scale", "1")
                                 .parameter("precision", "3")
                                 .ints({1})}),
            "input 'd': decimals (parameters 'precision' and 'scale') have the datatype FP64 or "
            "STRING, got INT32");
  for (const char* indices : {"1", "-1", "0,", "a", "0 0", "99999999999999999999"}) {
    EXPECT_EQ(
        refused({TableInput("x", "FP64", {1}).parameter("null_indices", indices).doubles({1})}),
        "input 'x': parameter 'null_indices': expected integers below 1 with commas between "
        "them, got '" +
            std::string(indices) + "'");
  }
  EXPECT_EQ(refused_by(any, {TableInput("d", "DATE", {1}).parameter("format", "rfc").texts({""})}),
            "input 'd': parameter 'format': expected 'iso8601', got 'rfc'");
}

TEST(TableRefuse, RequestParametersAndOutputs) {
  const auto with = [](const WireBuilder& rest) {
    WireBuilder message = table_message({TableInput("x", "FP64", {1}).doubles({1})});
    return decoded_wire(number_model(), message.raw(rest.str()));
  };
  EXPECT_EQ(with(WireBuilder().message(4, text_parameter("on_invalid", "skip"))),
            "error: parameter 'on_invalid': expected 'error' or 'null', got 'skip'");
  EXPECT_EQ(with(WireBuilder().message(4, text_parameter("strict", "yes"))),
            "error: parameter 'strict': expected true or false, got 'yes'");
  EXPECT_EQ(with(WireBuilder().message(4, text_parameter("string_datatype", "TEXT"))),
            "error: parameter 'string_datatype': expected 'STRING' or 'BYTES', got 'TEXT'");
  EXPECT_EQ(with(WireBuilder().message(6, WireBuilder().bytes(1, "q"))),
            "error: requested output 'q': the model has no such output; expected one of 'y'");
  EXPECT_EQ(with(WireBuilder()
                     .message(6, WireBuilder().bytes(1, "y"))
                     .message(6, WireBuilder().bytes(1, "y"))),
            with(WireBuilder().message(6, WireBuilder().bytes(1, "y"))));
}

// These are refused before memory is allocated.
TEST(TableRefuse, Limits) {
  const auto code = [](const WireBuilder& message) {
    return TableDecoded(Protocol::V2Grpc, number_model(), message.str()).code();
  };
  EXPECT_EQ(code(table_message({TableInput("x", "FP64", {int64_t{1} << 40}).doubles({1})})),
            ErrorCode::BodyTooLarge);
  EXPECT_EQ(code(table_message({TableInput("x", "FP64", {1 << 20, 1 << 20}).doubles({1})})),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(code(table_message({TableInput("x", "VECTOR", {1 << 20, 1 << 20}).doubles({1})})),
            ErrorCode::BodyTooLarge);
  EXPECT_EQ(code(table_message({TableInput("x", "VECTOR", {1 << 20, 0})})),
            ErrorCode::BodyTooLarge);
  EXPECT_EQ(code(table_message({TableInput("x", "VECTOR", {1, 1, -1}).doubles({1}),
                                TableInput("x_shape", "INT64", {1}).longs({int64_t{1} << 33})})),
            ErrorCode::BodyTooLarge);
  const std::string names(kTableFieldsMax + 1, ',');
  EXPECT_EQ(code(table_message(
                {TableInput("x", "FP64", {1, 2}).parameter("features", names).doubles({1, 2})})),
            ErrorCode::BodyTooLarge);
}

// X1: models that are not tabular.
TEST(TableRefuse, OtherModels) {
  Signature signature = one_input(DType::Fp32);
  const std::string belongs =
      " belongs to the extension tabular_v1, which Spark, MLeap and PMML models have, and this "
      "model has not";
  const auto wire = [&](const TableInput& input) {
    Arena arena;
    DecodedRequest out;
    const WireBuilder message = table_message({input});
    const Status status = decode_wire_v2(message.span(), signature, {}, arena, out);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(wire(TableInput("x", "STRING", {1}).texts({"a"})),
            "input 'x': expected datatype FP32, got 'STRING', which" + belongs);
  EXPECT_EQ(wire(TableInput("x", "FP32", {1}).parameter("features", "a").floats({1})),
            "input 'x': parameter 'features'" + belongs);
  EXPECT_EQ(wire(TableInput("x", "FP32", {1, 1, -1}).floats({1})),
            "input 'x': dimension 2 of shape [1,1,-1] is negative; -1" + belongs);
  EXPECT_EQ(wire(TableInput("x", "FP32", {1}).parameter("format", "iso8601").floats({1})), "");
  const auto json = [&](const std::string& rest) {
    const PaddedBody body(R"({"inputs":[{"name":"x",)" + rest + "}]}");
    Arena arena;
    DecodedRequest out;
    const Status status = decode_v2_infer(body.bytes(), kNoJsonHeader, &signature, {}, arena, out);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(json(R"("datatype":"VECTOR","shape":[1],"data":[1])"),
            "input 'x': expected datatype FP32, got VECTOR, which" + belongs);
  EXPECT_EQ(json(R"("datatype":"FP32","shape":[1],"parameters":{"features":"a"},"data":[1])"),
            "input 'x': parameters: 'features'" + belongs);
  EXPECT_EQ(json(R"("datatype":"FP32","shape":[1,1,-1],"data":[1])"),
            "input 'x': shape[2]: -1" + belongs);
}

}  // namespace
}  // namespace serval::test
