// ModelInferRequest for tabular models: accepted requests and their fields. Each rule of tabular.md
// 2.1 has a case. Refused requests: wire_refuse_test.cc.
#include <gtest/gtest.h>

#include <cmath>

#include "support/table_support.h"

namespace serval::test {
namespace {

// The examples of the extension's page, corrected.
TEST(TableWire, SeedStringDateTimestamp) {
  const TableModel model = model_of(
      {any_field("my_string_col"), any_field("my_date_col"), any_field("my_timestamp_col")});
  EXPECT_EQ(
      decoded_wire(
          model, {TableInput("my_string_col", "STRING", {1}).texts({"some text"}),
                  TableInput("my_date_col", "DATE", {1}).texts({"2021-02-01"}),
                  TableInput("my_timestamp_col", "TIMESTAMP", {1}).texts({"01/02/2021 00:00:01"})}),
      "STRING[1]: 'some text'; DATE[1]: 18659; TIMESTAMP[1]: 1612137601000000");
}

TEST(TableWire, SeedVectors) {
  const TableModel model = model_of({any_field("my_vector_col", Type::Vector)});
  const TableInput companion = TableInput("my_vector_col_shape", "INT32", {1}).ints({3, 2});
  // X5: the page's example has the datatype FP64 under the heading VECTOR.
  for (const char* datatype : {"FP64", "VECTOR"}) {
    EXPECT_EQ(
        decoded_wire(model,
                     {TableInput("my_vector_col", datatype, {2, 1, -1}).doubles({1, 2, 3, 4, 5}),
                      companion}),
        "VECTOR[2,-1]: [1, 2, 3], [4, 5]");
  }
}

TEST(TableWire, SeedDecimals) {
  const TableModel model = model_of({any_field("my_decimal_col")});
  EXPECT_EQ(decoded_wire(model, {TableInput("my_decimal_col", "FP64", {2})
                                     .parameter("precision", "10")
                                     .parameter("scale", "5")
                                     .doubles({10.12, 20})}),
            "DECIMAL[2]: 10.12000, 20.00000");
}

TEST(TableWire, SeedFeatures) {
  const TableModel three =
      model_of({field("my_fp64_col1", Type::Double), field("my_fp64_col2", Type::Double),
                field("my_fp64_col3", Type::Double)});
  EXPECT_EQ(
      decoded_wire(three, {TableInput("FeatureCols1_3", "FP64", {1, 3})
                               .parameter("features", "my_fp64_col1,my_fp64_col2,my_fp64_col3")
                               .doubles({1.01, 1.02, 1.03})}),
      "FP64[1]: 1.01; FP64[1]: 1.02; FP64[1]: 1.03");
  const TableModel two =
      model_of({field("my_int_col1", Type::Int32), field("my_int_col2", Type::Int32)});
  EXPECT_EQ(decoded_wire(two, {TableInput("FeatureCols1_2", "INT32", {3, 2})
                                   .parameter("features", "my_int_col1,my_int_col2")
                                   .ints({10, 11, 20, 21, 30, 31})}),
            "INT32[3]: 10, 20, 30; INT32[3]: 11, 21, 31");
  EXPECT_EQ(decoded_wire(two, {TableInput("any", "INT32", {1, 2})
                                   .parameter("features", " my_int_col2 , my_int_col1 ")
                                   .ints({1, 2})}),
            "INT32[1]: 2; INT32[1]: 1");  // X13: by name; X14: blanks
}

TEST(TableWire, SeedArrays) {
  const TableModel numbers = model_of({list_field("my_array_col", Type::Double)});
  EXPECT_EQ(
      decoded_wire(numbers,
                   {TableInput("my_array_col", "FP64", {3, 1, -1}).doubles({1, 2, 3, 4, 5, 6}),
                    TableInput("my_array_col_shape", "INT32", {1}).ints({3, 2, 1})}),
      "FP64[3,-1]: [1, 2, 3], [4, 5], [6]");
  // X9: row-major; X20: strings are bytes contents.
  const TableModel texts = model_of(
      {list_field("my_array_col1", Type::String), list_field("my_array_col2", Type::String)});
  EXPECT_EQ(
      decoded_wire(texts, {TableInput("FeatureCols1_2", "STRING", {2, 2, -1})
                               .parameter("features", "my_array_col1,my_array_col2")
                               .texts({"string1", "string2", "string3", "string4", "string5",
                                       "string6", "string7", "string8"}),
                           TableInput("FeatureCols1_2_shape", "INT32", {1}).ints({2, 1, 3, 2})}),
      "STRING[2,-1]: ['string1', 'string2'], ['string4', 'string5', 'string6']; "
      "STRING[2,-1]: ['string3'], ['string7', 'string8']");
}

TEST(TableWire, SeedSchema) {
  const TableModel model =
      model_of({field("my_field_col1", Type::Double), field("my_field_col2", Type::String),
                field("my_field_col3", Type::String)});
  EXPECT_EQ(
      decoded_wire(model, {TableInput("my_field_col1", "FP64", {1}).doubles({0.1}),
                           TableInput("featureCols2_3", "STRING", {1, 2})
                               .parameter("features", "my_field_col2,my_field_col3")
                               .texts({"first content", "second content"})}),
      "FP64[1]: 0.10000000000000001; STRING[1]: 'first content'; STRING[1]: 'second content'");
}

// X2.
TEST(TableWire, BytesAreText) {
  const TableModel model = model_of({field("s", Type::String), field("b", Type::Binary)});
  EXPECT_EQ(decoded_wire(model, {TableInput("s", "BYTES", {2}).texts({"", "\xC3\xA9"}),
                                 TableInput("b", "STRING", {2}).texts({"x", "y"})}),
            "STRING[2]: '', '\xC3\xA9'; BYTES[2]: 'x', 'y'");
  EXPECT_EQ(decoded_wire(model, {TableInput("s", "STRING", {1}).texts({"a"}),
                                 TableInput("b", "BYTES", {1}).texts({"\xFF"})}),
            "STRING[1]: 'a'; BYTES[1]: '\xFF'");
}

// X6, X16.
TEST(TableWire, VectorsOfOneSize) {
  const TableModel model = model_of({vector_field("v", 2), field("x", Type::Double)});
  const TableInput x = TableInput("x", "FP64", {2, 1}).doubles({7, 8});
  const std::string wanted = "VECTOR[2,2]: [1, 2], [3, 4]; FP64[2]: 7, 8";
  for (const char* datatype : {"FP64", "VECTOR"}) {
    EXPECT_EQ(decoded_wire(model, {TableInput("v", datatype, {2, 2}).doubles({1, 2, 3, 4}), x}),
              wanted);
    EXPECT_EQ(decoded_wire(model, {TableInput("v", datatype, {2, 1, 2}).doubles({1, 2, 3, 4}), x}),
              wanted);
  }
  EXPECT_EQ(decoded_wire(model, {TableInput("v", "INT32", {2, 2}).ints({1, 2, 3, 4}), x}), wanted);
  EXPECT_EQ(decoded_wire(model, {TableInput("v", "FP32", {2, 2}).floats({1, 2, 3, 4}), x}), wanted);
}

TEST(TableWire, TwoVectorsInOneTensor) {
  const TableModel model = model_of({vector_field("v", 2), vector_field("w", 2)});
  EXPECT_EQ(decoded_wire(model, {TableInput("t", "VECTOR", {2, 2, 2})
                                     .parameter("features", "w,v")
                                     .doubles({1, 2, 3, 4, 5, 6, 7, 8})}),
            "VECTOR[2,2]: [3, 4], [7, 8]; VECTOR[2,2]: [1, 2], [5, 6]");
  const TableModel free = model_of({vector_field("v"), vector_field("w")});
  EXPECT_EQ(decoded_wire(free, {TableInput("t", "VECTOR", {2, 2, -1})
                                    .parameter("features", "v,w")
                                    .doubles({1, 2, 3, 4, 5}),
                                TableInput("t_shape", "INT64", {2, 2}).longs({1, 0, 2, 2})}),
            "VECTOR[2,-1]: [1], [2, 3]; VECTOR[2,-1]: [], [4, 5]");  // X8: [R,F], INT64
}

// X11.
TEST(TableWire, FieldThatIsCalledAShape) {
  const TableModel model = model_of({field("a", Type::Int32), field("a_shape", Type::Int32)});
  EXPECT_EQ(decoded_wire(model, {TableInput("a", "INT32", {1}).ints({1}),
                                 TableInput("a_shape", "INT32", {1}).ints({2})}),
            "INT32[1]: 1; INT32[1]: 2");
}

// X14.
TEST(TableWire, QuotedFeatures) {
  const TableModel model =
      model_of({field("a,b", Type::Int32), field(" say \"hi\" ", Type::Int32)});
  EXPECT_EQ(decoded_wire(model, {TableInput("t", "INT32", {1, 2})
                                     .parameter("features", R"( "a,b" , " say ""hi"" ")")
                                     .ints({1, 2})}),
            "INT32[1]: 1; INT32[1]: 2");
}

// X17.
TEST(TableWire, NoRows) {
  const TableModel model = model_of({field("a", Type::Double), field("s", Type::String)});
  EXPECT_EQ(decoded_wire(model, {TableInput("a", "FP64", {0}), TableInput("s", "STRING", {0, 1})}),
            "FP64[0]:; STRING[0]:");
}

// X18.
TEST(TableWire, Decimals) {
  const TableModel any = model_of({any_field("d"), any_field("e")});
  const WireBuilder scale = WireBuilder().bytes(1, "scale").message(2, WireBuilder().varint(2, 2));
  EXPECT_EQ(decoded_wire(any, {TableInput("t", "FP64", {2, 2})
                                   .parameter("features", "d,e")
                                   .parameter("precision", "5")
                                   .parameter(scale)
                                   .doubles({1.005, -1.005, 999.99, 0})}),
            "DECIMAL[2]: 1.01, 999.99; DECIMAL[2]: -1.01, 0.00");
  const TableModel typed = model_of({decimal_field("d", 38, 10)});
  EXPECT_EQ(decoded_wire(typed, {TableInput("d", "STRING", {1})
                                     .parameter("precision", "30")
                                     .parameter("scale", "4")
                                     .texts({"12345678901234567890.12345"})}),
            "DECIMAL[1]: 12345678901234567890.1235000000");
  EXPECT_EQ(decoded_wire(typed, {TableInput("d", "INT64", {1}).longs({-5})}),
            "DECIMAL[1]: -5.0000000000");
}

// X22.
TEST(TableWire, RawContents) {
  const TableModel model =
      model_of({any_field("v", Type::Vector), field("s", Type::String), field("d", Type::Date)});
  const auto text = [](std::string_view one) {
    std::string raw(4, '\0');
    raw[0] = static_cast<char>(one.size());
    return raw.append(one);
  };
  WireBuilder message;
  message.message(5, wire_input("v", "VECTOR", {2, 1, -1}))
      .message(5, wire_input("v_shape", "INT32", {1}))
      .message(5, wire_input("s", "STRING", {2}))
      .message(5, wire_input("d", "DATE", {2}))
      .bytes(7, raw_of<double>({1, 2, 3}))
      .bytes(7, raw_of<int32_t>({1, 2}))
      .bytes(7, text("a") + text(""))
      .bytes(7, text("1970-01-02") + text(""));
  EXPECT_EQ(decoded_wire(model, message),
            "VECTOR[2,-1]: [1], [2, 3]; STRING[2]: 'a', ''; DATE[2]: 1, null");
}

// X23.
TEST(TableWire, Nulls) {
  TableModel model =
      model_of({field("x", Type::Double), field("d", Type::Timestamp), field("s", Type::String)});
  const auto inputs = {
      TableInput("x", "FP64", {3}).parameter("null_indices", "0").doubles({5, NAN, 2}),
      TableInput("d", "TIMESTAMP", {3}).texts({"", "02/01/1970 00:00:00", ""}),
      TableInput("s", "STRING", {3}).parameter("null_indices", " 0, 2 ").texts({"\xFF", "", "z"})};
  EXPECT_EQ(decoded_wire(model, inputs),
            "FP64[3]: null, nan, 2; TIMESTAMP[3]: null, 86400000000, null; "
            "STRING[3]: null, '', null");
  model.table.nan_is_missing = true;
  EXPECT_EQ(decoded_wire(model, inputs).substr(0, 22), "FP64[3]: null, null, 2");
}

TEST(TableWire, NullsOfGroupsAndVectors) {
  const TableModel model = model_of({field("a", Type::Int32), field("b", Type::Int32)});
  EXPECT_EQ(decoded_wire(model, {TableInput("t", "INT32", {2, 2})
                                     .parameter("features", "a,b")
                                     .parameter("null_indices", "1,2")
                                     .ints({1, 2, 3, 4})}),
            "INT32[2]: 1, null; INT32[2]: null, 4");
  const TableModel vectors = model_of({vector_field("v", 2)});
  EXPECT_EQ(
      decoded_wire(
          vectors,
          {TableInput("v", "VECTOR", {2, 1, -1}).parameter("null_indices", "1").doubles({1, 2}),
           TableInput("v_shape", "INT32", {1}).ints({2, 0})}),
      "VECTOR[2,-1]: [1, 2], null");
}

// X24, X28: fields that the model does not have, and fields that may be omitted.
TEST(TableWire, UnknownAndOptionalFields) {
  TableModel model = model_of({field("a", Type::Int32), field("b", Type::String),
                               vector_field("v", 3), field("d", Type::Date)});
  for (size_t i = 1; i < 4; ++i) model.table.fields[i].optional = true;
  EXPECT_EQ(decoded_wire(model, {TableInput("a", "INT32", {2}).ints({1, 2}),
                                 TableInput("z", "FP64", {2, 3}).doubles({1, 2, 3, 4, 5, 6})}),
            "INT32[2]: 1, 2; STRING[2]: null, null; VECTOR[2,-1]: null, null; "
            "DATE[2]: null, null");
}

TEST(TableWire, MatrixOfAllFields) {
  TableModel model = model_of({field("f", Type::Float), field("d", Type::Double),
                               any_field("a", Type::Double), pmml_field("i", Type::Int64)});
  model.table.matrix = true;
  const TableInput of_floats =
      TableInput("x", "FP32", {2, 4}).floats({0.5F, NAN, 1.5F, 4, 0.1F, 2, NAN, -5});
  EXPECT_EQ(
      decoded_wire(model, {TableInput("x", "FP64", {2, 4}).doubles({1, 2, 3, 4, 5, 6, 7, 8})}),
      "FP32[2]: 1, 5; FP64[2]: 2, 6; FP64[2]: 3, 7; INT64[2]: 4, 8");
  EXPECT_EQ(decoded_wire(model, {of_floats}),
            "FP32[2]: 0.5, 0.10000000149011612; FP64[2]: nan, 2; FP32[2]: 1.5, nan; "
            "INT64[2]: 4, -5");
  model.table.nan_is_missing = true;
  EXPECT_EQ(decoded_wire(model, {of_floats}),
            "FP32[2]: 0.5, 0.10000000149011612; FP64[2]: null, 2; FP32[2]: 1.5, null; "
            "INT64[2]: 4, -5");
  EXPECT_EQ(decoded_wire(model, {TableInput("x", "FP64", {1, 4})
                                     .parameter("null_indices", "1,2")
                                     .doubles({0.1, 7, 7, 9})}),
            "FP32[1]: 0.10000000149011612; FP64[1]: null; FP64[1]: null; INT64[1]: 9");
}

// X25.
TEST(TableWire, Widening) {
  const TableModel model = model_of({field("l", Type::Int64), field("d", Type::Double),
                                     field("f", Type::Float), field("s", Type::Int16)});
  EXPECT_EQ(
      decoded_wire(model, {TableInput("l", "INT8", {1}).ints({-128}),
                           TableInput("d", "FP32", {1}).floats({0.5F}),
                           TableInput("f", "FP64", {1}).doubles({0.1}),
                           TableInput("s", "UINT8", {1}).contents(WireBuilder().packed(4, {255}))}),
      "INT64[1]: -128; FP64[1]: 0.5; FP32[1]: 0.10000000149011612; INT16[1]: 255");
  EXPECT_EQ(
      decoded_wire(model,
                   {TableInput("l", "UINT32", {1}).contents(WireBuilder().packed(4, {4294967295})),
                    TableInput("d", "INT64", {1}).longs({9007199254740992}),
                    TableInput("f", "INT32", {1}).ints({16777217}),
                    TableInput("s", "INT16", {1}).ints({-5})}),
      "INT64[1]: 4294967295; FP64[1]: 9007199254740992; FP32[1]: 16777216; INT16[1]: -5");
  WireBuilder half;
  half.message(5, wire_input("d", "FP16", {1})).bytes(7, raw_of<int16_t>({0x3E00}));
  EXPECT_EQ(decoded_wire(model_of({field("d", Type::Double)}), half), "FP64[1]: 1.5");
}

TEST(TableWire, AnyKeepsTheType) {
  const TableModel model = model_of({any_field("a", Type::Double), any_field("b")});
  EXPECT_EQ(
      decoded_wire(model, {TableInput("a", "INT32", {1}).ints({3}),
                           TableInput("b", "UINT8", {1}).contents(WireBuilder().packed(4, {3}))}),
      "INT32[1]: 3; INT16[1]: 3");
  EXPECT_EQ(decoded_wire(model, {TableInput("a", "FP32", {1}).floats({1.5F}),
                                 TableInput("b", "INT64", {1, 1, 2}).longs({3, 4})}),
            "FP32[1]: 1.5; INT64[1,2]: [3, 4]");
}

TEST(TableWire, PmmlReadsText) {
  TableModel model = model_of({pmml_field("i", Type::Int32), pmml_field("x", Type::Double),
                               pmml_field("b", Type::Bool), pmml_field("t", Type::Timestamp),
                               pmml_field("c", Type::Time)});
  model.table.nan_is_missing = true;
  EXPECT_EQ(decoded_wire(model, {TableInput("i", "STRING", {1}).texts({"12"}),
                                 TableInput("x", "STRING", {1}).texts({"NaN"}),
                                 TableInput("b", "BYTES", {1}).texts({"TRUE"}),
                                 TableInput("t", "STRING", {1}).texts({"1970-01-01T00:00:01"}),
                                 TableInput("c", "STRING", {1}).texts({"00:01:00"})}),
            "INT32[1]: 12; FP64[1]: null; BOOL[1]: true; TIMESTAMP[1]: 1000000; INT64[1]: 60");
  // The conversions that JPMML makes without loss.
  EXPECT_EQ(decoded_wire(model_of({pmml_field("i", Type::Int32)}),
                         {TableInput("i", "FP64", {2}).doubles({3, -4})}),
            "INT32[2]: 3, -4");
  EXPECT_EQ(decoded_wire(model_of({pmml_field("i", Type::Int32)}),
                         {TableInput("i", "INT64", {1}).longs({7})}),
            "INT32[1]: 7");
}

// X27.
TEST(TableWire, ArraysOfDates) {
  const TableModel model = model_of({list_field("d", Type::Date)});
  EXPECT_EQ(
      decoded_wire(model, {TableInput("d", "DATE", {1, 2}).texts({"1970-01-01", "1970-01-02"})}),
      "DATE[1,2]: [0, 1]");
}

TEST(TableWire, IsoTimestamps) {
  const TableModel model = model_of({any_field("t")});
  EXPECT_EQ(decoded_wire(model, {TableInput("t", "TIMESTAMP", {2})
                                     .parameter("format", "iso8601")
                                     .texts({"1970-01-01T01:00:00+01:00", "01/01/1970 00:00:01"})}),
            "TIMESTAMP[2]: 0, 1000000");
}

TEST(TableWire, OneFieldStaysAView) {
  const TableModel model = model_of({field("x", Type::Double)});
  for (size_t pad = 0; pad < 8; ++pad) {
    WireBuilder message;
    message.bytes(1, std::string(pad, 'm')).message(5, wire_input("x", "FP64", {2}));
    message.bytes(7, raw_of<double>({1, 2}));
    const TableDecoded decoded(Protocol::V2Grpc, model, message.str());
    EXPECT_EQ(decoded.text(), "FP64[2]: 1, 2");
    if (decoded.is_view(0)) return;
  }
  ADD_FAILURE() << "no alignment gave a view";
}

TEST(TableWire, OutputsAndOptions) {
  TableModel model({field("x", Type::Double)}, {field("y", Type::Double), field("z", Type::Double),
                                                field("inner", Type::Double)});
  model.table.extra[2] = true;
  WireBuilder message = table_message({TableInput("x", "FP64", {1}).doubles({1})});
  EXPECT_EQ(TableDecoded(Protocol::V2Grpc, model, message.str()).outputs(), "0,1");
  const TableDecoded plain(Protocol::V2Grpc, model, message.str());
  EXPECT_FALSE(plain.request().table.text_is_string);
  message.message(6, WireBuilder().bytes(1, "inner")).message(6, WireBuilder().bytes(1, "y"));
  message.bytes(3, "id-7");
  message.message(4, text_parameter("on_invalid", "null"));
  message.message(4,
                  WireBuilder().bytes(1, "group_outputs").message(2, WireBuilder().varint(1, 1)));
  const TableDecoded decoded(Protocol::V2Grpc, model, message.str());
  EXPECT_EQ(decoded.error(), "");
  EXPECT_EQ(decoded.outputs(), "2,0");
  EXPECT_EQ(decoded.request().id, "id-7");
  EXPECT_TRUE(decoded.request().table.null_for_invalid);
  EXPECT_TRUE(decoded.request().table.group_outputs);
  EXPECT_TRUE(decoded.request().table.text_is_string);  // a parameter of the extension
}

// 2.4: STRING if the request uses the extension at all; string_datatype decides.
TEST(TableWire, DatatypeOfText) {
  const TableModel model = model_of({any_field("x")});
  const auto is_string = [&](const WireBuilder& message) {
    const TableDecoded decoded(Protocol::V2Grpc, model, message.str());
    EXPECT_EQ(decoded.error(), "");
    return decoded.request().table.text_is_string;
  };
  EXPECT_FALSE(is_string(table_message({TableInput("x", "BYTES", {1}).texts({"a"})})));
  EXPECT_TRUE(is_string(table_message({TableInput("x", "STRING", {1}).texts({"a"})})));
  EXPECT_TRUE(is_string(
      table_message({TableInput("x", "INT32", {1}).parameter("null_indices", "").ints({1})})));
  EXPECT_FALSE(is_string(table_message({TableInput("x", "STRING", {1}).texts({"a"})})
                             .message(4, text_parameter("string_datatype", "BYTES"))));
  EXPECT_TRUE(is_string(table_message({TableInput("x", "BYTES", {1}).texts({"a"})})
                            .message(4, text_parameter("string_datatype", "STRING"))));
}

}  // namespace
}  // namespace serval::test
