// The ONNX Runtime backend: what is kept between runs, and when the runtime is given our memory for
// outputs, observed at the C calls. The function table is a copy whose Run and
// CreateTensorWithDataAsOrtValue count calls.
#include <cstddef>
#include <cstring>

#include "backend/onnxruntime/library.h"
#include "backend/onnxruntime/session.h"
#include "backend/onnxruntime/signature.h"
#include "support/onnxruntime_fixture.h"

namespace serval::ort {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;

struct Calls {
  int runs = 0;
  int given_outputs = 0;  // values that Run was given to write into
  int values_made = 0;    // values over our memory, inputs and outputs
  bool null_data = false;
};
Calls calls;
bool write_elsewhere = false;  // Run succeeds and leaves the given outputs unchanged
const OrtApi* real_api = nullptr;

OrtStatus* counting_run(OrtSession* session, const OrtRunOptions* options,
                        const char* const* input_names, const OrtValue* const* inputs,
                        size_t input_count, const char* const* output_names, size_t output_count,
                        OrtValue** outputs) noexcept {
  ++calls.runs;
  int given = 0;
  for (size_t i = 0; i < output_count; ++i) given += outputs[i] != nullptr ? 1 : 0;
  calls.given_outputs += given;
  OrtValue* elsewhere[1] = {nullptr};
  if (given != 0 && write_elsewhere) {
    OrtStatus* status = real_api->Run(session, options, input_names, inputs, input_count,
                                      output_names, output_count, elsewhere);
    real_api->ReleaseValue(elsewhere[0]);
    return status;
  }
  return real_api->Run(session, options, input_names, inputs, input_count, output_names,
                       output_count, outputs);
}

OrtStatus* counting_create(const OrtMemoryInfo* info, void* data, size_t bytes,
                           const int64_t* shape, size_t rank, ONNXTensorElementDataType type,
                           OrtValue** out) noexcept {
  ++calls.values_made;
  calls.null_data |= data == nullptr;
  return real_api->CreateTensorWithDataAsOrtValue(info, data, bytes, shape, rank, type, out);
}

class OrtReuse : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ONNXRUNTIME();
    const auto acquired = acquire_runtime(onnxruntime_library(), 2);
    ASSERT_TRUE(acquired.ok());
    runtime_ = *acquired.value();
    if (!runtime_.has_shape_calls) GTEST_SKIP() << "NOT TESTED: a library before 1.24";
    real_api = runtime_.api;
    // The part that every library since 1.24 has; the header's whole table may be longer.
    constexpr size_t kLast = offsetof(OrtApi, GetTensorElementTypeAndShapeDataReference);
    std::memcpy(&api_, runtime_.api, kLast + sizeof(void*));
    api_.Run = counting_run;
    api_.CreateTensorWithDataAsOrtValue = counting_create;
    runtime_.api = &api_;
  }

  // Loads the model with one scratch; null after a failed expectation.
  void load(const onnx::Model& graph) {
    const std::string path = directory_.write("model.onnx", graph.to_bytes());
    SessionOptionsHandle options(&api_);
    SessionHandle session(&api_);
    ASSERT_EQ(api_.CreateSessionOptions(options.out()), nullptr);
    ASSERT_EQ(api_.DisablePerSessionThreads(options.get()), nullptr);
    ASSERT_EQ(api_.CreateSession(runtime_.env, path.c_str(), options.get(), session.out()),
              nullptr);
    std::vector<std::string> notes;
    Result<Signature> signature = read_signature(runtime_, *session.get(), notes);
    ASSERT_TRUE(signature.ok());
    BackendModelInfo info;
    info.signatures.push_back(signature.value());
    scratch_.reset();
    model_ = std::make_unique<OrtModel>(runtime_, std::move(session), std::move(info), true);
    scratch_ = model_->make_scratch();
  }
  // Returns what one run of output 0 and its release called.
  Calls run(const std::vector<TensorView>& inputs, bool expect_ok = true) {
    calls = {};
    const std::vector<uint32_t> outputs = {0};
    const Status status = model_->run(0, inputs, outputs, *scratch_, nullptr);
    EXPECT_EQ(status.ok(), expect_ok);
    latest_ = status.ok() ? values_of<float>(scratch_->outputs()[0]) : std::vector<float>();
    scratch_->release_outputs();
    return calls;
  }

  onnx::TemporaryDirectory directory_;
  OrtApi api_ = {};
  OrtRuntime runtime_;
  std::unique_ptr<OrtModel> model_;
  std::unique_ptr<BackendScratch> scratch_;
  std::vector<float> latest_;
};

TEST_F(OrtReuse, SameShapesAndAddressMakeNothing) {
  load(onnx::half_plus_three());
  TestTensor<float> x(DType::Fp32, {2}, {2, 4}), y(DType::Fp32, {2}, {6, 8});
  Calls got = run({x.view()});
  EXPECT_EQ(got.runs, 1);
  EXPECT_EQ(got.given_outputs, 0);
  EXPECT_EQ(got.values_made, 1);  // the input
  x.values[1] = 10;
  got = run({x.view()});
  EXPECT_EQ(got.given_outputs, 1);
  EXPECT_EQ(got.values_made, 1);  // the output
  EXPECT_EQ(latest_, (std::vector<float>{4, 8}));
  x.values[0] = -2;
  got = run({x.view()});
  EXPECT_EQ(got.given_outputs, 1);
  EXPECT_EQ(got.values_made, 0);
  EXPECT_EQ(latest_, (std::vector<float>{2, 8}));
  got = run({y.view()});
  EXPECT_EQ(got.given_outputs, 1);
  EXPECT_EQ(got.values_made, 1);  // the input at its new address
  EXPECT_EQ(latest_, (std::vector<float>{6, 7}));
}

