// Feeds a model on a GPU: tensors go through pinned host memory to device memory that is kept
// between runs, and the session runs on that (an I/O binding). Hot path; any thread, each with its
// own scratch.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/library.h"
#include "base/model_spec.h"
#include "base/shape.h"
#include "base/tensor.h"
#include "gpu/pinned_pool.h"
#include "gpu/shared_memory.h"

namespace serval::ort {

using MemoryInfoHandle = OrtHandle<OrtMemoryInfo, &OrtApi::ReleaseMemoryInfo>;
using BindingHandle = OrtHandle<OrtIoBinding, &OrtApi::ReleaseIoBinding>;

// The device of one session. Immutable; outlives its GpuIos.
class GpuDevice {
 public:
  // The device of the first GPU provider. nullptr: it is not NVIDIA's, or CUDA's runtime library is
  // missing: the runtime then copies by itself.
  static std::unique_ptr<GpuDevice> of(const OrtRuntime& runtime,
                                       std::span<const Provider> providers);
  explicit GpuDevice(const OrtApi* api) : memory(api) {}

  const gpu::CudaCalls* calls = nullptr;
  int device = 0;
  MemoryInfoHandle memory;  // of the device
  std::string name;         // "GPU 0"
};

// One tensor's memory on both sides, and the runtime's value over the device's.
class GpuTensor {
 public:
  GpuTensor(const OrtApi& api, const gpu::CudaCalls& calls)
      : host(calls), device(calls), value(&api) {}

  // Prepares device memory for the elements of `like`, as a value of its type and shape: at
  // `there`, or, if that is null, in `device`. Errors: CUDA's; the runtime's.
  Status shape_to(const OrtRuntime& runtime, const GpuDevice& on, const TensorView& like,
                  void* there, const std::string& what);

  // Whether it was last prepared for this shape.
  bool has_shape(const Shape& shape) const { return value.get() != nullptr && shape_ == shape; }

  gpu::HostBlock host;
  gpu::DeviceBlock device;
  ValueHandle value;

 private:
  Shape shape_;
  void* place_ = nullptr;  // of the value
};

// The location of a run's output: on the host, in kept device memory, in a client's shared memory
// (as requested), or in device memory that the runtime allocated.
enum class OutputSide : uint8_t { Host, Kept, Shared, Runtimes };

// Memory and binding of one scratch. One thread at a time.
class GpuIo {
 public:
  // `own_only`: the session only uses memory that is kept here (a recorded run uses the same
  // addresses each time); shared client memory is copied on the device.
  GpuIo(const OrtRuntime& runtime, const GpuDevice& device, OrtSession* session, size_t inputs,
        bool own_only = false);
  ~GpuIo();
  GpuIo(const GpuIo&) = delete;
  GpuIo& operator=(const GpuIo&) = delete;

  // See BackendScratch::input_place.
  uint8_t* input_place(size_t index, size_t bytes);
  // Makes the device current on this thread. Errors: CUDA's; any failure of the constructor.
  Status begin();
  // Whether each input of this run has the same shape as in the previous run.
  bool same_shapes() const { return same_shapes_; }
  // Starts copying an input: from where it is if that is pinned memory, which stays unchanged until
  // bind_inputs() or settle() returns; else through its place. One on the device is used in place,
  // or copied there.
  Status send(size_t index, const TensorView& view, const std::string& name);
  // Waits for the inputs, and binds them. Errors: CUDA's, the runtime's.
  Status bind_inputs(std::span<const char* const> names);
  // Binds one output: to device memory if `like` has its type and shape, otherwise to memory from
  // the runtime: on the device if `place` asks for it, else on the host.
  Status bind_output(size_t position, const char* name, const TensorView* like,
                     const OutputPlace& place);
  OrtStatus* run(OrtSession* session, const OrtRunOptions* options);
  // Returns the values of all outputs, in the order of binding; the caller owns them.
  Status take_outputs(std::span<OrtValue*> values);
  // Starts copying an output that is on the device to its place, or to the host; `value`: the
  // runtime's output value. `view` has its type, shape and size, and receives its location.
  Status fetch(size_t position, OrtValue* value, const OutputPlace& place, TensorView& view);
  // Waits for the outputs.
  Status finish();
  // Waits for the copies of a run that failed: the owners of their memory use it again.
  void settle();
  // Unbinds all outputs.
  void clear_outputs();
  OutputSide side(size_t position) const { return sides_[position]; }

 private:
  Status wait(const char* what);
  Status copy(void* to, const void* from, size_t bytes, gpu::CudaCopy kind,
              const std::string& what);
  Status send_host(size_t index, const TensorView& view);
  void* input_there(const TensorView& view);
  void* output_there(const TensorView& like, const OutputPlace& place);

  const OrtRuntime& runtime_;
  const OrtApi& api_;
  const GpuDevice& device_;
  const bool own_only_;
  BindingHandle binding_;
  gpu::CudaStream stream_ = nullptr;
  Status made_;
  std::vector<GpuTensor> inputs_, outputs_;
  std::vector<OutputSide> sides_;                 // per output
  std::vector<std::span<const uint8_t>> shared_;  // client memory that this run uses
  bool same_shapes_ = false;
};

// Measures how much device memory was consumed since it was made. Includes other loads at the same
// time. One thread at a time.
class DeviceMemory {
 public:
  // `gpu`: null = none; outlives this.
  explicit DeviceMemory(const GpuDevice* gpu) : gpu_(gpu), before_(free_bytes()) {}
  int64_t taken() const { return std::max<int64_t>(0, before_ - free_bytes()); }

 private:
  int64_t free_bytes() const {
    size_t free = 0, total = 0;
    if (gpu_ == nullptr || gpu::use_device(*gpu_->calls, gpu_->device) != 0) return 0;
    return gpu_->calls->memory_info(&free, &total) == 0 ? static_cast<int64_t>(free) : 0;
  }

  const GpuDevice* const gpu_;
  const int64_t before_;
};

}  // namespace serval::ort
