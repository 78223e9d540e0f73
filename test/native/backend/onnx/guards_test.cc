// Guards before kernels that would end the process: values of integer divisions, shapes and
// parameters that are refused with a message, and models that need no guard and get none.
#include <limits>

#include "backend/onnx/guards.h"
#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;
using Guards = OnnxRuntimeTest;

Dims free_dims(size_t rank) {
  Dims dims;
  for (size_t i = 0; i < rank; ++i) dims.push_back(std::string(1, static_cast<char>('a' + i)));
  return dims;
}

// y = op(a, b) over `type`, both [n, m].
onnx::Model binary(std::string_view op, int type, const std::vector<onnx::Message>& attributes) {
  onnx::Model model;
  model.node(op, {"a", "b"}, {"y"}, attributes);
  model.input("a", type, free_dims(2)).input("b", type, free_dims(2));
  return model.output("y", type, std::nullopt);
}

int guards_of(const onnx::Model& model) {
  const std::string bytes = model.to_bytes();
  const auto guarded = ort::guard_model(ort::bytes_of(bytes), ort::Divisions::Guard);
  EXPECT_TRUE(guarded.ok());
  return guarded.ok() ? guarded.value().guards : -1;
}

TEST(GuardModel, TellsWhetherTheModelHasOperatorsOfOurs) {
  const auto has_ours = [](const onnx::Model& model) {
    const std::string bytes = model.to_bytes();
    const auto guarded = ort::guard_model(ort::bytes_of(bytes), ort::Divisions::Guard);
    return guarded.ok() && guarded.value().custom_ops;
  };
  onnx::Model ours;
  ours.node("IntegerDivide", {"a", "b"}, {"y"}, {}, "serval");
  EXPECT_FALSE(has_ours(binary("Add", onnx::kFloat, {})));
  EXPECT_TRUE(has_ours(binary("Div", onnx::kInt64, {})));  // guarded
  EXPECT_TRUE(has_ours(ours));
}

// Runs a model of one output; returns its values, or the message.
template <typename T>
std::vector<T> answer(BackendModel& model, const std::vector<TensorView>& inputs) {
  const auto scratch = model.make_scratch();
  const uint32_t output = 0;
  const Status status = model.run(0, inputs, {&output, 1}, *scratch, nullptr);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return status.ok() ? values_of<T>(scratch->outputs()[0]) : std::vector<T>{};
}

std::string refusal(BackendModel& model, const std::vector<TensorView>& inputs) {
  const auto scratch = model.make_scratch();
  const uint32_t output = 0;
  const Status status = model.run(0, inputs, {&output, 1}, *scratch, nullptr);
  if (status.ok()) return "answered";
  EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
  return status.error().message;
}

template <typename T>
class IntegerDivision : public OnnxRuntimeTest {
 protected:
  static constexpr int kType = sizeof(T) == 8 ? onnx::kInt64 : onnx::kInt32;
  static constexpr DType kDType = sizeof(T) == 8 ? DType::Int64 : DType::Int32;
  static constexpr T kLowest = std::numeric_limits<T>::lowest();

  using Tensor = TestTensor<T>;
  const Tensor a{kDType, {2, 3}, {kLowest, 7, -7, kLowest, 7, -7}};
  const Tensor b{kDType, {2, 3}, {-1, 2, 2, kLowest, -2, -2}};
  const Tensor zero{kDType, {1, 3}, {1, 0, 1}};
};
using Wide = testing::Types<int32_t, int64_t>;
TYPED_TEST_SUITE(IntegerDivision, Wide);

TYPED_TEST(IntegerDivision, DividesTowardsZeroAndWrapsAround) {
  using Fixture = IntegerDivision<TypeParam>;
  const auto model = this->load(binary("Div", Fixture::kType, {}));
  ASSERT_TRUE(model);
  EXPECT_EQ(answer<TypeParam>(*model, {this->a.view(), this->b.view()}),
            (std::vector<TypeParam>{Fixture::kLowest, 3, -3, 1, -3, 3}));
}

