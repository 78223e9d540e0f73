// The entry of requests into the engine: each runs at once on the listener's thread, or gets a slot
// and enters its model's queue. Hot path; the listener's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "engine/lane/arrival.h"
#include "engine/lane/inline_runner.h"
#include "engine/lane/queueing.h"
#include "engine/lane/replies.h"
#include "engine/lane/state.h"
#include "engine/lane/traces.h"

namespace serval {

class Intake {
 public:
  // Borrows these parts of its lane.
  Intake(LaneState& state, ArrivalTraces& traces, ErrorReplies& replies, Queueing& queueing,
         InlineRunner& inline_runner)
      : state_(state),
        traces_(traces),
        replies_(replies),
        queueing_(queueing),
        inline_runner_(inline_runner) {}

  // Accepts a REST request whose body arrived in one piece.
  Answer accept_whole(Protocol protocol, uint32_t handle, std::span<const uint8_t> body,
                      int64_t json_bytes);
  // Accepts a REST request whose body was received into a slot.
  Answer accept_body(uint32_t ticket, Protocol protocol, uint32_t handle, int64_t json_bytes);
  // Accepts a gRPC message of one request and uses its bytes in place.
  Answer accept_message(const Arrival& arrival);

 private:
  Answer admit(Arrival arrival, uint32_t handle);
  Status pad_body(Arrival& arrival);
  std::optional<Answer> run_here(Arrival& arrival, Model& model, CacheUse cache,
                                 Admission& admission);
  Answer answer_missing(Arrival& arrival, uint32_t handle);
  Answer enqueue(const Arrival& arrival, const std::shared_ptr<Model>& model, Admission admission,
                 uint64_t spent_ns, bool died);
  Answer refuse(Request& request, Model& model, const Error& error);

  LaneState& state_;
  ArrivalTraces& traces_;
  ErrorReplies& replies_;
  Queueing& queueing_;
  InlineRunner& inline_runner_;
};

}  // namespace serval
