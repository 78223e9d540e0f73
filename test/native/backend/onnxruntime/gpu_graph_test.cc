// CUDA graphs on a fake GPU (test/e2e/gpu): which runs are recorded, that a replay uses the
// addresses of its recording (the fake runtime refuses others), and which runs use no graph.
#include <dlfcn.h>

#include <cstdlib>
#include <future>
#include <thread>

#include "backend/onnxruntime/gpu_graph.h"
#include "gpu/cuda.h"
#include "gpu/fake_cuda.h"
#include "gpu/pinned_pool.h"
#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;

constexpr int kGraphFloat = 1;

struct Recorded {
  uint64_t recordings = 0, replays = 0;
};

class OnGraphs : public OnnxRuntimeTest {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ONNXRUNTIME();
    FakeCuda::get();
    setenv("FAKE_ORT_REAL", onnxruntime_library().c_str(), 1);
    backend_ = make_onnxruntime_backend(FAKE_GPU_RUNTIME, 2);
  }
  void load_with(std::vector<uint32_t> rows, const onnx::Model& graph = onnx::half_plus_three()) {
    ModelSpec spec;
    spec.providers.push_back({"cuda", {{"device_id", "0"}}});
    spec.graph_rows = std::move(rows);
    model_ = load(graph, spec);
    ASSERT_NE(model_, nullptr);
  }
  static Recorded recorded() {
    void* const fake = dlopen(FAKE_GPU_RUNTIME, RTLD_NOW | RTLD_NOLOAD);
    if (fake == nullptr) return {};
    const auto ask = [fake](const char* name) {
      return reinterpret_cast<uint64_t (*)()>(dlsym(fake, name))();
    };
    return {ask("fake_ort_recordings"), ask("fake_ort_replays")};
  }
  // Returns what one run recorded and replayed; its response is checked.
  Recorded run_rows(BackendScratch& scratch, size_t rows, float first) {
    const Recorded before = recorded();
    std::vector<float> values(rows), expected(rows);
    for (size_t i = 0; i < rows; ++i) {
      values[i] = first + static_cast<float>(i);
      expected[i] = values[i] / 2 + 3;
    }
    const TestTensor<float> x(DType::Fp32, {static_cast<int64_t>(rows)}, values);
    const Status status = run(*model_, scratch, {x.view()});
    EXPECT_TRUE(status.ok()) << status.error().message;
    if (status.ok()) EXPECT_EQ(values_of<float>(scratch.outputs()[0]), expected);
    scratch.release_outputs();
    const Recorded after = recorded();
    return {after.recordings - before.recordings, after.replays - before.replays};
  }
  void expect(const Recorded& got, uint64_t recordings, uint64_t replays) {
    EXPECT_EQ(got.recordings, recordings);
    EXPECT_EQ(got.replays, replays);
  }

  std::shared_ptr<BackendModel> model_;
};

TEST_F(OnGraphs, AreRecordedAtLoadAndReplayedFromThenOn) {
  const Recorded before = recorded();
  load_with({1, 4});
  EXPECT_EQ(recorded().recordings - before.recordings, 2u);
  EXPECT_EQ(model_->info().device_runs.graph_rows, (std::vector<uint32_t>{1, 4}));
  const auto scratch = model_->make_scratch();  // the first instance has those
  EXPECT_EQ(recorded().recordings - before.recordings, 2u);
  const auto second = model_->make_scratch();
  EXPECT_EQ(recorded().recordings - before.recordings, 4u);
  for (int i = 0; i < 5; ++i) {
    expect(run_rows(*scratch, 1, 10.0f * i), 0, 1);
    expect(run_rows(*scratch, 4, 100.0f * i), 0, 1);
    expect(run_rows(*scratch, 3, 7.0f * i), 0, 0);  // three rows have no graph
  }
}