TYPED_TEST(IntegerDivision, ModuloHasTheDivisorsSignAndFmodTheDividends) {
  using Fixture = IntegerDivision<TypeParam>;
  const auto floor = this->load(binary("Mod", Fixture::kType, {}));
  ASSERT_TRUE(floor);
  EXPECT_EQ(answer<TypeParam>(*floor, {this->a.view(), this->b.view()}),
            (std::vector<TypeParam>{0, 1, 1, 0, -1, -1}));
  const auto truncated =
      this->load(binary("Mod", Fixture::kType, {onnx::attribute("fmod", int64_t{1})}));
  ASSERT_TRUE(truncated);
  EXPECT_EQ(answer<TypeParam>(*truncated, {this->a.view(), this->b.view()}),
            (std::vector<TypeParam>{0, 1, -1, 0, 1, -1}));
}

TYPED_TEST(IntegerDivision, ByZeroIsRefusedInTensorFlowsWords) {
  using Fixture = IntegerDivision<TypeParam>;
  for (const char* op : {"Div", "Mod"}) {
    const auto model = this->load(binary(op, Fixture::kType, {}));
    ASSERT_TRUE(model);
    EXPECT_EQ(refusal(*model, {this->a.view(), this->zero.view()}),
              std::string("Integer division by zero: ") + op + " '" + op + "_0'");
  }
}

TEST_F(Guards, DivisionsBroadcastAndTakeEmptyTensors) {
  const auto model = load(binary("Div", onnx::kInt32, {}));
  ASSERT_TRUE(model);
  const TestTensor<int32_t> column(DType::Int32, {3, 1}, {6, 12, 18}),
      row(DType::Int32, {1, 2}, {2, 3}), none(DType::Int32, {0, 1}, {}),
      zero(DType::Int32, {1, 1}, {0});
  EXPECT_EQ(answer<int32_t>(*model, {column.view(), row.view()}),
            (std::vector<int32_t>{3, 2, 6, 4, 9, 6}));
  EXPECT_TRUE(answer<int32_t>(*model, {none.view(), row.view()}).empty());
  EXPECT_TRUE(answer<int32_t>(*model, {none.view(), zero.view()}).empty());
}

TEST_F(Guards, FloatsAndConstantDivisorsNeedNone) {
  EXPECT_EQ(guards_of(binary("Div", onnx::kFloat, {})), 0);
  EXPECT_EQ(guards_of(binary("Div", onnx::kInt64, {})), 1);
  for (const int64_t divisor : {2, 0, -1}) {
    onnx::Model model;
    model.initializer<int64_t>("b", onnx::kInt64, {1}, {divisor});
    model.node("Div", {"a", "b"}, {"y"}).input("a", onnx::kInt64, free_dims(1));
    model.output("y", onnx::kInt64, std::nullopt);
    EXPECT_EQ(guards_of(model), divisor == 2 ? 0 : 1) << divisor;
  }
}

TEST_F(Guards, TypesAreFollowedThroughTheGraph) {
  onnx::Model model;
  model.node("Shape", {"x"}, {"shape"});
  model.node("Cast", {"shape"}, {"real"}, {onnx::attribute("to", int64_t{onnx::kFloat})});
  model.node("Sqrt", {"real"}, {"root"}).node("Div", {"root", "real"}, {"quotient"});
  model.node("Cast", {"quotient"}, {"y"}, {onnx::attribute("to", int64_t{onnx::kInt64})});
  model.input("x", onnx::kFloat, free_dims(2)).output("y", onnx::kInt64, std::nullopt);
  EXPECT_EQ(guards_of(model), 0);
  model.node("Div", {"shape", "y"}, {"z"}).output("z", onnx::kInt64, std::nullopt);
  EXPECT_EQ(guards_of(model), 1);
}

