// Memory of a device that another process has allocated and lets us use, by a handle (CUDA IPC).
// Opened by the control plane, or by a model's process with the first request that names it; its
// copies: hot path. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "gpu/cuda.h"

namespace serval::gpu {

// What its owner says of it.
struct SharedMemorySpec {
  CudaIpcHandle handle{};
  int device = 0;
  uint64_t bytes = 0;
};

class SharedMemory {
 public:
  // `id`: what is told when it is closed; 0 = a new number.
  // Errors: invalid_argument (no such device, a handle that CUDA refuses, more bytes than were
  // allocated); runtime_unavailable (no CUDA, or no driver to ask for the allocation's size).
  static Result<std::shared_ptr<SharedMemory>> open(const SharedMemorySpec& spec, uint64_t id = 0);
  // Takes what open() opened.
  SharedMemory(const CudaCalls& calls, const SharedMemorySpec& spec, uint64_t id, uint8_t* data)
      : calls_(calls), spec_(spec), id_(id), data_(data) {}
  // Closes the handle. Whoever copies, or has a model look at it, holds it till then.
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const SharedMemorySpec& spec() const { return spec_; }
  int device() const { return spec_.device; }
  uint64_t bytes() const { return spec_.bytes; }
  // Of this opening: never given to another one of the process.
  uint64_t id() const { return id_; }
  // An address of the device: the host reads and writes nothing there.
  uint8_t* data() const { return data_; }

  // Copies to and from memory of the host, and waits for it. [offset, offset + bytes) lies within.
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

// `hear` is called with the id of each that is closed from now on, by whoever lets go of it last.
// One for the process.
void on_shared_memory_closed(void (*hear)(uint64_t id));

}  // namespace serval::gpu
