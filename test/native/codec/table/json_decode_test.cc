// V2 JSON and V1 predict for tabular models: accepted requests and their fields, and refused ones
// with their messages. Source: tabular.md 2.5, 2.1 X23; tfserving.md 1.3.
#include <gtest/gtest.h>

#include "codec/table/json_data.h"
#include "support/table_support.h"

namespace serval::test {
namespace {

TEST(TableJson, ValuesOfAllTypes) {
  const TableModel model =
      model_of({field("b", Type::Bool), field("i", Type::Int8), field("x", Type::Double),
                field("s", Type::String), field("d", Type::Date), field("t", Type::Timestamp)});
  EXPECT_EQ(decoded_json(model, R"(
      {"name":"b","shape":[2],"datatype":"BOOL","data":[true,false]},
      {"name":"i","shape":[2,1],"datatype":"INT8","data":[[-128],[127]]},
      {"name":"x","shape":[2],"datatype":"FP64","data":["NaN","-Infinity"]},
      {"data":["caf\u00e9",null],"datatype":"STRING","shape":[2],"name":"s"},
      {"name":"d","shape":[2],"datatype":"DATE","data":["1970-01-02",""]},
      {"name":"t","shape":[2],"datatype":"TIMESTAMP","data":["01/01/1970 00:00:01",null]})"),
            "BOOL[2]: true, false; INT8[2]: -128, 127; FP64[2]: nan, -inf; "
            "STRING[2]: 'caf\xC3\xA9', null; DATE[2]: 1, null; TIMESTAMP[2]: 1000000, null");
}

TEST(TableJson, Parameters) {
  const TableModel model = model_of({any_field("a"), any_field("b")});
  EXPECT_EQ(decoded_json(model, R"({"name":"t","shape":[2,2],"datatype":"FP64",
      "parameters":{"features":"b,\u0061","precision":6,"scale":"2"},"data":[[1,2.005],[3,null]]})"),
            "DECIMAL[2]: 2.01, null; DECIMAL[2]: 1.00, 3.00");
  EXPECT_EQ(decoded_json(model, R"({"name":"t","shape":[1,2],"datatype":"INT64",
      "parameters":{"features":{"string_param":"a,b"},"null_indices":"1"},"data":[7,8]})"),
            "INT64[1]: 7; INT64[1]: null");  // X15
}

// A booster's fields: one tensor may have all of them.
TEST(TableJson, Matrix) {
  TableModel model = model_of({field("a", Type::Float), field("b", Type::Float)});
  const auto sent = [&](const std::string& tensor) { return decoded_json(model, tensor); };
  const std::string rows =
      R"({"name":"input","shape":[2,2],"datatype":"FP32","data":[1,2,3,null]})";
  EXPECT_EQ(sent(R"({"name":"input","shape":[2,2],"datatype":"FP32","data":[1,2,3,4]})"),
            "error: missing field: expected also 'a', 'b'");
  model.table.matrix = true;
  const std::string both = "FP32[2]: 1, 3; FP32[2]: 2, null";
  EXPECT_EQ(sent(rows), both);
  EXPECT_EQ(sent(R"({"name":"x","shape":[2,2],"datatype":"FP64","data":[[1,2],[3,null]]})"), both);
  EXPECT_EQ(sent(R"({"name":"x","shape":[2,2],"datatype":"INT64","data":[1,2,3,null]})"), both);
  EXPECT_EQ(sent(R"({"name":"x","shape":[2,2],"datatype":"FP32",
      "parameters":{"features":"b,a"},"data":[2,1,null,3]})"),
            both);
  EXPECT_EQ(sent(R"({"name":"a","shape":[1,1],"datatype":"FP32","data":[1]},
      {"name":"b","shape":[1],"datatype":"FP32","data":[2]})"),
            "FP32[1]: 1; FP32[1]: 2");
  EXPECT_EQ(sent(R"({"name":"x","shape":[1,3],"datatype":"FP32","data":[1,2,3]})"),
            "error: input 'x': expected a field's name, or all 2 fields in shape [1,2], got shape "
            "[1,3]");
  EXPECT_EQ(sent(R"({"name":"x","shape":[1,2],"datatype":"VECTOR","data":[1,2]})"),
            "error: input 'x': expected a field's name, or all 2 fields in shape [1,2], got shape "
            "[1,2]");
  EXPECT_EQ(sent(R"({"name":"x","shape":[1,2],"datatype":"FP32","data":[1,2]},
      {"name":"b","shape":[1],"datatype":"FP32","data":[2]})"),
            "error: input 'b': field 'b' is given more than once");
  EXPECT_EQ(sent(R"({"name":"x","shape":[2],"datatype":"FP32","data":[1,2]})"),
            "error: missing field: expected also 'a', 'b'");
  EXPECT_EQ(sent(R"({"name":"x","shape":[1,2],"datatype":"FP64","data":[1,1e300]})"),
            "error: input 'x', field 'b', row 0: expected a number within a float's range, got "
            "1e+300");
}

