// The ONNX Runtime backend running models: values of every dtype, strings, shapes, reuse between
// runs, threads, and errors of runs. load_test.cc covers loading.
#include <cmath>
#include <thread>

#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;
using OrtRun = OnnxRuntimeTest;

TEST_F(OrtRun, HalfPlusThree) {
  const auto model = load(onnx::half_plus_three());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  EXPECT_TRUE(scratch->outputs().empty());
  const TestTensor<float> x(DType::Fp32, {4}, {1, 2, 5, -6});
  ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
  ASSERT_EQ(scratch->outputs().size(), 1u);
  const TensorView& y = scratch->outputs()[0];
  EXPECT_EQ(y.dtype, DType::Fp32);
  EXPECT_EQ(y.shape.to_string(), "[4]");
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{3.5f, 4, 5.5f, 0}));
  scratch->release_outputs();
  EXPECT_TRUE(scratch->outputs().empty());
}

TEST_F(OrtRun, SameShapesAgainGiveNewValues) {
  const auto model = load(onnx::half_plus_three());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  TestTensor<float> x(DType::Fp32, {2}, {0, 2});
  const TestTensor<float> other(DType::Fp32, {2}, {20, 40});
  ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
  scratch->release_outputs();
  // the address is the same: the value is created once, and its bytes are read in each run
  x.values = {10, -10};
  x.tensor.data = reinterpret_cast<const uint8_t*>(x.values.data());
  ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), (std::vector<float>{8, -2}));
  ASSERT_TRUE(run(*model, *scratch, {other.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), (std::vector<float>{13, 23}));
}

TEST_F(OrtRun, ChangingShapes) {
  const auto model = load(onnx::half_plus_three(Dims{std::string("a"), std::string("b")}));
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  std::vector<float> data(64, 4.0f);
  const int64_t shapes[][2] = {{2, 3}, {3, 2}, {6, 1}, {0, 5}, {2, 3}, {8, 8}, {5, 0}, {1, 1}};
  for (int round = 0; round < 2; ++round) {
    for (const auto& dims : shapes) {
      const size_t count = static_cast<size_t>(dims[0] * dims[1]);
      const TestTensor<float> x(DType::Fp32, {dims[0], dims[1]},
                                std::vector<float>(data.begin(), data.begin() + count));
      ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
      EXPECT_EQ(scratch->outputs()[0].shape, x.view().shape);
      EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>(count, 5.0f));
      scratch->release_outputs();
    }
  }
}

TEST_F(OrtRun, NoElementsAndNoPointer) {
  const auto model = load(onnx::half_plus_three());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  TensorView x;
  x.dtype = DType::Fp32;
  x.shape = Shape(std::vector<int64_t>{0});
  ASSERT_TRUE(run(*model, *scratch, {x}).ok());
  EXPECT_EQ(scratch->outputs()[0].shape.to_string(), "[0]");
  EXPECT_EQ(scratch->outputs()[0].bytes, 0u);
}

TEST_F(OrtRun, Scalar) {
  const auto model = load(onnx::half_plus_three(Dims{}));
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const TestTensor<float> x(DType::Fp32, {}, {7});
  ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
  EXPECT_EQ(scratch->outputs()[0].shape.rank(), 0u);
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>{6.5f});
}

TEST_F(OrtRun, UnknownRank) {
  const auto model = load(onnx::half_plus_three(std::nullopt));
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const TestTensor<float> cube(DType::Fp32, {1, 2, 1}, {2, 4});
  const TestTensor<float> scalar(DType::Fp32, {}, {2});
  ASSERT_TRUE(run(*model, *scratch, {cube.view()}).ok());
  EXPECT_EQ(scratch->outputs()[0].shape.to_string(), "[1,2,1]");
  ASSERT_TRUE(run(*model, *scratch, {scalar.view()}).ok());
  EXPECT_EQ(scratch->outputs()[0].shape.rank(), 0u);
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>{4});
}

TEST_F(OrtRun, UnalignedInput) {
  const auto model = load(onnx::half_plus_three());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  std::vector<float> values(37);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(2 * i);
  std::vector<uint8_t> bytes(values.size() * sizeof(float) + 1);
  std::memcpy(bytes.data() + 1, values.data(), bytes.size() - 1);
  TensorView x;
  x.dtype = DType::Fp32;
  x.shape = Shape(std::vector<int64_t>{37});
  x.data = bytes.data() + 1;
  x.bytes = bytes.size() - 1;
  ASSERT_TRUE(run(*model, *scratch, {x}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0])[36], 39.0f);
}

