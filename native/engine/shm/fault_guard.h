// Guards memory of files that others may shorten: reading or writing what is no longer there raises
// SIGBUS, which ends a process. The handler replaces the missing page by zeros and marks its
// region. Any thread; the handler runs on the thread that touched the page.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace serval {

// Regions that can be guarded at a time: more than may be registered, since regions in use by
// requests stay mapped after they are unregistered.
inline constexpr size_t kGuardedRegionsMax = 4096;

// The handler's view of one region. Written only by guard_region() and its owner.
struct GuardedRegion {
  std::atomic<uintptr_t> begin{0};  // 0 = free
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> broken{false};  // a page of it was replaced
};

// Guards [begin, begin + bytes), a mapping of whole pages; null if kGuardedRegionsMax are guarded.
// The first call installs the handler, which forwards other faults to the previous handler.
GuardedRegion* guard_region(const void* begin, size_t bytes);
// Ends the guard; call before unmapping. The pages must not be touched any more.
void release_region(GuardedRegion* guarded);

}  // namespace serval
