// One request from bytes to bytes: decode, check, run, encode. The same code on the listener's
// thread (inline), on an instance thread (queued) and, in its pieces, in the batcher.
#pragma once

#include "base/clock.h"
#include "codec/request.h"
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

  explicit ServeMemory(MemoryBudget* budget = nullptr) { arena.charge_to(budget); }
};

struct ServeInput {
  Protocol protocol = Protocol::V1Predict;
  std::span<const uint8_t> body;  // REST: kBodyPadding readable bytes behind it
  int64_t json_bytes = -1;        // V2 REST: Inference-Header-Content-Length, or -1
  const CancelFlag* cancel = nullptr;
  // The body is a MultiInferenceRequest: the signature of that task of it that is to be served.
  const std::string_view* task = nullptr;
  CancelFlag* displace = nullptr;  // on a listener's thread: the flag of `cancel`; else null
};

// A queued request's. Borrows it.
inline ServeInput input_of(const Request& request, const CancelFlag* cancel) {
  return {request.protocol, request.bytes(), request.json_bytes, cancel,
          request.group == nullptr ? nullptr : &request.task_signature};
}

// Serves one request: its outcome goes into `out` (see store_error()), it is timed for the inline
// policy and recorded. An exception ends as an error. `queue_ns`: how long it waited before.
// False: it took too long on a listener's thread and was ended. That is no answer and counts
// nowhere: it is to be served anew.
// Errors: those of the codecs and backends.
bool serve(const ServeInput& input, Model& model, size_t replica, uint64_t queue_ns,
           const ServeSettings& settings, ServeMemory& memory, Request& out);

// What a run is told of the request. What is over a response's limit as it lies in memory could not
// be answered.
inline RunOptions run_options(const DecodedRequest& decoded, const CancelFlag* cancel,
                              const Limits& limits) {
  RunOptions options(cancel);
  options.null_for_invalid = decoded.table.null_for_invalid;
  options.output_bytes_max = limits.response_bytes_max;
  options.places = decoded.places;
  return options;
}

// Where an error is that a signature is missing: says in data which, and of what.
void explain_signature(const Model& model, Error& error);

// Bytes to tensors as the client sent them, not checked against the signature. Errors: those of the
// codecs.
Status decode_as_sent(const ServeInput& input, const Model& model, const ServeSettings& settings,
                      Arena& arena, DecodedRequest& decoded);
// The pieces. Bytes to tensors, checked against the signature, in the shapes the model takes.
// Errors: those of the codecs; invalid_argument (shape, more rows than the model's maximum).
Status decode_request(const ServeInput& input, const Model& model, const ServeSettings& settings,
                      Arena& arena, DecodedRequest& decoded);
// Tensors to bytes: replaces what the response of `out` held. `outputs` are changed on their way to
// the client's shapes and classes; text goes to `arena`.
Status encode_answer(Protocol protocol, const Model& model, const DecodedRequest& decoded,
                     std::span<const uint32_t> output_indices, std::span<TensorView> outputs,
                     const ServeSettings& settings, Arena& arena, Request& out);

}  // namespace serval