// A FunctionProto "local"::name (p, q) -> r with one node.
std::string function(std::string_view name, std::string_view op, std::string_view domain = {}) {
  onnx::Message node, proto;
  node.bytes(1, "p").bytes(1, "q").bytes(2, "r").bytes(4, op);
  if (!domain.empty()) node.bytes(7, domain);
  proto.bytes(1, name).bytes(4, "p").bytes(4, "q").bytes(5, "r").message(7, node);
  proto.message(9, onnx::Message().bytes(1, "").integer(2, 17));
  proto.message(9, onnx::Message().bytes(1, "local").integer(2, 1)).bytes(10, "local");
  return onnx::Message().message(25, proto).str();
}

// Calls of "local"::Halve(a, b), one for each type.
onnx::Model calls_of(std::vector<int> types) {
  onnx::Model model;
  model.domains = {{"local", 1}};
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string at = std::to_string(i);
    model.node("Halve", {"a" + at, "b" + at}, {"y" + at}, {}, "local");
    model.input("a" + at, types[i], free_dims(1)).input("b" + at, types[i], free_dims(1));
    model.output("y" + at, types[i], std::nullopt);
  }
  return model;
}

int guards_of(const std::string& bytes) {
  const auto guarded = ort::guard_model(ort::bytes_of(bytes), ort::Divisions::Guard);
  return guarded.ok() ? guarded.value().guards : -1;
}

TEST_F(Guards, AFunctionsDivisionHasTheTypesOfItsCalls) {
  using onnx::kFloat, onnx::kInt64;
  const std::string divides = function("Halve", "Div");
  EXPECT_EQ(guards_of(calls_of({kFloat}).to_bytes() + divides), 0);
  EXPECT_EQ(guards_of(calls_of({kFloat, kFloat}).to_bytes() + divides), 0);
  EXPECT_EQ(guards_of(calls_of({kInt64}).to_bytes() + divides), 1);
  EXPECT_EQ(guards_of(calls_of({kFloat, kInt64}).to_bytes() + divides), 1);
  const std::string through = function("Halve", "Inner", "local") + function("Inner", "Div");
  EXPECT_EQ(guards_of(calls_of({kFloat}).to_bytes() + through), 0);
  EXPECT_EQ(guards_of(calls_of({kInt64, kFloat}).to_bytes() + through), 1);
  // The result of a call has a type, too.
  onnx::Model after = calls_of({kFloat});
  after.node("Div", {"y0", "y0"}, {"z"}).output("z", kFloat, std::nullopt);
  const std::string adds = function("Halve", "Add");
  EXPECT_EQ(guards_of(after.to_bytes() + adds), 0);
  // Nothing is known about two functions of the same name, or a function that calls itself.
  EXPECT_EQ(guards_of(calls_of({kFloat}).to_bytes() + divides + divides), 2);
  const std::string itself = function("Halve", "Halve", "local") + function("Other", "Div");
  EXPECT_EQ(guards_of(calls_of({kFloat}).to_bytes() + itself), 1);
}

// A value that is an attribute of the function may have any type.
TEST_F(Guards, AnAttributeOfAFunctionHasNoKnownType) {
  onnx::Message fill, divide, proto;
  fill.bytes(1, "p").bytes(2, "c").bytes(4, "ConstantOfShape");
  fill.message(5, onnx::Message().bytes(1, "value").varint(20, 4).bytes(21, "value"));
  divide.bytes(1, "c").bytes(1, "c").bytes(2, "r").bytes(4, "Div");
  proto.bytes(1, "Halve").bytes(4, "p").bytes(4, "q").bytes(5, "r").bytes(6, "value");
  proto.message(7, fill).message(7, divide).bytes(10, "local");
  proto.message(9, onnx::Message().bytes(1, "").integer(2, 17));
  const std::string bytes = calls_of({onnx::kInt64}).to_bytes();
  EXPECT_EQ(guards_of(bytes + onnx::Message().message(25, proto).str()), 1);
}

