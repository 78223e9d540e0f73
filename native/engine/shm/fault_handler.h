// Survives faults in memory of files that others may shorten: reading or writing what is no longer
// there raises SIGBUS, which ends a process. The handler replaces the missing page by zeros and
// marks its region. Any thread; the handler runs on the thread that touched the page.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace serval {

// Limit on fault regions. Above the limit on registered regions, because those in use by
// requests stay mapped after they are unregistered.
inline constexpr size_t kFaultRegionsMax = 4096;

// The handler's view of one region. Written only by add_fault_region() and its owner.
struct FaultRegion {
  std::atomic<uintptr_t> begin{0};  // 0 = free
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> broken{false};  // a page of it was replaced
};

// Registers [begin, begin + bytes), a mapping of whole pages; null if kFaultRegionsMax are
// registered. The first call installs the handler, which forwards other faults to the previous
// handler.
FaultRegion* add_fault_region(const void* begin, size_t bytes);
// Removes the region; call before unmapping. The pages must not be touched any more.
void remove_fault_region(FaultRegion* region);

}  // namespace serval
