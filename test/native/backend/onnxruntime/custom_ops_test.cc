// Our operators inside ONNX Runtime: types by value_info, strings of arbitrary bytes, unused
// outputs, optional inputs, and errors in the kernels' own words. test/native/operators covers the
// kernels' values.
#include <atomic>
#include <thread>

#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;
using CustomOps = OnnxRuntimeTest;
using std::string_literals::operator""s;

onnx::Message text_attribute(std::string_view name, std::string_view value) {
  return onnx::Message().bytes(1, name).bytes(4, value).varint(20, 3);
}

onnx::Model serval_model() {
  onnx::Model model;
  model.domains = {{"serval", 1}};
  return model;
}

void describe(onnx::Model& model, std::string_view name, int element_type) {
  model.graph.message(
      13, onnx::Message().bytes(1, name).message(2, onnx::tensor_type(element_type, std::nullopt)));
}

void add_strings(onnx::Model& model, std::string_view name, const std::vector<std::string>& values,
                 bool scalar = false) {
  onnx::Message tensor;
  if (!scalar) tensor.integer(1, static_cast<int64_t>(values.size()));
  tensor.varint(2, onnx::kString).bytes(8, name);
  for (const std::string& value : values) tensor.bytes(6, value);
  model.graph.message(5, tensor);
}

std::string delimited(int field, std::string_view bytes) {
  return onnx::Message().bytes(field, bytes).str();
}

// Returns a serialized Example with one float feature.
std::string example_of(std::string_view key, float value) {
  const std::string packed(reinterpret_cast<const char*>(&value), sizeof value);
  const std::string feature = delimited(2, delimited(1, packed));
  return delimited(1, delimited(1, delimited(1, key) + delimited(2, feature)));
}

// Parses one required float feature "x" and a sparse one "s", and doubles x.
onnx::Model parse_model(bool described) {
  const std::vector<int64_t> float_type = {onnx::kFloat};
  onnx::Model model = serval_model();
  model.initializer<float>("no_default", onnx::kFloat, {0}, {});
  model.node("ParseExample", {"examples", "no_default"}, {"indices", "values", "shape", "x"},
             {text_attribute("sparse_keys", "1:s"), onnx::attribute("sparse_types", float_type),
              text_attribute("dense_keys", "1:x"), onnx::attribute("dense_types", float_type),
              onnx::attribute("dense_shapes", std::vector<int64_t>{1, 1})},
             "serval");
  model.node("Add", {"x", "x"}, {"y"});
  if (described) {
    describe(model, "indices", onnx::kInt64);
    describe(model, "values", onnx::kFloat);
    describe(model, "shape", onnx::kInt64);
    describe(model, "x", onnx::kFloat);
  }
  model.input("examples", onnx::kString, Dims{std::string("n")});
  model.output("y", onnx::kFloat, std::nullopt);
  return model;
}

TEST_F(CustomOps, ParsesExamplesInsideAGraph) {
  const auto model = load(parse_model(true));
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const std::string first = example_of("x", 1.5f), second = example_of("x", -4);
  for (int round = 0; round < 3; ++round) {
    const TestStrings examples({2}, {first, second});
    const Status status = run(*model, *scratch, {examples.view()});
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(scratch->outputs()[0].shape.to_string(), "[2,1]");
    EXPECT_EQ(values_of<float>(scratch->outputs()[0]), (std::vector<float>{3, -8}));
    scratch->release_outputs();
  }
}

TEST_F(CustomOps, OutputsWithoutATypeAreRefusedAtLoad) {
  const Error error = load_error(parse_model(false));
  EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
}