TEST_F(Guards, AFunctionsDivisionOfTwoTypesAnswersBoth) {
  const std::string bytes =
      calls_of({onnx::kFloat, onnx::kInt64}).to_bytes() + function("Halve", "Div");
  const auto loaded = try_load(directory_.write("model.onnx", bytes));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const TestTensor<float> a(DType::Fp32, {2}, {1, -3}), b(DType::Fp32, {2}, {2, 0});
  const TestTensor<int64_t> c(DType::Int64, {2}, {7, -3}), d(DType::Int64, {2}, {2, -1}),
      zero(DType::Int64, {2}, {1, 0});
  EXPECT_EQ(answer<float>(*loaded.value(), {a.view(), b.view(), c.view(), d.view()}),
            (std::vector<float>{0.5f, -std::numeric_limits<float>::infinity()}));
  EXPECT_NE(refusal(*loaded.value(), {a.view(), b.view(), c.view(), zero.view()})
                .find("division by zero"),
            std::string::npos);
}

TEST_F(Guards, BodiesAreGuardedToo) {
  onnx::Message body;
  body.message(1, onnx::Message().bytes(1, "a").bytes(1, "b").bytes(2, "inner").bytes(4, "Mod"));
  body.bytes(2, "body").message(
      12, onnx::Message().bytes(1, "inner").message(2, onnx::tensor_type(onnx::kInt64, {})));
  onnx::Model model;
  const auto branch = [&body](std::string_view name) {
    return onnx::Message().bytes(1, name).message(6, body).varint(20, 5);
  };
  model.node("If", {"c"}, {"y"}, {branch("then_branch"), branch("else_branch")});
  model.input("c", onnx::kBool, Dims{}).input("a", onnx::kInt64, free_dims(1));
  model.input("b", onnx::kInt64, free_dims(1)).output("y", onnx::kInt64, std::nullopt);
  EXPECT_EQ(guards_of(model), 2);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  const TestTensor<uint8_t> yes(DType::Bool, {}, {1});
  const TestTensor<int64_t> a(DType::Int64, {1}, {7}), zero(DType::Int64, {1}, {0});
  EXPECT_EQ(answer<int64_t>(*loaded, {yes.view(), a.view(), a.view()}), (std::vector<int64_t>{0}));
  EXPECT_NE(refusal(*loaded, {yes.view(), a.view(), zero.view()}).find("division by zero"),
            std::string::npos);
}

// y, i = TopK(x, k) along `axis` of [n, m].
onnx::Model top_k(int64_t axis) {
  onnx::Model model;
  model.node("TopK", {"x", "k"}, {"y", "i"}, {onnx::attribute("axis", axis)});
  model.input("x", onnx::kFloat, free_dims(2)).input("k", onnx::kInt64, Dims{int64_t{1}});
  return model.output("y", onnx::kFloat, std::nullopt).output("i", onnx::kInt64, std::nullopt);
}

TEST_F(Guards, NoRowsIntoTopKGiveNoRows) {
  const TestTensor<float> x(DType::Fp32, {2, 2}, {1, 4, 3, 2}), none(DType::Fp32, {0, 2}, {}),
      no_columns(DType::Fp32, {2, 0}, {});
  const TestTensor<int64_t> one(DType::Int64, {1}, {1}), two(DType::Int64, {1}, {2}),
      zero(DType::Int64, {1}, {0}), three(DType::Int64, {1}, {3});
  const auto loaded = load(top_k(-1));
  ASSERT_TRUE(loaded);
  const std::vector<uint32_t> both = {0, 1};
  const auto scratch = loaded->make_scratch();
  const auto shapes = [&](const TestTensor<float>& data, const TestTensor<int64_t>& k) {
    const std::vector<TensorView> inputs = {data.view(), k.view()};
    const Status status = loaded->run(0, inputs, both, *scratch, nullptr);
    if (!status.ok()) return status.error().message;
    const std::string indices = scratch->outputs()[1].shape.to_string();
    return scratch->outputs()[0].shape.to_string() + " and " + indices;
  };
  EXPECT_EQ(answer<float>(*loaded, {x.view(), one.view()}), (std::vector<float>{4, 3}));
  EXPECT_EQ(shapes(none, one), "[0,1] and [0,1]");
  EXPECT_EQ(shapes(none, two), "[0,2] and [0,2]");
  EXPECT_EQ(shapes(none, zero), "[0,0] and [0,0]");
  EXPECT_EQ(shapes(x, zero), "[2,0] and [2,0]");
  EXPECT_EQ(shapes(no_columns, zero), "[2,0] and [2,0]");
  EXPECT_NE(shapes(none, three).find("k argument [3]"), std::string::npos) << shapes(none, three);
  EXPECT_NE(shapes(no_columns, one).find("k argument [1]"), std::string::npos);
  EXPECT_EQ(answer<float>(*loaded, {x.view(), two.view()}), (std::vector<float>{4, 1, 3, 2}));
}

