// One request from bytes to bytes: decode, check, run, encode. The same code on the listener's
// thread (inline), on an instance thread (queued) and, in its pieces, in the batcher.
#pragma once

#include "base/clock.h"
#include "codec/request.h"
#include "engine/model/model.h"
#include "engine/request.h"

namespace serval {

// Nanoseconds of the steps of one request, as they were reached.
struct ServeTimes {
  uint64_t input_ns = 0, infer_ns = 0, output_ns = 0;
  uint32_t rows = 1;
};

// Per-thread memory, reused from request to request.
struct Worker {
  Arena arena;
  DecodedRequest decoded;
  std::vector<uint32_t> output_indices;
  std::vector<TensorView> outputs;
  ServeTimes times;

  explicit Worker(MemoryBudget* budget = nullptr) { arena.charge_to(budget); }
};

struct ServeInput {
  Protocol protocol = Protocol::V1Predict;
  std::span<const uint8_t> body;  // REST: kBodyPadding readable bytes behind it
  int64_t json_bytes = -1;        // V2 REST: Inference-Header-Content-Length, or -1
  const CancelFlag* cancel = nullptr;
};

// Fills `response` (cleared first) and worker.times. `json_bytes_out`: length of the JSON before
// binary data, else 0. On a stream an error becomes a reply with error_message and `failed` is its
// code while the status is ok.
// Errors: those of the codecs and backends.
Status serve(const ServeInput& input, Model& model, size_t replica, const Limits& limits,
             Worker& worker, ByteBuffer& response, size_t& json_bytes_out, ErrorCode& failed);

// The pieces. Bytes to tensors, checked against the signature, in the shapes the model takes.
// Errors: those of the codecs; invalid_argument (shape, more rows than the model's maximum).
Status decode_request(const ServeInput& input, const Model& model, const Limits& limits,
                      Arena& arena, DecodedRequest& decoded);
// Tensors to bytes; replaces what `response` held. `outputs` are changed on their way to the
// client's shapes and classes; text goes to `arena`.
Status encode_answer(Protocol protocol, const Model& model, const DecodedRequest& decoded,
                     std::span<const uint32_t> output_indices, std::span<TensorView> outputs,
                     const Limits& limits, Arena& arena, ByteBuffer& response,
                     size_t& json_bytes_out);
// A stream's form of an error. False when memory is out.
bool put_stream_error(std::span<const uint8_t> message, const std::string& text,
                      ByteBuffer& response);

// Whether the run was ended because it took too long on a listener's thread: it is no answer then,
// counts nowhere, and the request is served anew.
bool was_displaced(const ServeInput& input);

// serve(), timed for the inline policy, recorded; an exception ends as an error.
// `queue_ns`: how long the request waited before.
Status serve_recorded(const ServeInput& input, Model& model, size_t replica, uint64_t queue_ns,
                      const Limits& limits, Worker& worker, ByteBuffer& response,
                      size_t& json_bytes_out);

// How far a request came on its way: its id once it was decoded, how long it waited before.
struct Progress {
  std::string_view id;
  uint64_t queue_ns = 0;
  ServeTimes times;
};
// Ends a queued request: stores the outcome in it (see store_outcome()), counts it, records it for
// statistics and the access log. Does not hand it back. Without `progress` all that it did was to
// wait. Any thread that has the request.
void end_request(Model& model, Request& request, Status status, const Progress* progress = nullptr);

}  // namespace serval
