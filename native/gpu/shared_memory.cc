// Opens and copies shared device memory.
#include "gpu/shared_memory.h"

#include <atomic>
#include <string>

namespace serval::gpu {

namespace {

constexpr unsigned kLazyPeerAccess = 1;  // cudaIpcMemLazyEnablePeerAccess
constexpr unsigned kBesideOthers = 1;    // cudaStreamNonBlocking

std::atomic<uint64_t> latest_id{0};
std::atomic<void (*)(uint64_t)> hears{nullptr};

std::string name_of(int device) { return "GPU " + std::to_string(device); }

// Reports invalid client input as the client's error, whatever CUDA calls it.
Error refused(const CudaCalls& calls, CudaStatus status, const std::string& what) {
  Error error = cuda_error(calls, status, what);
  if (error.code == ErrorCode::BackendFailed) error.code = ErrorCode::InvalidArgument;
  return error;
}

Status check_device(const CudaCalls& calls, int device) {
  int devices = 0;
  if (const CudaStatus status = calls.get_device_count(&devices); status != 0) {
    return cuda_error(calls, status, "CUDA's devices");
  }
  if (device < 0 || device >= devices) {
    return invalid_argument("device_id: expected less than " + std::to_string(devices) + ", got " +
                            std::to_string(device));
  }
  if (const CudaStatus status = use_device(calls, device); status != 0) {
    return cuda_error(calls, status, name_of(device));
  }
  return {};
}

// Checks the allocation's size: a copy beyond it would be refused, but a kernel's read would
// destroy the device's context.
Status check_size(const CudaCalls& calls, const SharedMemorySpec& spec, void* opened) {
  void* base = nullptr;
  size_t bytes = 0;
  if (const int failed = calls.address_range(&base, &bytes, opened); failed != 0) {
    return invalid_argument("the driver has no allocation for the handle (CUresult " +
                            std::to_string(failed) + ")");
  }
  const size_t lead = static_cast<size_t>(static_cast<char*>(opened) - static_cast<char*>(base));
  const size_t there = bytes > lead ? bytes - lead : 0;
  if (spec.bytes <= there) return {};
  return invalid_argument("byte_size: expected at most the " + std::to_string(there) +
                          " bytes that were allocated, got " + std::to_string(spec.bytes));
}

}  // namespace

void on_shared_memory_closed(void (*hear)(uint64_t id)) { hears.store(hear); }

Result<std::shared_ptr<SharedMemory>> SharedMemory::open(const SharedMemorySpec& spec,
                                                         uint64_t id) {
  Result<const CudaCalls*> found = open_cuda();
  if (!found.ok()) return found.error();
  const CudaCalls& calls = *found.value();
  if (calls.address_range == nullptr) {
    return make_error(ErrorCode::RuntimeUnavailable,
                      "libcuda.so.1 cannot be loaded, or has no cuMemGetAddressRange_v2");
  }
  if (spec.bytes == 0) return invalid_argument("byte_size: expected 1 or more, got 0");
  if (Status there = check_device(calls, spec.device); !there.ok()) return there.error();
  void* opened = nullptr;
  const CudaStatus status = calls.open_ipc(&opened, spec.handle, kLazyPeerAccess);
  if (status != 0) return refused(calls, status, name_of(spec.device) + ": the handle");
  if (Status fits = check_size(calls, spec, opened); !fits.ok()) {
    calls.close_ipc(opened);
    return fits.error();
  }
  if (id == 0) id = latest_id.fetch_add(1) + 1;
  return std::make_shared<SharedMemory>(calls, spec, id, static_cast<uint8_t*>(opened));
}

SharedMemory::~SharedMemory() {
  use_device(calls_, spec_.device);
  if (stream_ != nullptr) calls_.destroy_stream(stream_);
  calls_.close_ipc(data_);
  if (auto* const hear = hears.load(); hear != nullptr) hear(id_);
}

Status SharedMemory::copy(void* to, const void* from, size_t bytes) const {
  if (bytes == 0) return {};
  const std::lock_guard lock(mutex_);
  CudaStatus status = use_device(calls_, spec_.device);
  if (status == 0 && stream_ == nullptr) status = calls_.create_stream(&stream_, kBesideOthers);
  if (status == 0) {
    status = calls_.copy_async(to, from, bytes, static_cast<int>(CudaCopy::Default), stream_);
  }
  if (status == 0) status = calls_.wait_stream(stream_);
  if (status == 0) return {};
  return cuda_error(calls_, status, name_of(spec_.device) + ": copy of shared memory");
}

Status SharedMemory::read(void* to, uint64_t offset, size_t bytes) const {
  return copy(to, data_ + offset, bytes);
}

Status SharedMemory::write(uint64_t offset, const void* from, size_t bytes) const {
  return copy(data_ + offset, from, bytes);
}

}  // namespace serval::gpu
