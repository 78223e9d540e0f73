// One region of memory that a client registered: POSIX shared memory, mapped; or GPU memory,
// opened. Opened on the control plane; requests read and write its bytes. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "gpu/shared_memory.h"

namespace serval {

enum class RegionKind : uint8_t { System, Cuda };

// A client's description of a region. Source: Triton's system and CUDA shared memory extensions.
struct RegionSpec {
  std::string name;
  // System: name for shm_open(): a file right below /dev/shm, with or without a leading "/"
  std::string key;
  uint64_t offset = 0;  // System: offset of its first byte in the object
  uint64_t bytes = 0;
  RegionKind kind = RegionKind::System;
  std::string handle;  // Cuda: cudaIpcMemHandle_t
  int device = 0;      // Cuda: the device
};

// Returns the name of a region or tensor as messages quote it.
std::string quoted_name(std::string_view name);
// Returns the error of a region that is not registered, with the reason.
Error region_refused(const RegionSpec& spec, const std::string& why);

class SharedRegion {
 public:
  // System: opens and maps the object. Opens only regular files right below /dev/shm, no links.
  // Errors: invalid_argument (key, no such object, offset and size against the object's, too many
  // regions); memory_full (no address space to map it). Cuda: opens the handle. Errors:
  // unimplemented (no CUDA here); invalid_argument (a handle of another size); those of
  // gpu::SharedMemory::open().
  static Result<std::shared_ptr<SharedRegion>> open(RegionSpec spec);

  virtual ~SharedRegion() = default;
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  const RegionSpec& spec() const { return spec_; }
  // System: its first byte; else null.
  virtual uint8_t* data() const { return nullptr; }
  // Cuda: its memory; else null.
  virtual const gpu::SharedMemory* device() const { return nullptr; }

  // System: checks with one system call that the object still holds all of the region, and that no
  // page of it was missing since it was registered. Cuda: always succeeds. Errors: invalid_argument
  // naming the region, expected and got.
  virtual Status check() const { return {}; }

 protected:
  explicit SharedRegion(RegionSpec spec) : spec_(std::move(spec)) {}

 private:
  const RegionSpec spec_;
};

// Implement SharedRegion::open() for the two kinds.
Result<std::shared_ptr<SharedRegion>> open_system_region(RegionSpec spec);
Result<std::shared_ptr<SharedRegion>> open_cuda_region(RegionSpec spec);

}  // namespace serval
