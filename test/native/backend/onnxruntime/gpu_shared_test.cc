// Runs with tensors in device memory that a client shares: what is read and written in place, what
// is copied on the device, and what is copied through the host.
#include "backend/onnxruntime/on_gpu.h"
#include "gpu/cuda_client.h"

namespace serval {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;

constexpr int kSharedFloat = 1, kInt64 = 7;
constexpr size_t kBytes = 64 * 1024;

class OnSharedMemory : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    here_ = client_.open();  // GPU 1, which runs the models
    there_ = other_.open();  // GPU 0
    ASSERT_NE(here_, nullptr);
    ASSERT_NE(there_, nullptr);
  }
  template <typename T>
  static TensorView view(const gpu::SharedMemory& memory, uint64_t offset, DType dtype,
                         const std::vector<T>& values) {
    put(memory, offset, values);
    const int64_t dims[] = {static_cast<int64_t>(values.size())};
    TensorView tensor{dtype, Shape(dims), memory.data() + offset, values.size() * sizeof(T), {}};
    tensor.device = &memory;
    return tensor;
  }
  // Runs once and keeps the counts in latest_.
  Status run_to(const std::vector<TensorView>& inputs, const std::vector<OutputPlace>& places) {
    std::vector<uint32_t> wanted(model_->info().signatures[0].outputs.size());
    std::iota(wanted.begin(), wanted.end(), 0u);
    RunOptions options;
    options.places = places;
    const Counts before = counts();
    Status status = model_->run(0, inputs, wanted, *scratch_, options);
    EXPECT_TRUE(status.ok()) << status.error().message;
    latest_ = counts();
    latest_.to -= before.to;
    latest_.from -= before.from;
    latest_.within -= before.within;
    latest_.allocations -= before.allocations;
    return status;
  }
  void expect_copies(uint64_t to, uint64_t from, uint64_t within) {
    EXPECT_EQ(latest_.to, to);
    EXPECT_EQ(latest_.from, from);
    EXPECT_EQ(latest_.within, within);
  }

  CudaClient client_{kBytes, 1}, other_{kBytes, 0};
  std::shared_ptr<gpu::SharedMemory> here_, there_;
};

TEST_F(OnSharedMemory, FloatsAreReadAndWrittenWhereTheyLie) {
  load_on_gpu(onnx::half_plus_three());
  EXPECT_TRUE(model_->info().takes_device_memory);
  const OutputPlace place{here_.get(), 4096, 8};
  for (int i = 0; i < 10; ++i) {
    const auto value = static_cast<float>(i);
    const TensorView x = view<float>(*here_, 512, DType::Fp32, {value, 10});
    ASSERT_TRUE(run_to({x}, {place}).ok());
    // in the first run no shape is known, so the runtime uses its own memory
    expect_copies(0, 0, i > 0 ? 0 : 1);
    const TensorView& y = scratch_->outputs()[0];
    EXPECT_EQ(y.device, here_.get());
    EXPECT_EQ(y.data, here_->data() + 4096);
    EXPECT_EQ(y.bytes, 8u);
    EXPECT_EQ(get<float>(*here_, 4096, 2), (std::vector<float>{value / 2 + 3, 8}));
    scratch_->release_outputs();
  }
}

TEST_F(OnSharedMemory, HostAndDeviceTakeTurns) {
  load_on_gpu(onnx::half_plus_three());
  const TensorView lies_there = view<float>(*here_, 0, DType::Fp32, {2, 4});
  const TestTensor<float> sent(DType::Fp32, {2}, {6, 8});
  const OutputPlace nowhere, place{here_.get(), 1024, 8};
  for (int i = 0; i < 12; ++i) {
    const bool in = (i & 1) != 0, out = (i & 2) != 0;
    ASSERT_TRUE(run_to({in ? lies_there : sent.view()}, {out ? place : nowhere}).ok());
    const std::vector<float> expected = in ? std::vector<float>{4, 5} : std::vector<float>{6, 7};
    const TensorView& y = scratch_->outputs()[0];
    EXPECT_EQ(y.device, out ? here_.get() : nullptr);
    EXPECT_EQ(out ? get<float>(*here_, 1024, 2) : values_of<float>(y), expected);
    if (i > 1) {
      EXPECT_EQ(latest_.to, in ? 0u : 1u);
      EXPECT_EQ(latest_.from, out ? 0u : 1u);
    }
    scratch_->release_outputs();
  }
}

