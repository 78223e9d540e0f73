// Runs requests to completion on the listener's thread. A watch ends each run that takes too long
// for this thread. Hot path; the listener's thread.
#pragma once

#include <cstdint>

#include "engine/model/serve.h"
#include "engine/watch/inline_watch.h"

namespace serval {

// Returns whether a request runs on the listener's thread. Batched models do so only through
// TurnRequests. A request of a model on a device does if it is alone: none of the model's requests
// waits or runs, and the latest kAloneRequests of the lane, `flow_requests`, were the model's.
bool runs_inline(Model& model, Protocol protocol, size_t body_bytes, uint64_t flow_requests);
inline constexpr uint64_t kAloneRequests = 16;

class InlineRunner {
 public:
  // Borrows the settings, and the watch until close().
  InlineRunner(InlineWatch& watch, const ServeSettings& settings, MemoryBudget* budget);
  ~InlineRunner() { close(); }
  InlineRunner(const InlineRunner&) = delete;
  InlineRunner& operator=(const InlineRunner&) = delete;
  void close();

  // Serves `input` into `out`, as serve() does. `limit_ns`: how long it may take, in addition to
  // the limit of the model's policy. Returns false in the cases of serve(), and if another
  // listener's thread runs the model's device: the caller must queue it, with its `died`.
  bool run(Model& model, ServeInput input, uint64_t queue_ns, uint64_t limit_ns, Request& out);
  // Nanoseconds that the last run spent on the request.
  uint64_t spent_ns() const { return memory_.times.input_ns + memory_.times.infer_ns; }

  // Checks a V1 body for an unknown model: an error in it is reported before the missing model.
  // Source: tfserving.md 1.3.
  Status check_unknown(Protocol protocol, std::span<const uint8_t> body);

 private:
  InlineWatch* watch_;  // null after close()
  const ServeSettings& settings_;
  ServeMemory memory_;
  InlineRuns runs_;
};

}  // namespace serval
