// The runtime's arena: large unused parts return to the system, small ones stay, and models run on.
#include "backend/onnxruntime/arena.h"

#include <fstream>
#include <string>

#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

constexpr int kFloat = 1, kInt64 = 7;

// y = the sum of `count` ones, by way of that many floats.
onnx::Model sum_of_ones() {
  onnx::Model model;
  model.initializer<float>("one", kFloat, {}, {1});
  model.node("ConstantOfShape", {"count"}, {"zeros"}).node("Add", {"zeros", "one"}, {"ones"});
  model.node("ReduceSum", {"ones"}, {"y"}, {onnx::attribute("keepdims", int64_t{0})});
  model.input("count", kInt64, std::vector<onnx::Dim>{1});
  return model.output("y", kFloat, std::vector<onnx::Dim>{});
}

uint64_t private_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
  }
  ADD_FAILURE() << "no RssAnon in /proc/self/status";
  return 0;
}

class Arena : public OnnxRuntimeTest {
 protected:
  void expect_sum(int64_t count) {
    const TestTensor<int64_t> shape(DType::Int64, {1}, {count});
    ASSERT_TRUE(run(*model_, *scratch_, {shape.view()}).ok());
    EXPECT_EQ(values_of<float>(scratch_->outputs()[0])[0], static_cast<float>(count));
    scratch_->release_outputs();
  }
  void load_model() {
    model_ = load(sum_of_ones());
    ASSERT_NE(model_, nullptr);
    scratch_ = model_->make_scratch();
  }
  static uint64_t unused() {
    return ort::unused_arena_bytes(*ort::acquire_runtime(onnxruntime_library(), 2).value());
  }

  std::shared_ptr<BackendModel> model_;
  std::unique_ptr<BackendScratch> scratch_;
};

TEST_F(Arena, ReturnsWhatLargeRunsAllocated) {
  load_model();
  expect_sum(1);
  const uint64_t before = private_bytes();
  expect_sum(1 << 26);  // twice 256 MiB
  EXPECT_GT(private_bytes(), before + (200u << 20));
  EXPECT_GT(unused(), 400u << 20);
  backend_->release_unused();
  EXPECT_LT(unused(), 64u << 20);
  EXPECT_LT(private_bytes(), before + (64u << 20));
  for (int i = 0; i < 3; ++i) expect_sum(1 << 20);
}

TEST_F(Arena, KeepsWhatIsSmall) {
  load_model();
  backend_->release_unused();
  expect_sum(1 << 20);
  const uint64_t before = unused();
  EXPECT_GT(before, 0u);
  backend_->release_unused();
  EXPECT_EQ(unused(), before);
}

TEST_F(Arena, IsNotLoadedForThat) {
  const auto unloaded = make_onnxruntime_backend("/nowhere/libonnxruntime.so.1", 1);
  unloaded->release_unused();
}

}  // namespace
}  // namespace serval
