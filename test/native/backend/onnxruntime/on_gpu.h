// A model on a fake GPU (test/e2e/gpu), and counts of the copies of its runs. Test code.
#pragma once

#include <cstdlib>

#include "gpu/fake_cuda.h"
#include "support/onnxruntime_fixture.h"

namespace serval {

struct Counts {
  uint64_t to = 0, from = 0, within = 0, allocations = 0;
};

class OnGpu : public OnnxRuntimeTest {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ONNXRUNTIME();
    FakeCuda::get();
    setenv("FAKE_ORT_REAL", onnxruntime_library().c_str(), 1);
    backend_ = make_onnxruntime_backend(FAKE_GPU_RUNTIME, 2);
  }
  void load_on_gpu(const onnx::Model& graph, const char* device = "1") {
    ModelSpec spec;
    spec.providers.push_back({"cuda", {{"device_id", device}}});
    scratch_.reset();
    model_ = load(graph, spec);
    ASSERT_NE(model_, nullptr);
    EXPECT_TRUE(model_->info().on_gpu);
    scratch_ = model_->make_scratch();
  }
  std::vector<float> answer(const std::vector<TensorView>& inputs) {
    const Counts before = counts();
    const Status status = run(*model_, *scratch_, inputs);
    EXPECT_TRUE(status.ok()) << status.error().message;
    latest_ = counts();
    latest_.to -= before.to;
    latest_.from -= before.from;
    latest_.within -= before.within;
    latest_.allocations -= before.allocations;
    if (!status.ok()) return {};
    std::vector<float> values = values_of<float>(scratch_->outputs()[0]);
    scratch_->release_outputs();
    return values;
  }
  static Counts counts() {
    const FakeCuda& cuda = FakeCuda::get();
    return {cuda.calls("to device"), cuda.calls("from device"), cuda.calls("within device"),
            cuda.calls("cudaMalloc") + cuda.calls("cudaHostAlloc") +
                cuda.calls("cudaStreamCreateWithFlags")};
  }

  std::shared_ptr<BackendModel> model_;
  std::unique_ptr<BackendScratch> scratch_;
  Counts latest_;
};

}  // namespace serval
