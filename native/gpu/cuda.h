// NVIDIA's CUDA runtime library as far as we call it, opened when a model first runs on a GPU.
// Control plane where it is opened; its calls: hot path, any thread. Declared by ourselves: the ABI
// is C. Source: CUDA Runtime API, version 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace serval::gpu {

using CudaStatus = int;  // cudaError_t; 0 = success
using CudaStream = void*;
inline constexpr size_t kIpcHandleBytes = 64;
// cudaIpcMemHandle_t: passed by value.
struct CudaIpcHandle {
  char reserved[kIpcHandleBytes];
};
enum class CudaCopy : int { ToDevice = 1, ToHost = 2, Default = 4 };

// The library's functions, none of them null but for the last two.
struct CudaCalls {
  CudaStatus (*get_device_count)(int* count);
  CudaStatus (*set_device)(int device);
  CudaStatus (*host_alloc)(void** memory, size_t bytes, unsigned flags);
  CudaStatus (*free_host)(void* memory);
  CudaStatus (*pin)(void* memory, size_t bytes, unsigned flags);  // cudaHostRegister
  CudaStatus (*unpin)(void* memory);
  CudaStatus (*allocate)(void** memory, size_t bytes);
  CudaStatus (*free)(void* memory);
  CudaStatus (*copy_async)(void* to, const void* from, size_t bytes, int kind, CudaStream stream);
  CudaStatus (*create_stream)(CudaStream* stream, unsigned flags);
  CudaStatus (*destroy_stream)(CudaStream stream);
  CudaStatus (*wait_stream)(CudaStream stream);
  CudaStatus (*open_ipc)(void** memory, CudaIpcHandle handle, unsigned flags);
  CudaStatus (*close_ipc)(void* memory);
  CudaStatus (*memory_info)(size_t* free, size_t* total);
  CudaStatus (*last_error)();  // and forgets it, where it does not stick
  const char* (*error_text)(CudaStatus status);
  // cudaThreadExchangeStreamCaptureMode: sets the calling thread's mode and returns the former one.
  // Null where the library has no such function.
  CudaStatus (*exchange_capture_mode)(int* mode);
  // The driver's cuMemGetAddressRange: the allocation that `address` lies in. Null where
  // libcuda.so.1 is not there.
  int (*address_range)(void** base, size_t* bytes, void* address);
};

// Where the library may lie besides: a folder. Of the process; the latest counts.
void set_cuda_folder(std::string folder);

// The library, once per process: what is open by its name, else what the loader finds, else what
// lies in the folder.
// Errors: runtime_unavailable: not there (the loader's text), or a function is missing.
Result<const CudaCalls*> open_cuda();

// Prepares the calling thread for its first call of CUDA: its calls are then refused only for a
// graph that it records itself. By default a thread's cudaMalloc, cudaFree, cudaDeviceSynchronize
// and others fail, and spoil the graph, while any thread of the process records one in CUDA's
// global mode, which is ONNX Runtime's. Sessions are loaded, run and released on threads that
// called this. Cheap when repeated.
// Source: CUDA Runtime API, cudaThreadExchangeStreamCaptureMode.
void enter_cuda(const CudaCalls& calls);

// enter_cuda(), and makes `device` the calling thread's.
CudaStatus use_device(const CudaCalls& calls, int device);

// Whether an error text of ONNX Runtime's or ours tells of a call that met the recording of a graph
// (CUDA's errors 900 and 901). The device works on: the same call succeeds later.
bool met_recording(std::string_view text);

// "<what>: <CUDA's text> (<number>)"; forgets the error where it does not stick. out_of_memory is
// memory_full, all others are backend_failed.
Error cuda_error(const CudaCalls& calls, CudaStatus status, const std::string& what);

// Why no call of this process can use the device any more: an error that sticks (a kernel that read
// where nothing is, a device that fell off its bus). "" = calls succeed. Any thread; waits for
// nothing. Makes the device this thread's.
std::string lasting_fault(const CudaCalls& calls, int device);

}  // namespace serval::gpu
