// How a model on a GPU is fed: tensors go through pinned memory of the host to memory of the device
// that is kept from run to run, and the session runs on that (an I/O binding). Hot path; any
// thread, each with its own scratch.
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
  // The device of the first GPU provider. nullptr: none of NVIDIA's, or CUDA's runtime library is
  // not there: the runtime then copies by itself.
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

  // Memory of the device for the elements of `like`, as a value of its type and shape: at `there`,
  // or, where that is null, in `device`. Errors: CUDA's; the runtime's.
  Status shape_to(const OrtRuntime& runtime, const GpuDevice& on, const TensorView& like,
                  void* there, const std::string& what);

  // Whether its latest shape was this one.
  bool has_shape(const Shape& shape) const { return value.get() != nullptr && shape_ == shape; }

  gpu::HostBlock host;
  gpu::DeviceBlock device;
  ValueHandle value;

 private:
  Shape shape_;
  void* place_ = nullptr;  // of the value
};

// Where an output of a run is: on the host, in memory that is kept for it, in memory that a client
// shares (as it was asked for), or in what the runtime took of the device.
enum class OutputSide : uint8_t { Host, Kept, Shared, Runtimes };

// Memory and binding of one scratch. One thread at a time.
class GpuIo {
 public:
  // `own_only`: the session is given no memory but what is kept here (a recorded run reads and
  // writes the same addresses each time); what clients share is copied on the device.
  GpuIo(const OrtRuntime& runtime, const GpuDevice& device, OrtSession* session, size_t inputs,
        bool own_only = false);
  ~GpuIo();
  GpuIo(const GpuIo&) = delete;
  GpuIo& operator=(const GpuIo&) = delete;

  // See BackendScratch::input_place.
  uint8_t* input_place(size_t index, size_t bytes);
  // Makes the device this thread's. Errors: CUDA's; what went wrong when this was made.
  Status begin();
  // Whether each input of this run has the shape that it had in the run before.
  bool same_shapes() const { return same_shapes_; }
  // Starts copying an input; one that is in its place already, or in that of `other`, is copied
  // once. One that lies on the device stays where it is, or is copied there.
  Status send(size_t index, const TensorView& view, const std::string& name, GpuIo* other);
  // Waits for the inputs, and binds them. Errors: CUDA's, the runtime's.
  Status bind_inputs(std::span<const char* const> names);
  // Binds one output: to memory of the device, where `like` has its type and shape, else to what
  // the runtime makes of it: on the device where it is wanted there (`place`), else on the host.
  Status bind_output(size_t position, const char* name, const TensorView* like,
                     const OutputPlace& place);
  OrtStatus* run(OrtSession* session, const OrtRunOptions* options);
  // The values of all outputs, in the order of binding, owned by the caller.
  Status take_outputs(std::span<OrtValue*> values);
  // Starts copying an output that is on the device to its place, or to the host; `value`: what the
  // runtime answered with. `view` has its type, shape and size, and says afterwards where it is.
  Status fetch(size_t position, OrtValue* value, const OutputPlace& place, TensorView& view);
  // Waits for the outputs.
  Status finish();
  // Forgets which outputs are bound.
  void clear_outputs();
  OutputSide side(size_t position) const { return sides_[position]; }

 private:
  Status wait(const char* what);
  Status copy(void* to, const void* from, size_t bytes, gpu::CudaCopy kind,
              const std::string& what);
  Status send_host(size_t index, const TensorView& view, GpuIo* other);
  void* input_there(const TensorView& view);
  void* output_there(const TensorView& like, const OutputPlace& place);
  bool has_in_place(size_t index, const uint8_t* data) {
    gpu::HostBlock& host = inputs_[index].host;
    return host.data() == data && host.pinned();
  }

  const OrtRuntime& runtime_;
  const OrtApi& api_;
  const GpuDevice& device_;
  const bool own_only_;
  BindingHandle binding_;
  gpu::CudaStream stream_ = nullptr;
  Status made_;
  std::vector<GpuTensor> inputs_, outputs_;
  std::vector<OutputSide> sides_;                 // per output
  std::vector<std::span<const uint8_t>> shared_;  // addresses that this run is given of clients
  bool same_shapes_ = false;
};

// How much of a device's memory is gone since this was made. Other loads meanwhile count too. One
// thread at a time.
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
