// The functions of NVIDIA's CUDA runtime library that we call; opened when a model first runs on a
// GPU. Control plane for opening; its calls: hot path, any thread. Declared here: the ABI is C.
// Source: CUDA Runtime API, version 13.
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

// The library's functions; only the last two may be null.
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
  CudaStatus (*last_error)();  // also clears the error, unless it is sticky
  const char* (*error_text)(CudaStatus status);
  // cudaThreadExchangeStreamCaptureMode: sets the calling thread's mode and returns the previous
  // one. Null if the library has no such function.
  CudaStatus (*exchange_capture_mode)(int* mode);
  // The driver's cuMemGetAddressRange: the allocation that contains `address`. Null if libcuda.so.1
  // is missing.
  int (*address_range)(void** base, size_t* bytes, void* address);
};

// Sets a further folder to search for the library. Per process; the latest call counts.
void set_cuda_folder(std::string folder);

// Opens the library, once per process: the one already open under its name, else what the loader
// finds, else the one in the folder.
// Errors: runtime_unavailable: not found (the loader's text), or a function is missing.
Result<const CudaCalls*> open_cuda();

// Prepares the calling thread for its first CUDA call: its calls are then refused only for a graph
// that it records itself. By default a thread's cudaMalloc, cudaFree, cudaDeviceSynchronize and
// others fail, and invalidate the graph, while any thread of the process records one in CUDA's
// global mode, which ONNX Runtime uses. Sessions are loaded, run and released on threads that
// called this. Cheap when repeated.
// Source: CUDA Runtime API, cudaThreadExchangeStreamCaptureMode.
void enter_cuda(const CudaCalls& calls);

// enter_cuda(), and makes `device` current on the calling thread.
CudaStatus use_device(const CudaCalls& calls, int device);

// Whether an error text from ONNX Runtime or from us reports a call that met the recording of a
// graph (CUDA's errors 900 and 901). The device still works: the same call succeeds later.
bool met_recording(std::string_view text);

// "<what>: <CUDA's text> (<number>)"; clears the error unless it is sticky. out_of_memory is
// memory_full, all others are backend_failed.
Error cuda_error(const CudaCalls& calls, CudaStatus status, const std::string& what);

// The reason why no call of this process can use the device any more: a sticky error (a kernel that
// read invalid memory, a device that fell off its bus). "" = calls succeed. Any thread; does not
// block. Makes the device current on this thread.
std::string lasting_fault(const CudaCalls& calls, int device);

}  // namespace serval::gpu
