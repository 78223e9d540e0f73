// Errors that are answered at once, in slot 0, and their entries in the access log. Hot path
// (errors); the listener's thread.
#pragma once

#include "engine/lane/arrival.h"
#include "engine/lane/state.h"
#include "engine/lane/traces.h"

namespace serval {

class ErrorReplies {
 public:
  ErrorReplies(LaneState& state, ArrivalTraces& traces) : state_(state), traces_(traces) {}

  // Writes the error's text into slot 0 (on a stream, the message that carries it) and logs it.
  // `handle`: the request's model; 0 = there is none, or the message names it.
  Answer answer(const Arrival& arrival, const Error& error, uint32_t handle = 0);
  // Answers an infer call whose ticket is closed.
  Answer answer_closed();
  // Counts and logs a request that was not queued. A request whose URL names its model is logged by
  // the code that read the URL.
  void log(const Arrival& arrival, const Error& error, uint32_t handle);

 private:
  LaneState& state_;
  ArrivalTraces& traces_;
};

}  // namespace serval