TEST_F(CustomOps, AClientsMistakeIsInvalidArgumentInTheKernelsWords) {
  const auto model = load(parse_model(true));
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const std::string without = example_of("y", 1);
  const TestStrings examples({1}, {without});
  Status status = run(*model, *scratch, {examples.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(status.error().message,
            "Name: <unknown>, Feature: x (data type: float) is required but could not be found.");
  EXPECT_NE(status.error().detail.find("ParseExample"), std::string::npos);
  const TestStrings broken({1}, {std::string_view("\x0a\x7f\0\xff", 4)});
  status = run(*model, *scratch, {broken.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "Could not parse example input, value: '\n\\x7f\\x00\\xff'");
}

TEST_F(CustomOps, StringsOfAnyBytesGoInAndOut) {
  onnx::Model model = serval_model();
  add_strings(model, "fallback", {"none\0!"s}, true);
  add_strings(model, "keys", {"\0"s, "\xff\xfe", "", "a"});
  add_strings(model, "values", {"zero\0zero"s, "", "empty", "\xc3"});
  model.node("LookupFind", {"x", "fallback", "keys", "values"}, {"y"}, {}, "serval");
  model.input("x", onnx::kString, Dims{std::string("n"), std::string("m")});
  model.output("y", onnx::kString, std::nullopt);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  const auto scratch = loaded->make_scratch();
  const TestStrings x({2, 3}, {"a", "", "unknown", "\xff\xfe", std::string_view("\0", 1),
                               std::string_view("\0\0", 2)});
  const Status status = run(*loaded, *scratch, {x.view()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  const TensorView& y = scratch->outputs()[0];
  EXPECT_EQ(y.shape.to_string(), "[2,3]");
  const std::vector<std::string> got(y.strings.begin(), y.strings.end());
  EXPECT_EQ(got,
            (std::vector<std::string>{"\xc3", "empty", "none\0!"s, "", "zero\0zero"s, "none\0!"s}));
}

TEST_F(CustomOps, EmptyTensorsAndUnusedOutputsAndOptionalInputs) {
  onnx::Model model = serval_model();
  // The second output is omitted and the third is used; the number of segments is optional.
  model.node("Unique", {"x"}, {"y", "", "counts"}, {}, "serval");
  model.node("SparseSegmentReduce", {"data", "x", "x"}, {"sums"}, {}, "serval");
  model.input("x", onnx::kInt32, Dims{std::string("n")});
  model.input("data", onnx::kFloat, Dims{std::string("m")});
  model.output("y", onnx::kInt32, std::nullopt).output("counts", onnx::kInt32, std::nullopt);
  model.output("sums", onnx::kFloat, std::nullopt);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  const auto scratch = loaded->make_scratch();
  const TestTensor<int32_t> x(DType::Int32, {4}, {0, 1, 1, 2}), none(DType::Int32, {0}, {});
  const TestTensor<float> data(DType::Fp32, {3}, {1, 10, 100});
  Status status = run(*loaded, *scratch, {x.view(), data.view()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(values_of<int32_t>(scratch->outputs()[0]), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(values_of<int32_t>(scratch->outputs()[1]), (std::vector<int32_t>{1, 2, 1}));
  EXPECT_EQ(values_of<float>(scratch->outputs()[2]), (std::vector<float>{1, 20, 100}));
  scratch->release_outputs();
  status = run(*loaded, *scratch, {none.view(), data.view()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(scratch->outputs()[2].shape.to_string(), "[0]");
}

TEST_F(CustomOps, AWrongNodeFailsAtLoad) {
  onnx::Model few = serval_model();
  few.node("LookupFind", {"x"}, {"y"}, {}, "serval");
  few.input("x", onnx::kString, Dims{}).output("y", onnx::kInt64, std::nullopt);
  EXPECT_NE(load_error(few).message.find("LookupFind: expected 4 inputs, got 1"),
            std::string::npos);
  onnx::Model wrong_type = serval_model();
  const onnx::Message buckets = onnx::attribute("num_buckets", int64_t{3});
  wrong_type.node("StringToHashBucketFast", {"x"}, {"y"}, {buckets}, "serval");
  wrong_type.input("x", onnx::kFloat, Dims{}).output("y", onnx::kInt64, std::nullopt);
  EXPECT_NE(load_error(wrong_type).message.find("input 0: expected BYTES, got FP32"),
            std::string::npos);
  onnx::Model no_attribute = serval_model();
  no_attribute.node("StringToHashBucketFast", {"x"}, {"y"}, {}, "serval");
  no_attribute.input("x", onnx::kString, Dims{}).output("y", onnx::kInt64, std::nullopt);
  const Error error = load_error(no_attribute);
  EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
  EXPECT_NE(error.message.find("attribute 'num_buckets': expected 1 or more"), std::string::npos);
  EXPECT_EQ(error.message.find('\x1f'), std::string::npos);
  onnx::Model unknown = serval_model();
  unknown.node("NoSuchOperator", {"x"}, {"y"}, {}, "serval");
  unknown.input("x", onnx::kString, Dims{}).output("y", onnx::kInt64, std::nullopt);
  EXPECT_EQ(load_error(unknown).code, ErrorCode::ModelInvalid);
}

TEST_F(CustomOps, AnOutputDeclaredWithAnotherTypeIsRefused) {
  onnx::Model model = serval_model();
  model.node("Unique", {"x"}, {"y", "index"}, {}, "serval");
  model.input("x", onnx::kInt32, Dims{std::string("n")});
  model.output("y", onnx::kInt8, std::nullopt).output("index", onnx::kInt32, std::nullopt);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  const auto scratch = loaded->make_scratch();
  const TestTensor<int32_t> x(DType::Int32, {2}, {7, 8});
  const Status status = run(*loaded, *scratch, {x.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::BackendFailed);
}

TEST_F(CustomOps, ATableIsReadOnceByManyThreads) {
  onnx::Model model = serval_model();
  model.initializer<int64_t>("fallback", onnx::kInt64, {}, {-1});
  model.initializer<int64_t>("keys", onnx::kInt64, {3}, {10, -20, 30});
  model.initializer<int64_t>("values", onnx::kInt64, {3}, {1, 2, 3});
  model.node("LookupFind", {"x", "fallback", "keys", "values"}, {"y"}, {}, "serval");
  model.input("x", onnx::kInt64, Dims{std::string("n")}).output("y", onnx::kInt64, std::nullopt);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto scratch = loaded->make_scratch();
      const TestTensor<int64_t> x(DType::Int64, {4}, {30, 0, -20, 10});
      for (int i = 0; i < 20; ++i) {
        const bool ok =
            run(*loaded, *scratch, {x.view()}).ok() &&
            values_of<int64_t>(scratch->outputs()[0]) == std::vector<int64_t>({3, -1, 2, 1});
        if (!ok) ++wrong;
        scratch->release_outputs();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace serval