TEST_F(OnSharedMemory, AnotherDeviceAndOddPlacesAreCopied) {
  load_on_gpu(onnx::half_plus_three());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        run_to({view<float>(*there_, 0, DType::Fp32, {2, 4})}, {{there_.get(), 512, 100}}).ok());
    EXPECT_EQ(get<float>(*there_, 512, 2), (std::vector<float>{4, 5}));
    scratch_->release_outputs();
  }
  expect_copies(0, 0, 2);
  // Four bytes past the alignment that kernels rely on.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        run_to({view<float>(*here_, 260, DType::Fp32, {6, 8})}, {{here_.get(), 516, 100}}).ok());
    EXPECT_EQ(get<float>(*here_, 516, 2), (std::vector<float>{6, 7}));
    scratch_->release_outputs();
  }
  expect_copies(0, 0, 2);
}

// An output that overlaps an input or another output is written after the run.
TEST_F(OnSharedMemory, PlacesThatOverlapAreNotWrittenByTheModelItself) {
  onnx::Model graph;
  graph.input("x", kSharedFloat, Dims{"n"})
      .output("y", kSharedFloat, Dims{"n"})
      .output("z", kSharedFloat, Dims{"n"});
  graph.node("Neg", {"x"}, {"y"}).node("Abs", {"x"}, {"z"});
  load_on_gpu(graph);
  std::vector<float> values(128), negative(128);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i + 1);
    negative[i] = -values[i];
  }
  for (int i = 0; i < 3; ++i) {
    const TensorView x = view<float>(*here_, 256, DType::Fp32, values);
    ASSERT_TRUE(run_to({x}, {{here_.get(), 512, 512}, {here_.get(), 4096, 512}}).ok());
    EXPECT_EQ(get<float>(*here_, 512, 128), negative);
    EXPECT_EQ(get<float>(*here_, 4096, 128), values);
    scratch_->release_outputs();
  }
  expect_copies(0, 0, 1);  // copies of y; z overlaps nothing
  for (int i = 0; i < 3; ++i) {
    const TensorView x = view<float>(*here_, 256, DType::Fp32, values);
    ASSERT_TRUE(run_to({x}, {{here_.get(), 4096, 512}, {here_.get(), 4096, 512}}).ok());
    scratch_->release_outputs();
  }
  expect_copies(0, 0, 1);
}

TEST_F(OnSharedMemory, WhatDoesNotFitIsOnTheHost) {
  load_on_gpu(onnx::half_plus_three());
  put<float>(*here_, 4096, {-1, -1, -1});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        run_to({view<float>(*here_, 0, DType::Fp32, {2, 4, 6})}, {{here_.get(), 4096, 8}}).ok());
    EXPECT_EQ(scratch_->outputs()[0].device, nullptr);
    EXPECT_EQ(values_of<float>(scratch_->outputs()[0]), (std::vector<float>{4, 5, 6}));
    scratch_->release_outputs();
  }
  EXPECT_EQ(get<float>(*here_, 4096, 3), (std::vector<float>{-1, -1, -1}));
}

// A client may write while a kernel checks whether the indices are valid.
TEST_F(OnSharedMemory, IndicesAreCopiedBeforeTheyAreLookedAt) {
  onnx::Model graph;
  graph.input("i", kInt64, Dims{"n"}).output("y", kInt64, Dims{"n"});
  graph.node("Abs", {"i"}, {"y"});
  load_on_gpu(graph);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        run_to({view<int64_t>(*here_, 0, DType::Int64, {-1, 2})}, {{here_.get(), 256, 16}}).ok());
    EXPECT_EQ(get<int64_t>(*here_, 256, 2), (std::vector<int64_t>{1, 2}));
    scratch_->release_outputs();
  }
  expect_copies(0, 0, 1);
}

