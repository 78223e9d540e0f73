// Runs on a fake GPU: ONNX Runtime's CPU provider over memory that a fake CUDA runtime treats as a
// device's (test/e2e/gpu). Covers what is copied when, what is kept between runs, and what fails.
#include <thread>

#include "backend/onnxruntime/on_gpu.h"
#include "base/buffer.h"
#include "gpu/pinned_pool.h"

namespace serval {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;

constexpr int kFloat = 1;

TEST_F(OnGpu, CopiesThereAndBackAndAllocatesNothingOnceWarm) {
  load_on_gpu(onnx::half_plus_three());
  TestTensor<float> x(DType::Fp32, {2}, {2, 4});
  EXPECT_EQ(answer({x.view()}), (std::vector<float>{4, 5}));
  EXPECT_EQ(latest_.to, 1u);
  EXPECT_EQ(latest_.from, 0u);  // nothing is known about the output's shape
  x.values = {6, 8};
  EXPECT_EQ(answer({x.view()}), (std::vector<float>{6, 7}));
  EXPECT_EQ(latest_.from, 1u);
  const uint64_t used = gpu::PinnedPool::process().read().used_bytes;
  EXPECT_GE(used, 2u * 256);
  for (int i = 0; i < 20; ++i) {
    x.values = {static_cast<float>(i), 10};
    EXPECT_EQ(answer({x.view()}), (std::vector<float>{static_cast<float>(i) / 2 + 3, 8}));
    EXPECT_EQ(latest_.to, 1u);
    EXPECT_EQ(latest_.from, 1u);
    EXPECT_EQ(latest_.allocations, 0u);
  }
  EXPECT_EQ(gpu::PinnedPool::process().read().used_bytes, used);
}

TEST_F(OnGpu, WhatStandsInItsPlaceIsCopiedFromThere) {
  load_on_gpu(onnx::half_plus_three());
  for (float value : {1.0f, 3.0f, 5.0f}) {
    uint8_t* place = scratch_->input_place(0, 2 * sizeof(float));
    ASSERT_NE(place, nullptr);
    const float values[] = {value, value + 1};
    std::memcpy(place, values, sizeof values);
    const int64_t dims[] = {2};
    TensorView view{DType::Fp32, Shape(dims), place, sizeof values, {}};
    EXPECT_EQ(answer({view}), (std::vector<float>{value / 2 + 3, value / 2 + 3.5f}));
  }
  EXPECT_EQ(scratch_->input_place(1, 4), nullptr);
}

// The fake provider accepts no node, as the runtime's own record shows.
TEST_F(OnGpu, TheLoadSaysWhoseNodesThereAre) {
  load_on_gpu(onnx::half_plus_three());
  ASSERT_EQ(model_->info().nodes.size(), 1u);
  EXPECT_EQ(model_->info().nodes[0].provider, "CPUExecutionProvider");
  EXPECT_EQ(model_->info().nodes[0].nodes, 2u);
  const auto on_cpu = load(onnx::half_plus_three(), ModelSpec());
  EXPECT_TRUE(on_cpu->info().nodes.empty());  // there is only one provider
}

TEST_F(OnGpu, ShapesMayChangeFromRunToRun) {
  load_on_gpu(onnx::half_plus_three());
  for (const int64_t rows : {1, 1, 1000, 1000, 3, 3, 0, 0, 2, 5000, 5000}) {
    TestTensor<float> x(DType::Fp32, {rows}, std::vector<float>(static_cast<size_t>(rows), 2));
    EXPECT_EQ(answer({x.view()}), std::vector<float>(static_cast<size_t>(rows), 4)) << rows;
  }
}

TEST_F(OnGpu, OutputsOfUnknownShapeAreTheRuntimes) {
  onnx::Model graph;
  graph.input("x", kFloat, Dims{"n"}).output("y", kFloat, Dims{Dim()});
  graph.node("Cast", {"x"}, {"b"}, {onnx::attribute("to", int64_t{9})})
      .node("Compress", {"x", "b"}, {"y"});
  load_on_gpu(graph);
  for (const std::vector<float>& values :
       std::vector<std::vector<float>>{{1, 0, 2}, {0, 0, 5}, {1, 2, 3}, {0, 0, 0}}) {
    const TestTensor<float> x(DType::Fp32, {3}, values);
    std::vector<float> expected;
    for (float value : values) {
      if (value != 0) expected.push_back(value);
    }
    EXPECT_EQ(answer({x.view()}), expected);
    EXPECT_EQ(latest_.from, 0u);
  }
}

// The runtime returns another value than the one it was given for the output.
TEST_F(OnGpu, AnInputThatIsHandedThrough) {
  onnx::Model graph;
  graph.input("x", kFloat, Dims{"n"}).output("y", kFloat, Dims{"n"});
  graph.node("Identity", {"x"}, {"y"});
  load_on_gpu(graph);
  for (float value : {1.0f, 2.0f, 3.0f, 4.0f}) {
    const TestTensor<float> x(DType::Fp32, {2}, {value, -value});
    EXPECT_EQ(answer({x.view()}), (std::vector<float>{value, -value}));
  }
}

TEST_F(OnGpu, NoMemoryOnTheDeviceIsTheRequestsError) {
  load_on_gpu(onnx::half_plus_three());
  FakeCuda::get().limit(FakeCuda::get().device_bytes());
  const TestTensor<float> x(DType::Fp32, {2}, {2, 4});
  const Status status = run(*model_, *scratch_, {x.view()});
  FakeCuda::get().limit(UINT64_MAX - 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::MemoryFull);
  EXPECT_EQ(status.error().message,
            "input \"x\": GPU 1: 256 bytes of the device: out of memory (2)");
  EXPECT_EQ(answer({x.view()}), (std::vector<float>{4, 5}));
}

TEST_F(OnGpu, ACopyThatFailsIsSaidAndTheNextRunIsWhole) {
  load_on_gpu(onnx::half_plus_three());
  const TestTensor<float> x(DType::Fp32, {2}, {2, 4});
  EXPECT_EQ(answer({x.view()}), (std::vector<float>{4, 5}));
  FakeCuda::get().fail_copy(700);
  const Status status = run(*model_, *scratch_, {x.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::BackendFailed);
  EXPECT_EQ(status.error().message,
            "input \"x\": copy to GPU 1: an illegal memory access was encountered (700)");
  EXPECT_TRUE(scratch_->outputs().empty());
  EXPECT_EQ(answer({x.view()}), (std::vector<float>{4, 5}));
  EXPECT_EQ(answer({x.view()}), (std::vector<float>{4, 5}));
}

TEST_F(OnGpu, ADeviceThatIsNotThereIsAnErrorOfTheRun) {
  load_on_gpu(onnx::half_plus_three(), "7");
  const TestTensor<float> x(DType::Fp32, {2}, {2, 4});
  const Status status = run(*model_, *scratch_, {x.view()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "GPU 7: fake error (101)");
}

TEST_F(OnGpu, WithoutPinnedMemoryOrdinaryMemoryWillDo) {
  load_on_gpu(onnx::half_plus_three());
  const auto calls = gpu::open_cuda();
  ASSERT_TRUE(calls.ok());
  std::vector<uint8_t*> taken;
  gpu::PinnedPool& pool = gpu::PinnedPool::process();
  for (size_t bytes = 64u << 20; bytes >= 256; bytes /= 2) {
    while (uint8_t* piece = pool.take(*calls.value(), bytes)) taken.push_back(piece);
  }
  const uint64_t before = pool.read().fallbacks;
  const TestTensor<float> x(DType::Fp32, {2}, {2, 4});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answer({x.view()}), (std::vector<float>{4, 5}));
  EXPECT_GE(pool.read().fallbacks, before + 2);
  for (uint8_t* piece : taken) pool.give(piece);
}

// A body of `values` in memory of the budget, as a listener receives it.
ByteBuffer body_of(MemoryBudget& budget, const std::vector<float>& values) {
  ByteBuffer body;
  body.charge_to(&budget);
  EXPECT_TRUE(body.append(values.data(), values.size() * sizeof(float)));
  return body;
}

TEST_F(OnGpu, LargeBodiesArePinnedOnceAGpuCopiedOneFromOrdinaryMemory) {
  constexpr int64_t kRows = 150'000;  // 600 KB
  MemoryBudget budget(1u << 30);
  gpu::PinnedPool& pool = gpu::PinnedPool::process();
  const auto run_body = [&](const ByteBuffer& body) {
    const int64_t dims[] = {kRows};
    const TensorView view{DType::Fp32, Shape(dims), body.data(), body.size(), {}};
    EXPECT_EQ(answer({view}), std::vector<float>(kRows, 4));
    return FakeCuda::get().last_source() == body.data();
  };
  load_on_gpu(onnx::half_plus_three());
  pinned_blocks().store(nullptr);
  const std::vector<float> values(kRows, 2);
  {
    const ByteBuffer first = body_of(budget, values);
    EXPECT_FALSE(pool.holds(first.data(), first.size()));
    EXPECT_FALSE(run_body(first));  // its copy in the scratch's pinned memory
    EXPECT_TRUE(should_be_pinned(first));
  }
  EXPECT_EQ(budget.blocks().kept_bytes(), 0u);
  const uint8_t* place = nullptr;
  for (int i = 0; i < 5; ++i) {
    const ByteBuffer body = body_of(budget, values);
    if (i == 0) place = body.data();
    EXPECT_EQ(body.data(), place);  // kept between requests
    EXPECT_TRUE(pool.holds(body.data(), body.size()));
    EXPECT_FALSE(should_be_pinned(body));
    EXPECT_TRUE(run_body(body));
    EXPECT_GE(budget.used(), body.size());
  }
  const uint64_t used = pool.read().used_bytes, kept = budget.blocks().kept_bytes();
  EXPECT_GE(kept, sizeof(float) * kRows);
  budget.drop_unused(0);
  EXPECT_EQ(pool.read().used_bytes, used - kept);
  pinned_blocks().store(nullptr);
}

// The stand-in makes copies when their stream is waited for: what a failed run leaves to be copied
// would be read from memory that its owner has freed.
TEST_F(OnGpu, ARunThatFailsLeavesNoCopyOfItsInputs) {
  onnx::Model graph;
  graph.input("a", kFloat, Dims{"n"}).input("b", kFloat, Dims{"n"}).output("y", kFloat, Dims{"n"});
  graph.node("Add", {"a", "b"}, {"y"});
  load_on_gpu(graph);
  const TestTensor<float> small(DType::Fp32, {2}, {1, 2});
  EXPECT_EQ(answer({small.view(), small.view()}), (std::vector<float>{2, 4}));
  FakeCuda::get().limit(FakeCuda::get().device_bytes() + (1u << 20));
  const std::vector<float> values(200'000, 1);  // the device has memory for one of them
  const uint64_t waits = FakeCuda::get().calls("cudaStreamSynchronize");
  const TestTensor<float> large(DType::Fp32, {200'000}, values);
  EXPECT_FALSE(run(*model_, *scratch_, {large.view(), large.view()}).ok());
  EXPECT_EQ(FakeCuda::get().calls("cudaStreamSynchronize"), waits + 1);
  FakeCuda::get().limit(UINT64_MAX - 1);
  EXPECT_EQ(answer({small.view(), small.view()}), (std::vector<float>{2, 4}));
  pinned_blocks().store(nullptr);
}

TEST_F(OnGpu, TextGoesThePlainWay) {
  onnx::Model graph;
  graph.input("x", 8, Dims{"n"}).output("y", 8, Dims{"n"});
  graph.node("Identity", {"x"}, {"y"});
  load_on_gpu(graph);
  const TestStrings x({2}, {"a", "bc"});
  const uint64_t before = counts().to;
  ASSERT_TRUE(run(*model_, *scratch_, {x.view()}).ok());
  EXPECT_EQ(scratch_->outputs()[0].strings[1], "bc");
  EXPECT_EQ(counts().to, before);
}

TEST_F(OnGpu, OtherOutputsFromRunToRun) {
  onnx::Model graph;
  graph.input("x", kFloat, Dims{"n"}).output("y", kFloat, Dims{"n"}).output("z", kFloat, Dims{"n"});
  graph.node("Neg", {"x"}, {"y"}).node("Abs", {"x"}, {"z"});
  load_on_gpu(graph);
  const TestTensor<float> x(DType::Fp32, {2}, {1, -2});
  const std::vector<TensorView> inputs = {x.view()};
  const std::vector<float> y = {-1, 2}, z = {1, 2};
  using Indices = std::vector<uint32_t>;
  const std::vector<Indices> orders = {{0}, {0}, {1}, {1}, {1, 0}, {1, 0}, {0, 1}, {0, 0}, {0, 1}};
  for (const Indices& wanted : orders) {
    ASSERT_TRUE(model_->run(0, inputs, wanted, *scratch_, nullptr).ok());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(values_of<float>(scratch_->outputs()[i]), wanted[i] == 0 ? y : z);
    }
    scratch_->release_outputs();
  }
}

TEST_F(OnGpu, EveryThreadHasItsOwnMemoryAndGivesItBack) {
  const uint64_t device_before = FakeCuda::get().device_bytes();
  load_on_gpu(onnx::half_plus_three());
  const uint64_t pinned_before = gpu::PinnedPool::process().read().used_bytes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const std::unique_ptr<BackendScratch> own = model_->make_scratch();
      for (int i = 0; i < 50; ++i) {
        const auto value = static_cast<float>(t * 1000 + i);
        const TestTensor<float> x(DType::Fp32, {2}, {value, -value});
        const Status status = run(*model_, *own, {x.view()});
        ASSERT_TRUE(status.ok()) << status.error().message;
        EXPECT_EQ(values_of<float>(own->outputs()[0]),
                  (std::vector<float>{value / 2 + 3, -value / 2 + 3}));
        own->release_outputs();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gpu::PinnedPool::process().read().used_bytes, pinned_before);
  scratch_.reset();
  EXPECT_EQ(FakeCuda::get().device_bytes(), device_before);
}

}  // namespace
}  // namespace serval
