// See regions.h. Changed on the main thread; looked up by any.
#include "engine/shm/regions.h"

#include <utility>
#include <vector>

#include "codec/json/echo.h"
#include "codec/json/text.h"

namespace serval {

namespace {

Error no_room(const RegionSpec& spec, size_t regions_max) {
  return invalid_argument("failed to register shared memory region '" + echo_text(spec.name) +
                          "': expected at most " + std::to_string(regions_max) +
                          " regions, and as many are registered");
}

Error name_taken(const RegionSpec& spec) {
  return invalid_argument("shared memory region '" + echo_text(spec.name) + "' already in manager");
}

bool append_region(ByteBuffer& out, const RegionSpec& spec) {
  return out.append("{\"name\":") && append_json_string(out, spec.name) &&
         out.append(",\"key\":") && append_json_string(out, spec.key) &&
         out.append(",\"offset\":") && out.append(std::to_string(spec.offset)) &&
         out.append(",\"byte_size\":") && out.append(std::to_string(spec.bytes)) && out.append("}");
}

}  // namespace

Status SharedRegions::add(RegionSpec spec, size_t regions_max) {
  const std::lock_guard lock(mutex_);
  if (regions_.contains(spec.name)) return name_taken(spec);
  if (regions_.size() >= regions_max) return no_room(spec, regions_max);
  std::string name = spec.name;
  Result<std::shared_ptr<SharedRegion>> opened = SharedRegion::open(std::move(spec));
  if (!opened.ok()) return opened.error();
  regions_.emplace(std::move(name), std::move(opened.value()));
  return {};
}

void SharedRegions::remove(std::string_view name) {
  // Unmapped when the lock is free again: large ones take time.
  std::map<std::string, std::shared_ptr<SharedRegion>, std::less<>> gone;
  const std::lock_guard lock(mutex_);
  if (name.empty()) {
    gone.swap(regions_);
  } else if (const auto found = regions_.find(name); found != regions_.end()) {
    gone.insert(regions_.extract(found));
  }
}

// Hot path: decode. Of requests that name a region.
std::shared_ptr<SharedRegion> SharedRegions::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(name);
  return found == regions_.end() ? nullptr : found->second;
}

Status SharedRegions::write_status(std::string_view name, ByteBuffer& out) const {
  const std::lock_guard lock(mutex_);
  if (!name.empty() && !regions_.contains(name)) {
    return invalid_argument("Unable to find system shared memory region: '" + echo_text(name) +
                            "'");
  }
  bool fits = out.append("[");
  bool first = true;
  for (const auto& [known, region] : regions_) {
    if (!name.empty() && known != name) continue;
    fits = fits && (first || out.append(",")) && append_region(out, region->spec());
    first = false;
  }
  if (fits && out.append("]")) return {};
  return make_error(ErrorCode::MemoryFull, "no memory for the list of shared memory regions");
}

}  // namespace serval
