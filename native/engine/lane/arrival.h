// A request as it arrives on a listener's thread, and the immediate result that the listener gets.
// Hot path; the listener's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "base/limits.h"
#include "base/memory_budget.h"
#include "base/policies.h"
#include "engine/request/request.h"

namespace serval {

// The immediate result of a call. Pending: a completion with `ticket` follows. Otherwise the
// response (or the error's text) is in slot 0.
struct Answer {
  ErrorCode code = ErrorCode::Ok;
  bool pending = false;
  uint32_t ticket = 0;
};

struct Arrival {
  Protocol protocol = Protocol::V1Predict;
  std::span<const uint8_t> bytes;  // JavaScript's memory, or that of `request`
  int64_t json_bytes = -1;
  uint64_t timeout_us = 0;     // remaining time limit; 0 = no limit
  Request* request = nullptr;  // its slot, if the body arrived in pieces; else null
  SchedulePolicy schedule;
  // of a message: the buffer that holds `bytes`, if it may be moved from
  ByteBuffer* owned = nullptr;
};

// The offset of a body's first binary tensor: the end of its JSON.
inline size_t aligned_at(int64_t json_bytes) {
  return json_bytes > 0 ? static_cast<size_t>(json_bytes) : 0;
}

// Returns the nanoseconds that remain of a time limit; at least 1.
inline uint64_t left_of(uint64_t timeout_us, uint64_t spent_ns) {
  const uint64_t timeout_ns = std::min(timeout_us, kTimeoutUsMax) * 1000;
  return timeout_ns > spent_ns ? timeout_ns - spent_ns : 1;
}

// Too many tickets are open.
Error no_slot();
// The budget has no space for a body of `bytes`.
Error no_memory(uint64_t bytes, const MemoryBudget& budget);
// `bytes`: of_bytes() if the length is known, else "".
Error too_large(const std::string& bytes, const Limits& limits);
std::string of_bytes(uint64_t bytes);

}  // namespace serval
