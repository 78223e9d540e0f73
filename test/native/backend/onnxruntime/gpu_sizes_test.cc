// Models on a fake GPU (test/e2e/gpu) whose operators are planned by shape: which batch sizes have
// a session or a graph, how often shapes are planned, and that answers do not depend on it.
#include <dlfcn.h>

#include <cstdlib>

#include "backend/onnx/device_shapes.h"
#include "gpu/cuda.h"
#include "gpu/fake_cuda.h"
#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;
using Rows = std::vector<uint32_t>;

constexpr int kSizesFloat = 1;

// y[b] = 2 x[b][0] + 1: a convolution of one point, and a sum.
onnx::Model convolution(const Dims& dims = Dims{"n", 1, 2, 2}) {
  onnx::Model model;
  model.initializer<float>("w", kSizesFloat, {1, 1, 1, 1}, {2});
  model.initializer<float>("one", kSizesFloat, {}, {1});
  model.node("Conv", {"x", "w"}, {"c"}).node("Add", {"c", "one"}, {"y"});
  return model.input("x", kSizesFloat, dims).output("y", kSizesFloat, dims);
}

class OnSizes : public OnnxRuntimeTest {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ONNXRUNTIME();
    FakeCuda::get();
    setenv("FAKE_ORT_REAL", onnxruntime_library().c_str(), 1);
    unsetenv("FAKE_ORT_NO_GRAPHS");
    backend_ = make_onnxruntime_backend(FAKE_GPU_RUNTIME, 2);
  }
  static ModelSpec batching(uint32_t rows_max, Rows graphs = {}) {
    ModelSpec spec;
    spec.providers.push_back({"cuda", {{"device_id", "0"}}});
    spec.batch.mode = BatchMode::On;
    spec.batch.rows_max = rows_max;
    spec.graph_rows = std::move(graphs);
    spec.graph_use = GraphUse::Known;
    return spec;
  }
  const DeviceRuns& load_runs(const ModelSpec& spec, const onnx::Model& graph = convolution()) {
    static const DeviceRuns none;
    model_ = load(graph, spec);
    return model_ == nullptr ? none : model_->info().device_runs;
  }
  static uint64_t plans() {
    void* const fake = dlopen(FAKE_GPU_RUNTIME, RTLD_NOW | RTLD_NOLOAD);
    if (fake == nullptr) return 0;
    return reinterpret_cast<uint64_t (*)()>(dlsym(fake, "fake_ort_plans"))();
  }
  // Runs a batch, checks its answer, and returns how often its shape was planned.
  uint64_t planned_by(BackendScratch& scratch, size_t rows, float first) {
    const uint64_t before = plans();
    std::vector<float> values(rows * 4), expected(rows * 4);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = first + static_cast<float>(i);
      expected[i] = 2 * values[i] + 1;
    }
    const TestTensor<float> x(DType::Fp32, {static_cast<int64_t>(rows), 1, 2, 2}, values);
    const Status status = run(*model_, scratch, {x.view()});
    EXPECT_TRUE(status.ok()) << status.error().message;
    if (status.ok()) EXPECT_EQ(values_of<float>(scratch.outputs()[0]), expected);
    scratch.release_outputs();
    return plans() - before;
  }

  std::shared_ptr<BackendModel> model_;
};

TEST_F(OnSizes, EachHasASessionThatPlansOnce) {
  const DeviceRuns& runs = load_runs(batching(16));
  EXPECT_EQ(runs.fixed_rows, (Rows{1, 4, 16}));
  EXPECT_EQ(runs.why, "Conv is planned for each shape");
  EXPECT_TRUE(runs.graph_rows.empty());
  for (int instance = 0; instance < 3; ++instance) {
    const auto scratch = model_->make_scratch();
    for (int i = 0; i < 4; ++i) {
      for (const size_t rows : {1u, 16u, 4u, 1u}) {
        EXPECT_EQ(planned_by(*scratch, rows, static_cast<float>(i)), 0u);
      }
    }
  }
  const auto scratch = model_->make_scratch();
  EXPECT_EQ(planned_by(*scratch, 3, 1), 1u);  // of no fixed size: nobody pads it here
  EXPECT_EQ(planned_by(*scratch, 4, 1), 0u);
}