// A runtime that answers in other memory than it was given (it does so for an input that is an
// output) must not make us answer with that memory's old contents.
TEST_F(OrtReuse, OutputThatWasNotWrittenIsRunAgain) {
  load(onnx::half_plus_three());
  const TestTensor<float> x(DType::Fp32, {2}, {2, 4}), y(DType::Fp32, {2}, {6, 8});
  run({x.view()});
  run({x.view()});
  write_elsewhere = true;
  Calls got = run({y.view()});
  write_elsewhere = false;
  EXPECT_EQ(got.runs, 2);
  EXPECT_EQ(latest_, (std::vector<float>{6, 7}));
  got = run({y.view()});
  EXPECT_EQ(got.runs, 1);
  EXPECT_EQ(got.given_outputs, 0);
}

TEST_F(OrtReuse, ChangedShapesRunOnceWithoutGivenOutputs) {
  load(onnx::half_plus_three());
  const TestTensor<float> two(DType::Fp32, {2}, {2, 4}), three(DType::Fp32, {3}, {2, 4, 6});
  const TestTensor<float>* order[] = {&two, &three, &three, &two, &two};
  const int expected[] = {0, 0, 1, 0, 1};
  for (size_t i = 0; i < 5; ++i) {
    const Calls got = run({order[i]->view()});
    EXPECT_EQ(got.runs, 1) << i;
    EXPECT_EQ(got.given_outputs, expected[i]) << i;
  }
}

TEST_F(OrtReuse, FailedBindDoesNotLeaveOutputsOfOtherShapes) {
  onnx::Model graph;
  graph.node("Add", {"a", "b"}, {"y"});
  for (const char* name : {"a", "b"}) graph.input(name, onnx::kFloat, Dims{std::string("n")});
  load(graph.output("y", onnx::kFloat, Dims{std::string("n")}));
  const TestTensor<float> two(DType::Fp32, {2}, {2, 4}), three(DType::Fp32, {3}, {2, 4, 6});
  TestTensor<float> cut(DType::Fp32, {3}, {1, 1, 1});
  cut.tensor.bytes = 4;
  run({two.view(), two.view()});
  EXPECT_EQ(run({three.view(), cut.view()}, false).runs, 0);
  cut.tensor.bytes = 12;
  for (int i = 0; i < 2; ++i) {
    const Calls got = run({three.view(), cut.view()});
    EXPECT_EQ(got.runs, 1);
    EXPECT_EQ(got.given_outputs, i);
    EXPECT_EQ(latest_, (std::vector<float>{3, 5, 7}));
  }
}

// Abs of the non-zero entries: its length is their number, but it is declared to have x's length.
TEST_F(OrtReuse, BrokenDeclarationIsRunAgainOnceAndRemembered) {
  onnx::Model graph;
  graph.node("NonZero", {"x"}, {"places"});
  graph.node("Cast", {"places"}, {"y"}, {onnx::attribute("to", int64_t{onnx::kFloat})});
  graph.input("x", onnx::kFloat, Dims{std::string("n")});
  load(graph.output("y", onnx::kFloat, Dims{int64_t{1}, std::string("n")}));
  const TestTensor<float> one(DType::Fp32, {2}, {0, 1}), both(DType::Fp32, {2}, {1, 1});
  EXPECT_EQ(run({one.view()}).runs, 1);
  Calls got = run({both.view()});
  EXPECT_EQ(got.runs, 2);
  EXPECT_EQ(got.given_outputs, 1);
  EXPECT_EQ(latest_, (std::vector<float>{0, 1}));
  for (const auto* x : {&both, &one, &both}) {
    got = run({x->view()});
    EXPECT_EQ(got.runs, 1);
    EXPECT_EQ(got.given_outputs, 0);
  }
}

TEST_F(OrtReuse, ShapesThatDoNotFollowFromTheInputsAreNeverForced) {
  const Dims undeclared[] = {Dims{std::string("other")}, Dims{std::string()}};
  for (const Dims& dims : undeclared) {
    onnx::Model graph;
    graph.node("Neg", {"x"}, {"y"}).input("x", onnx::kFloat, Dims{std::string("n")});
    // A symbol is kept only if the runtime cannot infer another: the output has no symbol of x.
    load(graph.output("y", onnx::kFloat, dims));
    const bool inferred = model_->info().signatures[0].outputs[0].symbols[0] == "n";
    const TestTensor<float> x(DType::Fp32, {2}, {1, 2});
    run({x.view()});
    EXPECT_EQ(run({x.view()}).given_outputs, inferred ? 1 : 0);
  }
  load(onnx::half_plus_three(std::nullopt));
  const TestTensor<float> x(DType::Fp32, {2}, {1, 2});
  run({x.view()});
  EXPECT_EQ(run({x.view()}).given_outputs, 0);
}

TEST_F(OrtReuse, LargeOutputsAreTheRuntimes) {
  load(onnx::half_plus_three());
  const int64_t limit = static_cast<int64_t>(kKeptValueBytes / sizeof(float));
  for (const int64_t count : {limit, limit + 1}) {
    const TestTensor<float> x(DType::Fp32, {count},
                              std::vector<float>(static_cast<size_t>(count), 2.0f));
    run({x.view()});
    EXPECT_EQ(run({x.view()}).given_outputs, count <= limit ? 1 : 0);
  }
}

TEST_F(OrtReuse, NoElementsGiveTheRuntimeAPointer) {
  load(onnx::half_plus_three());
  TensorView x;
  x.dtype = DType::Fp32;
  x.shape = Shape(std::vector<int64_t>{0});
  EXPECT_FALSE(run({x}).null_data);
}

}  // namespace
}  // namespace serval::ort
