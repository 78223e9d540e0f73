// See gpu_io.h. Hot path, any thread.
#include "backend/onnxruntime/gpu_io.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "backend/onnxruntime/gpu_libraries.h"
#include "backend/onnxruntime/signature.h"

namespace serval::ort {

namespace {

constexpr ErrorCode kFailed = ErrorCode::BackendFailed;
constexpr unsigned kBesideOthers = 1;  // cudaStreamNonBlocking

bool is_nvidia(const Provider& provider) {
  return provider.name == "cuda" || provider.name == "tensorrt";
}

// Of its option; 0 where it has none, or no number.
int device_of(const Provider& provider) {
  int device = 0;
  for (const auto& [key, value] : provider.options) {
    if (key == "device_id") std::from_chars(value.data(), value.data() + value.size(), device);
  }
  return device;
}

}  // namespace

std::unique_ptr<GpuDevice> GpuDevice::of(const OrtRuntime& runtime,
                                         std::span<const Provider> providers) {
  const auto found = std::find_if(providers.begin(), providers.end(), is_nvidia);
  if (found == providers.end()) return nullptr;
  open_gpu_libraries(runtime.path, false);
  Result<const gpu::CudaCalls*> calls = gpu::open_cuda();
  if (!calls.ok()) return nullptr;
  const OrtApi& api = *runtime.api;
  auto device = std::make_unique<GpuDevice>(&api);
  device->calls = calls.value();
  device->device = device_of(*found);
  device->name = "GPU " + std::to_string(device->device);
  OrtStatus* failed = api.CreateMemoryInfo("Cuda", OrtDeviceAllocator, device->device,
                                           OrtMemTypeDefault, device->memory.out());
  if (failed == nullptr) return device;
  drop_status(api, failed);
  return nullptr;
}

Status GpuTensor::shape_to(const OrtRuntime& runtime, const GpuDevice& on, DType dtype,
                           const Shape& shape, size_t bytes, const std::string& what) {
  if (Status grown = device.grow(bytes, what); !grown.ok()) return grown;
  if (value.get() != nullptr && place_ == device.data() && shape_ == shape) return ok_status();
  place_ = nullptr;
  OrtStatus* failed = runtime.api->CreateTensorWithDataAsOrtValue(
      on.memory.get(), device.data(), bytes, shape.dims().data(), shape.rank(),
      element_type_of(dtype), value.out());
  if (failed != nullptr) return take_error(*runtime.api, failed, kFailed, what);
  place_ = device.data();
  shape_ = shape;
  return ok_status();
}

GpuIo::GpuIo(const OrtRuntime& runtime, const GpuDevice& device, OrtSession* session, size_t inputs)
    : runtime_(runtime), api_(*runtime.api), device_(device), binding_(&api_) {
  for (size_t i = 0; i < inputs; ++i) inputs_.emplace_back(api_, *device.calls);
  OrtStatus* failed = api_.CreateIoBinding(session, binding_.out());
  if (failed != nullptr) made_ = take_error(api_, failed, kFailed, device.name);
  if (made_.ok()) made_ = begin();
  if (!made_.ok()) return;
  const gpu::CudaStatus status = device.calls->create_stream(&stream_, kBesideOthers);
  if (status != 0) made_ = cuda_error(*device.calls, status, device.name + ": a stream");
}

// Blocks are freed behind this: with the device still current.
GpuIo::~GpuIo() {
  device_.calls->set_device(device_.device);
  if (stream_ != nullptr) device_.calls->destroy_stream(stream_);
}

uint8_t* GpuIo::input_place(size_t index, size_t bytes) {
  return index < inputs_.size() ? inputs_[index].host.grow(bytes) : nullptr;
}

Status GpuIo::begin() {
  if (!made_.ok()) return make_error(made_.error().code, made_.error().message);
  same_shapes_ = true;
  const gpu::CudaStatus status = device_.calls->set_device(device_.device);
  if (status == 0) return ok_status();
  return cuda_error(*device_.calls, status, device_.name);
}

// Ordinary memory would be copied by the driver, in pieces and with this thread waiting.
Status GpuIo::send(size_t index, const TensorView& view, const std::string& name, GpuIo* other) {
  GpuTensor& tensor = inputs_[index];
  same_shapes_ &= tensor.has_shape(view.shape);
  Status shaped =
      tensor.shape_to(runtime_, device_, view.dtype, view.shape, view.bytes, device_.name);
  if (!shaped.ok()) {
    shaped.error().message = "input \"" + name + "\": " + shaped.error().message;
    return shaped;
  }
  if (view.bytes == 0) return ok_status();
  const uint8_t* from = view.data;
  uint8_t* const place = tensor.host.data();
  const bool stands = other != nullptr && other != this && other->has_in_place(index, from);
  if (!stands && (from != place || place == nullptr)) {
    uint8_t* const own = tensor.host.grow(view.bytes);
    if (own != nullptr && tensor.host.pinned()) {
      std::memcpy(own, from, view.bytes);
      from = own;
    }
  }
  const gpu::CudaStatus status = device_.calls->copy_async(
      tensor.device.data(), from, view.bytes, static_cast<int>(gpu::CudaCopy::ToDevice), stream_);
  if (status == 0) return ok_status();
  return cuda_error(*device_.calls, status, "input \"" + name + "\": copy to " + device_.name);
}

Status GpuIo::wait(const char* what) {
  const gpu::CudaStatus status = device_.calls->wait_stream(stream_);
  if (status == 0) return ok_status();
  return cuda_error(*device_.calls, status, device_.name + ": " + what);
}

// Bound with each run, when the bytes are there: an input that an operator on the CPU reads is
// copied back by the runtime when it is bound.
Status GpuIo::bind_inputs(std::span<const char* const> names) {
  if (Status done = wait("inputs"); !done.ok()) return done;
  for (size_t i = 0; i < names.size(); ++i) {
    OrtStatus* failed = api_.BindInput(binding_.get(), names[i], inputs_[i].value.get());
    if (failed == nullptr) continue;
    return take_error(api_, failed, kFailed, std::string("input \"") + names[i] + "\"");
  }
  return ok_status();
}

void GpuIo::clear_outputs() {
  if (binding_.get() != nullptr) api_.ClearBoundOutputs(binding_.get());
}

// Bound with each run: the runtime would take what it answered with for memory to write into.
Status GpuIo::bind_output(size_t position, const char* name, const TensorView* like) {
  while (outputs_.size() <= position) outputs_.emplace_back(api_, *device_.calls);
  if (on_device_.size() <= position) on_device_.resize(position + 1);
  on_device_[position] = like != nullptr ? 1 : 0;
  OrtStatus* failed = nullptr;
  if (like == nullptr) {
    failed = api_.BindOutputToDevice(binding_.get(), name, runtime_.cpu_memory);
  } else {
    GpuTensor& tensor = outputs_[position];
    Status shaped =
        tensor.shape_to(runtime_, device_, like->dtype, like->shape, like->bytes, device_.name);
    if (!shaped.ok()) return shaped;
    failed = api_.BindOutput(binding_.get(), name, tensor.value.get());
  }
  if (failed == nullptr) return ok_status();
  return take_error(api_, failed, kFailed, std::string("output \"") + name + "\"");
}

OrtStatus* GpuIo::run(OrtSession* session, const OrtRunOptions* options) {
  return api_.RunWithBinding(session, options, binding_.get());
}

Status GpuIo::take_outputs(std::span<OrtValue*> values) {
  OrtValue** list = nullptr;
  size_t count = 0;
  OrtStatus* failed = api_.GetBoundOutputValues(binding_.get(), runtime_.allocator, &list, &count);
  if (failed != nullptr) return take_error(api_, failed, kFailed, "outputs");
  for (size_t i = 0; i < count; ++i) {
    if (i < values.size()) values[i] = list[i];
    else api_.ReleaseValue(list[i]);
  }
  if (list != nullptr) drop_status(api_, api_.AllocatorFree(runtime_.allocator, list));
  if (count == values.size()) return ok_status();
  return make_error(kFailed, "expected " + std::to_string(values.size()) + " outputs, got " +
                                 std::to_string(count));
}

// Where the graph hands an input through, the value is another one than was bound.
Status GpuIo::fetch(size_t position, OrtValue* value, TensorView& view) {
  GpuTensor& tensor = outputs_[position];
  uint8_t* const host = tensor.host.grow(view.bytes);
  if (host == nullptr) return make_error(ErrorCode::MemoryFull, "no memory for an output");
  view.data = host;
  if (view.bytes == 0) return ok_status();
  void* from = nullptr;
  OrtStatus* failed = api_.GetTensorMutableData(value, &from);
  if (failed != nullptr) return take_error(api_, failed, kFailed, "no bytes");
  const gpu::CudaStatus status = device_.calls->copy_async(
      host, from, view.bytes, static_cast<int>(gpu::CudaCopy::Default), stream_);
  if (status == 0) return ok_status();
  return cuda_error(*device_.calls, status, "copy from " + device_.name);
}

Status GpuIo::finish() { return wait("outputs"); }

}  // namespace serval::ort