struct IdentityCase {
  DType dtype;
  int element_type;
};
class Identity : public OnnxRuntimeTest, public testing::WithParamInterface<IdentityCase> {};

// Every fixed-size dtype bit for bit, BF16 and FP16 as raw 16 bits (NaN and infinity too).
TEST_P(Identity, BitForBit) {
  const auto model = load(onnx::identity(GetParam().element_type));
  ASSERT_TRUE(model);
  const Signature& signature = model->info().signatures[0];
  EXPECT_EQ(signature.inputs[0].dtype, GetParam().dtype);
  EXPECT_EQ(signature.outputs[0].dtype, GetParam().dtype);
  const size_t size = dtype_bytes(GetParam().dtype);
  std::vector<uint8_t> bytes(size * 16);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = GetParam().dtype == DType::Bool ? i & 1 : static_cast<uint8_t>(255 - 37 * i);
  }
  const auto scratch = model->make_scratch();
  for (int64_t count : {16, 16, 5, 0}) {
    TensorView x;
    x.dtype = GetParam().dtype;
    x.shape = Shape(std::vector<int64_t>{count});
    x.data = bytes.data();
    x.bytes = size * static_cast<size_t>(count);
    ASSERT_TRUE(run(*model, *scratch, {x}).ok());
    const TensorView& y = scratch->outputs()[0];
    EXPECT_EQ(y.dtype, x.dtype);
    EXPECT_EQ(y.shape, x.shape);
    ASSERT_EQ(y.bytes, x.bytes);
    EXPECT_EQ(values_of<uint8_t>(y),
              std::vector<uint8_t>(bytes.begin(), bytes.begin() + static_cast<long>(x.bytes)));
    scratch->release_outputs();
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllDtypes, Identity,
    testing::Values(
        IdentityCase{DType::Bool, onnx::kBool}, IdentityCase{DType::Uint8, onnx::kUint8},
        IdentityCase{DType::Uint16, onnx::kUint16}, IdentityCase{DType::Uint32, onnx::kUint32},
        IdentityCase{DType::Uint64, onnx::kUint64}, IdentityCase{DType::Int8, onnx::kInt8},
        IdentityCase{DType::Int16, onnx::kInt16}, IdentityCase{DType::Int32, onnx::kInt32},
        IdentityCase{DType::Int64, onnx::kInt64}, IdentityCase{DType::Fp16, onnx::kFloat16},
        IdentityCase{DType::Fp32, onnx::kFloat}, IdentityCase{DType::Fp64, onnx::kDouble},
        IdentityCase{DType::Bf16, onnx::kBfloat16}),
    [](const auto& test) { return std::string(dtype_name(test.param.dtype)); });

TEST_F(OrtRun, StringsKeepLengthNulsAndOrder) {
  const auto model = load(onnx::identity(onnx::kString, Dims{std::string("a"), std::string("b")}));
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const std::string with_nul("a\0b\0", 4), longer(100000, 'x'), invalid_utf8("\xff\xfe");
  const TestStrings first({2, 2}, {with_nul, "", longer, invalid_utf8});
  const TestStrings second({2, 2}, {"1", longer, "", "four"});
  const TestStrings one({1, 1}, {"only"});
  const TestStrings none({0, 2}, {});
  const TestStrings empties({1, 3}, {"", "", ""});
  for (const TestStrings* x : {&first, &second, &first, &one, &none, &empties, &second}) {
    ASSERT_TRUE(run(*model, *scratch, {x->view()}).ok());
    const TensorView& y = scratch->outputs()[0];
    EXPECT_EQ(y.dtype, DType::Bytes);
    EXPECT_EQ(y.shape, x->view().shape);
    EXPECT_TRUE(std::equal(y.strings.begin(), y.strings.end(), x->values.begin(), x->values.end()));
    scratch->release_outputs();
  }
}

