// Request bodies that arrive in pieces. Hot path; the listener's thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "engine/lane/state.h"

namespace serval {

class Bodies {
 public:
  explicit Bodies(LaneState& state) : state_(state) {}

  // Opens a ticket. expected_bytes: Content-Length, 0 = unknown. The byte at `aligned_at` (the JSON
  // header's length) will be 64-byte aligned.
  // Errors: queue_full (no slot left), body_too_large, memory_full.
  Result<uint32_t> open(uint64_t expected_bytes, uint64_t aligned_at);
  // Errors: body_too_large, memory_full, internal; the ticket stays open until cancel().
  Status append(uint32_t ticket, std::span<const uint8_t> chunk);

 private:
  Error refused(Error error);

  LaneState& state_;
};

}  // namespace serval
