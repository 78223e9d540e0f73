// X1: a tensor model (ONNX) that accepts the extension because its configuration says so.
#include <gtest/gtest.h>

#include "codec/table/tensor_fields.h"
#include "support/table_support.h"

namespace serval::test {
namespace {

TensorSpec tensor(std::string name, DType dtype, std::vector<int64_t> dims) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.dtype = dtype;
  spec.dims = std::move(dims);
  return spec;
}

TableModel tensor_model(std::vector<TensorSpec> inputs) {
  TableModel model({}, {});
  model.signature.inputs = std::move(inputs);
  model.signature.outputs = {tensor("y", DType::Fp32, {-1, 3}),
                             tensor("label", DType::Int64, {-1})};
  Result<TableSchema> fields = fields_of_tensors(model.signature);
  EXPECT_TRUE(fields.ok()) << (fields.ok() ? "" : fields.error().message);
  if (fields.ok()) model.table = std::move(fields.value());
  return model;
}

const TableModel& mixed_model() {
  static const TableModel model =
      tensor_model({tensor("age", DType::Fp32, {-1, 1}), tensor("height", DType::Fp32, {-1, 1}),
                    tensor("city", DType::Bytes, {-1, 1}), tensor("count", DType::Int64, {-1}),
                    tensor("v", DType::Fp32, {-1, 3})});
  return model;
}

// The model's inputs as text, or the error.
std::string made(TableDecoded decoded, const TableModel& model) {
  if (!decoded.ok()) return "error: " + decoded.error();
  const Status done = make_tensors(model.signature, decoded.request());
  if (!done.ok()) return "error: " + done.error().message;
  for (size_t i = 0; i < model.signature.inputs.size(); ++i) {
    const Status fits = check_shape(model.signature.inputs[i], decoded.request().inputs[i].shape);
    if (!fits.ok()) return "error: " + fits.error().message;
  }
  return decoded.text();
}
std::string wire(const TableModel& model, const WireBuilder& message) {
  return made(TableDecoded(Protocol::V2Grpc, model, message.str()), model);
}
std::string wire(const TableModel& model, std::initializer_list<TableInput> inputs) {
  return wire(model, table_message(inputs));
}
std::string json(const TableModel& model, std::string_view members) {
  return made(TableDecoded(Protocol::V2Rest, model, "{" + std::string(members) + "}"), model);
}

TEST(TensorFields, RequestOfTheExtension) {
  const std::string wanted =
      "FP32[2,1]: [30], [40]; FP32[2,1]: [1.5], [1.75]; BYTES[2,1]: ['Oslo'], ['Rom']; "
      "INT64[2]: 7, 8; FP32[2,3]: [1, 2, 3], [4, 5, 6]";
  EXPECT_EQ(wire(mixed_model(), {TableInput("t", "FP64", {2, 2})
                                     .parameter("features", "height,age")
                                     .doubles({1.5, 30, 1.75, 40}),
                                 TableInput("city", "STRING", {2}).texts({"Oslo", "Rom"}),
                                 TableInput("count", "INT32", {2, 1}).ints({7, 8}),
                                 TableInput("v", "VECTOR", {2, 1, -1}).doubles({1, 2, 3, 4, 5, 6}),
                                 TableInput("v_shape", "INT32", {1}).ints({3, 3})}),
            wanted);
  EXPECT_EQ(json(mixed_model(), R"("inputs":[
      {"name":"t","shape":[2,2],"datatype":"FP32","parameters":{"features":"height,age"},
       "data":[1.5,30,1.75,40]},
      {"name":"city","shape":[2,1],"datatype":"STRING","data":["Oslo","Rom"]},
      {"name":"count","shape":[2],"datatype":"INT64","data":[7,8]},
      {"name":"v","shape":[2,1,-1],"datatype":"VECTOR","data":[[1,2,3],[4,5,6]]}])"),
            wanted);
}