TEST_F(OrtRun, ManyOutputsAnySelection) {
  onnx::Model graph;
  graph.node("Neg", {"x"}, {"negative"}).node("Abs", {"x"}, {"absolute"});
  graph.node("Cast", {"x"}, {"whole"}, {onnx::attribute("to", int64_t{onnx::kInt64})});
  graph.input("x", onnx::kFloat, Dims{std::string("n")});
  graph.output("negative", onnx::kFloat, Dims{std::string("n")});
  graph.output("absolute", onnx::kFloat, Dims{std::string("n")});
  graph.output("whole", onnx::kInt64, Dims{std::string("n")});
  const auto model = load(graph);
  ASSERT_TRUE(model);
  ASSERT_EQ(model->info().signatures[0].outputs.size(), 3u);
  const auto scratch = model->make_scratch();
  const TestTensor<float> x(DType::Fp32, {2}, {-3, 4});
  const std::vector<TensorView> inputs = {x.view()};
  ASSERT_TRUE(run(*model, *scratch, inputs).ok());
  ASSERT_EQ(scratch->outputs().size(), 3u);
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), (std::vector<float>{3, -4}));
  EXPECT_EQ(values_of<float>(scratch->outputs()[1]), (std::vector<float>{3, 4}));
  EXPECT_EQ(values_of<int64_t>(scratch->outputs()[2]), (std::vector<int64_t>{-3, 4}));
  const std::vector<uint32_t> two = {2, 0};
  ASSERT_TRUE(model->run(0, inputs, two, *scratch, nullptr).ok());
  ASSERT_EQ(scratch->outputs().size(), 2u);
  EXPECT_EQ(values_of<int64_t>(scratch->outputs()[0]), (std::vector<int64_t>{-3, 4}));
  EXPECT_EQ(values_of<float>(scratch->outputs()[1]), (std::vector<float>{3, -4}));
}

TEST_F(OrtRun, TheSameOutputTwice) {
  const auto model = load(onnx::half_plus_three());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const std::vector<uint32_t> twice = {0, 0};
  for (float value : {2.0f, 4.0f, 6.0f}) {
    const TestTensor<float> x(DType::Fp32, {1}, {value});
    const std::vector<TensorView> inputs = {x.view()};
    ASSERT_TRUE(model->run(0, inputs, twice, *scratch, nullptr).ok());
    ASSERT_EQ(scratch->outputs().size(), 2u);
    for (const TensorView& y : scratch->outputs()) {
      EXPECT_EQ(values_of<float>(y), std::vector<float>{0.5f * value + 3});
    }
    scratch->release_outputs();
  }
}

// Outputs that the runtime does not compute: an input that is passed through, and a constant.
TEST_F(OrtRun, PassedThroughInputAndConstantOutput) {
  onnx::Model graph;
  graph.initializer<float>("c", onnx::kFloat, {2}, {1, 2});
  graph.node("Neg", {"x"}, {"y"});
  graph.input("x", onnx::kFloat, Dims{int64_t{2}});
  graph.output("y", onnx::kFloat, Dims{int64_t{2}});
  graph.output("x", onnx::kFloat, Dims{int64_t{2}}).output("c", onnx::kFloat, Dims{int64_t{2}});
  const auto model = load(graph);
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const TestTensor<float> tensors[] = {{DType::Fp32, {2}, {5, -5}},
                                       {DType::Fp32, {2}, {6, -6}},
                                       {DType::Fp32, {2}, {7, -7}}};  // three live addresses
  for (const TestTensor<float>& x : tensors) {
    const float value = x.values[0];
    ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
    EXPECT_EQ(values_of<float>(scratch->outputs()[0]), (std::vector<float>{-value, value}));
    EXPECT_EQ(values_of<float>(scratch->outputs()[1]), (std::vector<float>{value, -value}));
    EXPECT_EQ(values_of<float>(scratch->outputs()[2]), (std::vector<float>{1, 2}));
    EXPECT_EQ(x.values[1], -value);
    scratch->release_outputs();
  }
}

