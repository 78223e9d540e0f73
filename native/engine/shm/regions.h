// The regions of shared memory that clients have registered, by name: one table for the process's
// engine. Registered and unregistered by the control plane; requests look names up. Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "engine/shm/region.h"

namespace serval {

class SharedRegions {
 public:
  // Maps and names a region. Errors: those of SharedRegion::open(); invalid_argument (the name is
  // taken; `regions_max` are registered).
  Status add(RegionSpec spec, size_t regions_max);
  // Takes one out, or all of them where `name` is "". One that requests use stays mapped till the
  // last of them ends. A name that is not there is no error, as with Triton.
  void remove(std::string_view name);
  // Null where there is none.
  std::shared_ptr<SharedRegion> find(std::string_view name) const;
  // JSON: [{"name", "key", "offset", "byte_size"}] of one, or of all in the names' order where
  // `name` is "". Errors: invalid_argument (no such region); memory_full.
  Status write_status(std::string_view name, ByteBuffer& out) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<SharedRegion>, std::less<>> regions_;  // by mutex_
};

}  // namespace serval