TEST_F(Guards, TopKAlongTheRowsRefusesMoreThanThereAre) {
  const auto loaded = load(top_k(0));
  ASSERT_TRUE(loaded);
  const TestTensor<float> none(DType::Fp32, {0, 2}, {}), empty(DType::Fp32, {2, 0}, {});
  const TestTensor<int64_t> one(DType::Int64, {1}, {1});
  EXPECT_NE(refusal(*loaded, {none.view(), one.view()}).find("k argument [1]"), std::string::npos);
  EXPECT_EQ(answer<float>(*loaded, {empty.view(), one.view()}), std::vector<float>());
}

// ONNX Runtime refuses an empty list of indices; most classifiers end in this operator.
TEST_F(Guards, NoIndicesTakeNoFeatures) {
  for (const int type : {onnx::kFloat, onnx::kString}) {
    onnx::Model model;
    model.domains = {{"ai.onnx.ml", 1}};
    model.node("ArrayFeatureExtractor", {"x", "i"}, {"y"}, {}, "ai.onnx.ml");
    model.input("x", type, free_dims(2)).input("i", onnx::kInt64, free_dims(1));
    model.output("y", type, std::nullopt);
    const auto loaded = load(model);
    ASSERT_TRUE(loaded);
    const std::vector<std::string_view> words = {"a", "b", "c", "d"};
    const TestTensor<float> numbers(DType::Fp32, {2, 2}, {1, 2, 3, 4});
    TensorView x = numbers.view();
    if (type == onnx::kString) {
      x = {};
      x.dtype = DType::Bytes;
      x.shape = numbers.view().shape;
      x.strings = words;
    }
    const TestTensor<int64_t> two(DType::Int64, {3}, {1, 0, 1}), none(DType::Int64, {0}, {});
    const auto shape = [&](const TestTensor<int64_t>& indices) {
      const auto scratch = loaded->make_scratch();
      const std::vector<TensorView> inputs = {x, indices.view()};
      const uint32_t output = 0;
      const Status status = loaded->run(0, inputs, {&output, 1}, *scratch, nullptr);
      return status.ok() ? scratch->outputs()[0].shape.to_string() : status.error().message;
    };
    EXPECT_EQ(shape(two), "[2,3]");
    EXPECT_EQ(shape(none), "[2,0]");
    if (type != onnx::kFloat) continue;
    EXPECT_EQ(answer<float>(*loaded, {x, two.view()}), (std::vector<float>{2, 1, 2, 4, 3, 4}));
  }
}

// Before opset 10, k is an attribute.
TEST_F(Guards, NoRowsIntoAnOldTopKAreRefused) {
  onnx::Model model;
  model.opset = 9;
  model.ir_version = 4;
  model.node("TopK", {"x"}, {"y", "i"}, {onnx::attribute("k", int64_t{1})});
  model.input("x", onnx::kFloat, free_dims(2)).output("y", onnx::kFloat, std::nullopt);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  const TestTensor<float> x(DType::Fp32, {2, 2}, {1, 4, 3, 2}), none(DType::Fp32, {0, 2}, {});
  EXPECT_EQ(answer<float>(*loaded, {x.view()}), (std::vector<float>{4, 3}));
  EXPECT_EQ(refusal(*loaded, {none.view()}),
            "TopK 'TopK_0': input 'x' of shape [0,2]: expected no dim of 0");
}