TEST_F(OnSizes, HaveGraphsInsteadIfAllShapesAreKnown) {
  const DeviceRuns& runs = load_runs(batching(8, {1, 2, 4, 8}));
  EXPECT_EQ(runs.graph_rows, (Rows{1, 2, 4, 8}));
  EXPECT_EQ(runs.fixed_rows, (Rows{1, 2, 4, 8}));
  EXPECT_EQ(runs.why, "");
  EXPECT_GT(runs.graph_bytes, 0);
  const auto scratch = model_->make_scratch();
  for (int i = 0; i < 3; ++i) {
    for (const size_t rows : {1u, 8u, 2u, 4u}) EXPECT_EQ(planned_by(*scratch, rows, 1), 0u);
  }
}

TEST_F(OnSizes, HaveSessionsIfTheRuntimeRefusesGraphs) {
  setenv("FAKE_ORT_NO_GRAPHS", "1", 1);
  const DeviceRuns& runs = load_runs(batching(8, {1, 2, 4, 8}));
  unsetenv("FAKE_ORT_NO_GRAPHS");
  EXPECT_TRUE(runs.graph_rows.empty());
  EXPECT_EQ(runs.fixed_rows, (Rows{1, 4, 8}));
  EXPECT_NE(runs.why.find("no CUDA graphs: "), std::string::npos) << runs.why;
  EXPECT_NE(runs.why.find("graph capture feature"), std::string::npos) << runs.why;
  EXPECT_NE(runs.why.find("; Conv is planned for each shape"), std::string::npos) << runs.why;
}

TEST_F(OnSizes, FailTheLoadIfRequestedGraphsAreRefused) {
  setenv("FAKE_ORT_NO_GRAPHS", "1", 1);
  ModelSpec spec = batching(8, {1, 8});
  spec.graph_use = GraphUse::Required;
  const Result<std::shared_ptr<BackendModel>> loaded = try_load(convolution(), spec);
  unsetenv("FAKE_ORT_NO_GRAPHS");
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("graph capture feature"), std::string::npos);
}

TEST_F(OnSizes, AreNotFixedByGraphsOfOpenShapes) {
  const Dims open{"n", 1, "h", 2};
  const DeviceRuns& runs = load_runs(batching(4, {1, 2, 4}), convolution(open));
  EXPECT_TRUE(runs.graph_rows.empty());
  EXPECT_EQ(runs.fixed_rows, (Rows{1, 4}));
  EXPECT_EQ(runs.why,
            "no CUDA graphs: the shape of input 'x' is not fixed; Conv is planned for each shape");
}

TEST_F(OnSizes, AreThoseOfTheConfiguration) {
  ModelSpec spec = batching(12);
  spec.batch.allowed_rows = {3, 12};
  EXPECT_EQ(load_runs(spec).fixed_rows, (Rows{3, 12}));
  spec = batching(64);
  spec.batch.preferred_rows = {8, 24};
  EXPECT_EQ(load_runs(spec).fixed_rows, (Rows{1, 4, 8, 16, 24, 64}));
  spec.batch.preferred_rows = {2, 3, 5, 6, 7, 9, 10, 11};
  const Rows many = load_runs(spec).fixed_rows;
  EXPECT_EQ(many.size(), 6u);  // each costs a copy of the weights
  EXPECT_EQ(many.front(), 1u);
  EXPECT_EQ(many.back(), 64u);
}

TEST_F(OnSizes, AreAnyIfTheConfigurationSaysSo) {
  ModelSpec spec = batching(16);
  spec.batch.any_rows = true;
  EXPECT_TRUE(load_runs(spec).fixed_rows.empty());
  spec.graph_rows = {1, 16};
  EXPECT_EQ(load_runs(spec).graph_rows, (Rows{1, 16}));
  EXPECT_TRUE(model_->info().device_runs.fixed_rows.empty());
}

TEST_F(OnSizes, AreAnyForModelsWithoutConvolutions) {
  EXPECT_TRUE(load_runs(batching(16), onnx::half_plus_three()).fixed_rows.empty());
  EXPECT_EQ(model_->info().device_runs.why, "");
}

TEST_F(OnSizes, AreAnyWithoutBatching) {
  ModelSpec spec = batching(16);
  spec.batch.mode = BatchMode::Off;
  EXPECT_TRUE(load_runs(spec).fixed_rows.empty());
}

