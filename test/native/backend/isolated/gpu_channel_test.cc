// Requests through a channel to a model on a fake GPU (test/e2e/gpu). Tensors in device memory that
// a client shares cross as handles; tensors in host memory are placed where the GPU copies from.
// Both ends run in one process.
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "backend/onnxruntime/on_gpu.h"
#include "gpu/cuda_client.h"
#include "support.h"

namespace serval::isolated {
namespace {

class GpuChannel : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    path_ = directory_.write("model.onnx", onnx::half_plus_three().to_bytes());
    process_ = process_of([this](int socket, int event, int) { serve_gpu(socket, event); });
    const std::string mode = "gpu";
    auto loaded = load_isolated(process_, source(mode), nullptr);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    model_ = loaded.value();
    scratch_ = model_->make_scratch();
    gpu::on_shared_memory_closed([](uint64_t id) { closed().note(id); });
  }
  void TearDown() override {
    scratch_.reset();
    model_.reset();
    process_.reset();
    gpu::on_shared_memory_closed(nullptr);
    closed().take();
  }
  // Regions that either end closed.
  struct Closed {
    std::mutex mutex;
    std::vector<uint64_t> ids;  // guarded by mutex
    void note(uint64_t id) {
      const std::lock_guard lock(mutex);
      ids.push_back(id);
    }
    std::vector<uint64_t> take() {
      const std::lock_guard lock(mutex);
      return std::exchange(ids, {});
    }
  };
  static Closed& closed() {
    static Closed one;
    return one;
  }
  void serve_gpu(int socket, int cancel_event) {
    ServeOptions options;
    options.socket = socket;
    options.cancel_event = cancel_event;
    options.is_process = false;
    options.parse = [this](std::span<const uint8_t>) -> Result<ModelSpec> {
      ModelSpec spec;
      spec.path = path_;
      spec.providers.push_back({"cuda", {{"device_id", "0"}}});
      return spec;
    };
    options.backend = [this](const std::string&) { return backend_.get(); };
    isolated::serve(options);
  }
  static uint64_t calls(const char* name) { return FakeCuda::get().calls(name); }
  // Reads the floats of the response, wherever they are.
  Status run_once(const TensorView& input, const OutputPlace& place = {}) {
    const uint32_t all[] = {0};
    RunOptions options;
    const OutputPlace places[] = {place};
    if (place.memory != nullptr) options.places = places;
    return model_->run(0, {&input, 1}, all, *scratch_, options);
  }

  std::string path_;
  std::shared_ptr<ModelProcess> process_;
};

TensorView floats_at(const gpu::SharedMemory& memory, uint64_t offset, size_t count) {
  const int64_t dims[] = {static_cast<int64_t>(count)};
  TensorView view{DType::Fp32, Shape(dims), memory.data() + offset, count * sizeof(float), {}};
  view.device = &memory;
  return view;
}

TEST_F(GpuChannel, DeviceMemoryCrossesByName) {
  EXPECT_TRUE(model_->info().takes_device_memory);
  const CudaClient client(4096);
  auto memory = client.open();
  const uint64_t opened = calls("cudaIpcOpenMemHandle");
  for (int i = 0; i < 5; ++i) {
    const auto value = static_cast<float>(i);
    put<float>(*memory, 0, {value, 10});
    const uint64_t host = calls("to device") + calls("from device");
    const Status done = run_once(floats_at(*memory, 0, 2), {memory.get(), 512, 8});
    ASSERT_TRUE(done.ok()) << done.error().message;
    if (i > 0) EXPECT_EQ(calls("to device") + calls("from device"), host);
    const TensorView& y = scratch_->outputs()[0];
    EXPECT_EQ(y.device, memory.get());
    EXPECT_EQ(y.data, memory->data() + 512);
    EXPECT_EQ(y.bytes, 8u);
    EXPECT_EQ(get<float>(*memory, 512, 2), (std::vector<float>{value / 2 + 3, 8}));
    scratch_->release_outputs();
  }
  EXPECT_EQ(calls("cudaIpcOpenMemHandle"), opened + 1);  // opened by the other end
  // The other end is notified and closes the region, too.
  const uint64_t closes = calls("cudaIpcCloseMemHandle");
  const uint64_t id = memory->id();
  memory.reset();
  ASSERT_EQ(closed().take(), std::vector<uint64_t>{id});
  EXPECT_EQ(calls("cudaIpcCloseMemHandle"), closes + 1);
  process_->forget_memory(id);
  while (calls("cudaIpcCloseMemHandle") < closes + 2) std::this_thread::yield();
}

TEST_F(GpuChannel, WhatDoesNotFitComesBackInTheAnswer) {
  const CudaClient client(4096);
  const auto memory = client.open();
  put<float>(*memory, 0, {2, 4});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run_once(floats_at(*memory, 0, 2), {memory.get(), 512, 7}).ok());
    EXPECT_EQ(scratch_->outputs()[0].device, nullptr);
    EXPECT_EQ(values_of<float>(scratch_->outputs()[0]), (std::vector<float>{4, 5}));
    scratch_->release_outputs();
  }
}

// Memory that its owner has released is the run's error, and the process continues.
TEST_F(GpuChannel, AHandleThatTheOtherEndCannotOpenIsTheRequestsError) {
  auto client = std::make_unique<CudaClient>(4096);
  const auto memory = client->open();
  FakeCuda::get().refuse_handles(1);
  const Status done = run_once(floats_at(*memory, 0, 2));
  FakeCuda::get().refuse_handles(0);
  ASSERT_FALSE(done.ok());
  EXPECT_TRUE(done.error().message.starts_with(
      "the model's process cannot use the client's CUDA shared memory: GPU 0: the handle: "))
      << done.error().message;
  EXPECT_TRUE(run_once(floats_at(*memory, 0, 2)).ok());
}

// The second request's bytes are copied to the GPU from where the server wrote them.
TEST_F(GpuChannel, WhatIsHandedOverIsPinnedWhereItLies) {
  std::vector<float> values;
  const auto send = [&](size_t count) {
    values.assign(count, 2);
    const int64_t dims[] = {static_cast<int64_t>(count)};
    const TensorView view{DType::Fp32,
                          Shape(dims),
                          reinterpret_cast<uint8_t*>(values.data()),
                          count * sizeof(float),
                          {}};
    const Status done = run_once(view);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(values_of<float>(scratch_->outputs()[0]), std::vector<float>(count, 4));
    scratch_->release_outputs();
  };
  const uint64_t pins = calls("cudaHostRegister"), unpins = calls("cudaHostUnregister");
  send(2);
  EXPECT_EQ(calls("cudaHostRegister"), pins + 1);
  const uint64_t from_pinned = calls("to device of pinned");
  for (int i = 0; i < 4; ++i) send(2);
  EXPECT_EQ(calls("cudaHostRegister"), pins + 1);
  EXPECT_EQ(calls("to device of pinned"), from_pinned + 4);
  // A larger request: the area is mapped again, and pinned again after the run.
  send(100'000);
  EXPECT_EQ(calls("cudaHostUnregister"), unpins + 1);
  EXPECT_EQ(calls("cudaHostRegister"), pins + 2);
  send(100'000);
  send(3);
  EXPECT_EQ(calls("to device of pinned"), from_pinned + 6);
  scratch_.reset();
  while (calls("cudaHostUnregister") < unpins + 2) std::this_thread::yield();
}

}  // namespace
}  // namespace serval::isolated