TEST(TableJson, RaggedFlatAndNested) {
  const TableModel model = model_of({any_field("v", Type::Vector), any_field("w", Type::Vector)});
  const std::string wanted = "VECTOR[2,-1]: [1, 2, 3], [4]; VECTOR[2,-1]: [], [5, 6]";
  EXPECT_EQ(decoded_json(model, R"(
      {"name":"t","shape":[2,2,-1],"datatype":"VECTOR","parameters":{"features":"v,w"},
       "data":[1,2,3,4,5,6]},
      {"name":"t_shape","shape":[1],"datatype":"INT32","data":[3,0,1,2]})"),
            wanted);
  EXPECT_EQ(decoded_json(model, R"({"name":"t","shape":[2,2,-1],"datatype":"VECTOR",
      "parameters":{"features":"v,w"},"data":[[[1,2,3],[]],[[4],[5,6]]]})"),
            wanted);
  const TableModel one = model_of({list_field("s", Type::String)});
  const std::string front = R"({"name":"s","shape":[4,1,-1],"datatype":"STRING","data":)";
  EXPECT_EQ(decoded_json(one, front + R"([["a","b"],[],null,["c"]]})"),
            "STRING[4,-1]: ['a', 'b'], [], null, ['c']");
  EXPECT_EQ(decoded_json(one, front + R"([[["a","b"]],[[]],[null],[["c"]]]})"),
            "STRING[4,-1]: ['a', 'b'], [], null, ['c']");
}

TEST(TableJson, NullVectors) {
  const TableModel model = model_of({vector_field("v", 2)});
  EXPECT_EQ(decoded_json(model, R"({"name":"v","shape":[3,2],"datatype":"VECTOR",
      "data":[null,[1,2],null]})"),
            "VECTOR[3,2]: null, [1, 2], null");
  EXPECT_EQ(decoded_json(model, R"({"name":"v","shape":[2,1,2],"datatype":"FP64",
      "data":[[null],[[1,2]]]})"),
            "VECTOR[2,2]: null, [1, 2]");
  EXPECT_EQ(decoded_json(model, R"({"name":"v","shape":[3,2],"datatype":"FP64",
      "data":[1,2,null,null,3,4]})"),
            "VECTOR[3,2]: [1, 2], null, [3, 4]");
  EXPECT_EQ(
      decoded_json(model, R"({"name":"v","shape":[1,2],"datatype":"FP64","data":[null,1]})"),
      "error: input 'v', element 1: null replaces a whole vector or array, not an element of one");
  EXPECT_EQ(
      decoded_json(model, R"({"name":"v","shape":[1,2],"datatype":"FP64","data":[1,null]})"),
      "error: input 'v', element 1: null replaces a whole vector or array, not an element of one");
}

