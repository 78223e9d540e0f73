// The calls for clients' shared memory. Control plane; JavaScript's thread.
#include "addon/shared_memory.h"

namespace serval {

namespace {

std::string owned_text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

RegionKind kind_of(uint32_t cuda) { return cuda == 0 ? RegionKind::System : RegionKind::Cuda; }

SharedRegions& regions_of(Link& link) { return link.lane().engine().shared_regions(); }

}  // namespace

uint32_t RegisterRegion(Link& link, Arguments<5>& arguments) {
  RegionSpec spec;
  spec.name = owned_text(arguments.buffer(0, "name"));
  spec.key = owned_text(arguments.buffer(1, "key"));
  const int64_t offset = arguments.i64(2, "offset");
  const int64_t bytes = arguments.i64(3, "bytes");
  const uint32_t regions_max = arguments.u32(4, "regionsMax");
  if (spec.name.empty()) arguments.fail("name");
  if (offset < 0) arguments.fail("offset");
  if (bytes < 0) arguments.fail("bytes");
  if (!arguments.ok()) return {};
  spec.offset = static_cast<uint64_t>(offset);
  spec.bytes = static_cast<uint64_t>(bytes);
  const Status added = regions_of(link).add(std::move(spec), regions_max);
  link.clear_answer();
  return added.ok() ? link.report({}) : link.report_error(added.error());
}

uint32_t RegisterCudaRegion(Link& link, Arguments<5>& arguments) {
  RegionSpec spec;
  spec.kind = RegionKind::Cuda;
  spec.name = owned_text(arguments.buffer(0, "name"));
  spec.handle = owned_text(arguments.buffer(1, "handle"));
  const uint32_t device = arguments.u32(2, "device");
  const int64_t bytes = arguments.i64(3, "bytes");
  const uint32_t regions_max = arguments.u32(4, "regionsMax");
  if (spec.name.empty()) arguments.fail("name");
  if (device > INT32_MAX) arguments.fail("device");
  if (bytes < 0) arguments.fail("bytes");
  if (!arguments.ok()) return {};
  spec.device = static_cast<int>(device);
  spec.bytes = static_cast<uint64_t>(bytes);
  const Status added = regions_of(link).add(std::move(spec), regions_max);
  link.clear_answer();
  return added.ok() ? link.report({}) : link.report_error(added.error());
}

uint32_t UnregisterRegion(Link& link, Arguments<2>& arguments) {
  const std::string name = owned_text(arguments.buffer(0, "name"));
  const RegionKind kind = kind_of(arguments.u32(1, "cuda"));
  if (!arguments.ok()) return {};
  regions_of(link).remove(name, kind);
  link.clear_answer();
  return link.report({});
}

uint32_t Regions(Link& link, Arguments<2>& arguments) {
  const std::string name = owned_text(arguments.buffer(0, "name"));
  const RegionKind kind = kind_of(arguments.u32(1, "cuda"));
  if (!arguments.ok()) return {};
  const Status written = regions_of(link).write_status(name, link.clear_answer(), kind);
  return written.ok() ? link.report({}) : link.report_error(written.error());
}

}  // namespace serval