// Operators that may forward their input instead of copying it, at the model's edge and inside.
// Every run must answer with its own input, whatever is kept from the previous run.
TEST_F(OrtRun, OperatorsThatAlias) {
  const std::pair<const char*, std::vector<onnx::Message>> operators[] = {
      {"Identity", {}},
      {"Flatten", {onnx::attribute("axis", int64_t{1})}},
      {"Dropout", {}},
      {"Cast", {onnx::attribute("to", int64_t{onnx::kFloat})}},
      {"Transpose", {onnx::attribute("perm", std::vector<int64_t>{0, 1})}},
      {"Sum", {}},
      {"Concat", {onnx::attribute("axis", int64_t{0})}}};
  const Dims dims = {std::string("n"), int64_t{2}};
  for (const auto& [name, attributes] : operators) {
    for (int level : {0, 99}) {
      onnx::Model graph;
      graph.node(name, {"x"}, {"edge"}, attributes);
      graph.node("Neg", {"x"}, {"inner"}).node(name, {"inner"}, {"end"}, attributes);
      graph.input("x", onnx::kFloat, dims);
      graph.output("edge", onnx::kFloat, dims).output("end", onnx::kFloat, dims);
      ModelSpec spec;
      spec.graph_optimization = level;
      const auto model = load(graph, spec);
      ASSERT_TRUE(model) << name;
      const auto scratch = model->make_scratch();
      const TestTensor<float> tensors[] = {{DType::Fp32, {1, 2}, {1, 2}},
                                           {DType::Fp32, {1, 2}, {3, 4}},
                                           {DType::Fp32, {1, 2}, {5, 6}}};
      for (const TestTensor<float>& x : tensors) {
        ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok()) << name;
        EXPECT_EQ(values_of<float>(scratch->outputs()[0]), x.values) << name;
        EXPECT_EQ(values_of<float>(scratch->outputs()[1]),
                  (std::vector<float>{-x.values[0], -x.values[1]}))
            << name;
        scratch->release_outputs();
      }
    }
  }
}

// The model declares that its output has x's length, but it has as many columns as x has non-zeros.
// Old outputs must not be forced on it, and every run must answer.
TEST_F(OrtRun, ModelThatBreaksItsDeclaredShapes) {
  onnx::Model graph;
  graph.node("NonZero", {"x"}, {"places"});
  graph.input("x", onnx::kFloat, Dims{std::string("n")});
  graph.output("places", onnx::kInt64, Dims{int64_t{1}, std::string("n")});
  const auto model = load(graph);
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const TestTensor<float> one(DType::Fp32, {3}, {0, 1, 0}), two(DType::Fp32, {3}, {5, 0, 5}),
      all(DType::Fp32, {3}, {1, 1, 1});
  const std::pair<const TestTensor<float>*, std::vector<int64_t>> cases[] = {
      {&one, {1}}, {&two, {0, 2}}, {&all, {0, 1, 2}}, {&one, {1}}, {&two, {0, 2}}};
  for (const auto& [x, expected] : cases) {
    const Status status = run(*model, *scratch, {x->view()});
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(values_of<int64_t>(scratch->outputs()[0]), expected);
    EXPECT_EQ(scratch->outputs()[0].shape[1], static_cast<int64_t>(expected.size()));
    scratch->release_outputs();
  }
}

TEST_F(OrtRun, ModelWithoutInputs) {
  onnx::Model graph;
  graph.initializer<float>("c", onnx::kFloat, {2}, {1, 2}).node("Neg", {"c"}, {"y"});
  graph.output("y", onnx::kFloat, Dims{int64_t{2}});
  const auto model = load(graph);
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(*model, *scratch, {}).ok());
    EXPECT_EQ(values_of<float>(scratch->outputs()[0]), (std::vector<float>{-1, -2}));
  }
}

TEST_F(OrtRun, Mlp) {
  const auto model = load(onnx::mlp());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  for (int64_t batch : {1, 32, 32, 7}) {
    const TestTensor<float> x(DType::Fp32, {batch, 784},
                              std::vector<float>(static_cast<size_t>(batch) * 784, 0.5f));
    ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
    const std::vector<float> y = values_of<float>(scratch->outputs()[0]);
    ASSERT_EQ(y.size(), static_cast<size_t>(batch) * 10);
    for (size_t row = 0; row < y.size(); row += 10) {
      float sum = 0;
      for (size_t i = row; i < row + 10; ++i) {
        EXPECT_GT(y[i], 0.0f);
        sum += y[i];
        EXPECT_NEAR(y[i], y[i - row], 1e-6f);  // equal rows have equal results
      }
      EXPECT_NEAR(sum, 1.0f, 1e-5f);
    }
    scratch->release_outputs();
  }
}