// X22 over REST.
TEST(TableJson, BinaryData) {
  const TableModel model = model_of({any_field("v", Type::Vector), field("s", Type::String)});
  const std::string json =
      R"({"inputs":[{"name":"v","shape":[2,1,-1],"datatype":"VECTOR",)"
      R"("parameters":{"binary_data_size":24}},)"
      R"({"name":"v_shape","shape":[1],"datatype":"INT32","data":[1,2]},)"
      R"({"name":"s","shape":[2],"datatype":"STRING","parameters":{"binary_data_size":10}}],)"
      R"("parameters":{"binary_data_output":true}})";
  const std::string body = json + raw_of<double>({1, 2, 3}) + std::string("\1\0\0\0a\1\0\0\0b", 10);
  const TableDecoded decoded(Protocol::V2Rest, model, body, static_cast<int64_t>(json.size()));
  EXPECT_EQ(decoded.text(), "VECTOR[2,-1]: [1], [2, 3]; STRING[2]: 'a', 'b'");
  EXPECT_EQ(decoded.outputs(), "0b");
  const TableDecoded longer(Protocol::V2Rest, model, body + "x", static_cast<int64_t>(json.size()));
  EXPECT_EQ(longer.error(), "binary data: 1 bytes left over after the last tensor");
  const TableDecoded bare(Protocol::V2Rest, model, body, 0);
  EXPECT_EQ(bare.error(),
            "raw request (Inference-Header-Content-Length: 0): a tabular model needs the JSON that "
            "names its inputs");
}

TEST(TableJson, RequestMembers) {
  const TableModel model = model_of({field("x", Type::Double)});
  const std::string input = R"("inputs":[{"name":"x","shape":[1],"datatype":"FP64","data":[1]}])";
  const TableDecoded decoded(
      Protocol::V2Rest, model,
      R"({"id":"q\u0031","other":{"a":[1,{"b":null}]},"outputs":[{"name":"y","parameters":)"
      R"({"binary_data":true}}],"parameters":{"on_invalid":"null","string_datatype":"STRING",)"
      R"("strict":true,"priority":3},)" +
          input + "}");
  EXPECT_EQ(decoded.text(), "FP64[1]: 1");
  EXPECT_EQ(decoded.request().id, "q1");
  EXPECT_EQ(decoded.outputs(), "0b");
  EXPECT_TRUE(decoded.request().table.null_for_invalid);
  EXPECT_TRUE(decoded.request().table.text_is_string);
}

// Source: docs/reference/tabular.md "PMML documents".
TEST(TableJson, AModelWithoutFieldsAnswersAsManyRowsAsItIsAskedFor) {
  const TableModel model = model_of({});
  const auto rows = [&](Protocol protocol, std::string_view body) {
    const TableDecoded decoded(protocol, model, body);
    if (!decoded.error().empty()) return "error: " + decoded.error();
    const std::vector<TensorView>& inputs = decoded.request().inputs;
    return std::to_string(inputs.size()) + " " + inputs[0].shape.to_string();
  };
  EXPECT_EQ(rows(Protocol::V2Rest, R"({"inputs":[]})"), "1 [1]");
  EXPECT_EQ(rows(Protocol::V2Rest, R"({"inputs":[{"name":"q","datatype":"FP64","shape":[3],)"
                                   R"("data":[1,2,3]}]})"),
            "1 [3]");
  EXPECT_EQ(rows(Protocol::V1Predict, R"({"instances":[{},{}]})"), "1 [2]");
  EXPECT_EQ(rows(Protocol::V1Predict, R"({"instances":[]})"), "1 [0]");
  EXPECT_EQ(rows(Protocol::V1Predict, R"({"inputs":{}})"), "1 [1]");
}

