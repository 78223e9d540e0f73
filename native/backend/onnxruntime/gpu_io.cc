// Copies tensors between host and device and binds them. Hot path, any thread.
#include "backend/onnxruntime/gpu_io.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "backend/onnxruntime/gpu_libraries.h"
#include "backend/onnxruntime/signature.h"
#include "base/memory/block_cache.h"
#include "gpu/pinned_range.h"

namespace serval::ort {

namespace {

constexpr ErrorCode kIoFailed = ErrorCode::BackendFailed;
constexpr unsigned kBesideOthers = 1;  // cudaStreamNonBlocking
// The alignment of cudaMalloc(), which kernels may rely on.
constexpr size_t kDeviceAlignment = 256;

bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kDeviceAlignment == 0;
}

bool is_nvidia(const Provider& provider) {
  return provider.name == "cuda" || provider.name == "tensorrt";
}

// The provider's device option; 0 if it is missing or not a number.
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

Status GpuTensor::shape_to(const OrtRuntime& runtime, const GpuDevice& on, const TensorView& like,
                           void* there, const std::string& what) {
  if (there == nullptr) {
    if (Status grown = device.grow(like.bytes, what); !grown.ok()) return grown;
    there = device.data();
  }
  if (value.get() != nullptr && place_ == there && shape_ == like.shape) return ok_status();
  place_ = nullptr;
  OrtStatus* failed = runtime.api->CreateTensorWithDataAsOrtValue(
      on.memory.get(), there, like.bytes, like.shape.dims().data(), like.shape.rank(),
      element_type_of(like.dtype), value.out());
  if (failed != nullptr) return take_error(*runtime.api, failed, kIoFailed, what);
  place_ = there;
  shape_ = like.shape;
  return ok_status();
}

GpuIo::GpuIo(const OrtRuntime& runtime, const GpuDevice& device, OrtSession* session, size_t inputs,
             bool own_only)
    : runtime_(runtime), api_(*runtime.api), device_(device), own_only_(own_only), binding_(&api_) {
  for (size_t i = 0; i < inputs; ++i) inputs_.emplace_back(api_, *device.calls);
  OrtStatus* failed = api_.CreateIoBinding(session, binding_.out());
  if (failed != nullptr) made_ = take_error(api_, failed, kIoFailed, device.name);
  if (made_.ok()) made_ = begin();
  if (!made_.ok()) return;
  const gpu::CudaStatus status = device.calls->create_stream(&stream_, kBesideOthers);
  if (status != 0) made_ = cuda_error(*device.calls, status, device.name + ": a stream");
}

// Blocks are freed after this, while the device is still current.
GpuIo::~GpuIo() {
  gpu::use_device(*device_.calls, device_.device);
  if (stream_ != nullptr) device_.calls->destroy_stream(stream_);
}

uint8_t* GpuIo::input_place(size_t index, size_t bytes) {
  return index < inputs_.size() ? inputs_[index].host.grow(bytes) : nullptr;
}

Status GpuIo::begin() {
  if (!made_.ok()) return make_error(made_.error().code, made_.error().message);
  same_shapes_ = true;
  shared_.clear();
  const gpu::CudaStatus status = gpu::use_device(*device_.calls, device_.device);
  if (status == 0) return ok_status();
  return cuda_error(*device_.calls, status, device_.name);
}

Status GpuIo::copy(void* to, const void* from, size_t bytes, gpu::CudaCopy kind,
                   const std::string& what) {
  const gpu::CudaStatus status =
      device_.calls->copy_async(to, from, bytes, static_cast<int>(kind), stream_);
  return status == 0 ? ok_status() : cuda_error(*device_.calls, status, what + device_.name);
}

// The client's memory, if the session may read it directly: not for values that are checked before
// they are used, because the client may write meanwhile.
void* GpuIo::input_there(const TensorView& view) {
  const bool fits = view.device != nullptr && view.device->device() == device_.device &&
                    view.bytes != 0 && dtype_takes_any_bits(view.dtype) && is_aligned(view.data);
  if (!fits || own_only_) return nullptr;
  shared_.emplace_back(view.data, view.bytes);
  return const_cast<uint8_t*>(view.data);
}

// The client's memory, if the session may write it directly: not if it overlaps an input or another
// output.
void* GpuIo::output_there(const TensorView& like, const OutputPlace& place) {
  if (own_only_ || place.memory == nullptr || place.memory->device() != device_.device) {
    return nullptr;
  }
  uint8_t* const there = place.memory->data() + place.offset;
  const bool fits = like.bytes != 0 && like.bytes <= place.bytes && is_aligned(there);
  const bool overlaps = std::ranges::any_of(shared_, [&](std::span<const uint8_t> one) {
    return there < one.data() + one.size() && one.data() < there + like.bytes;
  });
  if (!fits || overlaps) return nullptr;
  shared_.emplace_back(there, like.bytes);
  return there;
}

Status GpuIo::send(size_t index, const TensorView& view, const std::string& name) {
  GpuTensor& tensor = inputs_[index];
  same_shapes_ &= tensor.has_shape(view.shape);
  void* const there = input_there(view);
  Status sent = tensor.shape_to(runtime_, device_, view, there, device_.name);
  if (sent.ok() && view.bytes != 0 && there == nullptr) {
    sent = view.device == nullptr ? send_host(index, view)
                                  : copy(tensor.device.data(), view.data, view.bytes,
                                         gpu::CudaCopy::Default, "copy on ");
  }
  if (!sent.ok()) sent.error().message = "input \"" + name + "\": " + sent.error().message;
  return sent;
}

// The driver would copy pageable memory in pieces, with this thread waiting.
Status GpuIo::send_host(size_t index, const TensorView& view) {
  GpuTensor& tensor = inputs_[index];
  const uint8_t* from = view.data;
  gpu::PinnedPool& pool = gpu::PinnedPool::process();
  if (from != tensor.host.data() && !pool.holds(from, view.bytes) &&
      !gpu::is_pinned(from, view.bytes)) {
    uint8_t* const own = tensor.host.grow(view.bytes);
    if (view.bytes >= BlockCache::kBytesMin) pool.offer_blocks();
    if (own != nullptr && tensor.host.pinned()) {
      std::memcpy(own, from, view.bytes);
      from = own;
    }
  }
  return copy(tensor.device.data(), from, view.bytes, gpu::CudaCopy::ToDevice, "copy to ");
}

Status GpuIo::wait(const char* what) {
  const gpu::CudaStatus status = device_.calls->wait_stream(stream_);
  if (status == 0) return ok_status();
  return cuda_error(*device_.calls, status, device_.name + ": " + what);
}

// Binds with each run, after the bytes have arrived: an input that a CPU operator reads is copied
// back by the runtime when it is bound.
Status GpuIo::bind_inputs(std::span<const char* const> names) {
  if (Status done = wait("inputs"); !done.ok()) return done;
  for (size_t i = 0; i < names.size(); ++i) {
    OrtStatus* failed = api_.BindInput(binding_.get(), names[i], inputs_[i].value.get());
    if (failed == nullptr) continue;
    return take_error(api_, failed, kIoFailed, std::string("input \"") + names[i] + "\"");
  }
  return ok_status();
}

void GpuIo::clear_outputs() {
  if (binding_.get() != nullptr) api_.ClearBoundOutputs(binding_.get());
}

// Binds with each run: otherwise the runtime would reuse its last output value as memory to write
// into.
Status GpuIo::bind_output(size_t position, const char* name, const TensorView* like,
                          const OutputPlace& place) {
  while (outputs_.size() <= position) outputs_.emplace_back(api_, *device_.calls);
  if (sides_.size() <= position) sides_.resize(position + 1);
  OrtStatus* failed = nullptr;
  if (like == nullptr) {
    const bool there = place.memory != nullptr;
    sides_[position] = there ? OutputSide::Runtimes : OutputSide::Host;
    failed = api_.BindOutputToDevice(binding_.get(), name,
                                     there ? device_.memory.get() : runtime_.cpu_memory);
  } else {
    GpuTensor& tensor = outputs_[position];
    void* const there = output_there(*like, place);
    sides_[position] = there == nullptr ? OutputSide::Kept : OutputSide::Shared;
    Status shaped = tensor.shape_to(runtime_, device_, *like, there, device_.name);
    if (!shaped.ok()) return shaped;
    failed = api_.BindOutput(binding_.get(), name, tensor.value.get());
  }
  if (failed == nullptr) return ok_status();
  return take_error(api_, failed, kIoFailed, std::string("output \"") + name + "\"");
}

OrtStatus* GpuIo::run(OrtSession* session, const OrtRunOptions* options) {
  return api_.RunWithBinding(session, options, binding_.get());
}

Status GpuIo::take_outputs(std::span<OrtValue*> values) {
  OrtValue** list = nullptr;
  size_t count = 0;
  OrtStatus* failed = api_.GetBoundOutputValues(binding_.get(), runtime_.allocator, &list, &count);
  if (failed != nullptr) return take_error(api_, failed, kIoFailed, "outputs");
  for (size_t i = 0; i < count; ++i) {
    if (i < values.size()) values[i] = list[i];
    else api_.ReleaseValue(list[i]);
  }
  if (list != nullptr) drop_status(api_, api_.AllocatorFree(runtime_.allocator, list));
  if (count == values.size()) return ok_status();
  return make_error(kIoFailed, "expected " + std::to_string(values.size()) + " outputs, got " +
                                   std::to_string(count));
}

// If the graph passes an input through, the value differs from the bound one.
Status GpuIo::fetch(size_t position, OrtValue* value, const OutputPlace& place, TensorView& view) {
  const bool there = place.memory != nullptr && view.bytes <= place.bytes;
  uint8_t* const to =
      there ? place.memory->data() + place.offset : outputs_[position].host.grow(view.bytes);
  if (to == nullptr) return make_error(ErrorCode::MemoryFull, "no memory for an output");
  view.data = to;
  view.device = there ? place.memory : nullptr;
  if (view.bytes == 0) return ok_status();
  void* from = nullptr;
  OrtStatus* failed = api_.GetTensorMutableData(value, &from);
  if (failed != nullptr) return take_error(api_, failed, kIoFailed, "no bytes");
  if (from == to) return ok_status();
  return copy(to, from, view.bytes, gpu::CudaCopy::Default, "copy from ");
}

Status GpuIo::finish() { return wait("outputs"); }

void GpuIo::settle() {
  if (stream_ != nullptr && device_.calls->wait_stream(stream_) != 0) device_.calls->last_error();
}

}  // namespace serval::ort
