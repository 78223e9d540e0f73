// Device memory that another process has allocated and shares through a handle (CUDA IPC). Opened
// by the control plane, or by a model's process when a request first uses it; its copies: hot path.
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "gpu/cuda.h"

namespace serval::gpu {

// The owner's description of it.
struct SharedMemorySpec {
  CudaIpcHandle handle{};
  int device = 0;
  uint64_t bytes = 0;
};

class SharedMemory {
 public:
  // `id`: the number reported when it is closed; 0 = a new number.
  // Errors: invalid_argument (no such device, a handle that CUDA refuses, more bytes than were
  // allocated); runtime_unavailable (no CUDA, or no driver to query the allocation's size).
  static Result<std::shared_ptr<SharedMemory>> open(const SharedMemorySpec& spec, uint64_t id = 0);
  // Takes over what open() opened.
  SharedMemory(const CudaCalls& calls, const SharedMemorySpec& spec, uint64_t id, uint8_t* data)
      : calls_(calls), spec_(spec), id_(id), data_(data) {}
  // Closes the handle. Code that copies, or lets a model use it, keeps a reference until then.
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const SharedMemorySpec& spec() const { return spec_; }
  int device() const { return spec_.device; }
  uint64_t bytes() const { return spec_.bytes; }
  // Identifies this opening: never reused in this process.
  uint64_t id() const { return id_; }
  // A device address: the host cannot read or write there.
  uint8_t* data() const { return data_; }

  // Copy to and from host memory, and wait for it. [offset, offset + bytes) is within the memory.
  // Errors: CUDA's.
  Status read(void* to, uint64_t offset, size_t bytes) const;
  Status write(uint64_t offset, const void* from, size_t bytes) const;

 private:
  Status copy(void* to, const void* from, size_t bytes) const;

  const CudaCalls& calls_;
  const SharedMemorySpec spec_;
  const uint64_t id_;
  uint8_t* const data_;
  mutable std::mutex mutex_;
  mutable CudaStream stream_ = nullptr;  // guarded by mutex_; made with the first copy
};

// Calls `hear` with the id of each memory closed from now on, on the thread that drops the last
// reference. One per process.
void on_shared_memory_closed(void (*hear)(uint64_t id));

}  // namespace serval::gpu