// A JSON error precedes any other; each error names its place.
TEST(TableJson, Refusals) {
  const TableModel model = model_of({field("x", Type::Double), field("i", Type::Int32)});
  const auto body_error = [&](std::string_view body) {
    return TableDecoded(Protocol::V2Rest, model, body).error();
  };
  EXPECT_EQ(body_error("{\"inputs\":[{\"name\":\"z\",}]}").substr(0, 22), "malformed JSON at byte");
  EXPECT_EQ(body_error("[]"), "request body: expected an object, got []");
  EXPECT_EQ(body_error("{}"), "request body: 'inputs' is missing");
  EXPECT_EQ(body_error("{\"inputs\":3}"), "'inputs': expected a list of objects");
  EXPECT_EQ(body_error("{\"inputs\":[]}"), "the request has no inputs: expected some rows");
  EXPECT_EQ(body_error("{\"inputs\":[{\"name\":\"a\xFF\"}]}").substr(0, 22),
            "malformed JSON at byte");
  EXPECT_EQ(body_error(R"({"inputs":[{"name":5}]})"),
            "inputs[0]: 'name': expected a string, got 5");
  const auto one = [&](std::string_view rest) {
    return decoded_json(model, R"({"name":"x",)" + std::string(rest) + "}");
  };
  EXPECT_EQ(one(R"("shape":[1],"data":[1])"), "error: input 'x': 'datatype' is missing");
  EXPECT_EQ(one(R"("datatype":"FP64","data":[1])"), "error: input 'x': 'shape' is missing");
  EXPECT_EQ(one(R"("datatype":"FP65","shape":[1],"data":[1])"),
            "error: input 'x': unknown datatype 'FP65'");
  EXPECT_EQ(one(R"("datatype":"FP64","shape":[1.5],"data":[1])"),
            "error: input 'x': 'shape': expected a list of at most 32 integers, got [1.5]");
  EXPECT_EQ(one(R"("datatype":"FP64","shape":[1])"),
            "error: input 'x': expected exactly one of 'data' and parameters 'binary_data_size'");
  EXPECT_EQ(one(R"("datatype":"FP64","shape":[2],"data":[1])"),
            "error: input 'x': expected 2 elements (shape [2]), got 1");
  EXPECT_EQ(one(R"("datatype":"FP64","shape":[1],"data":[1,2])"),
            "error: input 'x': expected 1 elements (shape [1]), got 2");
  EXPECT_EQ(one(R"("datatype":"FP64","shape":[1],"data":["a"])"),
            "error: input 'x', element 0: expected a number in its range for FP64, got \"a\"");
  EXPECT_EQ(one(R"("datatype":"INT8","shape":[2],"data":[1,200])"),
            "error: input 'x', element 1: expected an integer from -128 to 127 for INT8, got 200");
  EXPECT_EQ(one(R"("datatype":"INT32","shape":[1],"data":[1.5])"),
            "error: input 'x', element 0: expected an integer from -2147483648 to 2147483647 for "
            "INT32, got 1.5");
  EXPECT_EQ(one(R"("datatype":"FP64","shape":[1],"data":5)"),
            "error: input 'x': 'data': expected a list of 1 elements, got 5");
  EXPECT_EQ(one(R"("datatype":"FP64","shape":[2,1,-1],"data":[[1]])").substr(0, 60),
            "error: input 'x': shape [2,1,-1] without an input 'x_shape':");
  EXPECT_EQ(one(R"("datatype":"FP64","shape":[2,1,-1],"data":[1,2])"),
            "error: input 'x': shape [2,1,-1] without an input 'x_shape': expected nested data, in "
            "row 0 a list of elements for field 0, got 1");
  EXPECT_EQ(one(R"("datatype":"FP64","shape":[2,1,-1],"data":[[[1],[2]],[[3]]])"),
            "error: input 'x': shape [2,1,-1] without an input 'x_shape': expected nested data, in "
            "row 0 1 lists, one per field, got 2");
}

// A list in place of a boolean, after the last one that fits. Elements are counted for the error
// before the text is known to be invalid: the count ends with it.
TEST(TableJson, DataThatDoesNotEnd) {
  const TableModel model = model_of({any_field("a")});
  for (const std::string data :
       {R"([601"}-02-01T00:00:00Z"])", R"([1,2)", "[[1]", R"(["a)", "[1]]", "[1,2]"}) {
    const std::string body =
        R"({"inputs":[{"name":"a","datatype":"FP64","shape":[0],"data":)" + data + "}]}";
    const TableDecoded decoded(Protocol::V2Rest, model, body);
    EXPECT_NE(decoded.error(), "") << data;
  }
}