// Requests that the model accepted without the parameter are accepted with it.
TEST(TensorFields, PlainRequest) {
  const TableModel model =
      tensor_model({tensor("x", DType::Fp32, {-1, 3}), tensor("s", DType::Bytes, {-1})});
  TableDecoded decoded(Protocol::V2Grpc, model,
                       table_message({TableInput("x", "FP32", {2, 3}).floats({1, 2, 3, 4, 5, 6}),
                                      TableInput("s", "BYTES", {2}).texts({"\xff", ""})})
                           .str());
  EXPECT_EQ(decoded.text(), "FP32[2,3]: [1, 2, 3], [4, 5, 6]; BYTES[2]: '\xff', ''");
  EXPECT_FALSE(decoded.request().table.text_is_string);
  TableDecoded classes(Protocol::V2Rest, model, R"({"inputs":[
      {"name":"x","shape":[0,3],"datatype":"FP32","data":[]},
      {"name":"s","shape":[0],"datatype":"BYTES","data":[]}],
      "outputs":[{"name":"label"},{"name":"y","parameters":{"classification":2}}]})");
  ASSERT_TRUE(classes.ok()) << classes.error();
  EXPECT_EQ(classes.outputs(), "1,0");
  EXPECT_EQ(classes.request().outputs[1].classes, 2u);
}

TEST(TensorFields, WhatTensorsHaveNot) {
  const TableModel text = tensor_model({tensor("s", DType::Bytes, {-1})});
  const TableModel list = tensor_model({tensor("v", DType::Fp64, {-1, -1})});
  EXPECT_EQ(
      wire(text, {TableInput("s", "STRING", {2}).parameter("null_indices", "1").texts({"a", ""})}),
      "error: input 's', row 1: expected a value, got a missing one: the model takes "
      "tensors, which have none");
  EXPECT_EQ(json(text, R"("inputs":[{"name":"s","shape":[1],"datatype":"STRING","data":[null]}])"),
            "error: input 's', row 0: expected a value, got a missing one: the model takes "
            "tensors, which have none");
  const std::string ragged =
      "error: input 'v', row 1: expected 1 elements as in row 0, got 2: the model has tensor "
      "inputs, "
      "whose rows have equal length";
  EXPECT_EQ(wire(list, {TableInput("v", "FP64", {2, 1, -1}).doubles({1, 2, 3}),
                        TableInput("v_shape", "INT32", {1}).ints({1, 2})}),
            ragged);
  EXPECT_EQ(json(list, R"("inputs":[{"name":"v","shape":[2,1,-1],"datatype":"FP64",
      "data":[[1],[2,3]]}])"),
            ragged);
  EXPECT_EQ(wire(text, {TableInput("s", "STRING", {1}).texts({"\xff"})}),
            "error: input 's', row 0: expected text in UTF-8, got bytes that are not");
  EXPECT_EQ(wire(text, {TableInput("s", "DATE", {1}).texts({"2020-01-01"})}),
            "error: input 's': the model's type is BYTES (Binary), got DATE (shape [1])");
  EXPECT_EQ(wire(text, {TableInput("s", "STRING", {1}).texts({"a"}),
                        TableInput("q", "STRING", {1}).texts({"a"})}),
            "error: input 'q': the model has no field 'q'");
  EXPECT_EQ(wire(text, table_message({TableInput("s", "STRING", {1}).texts({"a"})})
                           .message(4, text_parameter("group_outputs", "true"))),
            "error: parameter 'group_outputs': the model returns tensors, not rows of fields");
  EXPECT_EQ(json(text, R"("parameters":{"on_invalid":"null"},
      "inputs":[{"name":"s","shape":[1],"datatype":"STRING","data":["a"]}])"),
            "error: parameter 'on_invalid': the model returns tensors, not rows of fields");
  EXPECT_EQ(wire(mixed_model(), {TableInput("age", "FP32", {1}).floats({1})}),
            "error: missing field: expected also 'height', 'city', 'count', 'v'");
}

TEST(TensorFields, InputsThatAreNoFields) {
  Signature signature;
  signature.inputs = {tensor("image", DType::Fp32, {-1, 3, 8, 8}), tensor("ok", DType::Fp32, {-1}),
                      tensor("mask", DType::Uint8, {-1}), tensor("free", DType::Fp32, {})};
  signature.inputs[3].unknown_rank = true;
  const Result<TableSchema> fields = fields_of_tensors(signature);
  ASSERT_FALSE(fields.ok());
  EXPECT_EQ(fields.error().code, ErrorCode::ModelInvalid);
  EXPECT_EQ(fields.error().message,
            "parameter 'extended_v2': some inputs cannot be presented as fields: input 'image' has "
            "shape [-1,3,8,8], expected [n], [n,1] or [n,d]; input 'mask' has datatype UINT8, "
            "expected BOOL, INT8 to INT64, FP32, FP64 or BYTES; input 'free' has shape of any "
            "rank, expected [n], [n,1] or [n,d]");
}

}  // namespace
}  // namespace serval::test
