// Whether a failed run is the client's or the backend's fault. What a kernel refuses about the
// request's shapes and values is invalid_argument, with the operator, the reason and the inputs'
// shapes; memory is the backend's fault.
#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::attribute;
using onnx::Dim;
using Dims = std::vector<Dim>;

const Dims kVector{std::string("n")}, kMatrix{std::string("a"), std::string("b")};

class OrtRefusal : public OnnxRuntimeTest {
 protected:
  // A model of one node over the inputs `x` (FP32) and `i` (INT64), both with free dimensions.
  std::shared_ptr<BackendModel> model_of(std::string_view op,
                                         const std::vector<std::string>& inputs, const Dims& x,
                                         const Dims& y,
                                         const std::vector<onnx::Message>& attributes = {}) {
    onnx::Model graph;
    graph.node(op, inputs, {"y"}, attributes);
    graph.input("x", onnx::kFloat, x);
    if (inputs.size() > 1 && inputs[1] == "i") graph.input("i", onnx::kInt64, kVector);
    if (inputs.size() > 1 && inputs[1] == "z") graph.input("z", onnx::kFloat, x);
    graph.output("y", onnx::kFloat, y);
    return load(graph);
  }

  // Expects a run that is the request's fault, after a run that succeeds; returns its error.
  void expect_refused(BackendModel& model, const std::vector<TensorView>& good,
                      const std::vector<TensorView>& bad, const std::string& begin,
                      const std::string& end) {
    const auto scratch = model.make_scratch();
    const Status answered = run(model, *scratch, good);
    ASSERT_TRUE(answered.ok()) << answered.error().message;
    scratch->release_outputs();
    const Status status = run(model, *scratch, bad);
    ASSERT_FALSE(status.ok()) << begin;
    const std::string& message = status.error().message;
    EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument) << message;
    EXPECT_TRUE(message.starts_with("the model refuses its input: " + begin)) << message;
    EXPECT_TRUE(message.ends_with(end)) << message;
    EXPECT_EQ(message.find(".h:"), std::string::npos) << message;
    EXPECT_EQ(message.find("Non-zero status"), std::string::npos) << message;
    EXPECT_TRUE(run(model, *scratch, good).ok()) << "the scratch is still good";
  }
};

// The reason keeps the runtime's words without its source files; the log has the full text.
TEST_F(OrtRefusal, Reshape) {
  const auto model = model_of("Reshape", {"x", "i"}, kVector, kMatrix);
  ASSERT_TRUE(model);
  const TestTensor<float> x(DType::Fp32, {2}, {1, 2});
  const TestTensor<int64_t> good(DType::Int64, {2}, {2, 1}), bad(DType::Int64, {2}, {7, 7});
  expect_refused(*model, {x.view(), good.view()}, {x.view(), bad.view()},
                 "Reshape node 'Reshape_0': ", "; inputs: 'x' [2], 'i' [2]");
  const auto scratch = model->make_scratch();
  const Status status = run(*model, *scratch, {x.view(), bad.view()});
  EXPECT_NE(status.error().message.find("requested shape:{7,7}"), std::string::npos);
  EXPECT_NE(status.error().detail.find(".h:"), std::string::npos) << status.error().detail;
}

TEST_F(OrtRefusal, ValuesThatKernelsRefuse) {
  const TestTensor<float> x(DType::Fp32, {4}, {1, 2, 3, 4});
  const TestTensor<int64_t> one(DType::Int64, {1}, {1}), many(DType::Int64, {1}, {99});
  const TestTensor<int64_t> below(DType::Int64, {1}, {-99});
  const auto gather = model_of("Gather", {"x", "i"}, kVector, kVector);
  expect_refused(*gather, {x.view(), one.view()}, {x.view(), many.view()},
                 "Gather node 'Gather_0': ", "; inputs: 'x' [4], 'i' [1]");
  const auto expand = model_of("Expand", {"x", "i"}, kVector, kVector);
  expect_refused(*expand, {x.view(), one.view()}, {x.view(), many.view()},
                 "Expand node 'Expand_0': ", "; inputs: 'x' [4], 'i' [1]");
  onnx::Model top;
  top.node("TopK", {"x", "i"}, {"y", "places"});
  top.input("x", onnx::kFloat, kVector).input("i", onnx::kInt64, Dims{int64_t{1}});
  top.output("y", onnx::kFloat, kVector);
  const auto top_k = load(top);
  ASSERT_TRUE(top_k);
  for (const TestTensor<int64_t>* bad : {&many, &below}) {
    expect_refused(*top_k, {x.view(), one.view()}, {x.view(), bad->view()},
                   "TopK node 'TopK_0': ", "; inputs: 'x' [4], 'i' [1]");
  }
}

TEST_F(OrtRefusal, ShapesThatDoNotFitEachOther) {
  const TestTensor<float> wide(DType::Fp32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const TestTensor<float> high(DType::Fp32, {3, 2}, {1, 2, 3, 4, 5, 6});
  const std::string shapes = "; inputs: 'x' [2,3], 'z' [2,3]";
  const std::string other = "; inputs: 'x' [2,3], 'z' [3,2]";
  const auto product = model_of("MatMul", {"x", "z"}, kMatrix, kMatrix);
  expect_refused(*product, {wide.view(), high.view()}, {wide.view(), wide.view()},
                 "MatMul node 'MatMul_0': ", shapes);
  const auto sum = model_of("Add", {"x", "z"}, kMatrix, kMatrix);
  expect_refused(*sum, {wide.view(), wide.view()}, {wide.view(), high.view()},
                 "Add node 'Add_0': ", other);
  const auto joined =
      model_of("Concat", {"x", "z"}, kMatrix, kMatrix, {attribute("axis", int64_t{1})});
  expect_refused(*joined, {wide.view(), wide.view()}, {wide.view(), high.view()},
                 "Concat node 'Concat_0': ", other);
}

// A kernel that could not have served any request: the client is not at fault.
TEST_F(OrtRefusal, MemoryIsTheBackends) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers end the process where so much memory is asked for";
#endif
  const auto model = model_of("Expand", {"x", "i"}, kVector, kVector);
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const TestTensor<float> x(DType::Fp32, {1}, {1});
  const TestTensor<int64_t> petabytes(DType::Int64, {1}, {int64_t{1} << 50});
  const Status status = run(*model, *scratch, {x.view(), petabytes.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::BackendFailed);
  EXPECT_TRUE(status.error().message.starts_with("the model failed: ")) << status.error().message;
}

}  // namespace
}  // namespace serval