TEST_F(Guards, AHundredScalesAreRefused) {
  onnx::Model model;
  model.node("Resize", {"x", "", "scales"}, {"y"}).input("x", onnx::kFloat, free_dims(2));
  model.input("scales", onnx::kFloat, free_dims(1)).output("y", onnx::kFloat, std::nullopt);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  const TestTensor<float> x(DType::Fp32, {1, 2}, {1, 4}), good(DType::Fp32, {2}, {1, 2}),
      bad(DType::Fp32, {100}, std::vector<float>(100, 1));
  EXPECT_EQ(answer<float>(*loaded, {x.view(), good.view()}), (std::vector<float>{1, 1, 4, 4}));
  EXPECT_EQ(refusal(*loaded, {x.view(), bad.view()}),
            "Resize 'Resize_0': input 'scales' of shape [100]: expected 2 elements");
}

TEST_F(Guards, AConvolutionOfConstantWeightsNeedsNone) {
  for (const bool quantized : {false, true}) {
    onnx::Model model;
    model.initializer<int8_t>("q", onnx::kInt8, {1, 1, 1}, {2});
    model.initializer<float>("scale", onnx::kFloat, {}, {0.5f});
    model.node("DequantizeLinear", {"q", "scale"}, {"w"}).input("x", onnx::kFloat, free_dims(3));
    if (!quantized) model.input("v", onnx::kFloat, free_dims(3));
    model.node("Conv", {"x", quantized ? "w" : "v"}, {"y"});
    model.output("y", onnx::kFloat, std::nullopt);
    EXPECT_EQ(guards_of(model), quantized ? 0 : 1);
    if (quantized) continue;
    const auto loaded = load(model);
    ASSERT_TRUE(loaded);
    const TestTensor<float> x(DType::Fp32, {1, 0, 4}, {}), v(DType::Fp32, {1, 0, 1}, {});
    EXPECT_EQ(refusal(*loaded, {x.view(), v.view()}),
              "Conv 'Conv_1': input 'x' of shape [1,0,4]: expected 1 channel or more");
    const TestTensor<float> none(DType::Fp32, {0, 1, 4}, {}), one(DType::Fp32, {1, 1, 1}, {2});
    EXPECT_EQ(answer<float>(*loaded, {none.view(), one.view()}), std::vector<float>());
  }
}

// TensorFlow's filters have their channels last; filters of depthwise convolutions are reshaped.
TEST_F(Guards, AConvolutionOfRearrangedConstantsNeedsNone) {
  const auto guards = [](std::vector<int64_t> to, bool constant, std::vector<int64_t> perm) {
    onnx::Model model;
    if (constant) model.initializer<float>("w", onnx::kFloat, {3, 1, 2}, {1, 2, 3, 4, 5, 6});
    else model.input("w", onnx::kFloat, free_dims(3));
    model.initializer<int64_t>("to", onnx::kInt64, {3}, to);
    model.node("Transpose", {"w"}, {"t"}, {onnx::attribute("perm", perm)});
    model.node("Reshape", {"t", "to"}, {"r"}).node("Conv", {"x", "r"}, {"y"});
    model.input("x", onnx::kFloat, free_dims(3)).output("y", onnx::kFloat, std::nullopt);
    return guards_of(model);
  };
  EXPECT_EQ(guards({2, 1, 3}, true, {2, 1, 0}), 0);
  EXPECT_EQ(guards({0, 1, -1}, true, {2, 1, 0}), 0);
  EXPECT_EQ(guards({2, -1, 3}, true, {2, 1, 0}), 0);
  EXPECT_EQ(guards({2, 1, 3}, false, {2, 1, 0}), 1);
  EXPECT_EQ(guards({2, 1, 4}, true, {2, 1, 0}), 1);
  EXPECT_EQ(guards({-1, -1, 3}, true, {2, 1, 0}), 1);
  EXPECT_EQ(guards({2, -2, 3}, true, {2, 1, 0}), 1);
  EXPECT_EQ(guards({2, 1, 3}, true, {2, 1, 7}), 1);
  EXPECT_EQ(guards({2, 1, 3}, true, {0, 1}), 1);
}

