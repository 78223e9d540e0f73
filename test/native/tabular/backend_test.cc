// The backend "tabular": its description of a plan, and tensors to and from its columns.
#include <fstream>

#include "backend/backend.h"
#include "support/plan_maker.h"
#include "tabular/plan_reading.h"

namespace serval {
namespace {

using tabular::MadeAttributes;
using tabular::PlanMaker;
using Type = plan::Type;
using Strings = std::vector<std::string>;

struct TempPlan {
  explicit TempPlan(const std::vector<uint8_t>& bytes) {
    path = testing::TempDir() + "serval-plan-" +
           testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  ~TempPlan() { std::remove(path.c_str()); }
  std::string path;
};

std::shared_ptr<BackendModel> load(PlanMaker& maker) {
  const TempPlan file(maker.bytes());
  ModelSpec spec;
  spec.name = "m";
  spec.path = file.path;
  auto loaded = make_tabular_backend()->load(spec);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded.ok() ? loaded.value() : nullptr;
}

std::string load_error(const std::vector<uint8_t>& bytes) {
  const TempPlan file(bytes);
  ModelSpec spec;
  spec.path = file.path;
  const auto loaded = make_tabular_backend()->load(spec);
  if (loaded.ok()) return "";
  EXPECT_EQ(loaded.error().code, ErrorCode::ModelInvalid);
  return loaded.error().message;
}

template <typename T>
TensorView tensor(DType dtype, const std::vector<T>& values, std::vector<int64_t> dims) {
  TensorView made;
  made.dtype = dtype;
  made.shape = Shape(dims);
  made.data = reinterpret_cast<const uint8_t*>(values.data());
  made.bytes = values.size() * sizeof(T);
  return made;
}

template <typename T>
std::vector<T> values_of(const TensorView& view) {
  std::vector<T> made(view.bytes / sizeof(T));
  if (!made.empty()) std::memcpy(made.data(), view.data, view.bytes);
  return made;
}

// A plan that returns every field as a separate output.
struct Through {
  void add(const std::string& name, Type type, Type element = Type::Any) {
    const uint32_t column = maker.field(name, type, element);
    maker.output(name, column, type);
  }
  Status run(const std::vector<TensorView>& inputs, const RunOptions& options = {}) {
    if (model == nullptr) model = load(maker);
    if (scratch == nullptr) scratch = model->make_scratch();
    std::vector<uint32_t> indices(inputs.size());
    for (uint32_t i = 0; i < indices.size(); ++i) indices[i] = i;
    return model->run(0, inputs, indices, *scratch, options);
  }
  const TensorView& out(size_t i) const { return scratch->outputs()[i]; }

