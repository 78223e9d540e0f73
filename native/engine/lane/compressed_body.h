// Compressed REST bodies: short ones are decompressed on the listener's thread, others on
// `sv-inflate`, a few at a time, which then queues them. Hot path, compressed bodies only.
#pragma once

#include <cstdint>

#include "base/bytes/inflate.h"
#include "engine/lane/intake.h"

namespace serval {

class CompressedBodies {
 public:
  // Borrows these parts of its lane.
  CompressedBodies(LaneState& state, ArrivalTraces& traces, ErrorReplies& replies,
                   Queueing& queueing, Intake& intake)
      : state_(state), traces_(traces), replies_(replies), queueing_(queueing), intake_(intake) {}

  // Intake::accept_body() for a body that is compressed. Thread: the listener's.
  // Errors: body_too_large, malformed_body, memory_full; those of accept_body().
  Answer accept(uint32_t ticket, Protocol protocol, uint32_t handle, int64_t json_bytes,
                Coding coding);

 private:
  void decompress_and_push(Request& request, Coding coding);

  LaneState& state_;
  ArrivalTraces& traces_;
  ErrorReplies& replies_;
  Queueing& queueing_;
  Intake& intake_;
};

}  // namespace serval