onnx::Model attention_model(int64_t heads) {
  onnx::Model model;
  model.domains = {{"com.microsoft", 1}};
  model.node("MultiHeadAttention", {"q", "k", "v"}, {"y"}, {onnx::attribute("num_heads", heads)},
             "com.microsoft");
  for (const char* name : {"q", "k", "v"}) model.input(name, onnx::kFloat, free_dims(3));
  return model.output("y", onnx::kFloat, std::nullopt);
}

TEST_F(Guards, AttentionWithoutHeadsIsRefused) {
  const auto loaded = load(attention_model(1));
  ASSERT_TRUE(loaded);
  const TestTensor<float> x(DType::Fp32, {1, 1, 8}, std::vector<float>(8, 1)),
      none(DType::Fp32, {1, 1, 0}, {});
  EXPECT_EQ(answer<float>(*loaded, {x.view(), x.view(), x.view()}), std::vector<float>(8, 1));
  EXPECT_NE(refusal(*loaded, {none.view(), none.view(), none.view()}).find("hidden size"),
            std::string::npos);
  const Error error = load_error(attention_model(0));
  EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
  EXPECT_NE(error.message.find("num_heads"), std::string::npos) << error.message;
}

// The shape is checked even if no client can send the data's type.
TEST_F(Guards, BlocksOfNothingAreRefused) {
  onnx::Model model;
  model.opset = 21;
  model.ir_version = 10;
  model.node("Cast", {"x"}, {"q"}, {onnx::attribute("to", int64_t{onnx::kInt4})});
  model.node("DequantizeLinear", {"q", "scale"}, {"y"},
             {onnx::attribute("axis", int64_t{1}), onnx::attribute("block_size", int64_t{2})});
  model.input("x", onnx::kFloat, free_dims(2)).input("scale", onnx::kFloat, free_dims(2));
  model.output("y", onnx::kFloat, std::nullopt);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  const TestTensor<float> x(DType::Fp32, {1, 2}, {1, 4}), scale(DType::Fp32, {1, 1}, {0.5f}),
      none(DType::Fp32, {1, 0}, {});
  EXPECT_EQ(answer<float>(*loaded, {x.view(), scale.view()}), (std::vector<float>{0.5f, 2}));
  EXPECT_EQ(refusal(*loaded, {none.view(), scale.view()}),
            "DequantizeLinear 'DequantizeLinear_1': input 'q' of shape [1,0]: expected no dim of "
            "0");
}

TEST_F(Guards, AFrameOfNothingIsRefused) {
  onnx::Model model;
  model.node("STFT", {"signal", "step", "", "length"}, {"y"});
  model.input("signal", onnx::kFloat, free_dims(3)).input("step", onnx::kInt64, Dims{});
  model.input("length", onnx::kInt64, Dims{}).output("y", onnx::kFloat, std::nullopt);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  const TestTensor<float> signal(DType::Fp32, {1, 8, 1}, std::vector<float>(8, 1));
  const TestTensor<int64_t> step(DType::Int64, {}, {4}), four(DType::Int64, {}, {4}),
      zero(DType::Int64, {}, {0});
  EXPECT_EQ(answer<float>(*loaded, {signal.view(), step.view(), four.view()}).size(), 12u);
  EXPECT_EQ(refusal(*loaded, {signal.view(), step.view(), zero.view()}),
            "STFT 'STFT_0': input 'length' of shape []: expected a frame of 1 to 8, the signal's "
            "length");
  EXPECT_NE(refusal(*loaded, {signal.view(), zero.view(), four.view()}).find("'step'"),
            std::string::npos);
}

TEST_F(Guards, AModelCutShortIsTheRuntimesToRefuse) {
  const std::string bytes = binary("Div", onnx::kInt32, {}).to_bytes();
  const Error error = load_error(directory_.write("model.onnx", bytes.substr(0, bytes.size() / 2)));
  EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
}

}  // namespace
}  // namespace serval