  PlanMaker maker;
  std::shared_ptr<BackendModel> model;
  std::unique_ptr<BackendScratch> scratch;
};

TEST(TabularBackend, SaysWhatThePlanHas) {
  Through through;
  through.add("x", Type::Double);
  through.add("v", Type::Vector);
  through.add("words", Type::List, Type::String);
  through.add("d", Type::Date);
  const BackendModelInfo& info = (through.model = load(through.maker))->info();
  ASSERT_EQ(info.signatures.size(), 1u);
  const Signature& signature = info.signatures[0];
  EXPECT_EQ(signature.name, "serving_default");
  EXPECT_EQ(signature.inputs[0].dims, (std::vector<int64_t>{-1}));
  EXPECT_EQ(signature.inputs[1].dims, (std::vector<int64_t>{-1, 1, -1}));
  EXPECT_EQ(signature.inputs[2].dims, (std::vector<int64_t>{-1, 1, -1}));
  EXPECT_EQ(signature.inputs[2].dtype, DType::String);
  EXPECT_EQ(signature.outputs[3].dtype, DType::Date);
  ASSERT_NE(info.table, nullptr);
  EXPECT_EQ(info.table->fields[2].element, Type::String);
}

TEST(TabularBackend, NumbersGoThrough) {
  Through through;
  const std::vector<std::pair<DType, Type>> whole = {
      {DType::Int8, Type::Int8}, {DType::Int64, Type::Int64}, {DType::Timestamp, Type::Timestamp}};
  through.add("a", Type::Int8);
  through.add("b", Type::Int64);
  through.add("c", Type::Float);
  through.add("d", Type::Double);
  through.add("e", Type::Bool);
  const std::vector<int8_t> a = {-128, 127};
  const std::vector<int64_t> b = {INT64_MIN, INT64_MAX};
  const std::vector<float> c = {0.1f, -0.0f};
  const std::vector<double> d = {0.1, std::numeric_limits<double>::quiet_NaN()};
  const std::vector<uint8_t> e = {1, 0};
  ASSERT_TRUE(through
                  .run({tensor(DType::Int8, a, {2}), tensor(DType::Int64, b, {2}),
                        tensor(DType::Fp32, c, {2}), tensor(DType::Fp64, d, {2}),
                        tensor(DType::Bool, e, {2})})
                  .ok());
  EXPECT_EQ(values_of<int8_t>(through.out(0)), a);
  EXPECT_EQ(values_of<int64_t>(through.out(1)), b);
  EXPECT_EQ(values_of<float>(through.out(2)), c);
  EXPECT_EQ(values_of<double>(through.out(3))[0], 0.1);
  EXPECT_EQ(values_of<uint8_t>(through.out(4)), e);
  EXPECT_EQ(through.out(4).dtype, DType::Bool);
  EXPECT_EQ(through.out(0).states, nullptr);
}

TEST(TabularBackend, TextStatesAndDecimals) {
  Through through;
  through.add("s", Type::String);
  through.add("d", Type::Decimal);
  const std::vector<std::string_view> texts = {"a", "", "naïve"};
  TensorView s;
  s.dtype = DType::String;
  s.shape = Shape(std::vector<int64_t>{3});
  s.strings = texts;
  const uint8_t states[] = {0, 1, 0};
  s.states = states;
  const std::vector<Int128> decimals = {-5, Int128{1} << 100, 7};
  TensorView d = tensor(DType::Decimal, decimals, {3});
  d.precision = 38;
  d.scale = 2;
  ASSERT_TRUE(through.run({s, d}).ok());
  EXPECT_EQ(through.out(0).strings[0], "a");
  EXPECT_EQ(through.out(0).strings[2], "naïve");
  ASSERT_NE(through.out(0).states, nullptr);
  EXPECT_EQ(through.out(0).states[0], 0);
  EXPECT_EQ(through.out(0).states[1], 1);
  EXPECT_EQ(values_of<Int128>(through.out(1)), decimals);
  EXPECT_EQ(through.out(1).scale, 2);
  EXPECT_EQ(through.out(1).precision, 38);
  through.scratch->release_outputs();
  EXPECT_TRUE(through.scratch->outputs().empty());
}

TEST(TabularBackend, VectorsAndListsOfOneLengthAndOfMany) {
  Through through;
  through.add("v", Type::Vector);
  through.add("w", Type::List, Type::String);
  const std::vector<double> v = {1, 2, 3, 4};
  const std::vector<std::string_view> words = {"a", "b", "c"};
  TensorView w;
  w.dtype = DType::String;
  w.shape = Shape(std::vector<int64_t>{2, -1});
  w.strings = words;
  const uint32_t lengths[] = {1, 2};
  w.lengths = lengths;
  ASSERT_TRUE(through.run({tensor(DType::Vector, v, {2, 2}), w}).ok());
  EXPECT_EQ(through.out(0).shape.to_string(), "[2,2]");
  EXPECT_EQ(values_of<double>(through.out(0)), v);
  EXPECT_EQ(through.out(0).lengths, nullptr);
  EXPECT_EQ(through.out(1).shape.to_string(), "[2,-1]");
  EXPECT_EQ(through.out(1).lengths[1], 2u);
  EXPECT_EQ(through.out(1).strings[2], "c");

  const uint32_t equal[] = {2, 1};
  TensorView short_one = w;
  short_one.lengths = equal;
  short_one.strings = std::span(words).first(2);
  EXPECT_FALSE(through.run({tensor(DType::Vector, v, {2, 2}), short_one}).ok());
  EXPECT_FALSE(through.run({tensor(DType::Vector, v, {2, 3}), w}).ok());
  EXPECT_FALSE(through.run({tensor(DType::Vector, v, {4}), w}).ok());
}

TEST(TabularBackend, MissingRowsHaveTheLengthOfOthers) {
  PlanMaker maker;
  const uint32_t i = maker.field("i", Type::Int32);
  maker.only("pick", {i}, Type::Vector, {{"reals", std::vector<double>{1, 2, 3, 4}}, {"width", 2}});
  const auto model = load(maker);
  const auto scratch = model->make_scratch();
  const std::vector<int32_t> picks = {1, 9, 0};
  const std::vector<TensorView> inputs = {tensor(DType::Int32, picks, {3})};
  const std::vector<uint32_t> indices = {0};
  ASSERT_TRUE(model->run(0, inputs, indices, *scratch, {}).ok());
  const TensorView& out = scratch->outputs()[0];
  EXPECT_EQ(out.shape.to_string(), "[3,2]");
  EXPECT_EQ(values_of<double>(out), (std::vector<double>{3, 4, 0, 0, 1, 2}));
  EXPECT_EQ(out.states[1], 1);
}

// A forest over a vector whose length is checked for each row.
TEST(TabularBackend, RefusedRowsAreErrorsOrMissing) {
  PlanMaker maker;
  const uint32_t x = maker.field("x", Type::Vector);
  maker.only("forest", {x}, Type::Double,
             {{"feature", std::vector<int32_t>{2}},
              {"threshold", std::vector<double>{0}},
              {"left", std::vector<int32_t>{~0}},
              {"right", std::vector<int32_t>{~1}},
              {"roots", std::vector<int32_t>{0}},
              {"leaves", std::vector<double>{5, 6}},
              {"width", 1},
              {"sum", std::string("sum")},
              {"vector", true},
              {"has_values", true},
              {"has_leaf", false},
              {"skip_no_answer", false}});
  const auto model = load(maker);
  const auto scratch = model->make_scratch();
  const std::vector<double> values = {0, 0, 1, 0};
  TensorView view = tensor(DType::Vector, values, {2, -1});
  const uint32_t lengths[] = {3, 1};
  view.lengths = lengths;
  const std::vector<uint32_t> indices = {0};
  RunOptions options;
  const Status refused = model->run(0, {&view, 1}, indices, *scratch, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "here: row 1: column 'x': expected a vector of at least 3 values, got 1");
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  options.null_for_invalid = true;
  ASSERT_TRUE(model->run(0, {&view, 1}, indices, *scratch, options).ok());
  EXPECT_EQ(values_of<double>(scratch->outputs()[0])[0], 6);
  EXPECT_EQ(scratch->outputs()[0].states[0], 0);
  EXPECT_EQ(scratch->outputs()[0].states[1], 1);
}

// One small field with many rows would need columns for all of them: no memory is allocated.
TEST(TabularBackend, FramesTooLargeToHold) {
  Through through;
  for (int i = 0; i < 300; ++i) through.add("f" + std::to_string(i), Type::Double);
  through.model = load(through.maker);
  through.scratch = through.model->make_scratch();
  std::vector<TensorView> inputs(300);
  inputs[0].shape = Shape(std::vector<int64_t>{1 << 20});
  const Status refused = through.run(inputs);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::BodyTooLarge);
  EXPECT_EQ(refused.error().message,
            "1048576 rows of 300 columns: expected at most 268435456 values, got 314572800");
}

// Sparse vectors with more slots than a response can hold: no result is computed.
TEST(TabularBackend, VectorsTooWideToAnswer) {
  PlanMaker maker;
  const uint32_t words = maker.field("words", Type::List, Type::String);
  maker.only("hashing_tf", {words}, Type::Vector,
             {{"size", int32_t{1} << 30}, {"binary", false}, {"hashVersion", 3}});
  const auto model = load(maker);
  const auto scratch = model->make_scratch();
  const std::vector<std::string_view> texts = {"a", "b"};
  TensorView view;
  view.dtype = DType::String;
  view.shape = Shape(std::vector<int64_t>{2, 1});
  view.strings = texts;
  RunOptions options;
  options.output_bytes_max = (uint64_t{1} << 34) - 1;
  const std::vector<uint32_t> indices = {0};
  const Status refused = model->run(0, {&view, 1}, indices, *scratch, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::BodyTooLarge);
  EXPECT_EQ(
      refused.error().message,
      "output 'out': 2 rows with a total of 2147483648 elements are 17179869184 bytes, but the "
      "response has space for 17179869183");
}

TEST(TabularBackend, FramesOfNoRows) {
  Through through;
  through.add("x", Type::Double);
  through.add("v", Type::Vector);
  const std::vector<double> none;
  ASSERT_TRUE(
      through.run({tensor(DType::Fp64, none, {0}), tensor(DType::Vector, none, {0, 4})}).ok());
  EXPECT_EQ(through.out(0).shape.to_string(), "[0]");
  EXPECT_EQ(through.out(1).shape.to_string(), "[0,0]");
}

TEST(TabularBackend, ARunThatNobodyWaitsForEnds) {
  PlanMaker maker;
  const uint32_t i = maker.field("i", Type::Int32);
  maker.only("pick", {i}, Type::String, {{"texts", Strings{"a"}}});
  const auto model = load(maker);
  const auto scratch = model->make_scratch();
  const std::vector<int32_t> picks = {0};
  const TensorView view = tensor(DType::Int32, picks, {1});
  const std::vector<uint32_t> indices = {0};
  CancelFlag flag;
  flag.cancel(EndCause::ClientLeft);
  const Status done = model->run(0, {&view, 1}, indices, *scratch, RunOptions(&flag));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::Cancelled);
}

TEST(TabularBackend, FilesThatAreNoPlans) {
  EXPECT_NE(load_error({}).find("is empty"), std::string::npos);
  EXPECT_NE(load_error({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).find("is not the plan"), std::string::npos);
  ModelSpec spec;
  spec.path = testing::TempDir() + "no-such-plan";
  EXPECT_FALSE(make_tabular_backend()->load(spec).ok());
  spec.path = testing::TempDir();
  EXPECT_NE(make_tabular_backend()->load(spec).error().message.find("is not a file"),
            std::string::npos);
}

std::string fault_of(PlanMaker& maker) {
  const auto read = maker.read();
  return read.ok() ? std::string() : read.error().message;
}

TEST(TabularBackend, RefusesPlansOfAnotherVersion) {
  PlanMaker maker;
  maker.version = tabular::kPlanVersion + 1;
  const uint32_t x = maker.field("x", Type::Double);
  maker.output("x", x, Type::Double);
  EXPECT_NE(fault_of(maker).find("import the model again"), std::string::npos);
}

TEST(TabularBackend, NamesAttributesThatAreUnknownMissingOrTwice) {
  const auto expect_fault = [](const char* kind, const tabular::MadeAttributes& attributes,
                               const std::string& expected) {
    PlanMaker maker;
    const uint32_t x = maker.field("x", Type::Vector);
    maker.only(kind, {x}, Type::Vector, attributes);
    const std::string fault = fault_of(maker);
    EXPECT_NE(fault.find(expected), std::string::npos) << fault;
  };
  expect_fault("normalizer", {}, "here (normalizer): required attribute 'p' is missing");
  expect_fault("normalizer", {{"p", 2.0}, {"q", 2.0}}, "here (normalizer): unknown attribute 'q'");
  expect_fault("normalizer", {{"p", 2.0}, {"p", 1.0}}, "attribute 'p' is given twice");
  expect_fault("normaliser", {{"p", 2.0}}, "here (normaliser): unknown kind of stage");
  expect_fault("linear_scores",
               {{"coefficients", std::vector<double>{1}},
                {"intercepts", std::vector<double>{1}},
                {"rule", std::string("positive")}},
               "unknown word 'positive', expected one of: any, nonnegative, binary");
}

TEST(TabularBackend, ImplementsEveryDeclaredKindAndFunction) {
  for (const tabular::KindRule* rule : tabular::stages::kAll) {
    EXPECT_NE(tabular::find_kind(rule->name), nullptr) << rule->name;
  }
  for (const tabular::FunctionName& function : tabular::fn::kAll) {
    EXPECT_NE(tabular::find_function(function.name), nullptr) << function.name;
  }
}

// A plan that is cut anywhere or has any byte changed is refused or runs, without a crash.
TEST(TabularBackend, DamagedPlansHarmNobody) {
  PlanMaker maker;
  const uint32_t i = maker.field("i", Type::Int32);
  maker.only("pick", {i}, Type::Vector, {{"reals", std::vector<double>{1, 2, 3, 4}}, {"width", 2}});
  const std::vector<uint8_t> good = maker.bytes();
  for (size_t size = 0; size + 4 < good.size(); ++size) {  // the last bytes are padding
    auto cut = std::make_shared<std::vector<uint8_t>>(good.begin(), good.begin() + size);
    EXPECT_FALSE(tabular::Plan::read({cut->data(), size}, cut, "cut").ok());
  }
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      auto other = std::make_shared<std::vector<uint8_t>>(good);
      (*other)[at] = static_cast<uint8_t>((*other)[at] ^ flip);
      const auto read = tabular::Plan::read({other->data(), other->size()}, other, "damaged");
      if (!read.ok()) continue;
      tabular::Frame frame(read.value()->dictionary(), read.value()->column_count());
      frame.begin(2);
      for (size_t field = 0; field < read.value()->field_columns().size(); ++field) {
        tabular::Column& column = frame.columns[read.value()->field_columns()[field]];
        column.reset(Type::Int32, 2);
        column.integers = {1, 0};
      }
      (void)read.value()->run(frame, {}, nullptr).ok();
    }
  }
}

}  // namespace
}  // namespace serval