TEST_F(OrtRun, WrongDimIsInvalidArgument) {
  const auto model = load(onnx::mlp());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const TestTensor<float> x(DType::Fp32, {1, 3}, {1, 2, 3});
  const Status status = run(*model, *scratch, {x.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(status.error().message,
            "the model refuses its input: Got invalid dimensions for input: x for the following "
            "indices index: 1 Got: 3 Expected: 784 Please fix either the inputs/outputs or the "
            "model.; inputs: 'x' [1,3] where [-1,784] is declared");
  EXPECT_TRUE(scratch->outputs().empty());
}

TEST_F(OrtRun, BytesFewerThanTheShapeSays) {
  const auto model = load(onnx::half_plus_three());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  TestTensor<float> x(DType::Fp32, {3}, {1, 2, 3});
  x.tensor.bytes = 8;
  const Status status = run(*model, *scratch, {x.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(status.error().message.find("input \"x\""), std::string::npos);
  x.tensor.bytes = 12;
  EXPECT_TRUE(run(*model, *scratch, {x.view()}).ok());  // the scratch is still usable
}

// A value that a kernel refuses: the message names the node and the value.
TEST_F(OrtRun, ValueThatTheModelRefuses) {
  onnx::Model graph;
  graph.node("Gather", {"table", "i"}, {"y"});
  graph.initializer<float>("table", onnx::kFloat, {3}, {1, 2, 3});
  graph.input("i", onnx::kInt64, Dims{std::string("n")});
  graph.output("y", onnx::kFloat, Dims{std::string("n")});
  const auto model = load(graph);
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const TestTensor<int64_t> good(DType::Int64, {2}, {2, 0}), bad(DType::Int64, {2}, {1, 99});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(*model, *scratch, {good.view()}).ok());
    EXPECT_EQ(values_of<float>(scratch->outputs()[0]), (std::vector<float>{3, 1}));
    const Status status = run(*model, *scratch, {bad.view()});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(status.error().message.find("Gather_0"), std::string::npos);
    EXPECT_NE(status.error().message.find("99"), std::string::npos);
    EXPECT_TRUE(scratch->outputs().empty());
  }
}

TEST_F(OrtRun, MismatchedInputsAndSignature) {
  const auto model = load(onnx::half_plus_three());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  EXPECT_EQ(run(*model, *scratch, {}).error().code, ErrorCode::Internal);
  const std::vector<uint32_t> outputs = {0};
  EXPECT_EQ(model->run(1, {}, outputs, *scratch, nullptr).error().code, ErrorCode::Internal);
}

TEST_F(OrtRun, CancelledBefore) {
  const auto model = load(onnx::half_plus_three());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const TestTensor<float> x(DType::Fp32, {1}, {1});
  const std::vector<TensorView> inputs = {x.view()};
  const std::vector<uint32_t> outputs = {0};
  CancelFlag cancel;
  EXPECT_TRUE(model->run(0, inputs, outputs, *scratch, &cancel).ok());
  EXPECT_TRUE(cancel.cancel(EndCause::ClientLeft));
  const Status status = model->run(0, inputs, outputs, *scratch, &cancel);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::Cancelled);
}

TEST_F(OrtRun, SeveralThreadsOneModel) {
  const auto model = load(onnx::half_plus_three());
  ASSERT_TRUE(model);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto scratch = model->make_scratch();
      for (int i = 0; i < 300; ++i) {
        const size_t count = static_cast<size_t>(1 + (i / 3 + t) % 5);
        const float value = static_cast<float>(100 * t + i);
        const TestTensor<float> x(DType::Fp32, {static_cast<int64_t>(count)},
                                  std::vector<float>(count, value));
        const bool ok = run(*model, *scratch, {x.view()}).ok();
        if (!ok || values_of<float>(scratch->outputs()[0]) !=
                       std::vector<float>(count, 0.5f * value + 3)) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(OrtRun, ScratchOutlivesItsModel) {
  auto model = load(onnx::half_plus_three());
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const TestTensor<float> x(DType::Fp32, {1}, {4});
  ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
  model.reset();
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>{5});
}

}  // namespace
}  // namespace serval
