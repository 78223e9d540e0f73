// Keeps the table of registered regions. Changed on the main thread; read by any thread.
#include "engine/shm/regions.h"

#include <utility>
#include <vector>

#include "codec/json/echo.h"
#include "codec/json/text.h"

namespace serval {

namespace {

Error no_room(const RegionSpec& spec, size_t regions_max) {
  return region_refused(
      spec, "expected at most " + std::to_string(regions_max) + " regions, got one more");
}

Error name_taken(const RegionSpec& spec) {
  return invalid_argument("shared memory region '" + echo_text(spec.name) + "' already in manager");
}

bool append_region(ByteBuffer& out, const RegionSpec& spec) {
  bool fits = out.append("{\"name\":") && append_json_string(out, spec.name);
  if (spec.kind == RegionKind::Cuda) {
    fits = fits && out.append(",\"device_id\":") && out.append(std::to_string(spec.device));
  } else {
    fits = fits && out.append(",\"key\":") && append_json_string(out, spec.key) &&
           out.append(",\"offset\":") && out.append(std::to_string(spec.offset));
  }
  return fits && out.append(",\"byte_size\":") && out.append(std::to_string(spec.bytes)) &&
         out.append("}");
}

Error unknown_region(std::string_view name, RegionKind kind) {
  const char* const text = kind == RegionKind::Cuda ? "cuda" : "system";
  return invalid_argument("Unable to find " + std::string(text) +
                          " shared memory region: " + quoted_name(name));
}

// Returns the error for a region of the other kind. `kind`: the requested one.
Error of_other_kind(std::string_view name, RegionKind kind) {
  const bool wanted = kind == RegionKind::Cuda;
  return invalid_argument("The region named " + quoted_name(name) + " is registered as " +
                          (wanted ? "system" : "CUDA") + " shared memory, not " +
                          (wanted ? "CUDA" : "system") + " shared memory");
}

}  // namespace

Status SharedRegions::check_room(const RegionSpec& spec, size_t regions_max) const {
  const std::lock_guard lock(mutex_);
  if (regions_.contains(spec.name)) return name_taken(spec);
  if (regions_.size() >= regions_max) return no_room(spec, regions_max);
  return {};
}

// Opens the region without the lock, which requests take: the first use of a GPU takes a while.
Status SharedRegions::add(RegionSpec spec, size_t regions_max) {
  if (Status room = check_room(spec, regions_max); !room.ok()) return room;
  Result<std::shared_ptr<SharedRegion>> opened = SharedRegion::open(spec);
  if (!opened.ok()) return opened.error();
  if (Status room = check_room(spec, regions_max); !room.ok()) return room;
  const std::lock_guard lock(mutex_);
  regions_.try_emplace(std::move(spec.name), std::move(opened.value()));
  return {};
}

void SharedRegions::remove(std::string_view name, RegionKind kind) {
  // Unmapped after the lock is released: large regions take time.
  std::vector<std::shared_ptr<SharedRegion>> gone;
  const std::lock_guard lock(mutex_);
  std::erase_if(regions_, [&](auto& one) {
    if (one.second->spec().kind != kind || (!name.empty() && one.first != name)) return false;
    gone.push_back(std::move(one.second));
    return true;
  });
}

// Hot path: decode. Of requests that name a region.
std::shared_ptr<SharedRegion> SharedRegions::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(name);
  return found == regions_.end() ? nullptr : found->second;
}

Status SharedRegions::write_status(std::string_view name, ByteBuffer& out, RegionKind kind) const {
  const std::lock_guard lock(mutex_);
  if (!name.empty()) {
    const auto found = regions_.find(name);
    if (found == regions_.end()) return unknown_region(name, kind);
    if (found->second->spec().kind != kind) return of_other_kind(name, kind);
  }
  bool fits = out.append("[");
  bool first = true;
  for (const auto& [known, region] : regions_) {
    if (region->spec().kind != kind || (!name.empty() && known != name)) continue;
    fits = fits && (first || out.append(",")) && append_region(out, region->spec());
    first = false;
  }
  if (fits && out.append("]")) return {};
  return make_error(ErrorCode::MemoryFull, "no memory for the list of shared memory regions");
}

}  // namespace serval