TEST(TableJson, NestedDataWithListsForValues) {
  const TableModel model = model_of({list_field("b", Type::Bool)});
  const std::string front = R"({"name":"b","shape":[1,1,-1],"datatype":"BOOL","data":)";
  EXPECT_EQ(decoded_json(model, front + "[[[true,[]]]]}"),
            "error: input 'b', row 0, field 0: expected true or false for BOOL, got []");
  Arena arena;
  table::JsonBool kept{1};
  const std::string_view text = "[]";
  EXPECT_EQ(table::read_json_value(text.data(), text.data() + 2, arena, kept), nullptr);
  EXPECT_EQ(kept.value, 1);
}

TEST(TableV1, RowsAndColumns) {
  const TableModel model =
      model_of({field("x", Type::Double), field("s", Type::String), vector_field("v", 2)});
  const std::string wanted = "FP64[2]: 1, 2.5; STRING[2]: 'a', null; VECTOR[2,2]: [1, 2], [3, 4]";
  EXPECT_EQ(decoded_v1(model, R"({"instances":[{"x":1,"s":"a","v":[1,2]},
      {"v":[3,4],"s":null,"x":2.5,"other":{}}]})"),
            wanted);
  EXPECT_EQ(decoded_v1(model, R"({"instances":[[1,"a",[1,2]],[2.5,null,[3,4]]]})"), wanted);
  EXPECT_EQ(decoded_v1(model, R"({"signature_name":"serving_default",
      "inputs":{"x":[1,2.5],"s":["\u0061",null],"v":[[1,2],[3,4]]}})"),
            wanted);
}

TEST(TableV1, OneField) {
  const TableModel number = model_of({field("x", Type::Double)});
  EXPECT_EQ(decoded_v1(number, R"({"instances":[1,2]})"), "FP64[2]: 1, 2");
  EXPECT_EQ(decoded_v1(number, R"({"instances":[[1],[2]]})"), "FP64[2]: 1, 2");
  EXPECT_EQ(decoded_v1(number, R"({"inputs":[1,"NaN"]})"), "FP64[2]: 1, nan");
  const TableModel vector = model_of({any_field("v", Type::Vector)});
  EXPECT_EQ(decoded_v1(vector, R"({"instances":[[1,2],[3]]})"), "VECTOR[2,-1]: [1, 2], [3]");
}

TEST(TableV1, NullVectors) {
  const TableModel model = model_of({vector_field("v"), list_field("s", Type::String)});
  const TableDecoded decoded(Protocol::V1Predict, model,
                             R"({"instances":[{"v":[1,2],"s":null},{"v":null,"s":["a"]}]})");
  EXPECT_EQ(decoded.text(), "VECTOR[2,-1]: [1, 2], null; STRING[2,-1]: null, ['a']");
  EXPECT_EQ(decoded.request().inputs[0].bytes, 16u);
  EXPECT_EQ(decoded.request().inputs[1].strings.size(), 1u);
}

TEST(TableV1, TypesFollowTheModelThenTheValues) {
  const TableModel typed = model_of({field("i", Type::Int8), field("d", Type::Date),
                                     decimal_field("m", 5, 2), field("b", Type::Binary)});
  EXPECT_EQ(decoded_v1(typed, R"({"instances":[
      {"i":-5,"d":"1970-01-02","m":"1.005","b":{"b64":"/w=="}}]})"),
            "INT8[1]: -5; DATE[1]: 1; DECIMAL[1]: 1.01; BYTES[1]: '\xFF'");
  const TableModel any = model_of({any_field("a"), any_field("b"), any_field("c", Type::Double),
                                   any_field("d"), any_field("e", Type::String)});
  EXPECT_EQ(decoded_v1(any, R"({"instances":[{"a":1,"b":1.5,"c":3,"d":"t","e":7},
                                             {"a":2,"b":2,"c":4,"d":null,"e":8}]})"),
            "INT64[2]: 1, 2; FP64[2]: 1.5, 2; FP64[2]: 3, 4; STRING[2]: 't', null; INT64[2]: 7, 8");
  EXPECT_EQ(decoded_v1(any, R"({"instances":[{"a":[1,2],"b":["x"],"c":1,"d":true,"e":null}]})"),
            "INT64[1,2]: [1, 2]; STRING[1,1]: ['x']; FP64[1]: 1; BOOL[1]: true; STRING[1]: null");
}