TEST_F(OnGraphs, CopyAndAllocateNoMoreThanPlainRuns) {
  load_with({4});
  const auto scratch = model_->make_scratch();
  run_rows(*scratch, 4, 1);
  const FakeCuda& cuda = FakeCuda::get();
  const uint64_t to = cuda.calls("to device"), from = cuda.calls("from device");
  const uint64_t memory = cuda.calls("cudaMalloc") + cuda.calls("cudaHostAlloc");
  for (int i = 0; i < 10; ++i) run_rows(*scratch, 4, static_cast<float>(i));
  EXPECT_EQ(cuda.calls("to device") - to, 10u);
  EXPECT_EQ(cuda.calls("from device") - from, 10u);
  EXPECT_EQ(cuda.calls("cudaMalloc") + cuda.calls("cudaHostAlloc"), memory);
}

// A batch that was gathered into the scratch's pinned memory is copied to the device from there.
TEST_F(OnGraphs, TakeWhatWasGatheredInPlace) {
  load_with({2});
  const auto scratch = model_->make_scratch();
  for (int i = 0; i < 3; ++i) {
    auto* place = reinterpret_cast<float*>(scratch->input_place(0, 2 * sizeof(float)));
    ASSERT_NE(place, nullptr);
    place[0] = static_cast<float>(i);
    place[1] = -2;
    TensorView view;
    view.dtype = DType::Fp32;
    const int64_t dims[] = {2};
    view.shape = Shape(dims);
    view.data = reinterpret_cast<const uint8_t*>(place);
    view.bytes = 2 * sizeof(float);
    ASSERT_TRUE(run(*model_, *scratch, {view}).ok());
    EXPECT_EQ(values_of<float>(scratch->outputs()[0]),
              (std::vector<float>{static_cast<float>(i) / 2 + 3, 2}));
    scratch->release_outputs();
  }
}

TEST_F(OnGraphs, OfAModelWithoutABatchHaveAnyShape) {
  load_with({0});
  const auto scratch = model_->make_scratch();
  // the first run at this size determines the outputs' sizes
  expect(run_rows(*scratch, 5, 1), 0, 0);
  expect(run_rows(*scratch, 5, 2), 1, 0);
  expect(run_rows(*scratch, 5, 3), 0, 1);
  expect(run_rows(*scratch, 2, 3), 0, 0);
  expect(run_rows(*scratch, 5, 4), 0, 1);
  // The number of graphs is limited, which bounds device memory.
  for (size_t rows = 10; rows < 10 + 2 * ort::kGraphsMax; ++rows) {
    for (int i = 0; i < 3; ++i) run_rows(*scratch, rows, 1);
  }
  expect(run_rows(*scratch, 10 + ort::kGraphsMax, 1), 0, 0);
}

