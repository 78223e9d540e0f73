// Serves one request from bytes to bytes: decode, check, run, encode. The same code runs on the
// listener's thread (inline), on an instance thread (queued) and, in its parts, in the batcher.
#pragma once

#include "base/clock.h"
#include "codec/request.h"
#include "engine/cache/model_cache.h"
#include "engine/model/coding.h"
#include "engine/model/model.h"
#include "engine/model/record.h"
#include "engine/request/settings.h"

namespace serval {

// Per-thread memory, reused from request to request.
struct ServeMemory {
  Arena arena;
  DecodedRequest decoded;
  std::vector<uint32_t> output_indices;
  std::vector<TensorView> outputs;
  ServeTimes times;
  CacheTurn cache;
  Loss loss = Loss::None;  // of the latest request, if its run failed

  explicit ServeMemory(MemoryBudget* budget = nullptr) { arena.charge_to(budget); }
};

// Serves one request: stores its outcome in `out` (see store_error()), times it for the inline
// policy and records it. Turns an exception into an error. `queue_ns`: how long it waited before.
// Returns false if it took too long on a listener's thread and was ended, must wait for its model's
// process (see returns_to_queue()) or for an equal request (waits_for_equal is then set), or may
// only be answered from the response cache, which does not have it. Then there is no response and
// nothing is counted: the caller must queue it. Errors: those of the codecs and backends.
bool serve(const ServeInput& input, Model& model, size_t replica, uint64_t queue_ns,
           const ServeSettings& settings, ServeMemory& memory, Request& out);

// Returns the options of a request's run. Outputs that exceed the response limit in memory could
// not be encoded either.
inline RunOptions run_options(const DecodedRequest& decoded, const CancelFlag* cancel,
                              const Limits& limits) {
  RunOptions options(cancel);
  options.null_for_invalid = decoded.table.null_for_invalid;
  options.output_bytes_max = limits.response_bytes_max;
  options.places = decoded.places;
  return options;
}

// Writes into `times` what a request's use of the response cache resulted in.
void note_cache(const CacheTurn& cache, ServeTimes& times);

}  // namespace serval
