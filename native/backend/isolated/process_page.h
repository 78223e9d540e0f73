// What a model's process tells its server without being asked: numbers for the page of metrics, and
// why it ends by itself. One page of shared memory per process, written there, read by the server.
// Any thread.
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
  std::atomic<uint32_t> fault_bytes{0};  // written behind `fault`; 0 = there is none
  char fault[kFaultBytesMax];
};

// Once, before the process ends.
inline void write_fault(ProcessPage& page, std::string_view fault) {
  const size_t bytes = std::min(fault.size(), kFaultBytesMax);
  std::memcpy(page.fault, fault.data(), bytes);
  page.fault_bytes.store(static_cast<uint32_t>(bytes));
}

// When the process has ended; whatever is there, no more is read than there can be.
inline std::string read_fault(const ProcessPage& page) {
  return {page.fault, std::min<size_t>(page.fault_bytes.load(), kFaultBytesMax)};
}

}  // namespace serval::isolated
