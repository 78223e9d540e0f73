// The regions of memory that clients have registered, by name across both kinds: one table for the
// process's engine. Registered and unregistered by the control plane; requests look names up. Any
// thread.
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
  // Maps a region and registers its name. One thread at a time. Errors: those of
  // SharedRegion::open(); invalid_argument (the name is in use; `regions_max` are registered).
  Status add(RegionSpec spec, size_t regions_max);
  // Unregisters one region of this kind, or all of them if `name` is "". A region in use by
  // requests stays mapped until the last of them ends. A name that is unknown, or of the other
  // kind, is not an error, as with Triton.
  void remove(std::string_view name, RegionKind kind = RegionKind::System);
  // Returns null if there is no such region.
  std::shared_ptr<SharedRegion> find(std::string_view name) const;
  // Writes JSON: [{"name", "key", "offset", "byte_size"}] (Cuda: name, device_id, byte_size) of one
  // region, or of all of this kind in the names' order if `name` is "". Errors: invalid_argument
  // (no such region, or one of the other kind); memory_full.
  Status write_status(std::string_view name, ByteBuffer& out,
                      RegionKind kind = RegionKind::System) const;

 private:
  Status check_room(const RegionSpec& spec, size_t regions_max) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<SharedRegion>, std::less<>> regions_;  // guarded by mutex_
};

}  // namespace serval
