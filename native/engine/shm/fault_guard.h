// Memory of files that others may shorten: reading or writing what is no longer there raises
// SIGBUS, which ends a process. Here the missing page becomes one of zeros instead, and the region
// it lies in is marked. Any thread; the handler runs on the thread that touched the page.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace serval {

// Regions that can be guarded at a time: more than may be registered, since those that requests
// still use stay mapped after they are unregistered.
inline constexpr size_t kGuardedRegionsMax = 4096;

// The handler's view of one region. Written by guard_region() and its owner only.
struct GuardedRegion {
  std::atomic<uintptr_t> begin{0};  // 0 = free
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> broken{false};  // a page of it was replaced
};

// Guards [begin, begin + bytes), a mapping of whole pages; null when kGuardedRegionsMax are
// guarded. The first call installs the handler, which hands on what is none of ours to the one
// before it.
GuardedRegion* guard_region(const void* begin, size_t bytes);
// Before the mapping goes. Nobody may touch its pages any more.
void release_region(GuardedRegion* guarded);

}  // namespace serval
