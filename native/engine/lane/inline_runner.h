// Runs requests to their end on the listener's thread, where each is watched: one that takes too
// long does not belong there. Hot path; the listener's thread.
#pragma once

#include <cstdint>

#include "engine/model/serve.h"
#include "engine/watch/inline_watch.h"

namespace serval {

// Whether a request is to be run where it came. Batched models are only where TurnRequests asks.
bool runs_inline(Model& model, Protocol protocol, size_t body_bytes);

class InlineRunner {
 public:
  // Borrows the settings, and the watch until close().
  InlineRunner(InlineWatch& watch, const ServeSettings& settings, MemoryBudget* budget);
  ~InlineRunner() { close(); }
  InlineRunner(const InlineRunner&) = delete;
  InlineRunner& operator=(const InlineRunner&) = delete;
  void close();

  // Serves `input` into `out`, as serve() does. `limit_ns`: how long it may take, beside the limit
  // of the model's policy. False when it took too long and was ended: it is to be queued.
  bool run(Model& model, ServeInput input, uint64_t queue_ns, uint64_t limit_ns, Request& out);
  // What the last run spent on the request.
  uint64_t spent_ns() const { return memory_.times.input_ns + memory_.times.infer_ns; }

  // What a V1 body for an unknown model is answered first, if there is fault to be found with it.
  // Source: tfserving.md 1.3.
  Status check_unknown(Protocol protocol, std::span<const uint8_t> body);

 private:
  InlineWatch* watch_;  // null after close()
  const ServeSettings& settings_;
  ServeMemory memory_;
  InlineRuns runs_;
};

}  // namespace serval
