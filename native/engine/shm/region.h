// One region of POSIX shared memory that a client registered, mapped. Control plane where it is
// made; requests read and write its bytes. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "engine/shm/fault_guard.h"

namespace serval {

// What a client says of a region. Source: Triton's system shared memory extension.
struct RegionSpec {
  std::string name;
  std::string key;      // of shm_open(): a name below /dev/shm, "/" in front or not
  uint64_t offset = 0;  // of its first byte in the object
  uint64_t bytes = 0;
};

class SharedRegion {
 public:
  // Opens and maps the object. Only regular files right below /dev/shm are opened, no links.
  // Errors: invalid_argument (key, no such object, offset and size against the object's, too many
  // regions); memory_full (no room to map it).
  static Result<std::shared_ptr<SharedRegion>> open(RegionSpec spec);

  SharedRegion(RegionSpec spec, int file, uint8_t* mapped, size_t mapped_bytes, size_t lead,
               GuardedRegion* guarded);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  const RegionSpec& spec() const { return spec_; }
  uint8_t* data() const { return mapped_ + lead_; }

  // Whether the object still holds all of the region, as it is now, and no page of it was missing
  // since it was registered: one system call.
  // Errors: invalid_argument naming the region, expected and got.
  Status check() const;

 private:
  const RegionSpec spec_;
  const int file_;
  uint8_t* const mapped_;
  const size_t mapped_bytes_;
  const size_t lead_;  // bytes of the first page in front of the region
  GuardedRegion* const guarded_;
};

}  // namespace serval
