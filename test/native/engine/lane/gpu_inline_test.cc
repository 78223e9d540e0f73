// Requests of models on a GPU that run on a listener's thread: short ones, while nothing else needs
// the thread or the model. The GPU is a stand-in (test/e2e/gpu).
#include <future>
#include <thread>

#include "engine/engine_fixture.h"
#include "engine/lane/inline_runner.h"
#include "gpu/fake_cuda.h"
#include "support/onnxruntime_fixture.h"

namespace serval::test {
namespace {

constexpr std::string_view kGpuBody =
    R"({"inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[2,4]}]})";
// More than any test needs until the instance that answered the previous request waits again.
constexpr int kTriesMax = 10'000;

EngineOptions gpu_options() {
  FakeCuda::get();
  setenv("FAKE_ORT_REAL", onnxruntime_library().c_str(), 1);
  EngineOptions options;
  options.onnxruntime_library = FAKE_GPU_RUNTIME;
  return options;
}

class GpuInline : public EngineTest {
 protected:
  GpuInline() : EngineTest(gpu_options()) {}
  void SetUp() override { SKIP_WITHOUT_ONNXRUNTIME(); }

  uint32_t load_gpu(const std::function<void(ModelSpec&)>& change = nullptr) {
    ModelSpec spec;
    spec.name = "m";
    spec.version = 3;
    spec.backend = "onnxruntime";
    spec.path = directory_.write("model.onnx", onnx::half_plus_three().to_bytes());
    spec.exec_mode = ExecMode::Auto;
    spec.inline_us_max = 10'000'000;  // a slow machine's runs are fast as well
    spec.providers.push_back({"cuda", {{"device_id", "0"}}});
    if (change != nullptr) change(spec);
    return load(std::move(spec));
  }
  // Whether the request was answered on this thread.
  bool is_inline(uint32_t handle) {
    const Answer answer = lane_->infer(Protocol::V2Rest, handle, bytes_of(kGpuBody), -1);
    if (!answer.pending) {
      EXPECT_EQ(answer.code, ErrorCode::Ok) << inline_text();
      EXPECT_NE(inline_text().find("[4.0,5.0]"), std::string::npos) << inline_text();
      return true;
    }
    Request* done = next();
    if (done == nullptr) {
      ADD_FAILURE() << "no answer";
      return false;
    }
    EXPECT_EQ(done->code, ErrorCode::Ok) << text(*done);
    lane_->slots().release(*done);
    return false;
  }
  bool becomes_inline(uint32_t handle) {
    for (int i = 0; i < kTriesMax; ++i) {
      if (is_inline(handle)) return true;
    }
    return false;
  }

  onnx::TemporaryDirectory directory_;
};

TEST_F(GpuInline, ARequestThatIsAloneRunsOnTheListenersThread) {
  const uint32_t handle = load_gpu();
  for (uint64_t i = 1; i < kAloneRequests; ++i) EXPECT_FALSE(is_inline(handle)) << i;
  EXPECT_TRUE(becomes_inline(handle));
  const FakeCuda& cuda = FakeCuda::get();
  const uint64_t before = cuda.calls("cudaMalloc") + cuda.calls("cudaStreamCreateWithFlags");
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(is_inline(handle)) << i;
  // It uses the instance's memory.
  EXPECT_EQ(cuda.calls("cudaMalloc") + cuda.calls("cudaStreamCreateWithFlags"), before);
}

TEST_F(GpuInline, ARequestToAnotherModelEndsThat) {
  const uint32_t handle = load_gpu();
  ModelSpec other = null_spec("other", "echo", ExecMode::Inline);
  const uint32_t small = load(std::move(other));
  ASSERT_TRUE(becomes_inline(handle));
  EXPECT_FALSE(lane_->infer(Protocol::V2Rest, small, bytes_of(kGpuBody), -1).pending);
  for (uint64_t i = 1; i < kAloneRequests; ++i) EXPECT_FALSE(is_inline(handle)) << i;
  EXPECT_TRUE(becomes_inline(handle));
}