TEST_F(OnSharedMemory, OutputsOfUnknownShapeGoThereToo) {
  onnx::Model graph;
  graph.input("x", kSharedFloat, Dims{"n"}).output("y", kSharedFloat, Dims{Dim()});
  graph.node("Cast", {"x"}, {"b"}, {onnx::attribute("to", int64_t{9})})
      .node("Compress", {"x", "b"}, {"y"});
  load_on_gpu(graph);
  for (const std::vector<float>& values :
       std::vector<std::vector<float>>{{1, 0, 2}, {0, 0, 5}, {1, 2, 3}, {0, 0, 0}}) {
    std::vector<float> expected;
    for (const float value : values) {
      if (value != 0) expected.push_back(value);
    }
    ASSERT_TRUE(
        run_to({view<float>(*here_, 0, DType::Fp32, values)}, {{here_.get(), 512, 12}}).ok());
    const TensorView& y = scratch_->outputs()[0];
    EXPECT_EQ(y.device, here_.get());
    EXPECT_EQ(y.bytes, expected.size() * sizeof(float));
    EXPECT_EQ(get<float>(*here_, 512, expected.size()), expected);
    scratch_->release_outputs();
    expect_copies(0, 0, expected.empty() ? 0 : 1);
  }
}

// The runtime returns another value than the one it was given for the output.
TEST_F(OnSharedMemory, AnInputThatIsHandedThrough) {
  onnx::Model graph;
  graph.input("x", kSharedFloat, Dims{"n"}).output("y", kSharedFloat, Dims{"n"});
  graph.node("Identity", {"x"}, {"y"});
  load_on_gpu(graph);
  for (const float value : {1.0f, 2.0f, 3.0f, 4.0f}) {
    ASSERT_TRUE(
        run_to({view<float>(*here_, 0, DType::Fp32, {value, -value})}, {{here_.get(), 256, 8}})
            .ok());
    EXPECT_EQ(get<float>(*here_, 256, 2), (std::vector<float>{value, -value}));
    scratch_->release_outputs();
  }
}

// Text cannot be on a device: such a run uses the plain path, and its numbers are copied to the
// host first.
TEST_F(OnSharedMemory, BesideTextTheyGoThroughTheHost) {
  onnx::Model graph;
  graph.input("s", 8, Dims{"n"}).input("x", kSharedFloat, Dims{"n"});
  graph.output("t", 8, Dims{"n"}).output("y", kSharedFloat, Dims{"n"});
  graph.node("Identity", {"s"}, {"t"}).node("Neg", {"x"}, {"y"});
  load_on_gpu(graph);
  const TestStrings s({2}, {"a", "bc"});
  for (const float value : {1.0f, 2.0f}) {
    const TensorView x = view<float>(*here_, 0, DType::Fp32, {value, -value});
    ASSERT_TRUE(run_to({s.view(), x}, {{here_.get(), 256, 100}, {here_.get(), 512, 100}}).ok());
    EXPECT_EQ(scratch_->outputs()[0].strings[1], "bc");
    EXPECT_EQ(scratch_->outputs()[0].device, nullptr);
    EXPECT_EQ(values_of<float>(scratch_->outputs()[1]), (std::vector<float>{-value, value}));
    EXPECT_EQ(scratch_->outputs()[1].device, nullptr);
    scratch_->release_outputs();
  }
}

// A recorded run has its own addresses; the fake runtime refuses others.
TEST_F(OnSharedMemory, GraphsHaveCopies) {
  ModelSpec spec;
  spec.providers.push_back({"cuda", {{"device_id", "1"}}});
  spec.graph_rows = {2};
  scratch_.reset();
  model_ = load(onnx::half_plus_three(), spec);
  ASSERT_NE(model_, nullptr);
  scratch_ = model_->make_scratch();
  for (int i = 0; i < 6; ++i) {
    const auto value = static_cast<float>(i);
    const uint64_t at = 512 * static_cast<uint64_t>(i);
    ASSERT_TRUE(
        run_to({view<float>(*here_, at, DType::Fp32, {value, 10})}, {{here_.get(), 8192 + at, 8}})
            .ok());
    EXPECT_EQ(get<float>(*here_, 8192 + at, 2), (std::vector<float>{value / 2 + 3, 8}));
    scratch_->release_outputs();
    expect_copies(0, 0, 2);
  }
}

}  // namespace
}  // namespace serval