TEST(TableV1, OptionalFields) {
  TableModel model = model_of({field("x", Type::Double), field("s", Type::String)});
  model.table.fields[1].optional = true;
  EXPECT_EQ(decoded_v1(model, R"({"instances":[{"x":1},{"x":2,"s":"b"}]})"),
            "FP64[2]: 1, 2; STRING[2]: null, 'b'");
  EXPECT_EQ(decoded_v1(model, R"({"instances":[{"x":1}]})"), "FP64[1]: 1; STRING[1]: null");
  EXPECT_EQ(decoded_v1(model, R"({"instances":[{"s":"a"}]})"), "error: row 0: missing field 'x'");
}

// A lazy plan: only the output 'z' needs the field 's'.
TEST(TableJson, AFieldIsRequiredByTheOutputsThatNeedIt) {
  TableModel model({field("x", Type::Double), field("s", Type::String)},
                   {field("y", Type::Double), field("z", Type::Double)});
  model.table.extra = {false, true};
  model.table.fields[1].by_default = false;
  model.table.output_fields = {{}, {1}};
  const std::string x = R"({"name":"x","shape":[1],"datatype":"FP64","data":[1]})";
  const std::string s = R"({"name":"s","shape":[1],"datatype":"STRING","data":["a"]})";
  const std::string asked = R"(],"outputs":[{"name":"z"})";
  EXPECT_EQ(decoded_json(model, x), "FP64[1]: 1; STRING[1]: null");
  EXPECT_EQ(decoded_json(model, x + asked),
            "error: missing field: expected also 's', which the requested outputs need");
  EXPECT_EQ(decoded_json(model, x + "," + s + asked), "FP64[1]: 1; STRING[1]: 'a'");
  EXPECT_EQ(decoded_v1(model, R"({"instances":[{"x":1}]})"), "FP64[1]: 1; STRING[1]: null");
}

TEST(TableV1, Refusals) {
  const TableModel model = model_of({field("x", Type::Double), field("i", Type::Int32)});
  const auto refused = [&](std::string_view body) { return decoded_v1(model, body); };
  EXPECT_EQ(refused(R"({"instances":[{"x":1,"i":2},]})").substr(0, 23), "error: JSON Parse error");
  EXPECT_EQ(refused(R"({"instances":[{"x":1,"i":nope}]})").substr(0, 23),
            "error: JSON Parse error");
  EXPECT_EQ(refused("{}"), "error: missing 'inputs' or 'instances' key");
  EXPECT_EQ(refused(R"({"instances":5})"), "error: 'instances': expected a list of rows, got 5");
  EXPECT_EQ(refused(R"({"instances":[5]})"),
            "error: row 0: expected an object of fields, or a list of 2 values, got 5");
  EXPECT_EQ(refused(R"({"instances":[[1]]})"),
            "error: row 0: expected a list of 2 values, one per field, got 1");
  EXPECT_EQ(refused(R"({"instances":[{"x":1,"i":1},{"x":"b","i":2}]})"),
            "error: field 'x', row 1: expected a number in its range, got \"b\"");
  EXPECT_EQ(refused(R"({"instances":[{"x":1,"i":1.5}]})"),
            "error: field 'i', row 0: expected an integer from -2147483648 to 2147483647, got 1.5");
  EXPECT_EQ(refused(R"({"instances":[{"x":1,"x":1,"i":1}]})"),
            "error: row 0: field 'x' is given more than once");
  EXPECT_EQ(refused(R"({"inputs":{"x":[1,2],"i":[1]}})"),
            "error: 'inputs': field 'i': expected 2 rows as in the others, got 1");
  EXPECT_EQ(refused(R"({"signature_name":"q","instances":[[1,2]]})"),
            "error: Serving signature name: \"q\" not found in signature def");
  EXPECT_EQ(refused(R"({"instances":[{"x":[1,2],"i":1}]})"),
            "error: input 'x': the model's type is FP64 (Double), got ARRAY<FP64> (shape [1,1,2])");
}

}  // namespace
}  // namespace serval::test
