// The regions of memory that clients have registered, by name whatever their kind: one table for
// the process's engine. Registered and unregistered by the control plane; requests look names up.
// Any thread.
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
  // Maps and names a region. One thread at a time. Errors: those of SharedRegion::open();
  // invalid_argument (the name is taken; `regions_max` are registered).
  Status add(RegionSpec spec, size_t regions_max);
  // Takes one of this kind out, or all of them where `name` is "". One that requests use stays
  // mapped till the last of them ends. A name that is not there, or is one of the other kind, is no
  // error, as with Triton.
  void remove(std::string_view name, RegionKind kind = RegionKind::System);
  // Null where there is none.
  std::shared_ptr<SharedRegion> find(std::string_view name) const;
  // JSON: [{"name", "key", "offset", "byte_size"}] (Cuda: name, device_id, byte_size) of one, or of
  // all of this kind in the names' order where `name` is "". Errors: invalid_argument (no such
  // region, or one of the other kind); memory_full.
  Status write_status(std::string_view name, ByteBuffer& out,
                      RegionKind kind = RegionKind::System) const;

 private:
  Status check_room(const RegionSpec& spec, size_t regions_max) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<SharedRegion>, std::less<>> regions_;  // by mutex_
};

}  // namespace serval
