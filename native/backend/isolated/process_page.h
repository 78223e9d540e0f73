// The page that a model's process publishes to its server: numbers for the metrics page, and the
// reason why it ends itself. One page of shared memory per process, written there, read by the
// server. Any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "gpu/pinned_pool.h"

namespace serval::isolated {

inline constexpr size_t kFaultBytesMax = 1000;

struct ProcessPage {
  gpu::PinnedPage pinned;
  std::atomic<uint32_t> fault_bytes{0};  // written after `fault`; 0 = none
  char fault[kFaultBytesMax];
};

// Called once, before the process ends.
inline void write_fault(ProcessPage& page, std::string_view fault) {
  const size_t bytes = std::min(fault.size(), kFaultBytesMax);
  std::memcpy(page.fault, fault.data(), bytes);
  page.fault_bytes.store(static_cast<uint32_t>(bytes));
}

// Call after the process has ended; reads no more than can be there, whatever was written.
inline std::string read_fault(const ProcessPage& page) {
  return {page.fault, std::min<size_t>(page.fault_bytes.load(), kFaultBytesMax)};
}

}  // namespace serval::isolated