TEST_F(GpuInline, ARequestBesideAnotherIsQueued) {
  const uint32_t handle = load_gpu();
  ASSERT_TRUE(becomes_inline(handle));
  const std::shared_ptr<Model>* model = engine_->published()->find(handle);
  ASSERT_NE(model, nullptr);
  {
    const Replica::ListenerRun of_another_listener((*model)->replica(0));
    ASSERT_TRUE(of_another_listener.begun());
    std::promise<bool> begun;
    std::thread([&] {
      begun.set_value(Replica::ListenerRun((*model)->replica(0)).begun());
    }).join();
    EXPECT_FALSE(begun.get_future().get());
  }
  // The model's only scratch is used: the listener's thread does not make one.
  std::unique_ptr<BackendScratch> taken = (*model)->replica(0).take_spare();
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ((*model)->replica(0).take_spare(), nullptr);
  const uint64_t before = (*model)->counters().requests_inline.load();
  EXPECT_FALSE(is_inline(handle));
  EXPECT_EQ((*model)->counters().requests_inline.load(), before);
  (*model)->replica(0).give_scratch(std::move(taken));
  EXPECT_TRUE(becomes_inline(handle));
}

// An instance that finds no scratch while a listener's thread has the model's only one.
TEST_F(GpuInline, AnInstanceWaitsForTheListenersRun) {
  const uint32_t handle = load_gpu();
  ASSERT_TRUE(becomes_inline(handle));
  Replica& replica = (*engine_->published()->find(handle))->replica(0);
  const uint64_t streams = FakeCuda::get().calls("cudaStreamCreateWithFlags");
  std::unique_ptr<BackendScratch> got;
  std::thread instance;
  {
    const Replica::ListenerRun run(replica);
    ASSERT_TRUE(run.begun());
    std::unique_ptr<BackendScratch> lent = replica.take_spare();
    ASSERT_NE(lent, nullptr);
    instance = std::thread([&] { got = replica.take_scratch(); });
    replica.give_scratch(std::move(lent));
  }
  instance.join();
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(FakeCuda::get().calls("cudaStreamCreateWithFlags"), streams);
  replica.give_scratch(std::move(got));
}

TEST_F(GpuInline, NeitherPaddedNorRecordedRunsNorThoseOfSeveralGpusRunThere) {
  const auto queued = [&](const std::function<void(ModelSpec&)>& change) {
    const uint32_t handle = load_gpu(change);
    const std::shared_ptr<Model>* model = engine_->published()->find(handle);
    if (model == nullptr) return false;
    const InlinePolicy& policy = (*model)->policy();
    return !policy.measures() && !policy.run_inline(Protocol::V2Rest, kGpuBody.size());
  };
  EXPECT_FALSE(queued(nullptr));
  EXPECT_FALSE(queued([](ModelSpec& spec) { spec.exec_mode = ExecMode::Inline; }));
  EXPECT_TRUE(queued([](ModelSpec& spec) { spec.exec_mode = ExecMode::Queued; }));
  EXPECT_TRUE(queued([](ModelSpec& spec) { spec.batch.allowed_rows = {4, 8}; }));
  EXPECT_TRUE(queued([](ModelSpec& spec) {
    spec.graph_rows = {0};
    spec.graph_use = GraphUse::Required;
  }));
}

TEST(GpuInlinePolicy, HasAHigherLimitAndLeavesAfterOneLongWait) {
  InlinePolicy policy(ExecMode::Auto, 100, true);
  EXPECT_TRUE(policy.on_device());
  for (int i = 0; i < 8; ++i) policy.record(Protocol::V2Grpc, 50, 220'000);
  EXPECT_TRUE(policy.run_inline(Protocol::V2Grpc, 50));
  for (int i = 0; i < 100; ++i) policy.record(Protocol::V2Grpc, 50, 20'000);
  policy.record(Protocol::V2Grpc, 50, 1'100'000);
  EXPECT_TRUE(policy.run_inline(Protocol::V2Grpc, 50));
  policy.record(Protocol::V2Grpc, 50, 1'300'000);
  EXPECT_FALSE(policy.run_inline(Protocol::V2Grpc, 50));
  for (int i = 0; i < 100; ++i) policy.record(Protocol::V2Grpc, 50, 310'000);
  EXPECT_FALSE(policy.run_inline(Protocol::V2Grpc, 50));
}

}  // namespace
}  // namespace serval::test