TEST_F(OnSizes, OfLargeInputsHaveNoGraphsThatNobodyRequested) {
  const Dims wide{"n", 1, 1024, 1024};  // 4 MiB a row
  const DeviceRuns& runs = load_runs(batching(64, {1, 2, 16, 32, 64}), convolution(wide));
  EXPECT_EQ(runs.graph_rows, (Rows{1, 2, 16}));
  EXPECT_EQ(runs.fixed_rows, (Rows{1, 2, 16}));  // larger batches are padded to 64, planned once
}

// A graph of an importer, under two names as Keras writes it.
ModelSpec imported(ModelSpec spec) {
  TensorSpec x, y;
  x.name = "image";
  y.name = "scores";
  for (TensorSpec* one : {&x, &y}) {
    one->dtype = DType::Fp32;
    one->dims = {-1, 1, 2, 2};
    one->symbols = {"n", "", "", ""};
  }
  for (const char* name : {"serve", "serving_default"}) {
    GraphSpec& graph = spec.graphs.emplace_back();
    graph.signature.name = name;
    graph.signature.inputs = {x};
    graph.signature.outputs = {y};
    const std::string bytes = convolution().to_bytes();
    graph.model.assign(bytes.begin(), bytes.end());
    graph.input_names = {"x"};
    graph.output_names = {"y"};
  }
  return spec;
}

TEST_F(OnSizes, OfImportedModelsAreTheSame) {
  Result<std::shared_ptr<BackendModel>> loaded = backend_->load(imported(batching(16)));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded.value()->info().device_runs.fixed_rows, (Rows{1, 4, 16}));
  loaded = backend_->load(imported(batching(8, {1, 8})));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  model_ = loaded.value();
  EXPECT_EQ(model_->info().device_runs.graph_rows, (Rows{1, 8}));
  const auto scratch = model_->make_scratch();
  EXPECT_EQ(planned_by(*scratch, 8, 1), 0u);
}

TEST_F(OnSizes, OfImportedModelsAreGatheredIntoPinnedMemory) {
  Result<std::shared_ptr<BackendModel>> loaded = backend_->load(imported(batching(4, {1, 4})));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const auto scratch = loaded.value()->make_scratch();
  auto* const place = reinterpret_cast<float*>(scratch->input_place(0, 4 * sizeof(float)));
  ASSERT_NE(place, nullptr);
  std::fill_n(place, 4, 3.0f);
  const int64_t dims[] = {1, 1, 2, 2};
  TensorView x;
  x.dtype = DType::Fp32;
  x.shape = Shape(dims);
  x.data = reinterpret_cast<const uint8_t*>(place);
  x.bytes = 4 * sizeof(float);
  for (uint32_t signature = 0; signature < 2; ++signature) {
    const TensorView inputs[] = {x};
    const uint32_t outputs[] = {0};
    ASSERT_TRUE(loaded.value()->run(signature, inputs, outputs, *scratch, {}).ok());
    EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>(4, 7.0f));
    scratch->release_outputs();
  }
}

TEST(DeviceShapes, NamesTheFirstInputOfAnOpenShape) {
  const auto shapes_of = [](const onnx::Model& model) {
    return ort::device_shapes(ort::bytes_of(model.to_bytes()));
  };
  EXPECT_EQ(shapes_of(convolution()).planned_op, "Conv");
  EXPECT_EQ(shapes_of(convolution()).open.batch, "x");
  EXPECT_EQ(shapes_of(convolution()).open.inner, "");
  EXPECT_EQ(shapes_of(convolution()).row_bytes, 16u);
  EXPECT_EQ(shapes_of(convolution(Dims{1, 1, "h", 2})).open.inner, "x");
  EXPECT_EQ(shapes_of(convolution(Dims{1, 1, 2, 2})).open.batch, "");
  EXPECT_EQ(shapes_of(onnx::half_plus_three()).planned_op, "");
  EXPECT_EQ(shapes_of(onnx::identity(8)).open.inner, "x");  // text
  const std::string broken = "\x3a\x7f";
  EXPECT_EQ(ort::device_shapes(ort::bytes_of(broken)).planned_op, "");
}

}  // namespace
}  // namespace serval
