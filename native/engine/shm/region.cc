// Implements the parts that both kinds of regions share, and GPU memory. Control plane.
#include "engine/shm/region.h"

#include <cstring>

#include "codec/json/echo.h"

namespace serval {

namespace {

class CudaRegion final : public SharedRegion {
 public:
  CudaRegion(RegionSpec spec, std::shared_ptr<gpu::SharedMemory> memory)
      : SharedRegion(std::move(spec)), memory_(std::move(memory)) {}

  const gpu::SharedMemory* device() const override { return memory_.get(); }

 private:
  const std::shared_ptr<gpu::SharedMemory> memory_;
};

}  // namespace

std::string quoted_name(std::string_view name) { return "'" + echo_text(name) + "'"; }

Error region_refused(const RegionSpec& spec, const std::string& why) {
  const char* const kind = spec.kind == RegionKind::Cuda ? "CUDA " : "";
  return invalid_argument("failed to register " + std::string(kind) + "shared memory region " +
                          quoted_name(spec.name) + ": " + why);
}

Result<std::shared_ptr<SharedRegion>> open_cuda_region(RegionSpec spec) {
  if (const auto cuda = gpu::open_cuda(); !cuda.ok()) {
    Error error = region_refused(
        spec, "this server takes system shared memory only: " + cuda.error().message);
    error.code = ErrorCode::Unimplemented;
    return error;
  }
  if (spec.handle.size() != gpu::kIpcHandleBytes) {
    return region_refused(spec, "raw_handle: expected " + std::to_string(gpu::kIpcHandleBytes) +
                                    " bytes, got " + std::to_string(spec.handle.size()));
  }
  gpu::SharedMemorySpec memory{{}, spec.device, spec.bytes};
  std::memcpy(memory.handle.reserved, spec.handle.data(), gpu::kIpcHandleBytes);
  Result<std::shared_ptr<gpu::SharedMemory>> opened = gpu::SharedMemory::open(memory);
  if (!opened.ok()) {
    Error error = region_refused(spec, opened.error().message);
    error.code = opened.error().code;
    return error;
  }
  return std::shared_ptr<SharedRegion>(
      std::make_shared<CudaRegion>(std::move(spec), std::move(opened.value())));
}

Result<std::shared_ptr<SharedRegion>> SharedRegion::open(RegionSpec spec) {
  return spec.kind == RegionKind::Cuda ? open_cuda_region(std::move(spec))
                                       : open_system_region(std::move(spec));
}

}  // namespace serval