// Each instance has its own memory and so its own graph; the session runs one at a time.
TEST_F(OnGraphs, OfManyThreadsAreTheirOwn) {
  load_with({1, 2, 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const auto own = model_->make_scratch();
      for (int i = 0; i < 60; ++i) {
        const size_t rows = 1 + static_cast<size_t>(t + i) % 4;
        std::vector<float> values(rows, static_cast<float>(t * 1000 + i));
        const TestTensor<float> x(DType::Fp32, {static_cast<int64_t>(rows)}, values);
        const Status status = run(*model_, *own, {x.view()});
        ASSERT_TRUE(status.ok()) << status.error().message;
        EXPECT_EQ(values_of<float>(own->outputs()[0]), std::vector<float>(rows, values[0] / 2 + 3));
        own->release_outputs();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A failed copy discards the graph; the next run uses no graph and is complete.
TEST_F(OnGraphs, OneThatFailsIsForgotten) {
  load_with({2});
  const auto scratch = model_->make_scratch();
  expect(run_rows(*scratch, 2, 1), 0, 1);
  FakeCuda::get().fail_copy(700);
  expect(run_rows(*scratch, 2, 1), 0, 0);
  expect(run_rows(*scratch, 2, 5), 1, 0);
  expect(run_rows(*scratch, 2, 6), 0, 1);
}

TEST_F(OnGraphs, AreNotMadeOfOutputsWhoseShapesAreTheRuntimes) {
  onnx::Model graph;
  graph.input("x", kGraphFloat, Dims{"n"}).output("y", kGraphFloat, Dims{"m"});
  graph.node("Cast", {"x"}, {"b"}, {onnx::attribute("to", int64_t{9})})
      .node("Compress", {"x", "b"}, {"y"});
  load_with({3}, graph);
  const Recorded before = recorded();
  const auto scratch = model_->make_scratch();
  for (int i = 0; i < 4; ++i) {
    const TestTensor<float> x(DType::Fp32, {3}, {1, static_cast<float>(i % 2), 2});
    ASSERT_TRUE(run(*model_, *scratch, {x.view()}).ok());
    EXPECT_EQ(scratch->outputs()[0].shape[0], 2 + i % 2);
    scratch->release_outputs();
  }
  EXPECT_EQ(recorded().recordings, before.recordings);
}

// The outputs' shapes differ from the declared ones: no graph is made, and every response is
// complete.
TEST_F(OnGraphs, OfAModelThatBreaksItsShapesAreGivenUp) {
  onnx::Model graph;
  graph.input("x", kGraphFloat, Dims{"n"}).output("y", kGraphFloat, Dims{"n"});
  graph.node("Cast", {"x"}, {"b"}, {onnx::attribute("to", int64_t{9})})
      .node("Compress", {"x", "b"}, {"y"});
  load_with({3}, graph);
  const auto scratch = model_->make_scratch();
  for (int i = 0; i < 6; ++i) {
    const TestTensor<float> x(DType::Fp32, {3}, {1, static_cast<float>(i % 2), 2});
    const Status status = run(*model_, *scratch, {x.view()});
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(scratch->outputs()[0].shape[0], 2 + i % 2);
    scratch->release_outputs();
  }
}

// Holds another thread of the process in a recording, in CUDA's global mode, as the runtime does
// it.
class WhileOneRecords {
 public:
  WhileOneRecords() {
    thread_ = std::thread([this] {
      FakeCuda::get().begin_recording();
      begun_.set_value();
      done_.get_future().wait();
      status_ = FakeCuda::get().end_recording();
    });
    begun_.get_future().wait();
  }
  // Returns 0 when the graph is complete.
  int end() {
    done_.set_value();
    thread_.join();
    return status_;
  }

 private:
  std::promise<void> begun_, done_;
  int status_ = 0;
  std::thread thread_;
};

TEST_F(OnGraphs, BeingRecordedDoesNotDisturbLoadsAndRunsOfOtherModels) {
  WhileOneRecords recording;
  load_with({});
  const auto scratch = model_->make_scratch();
  for (size_t rows = 1; rows < 5; ++rows) run_rows(*scratch, rows, 2);
  EXPECT_EQ(recording.end(), 0) << "a load or a run spoilt the graph";
}

TEST_F(OnGraphs, BeingRecordedDoesNotDisturbOtherRecordings) {
  WhileOneRecords recording;
  const Recorded before = recorded();
  load_with({2});
  EXPECT_EQ(recorded().recordings - before.recordings, 1u);
  EXPECT_EQ(recording.end(), 0);
}

// Another library of the process may record in ways that ours does not know about.
TEST_F(OnGraphs, LoadsAndRunsThatMeetARecordingAreTriedOnceMore) {
  FakeCuda::get().meet_recording(1);
  load_with({});
  const auto scratch = model_->make_scratch();
  run_rows(*scratch, 3, 1);
  FakeCuda::get().meet_recording(1);
  run_rows(*scratch, 3, 2);
  FakeCuda::get().meet_recording(2);
  const TestTensor<float> x(DType::Fp32, {3}, {1, 2, 3});
  const Status status = run(*model_, *scratch, {x.view()});
  FakeCuda::get().meet_recording(0);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("CUDA failure 900"), std::string::npos);
  EXPECT_EQ(gpu::lasting_fault(*gpu::open_cuda().value(), 0), "");
  run_rows(*scratch, 3, 3);
}

}  // namespace
}  // namespace serval
