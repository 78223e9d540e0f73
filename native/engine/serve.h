// One request from bytes to bytes: decode, check, run, encode. The same code on the listener's
// thread (inline) and on an instance thread (queued).
#pragma once

#include "codec/request.h"
#include "engine/model.h"
#include "engine/protocol.h"

namespace serval {

// Per-thread memory, reused from request to request.
struct Worker {
  Arena arena;
  DecodedRequest decoded;
  std::vector<uint32_t> output_indices;
  std::vector<TensorView> outputs;
};

struct ServeInput {
  Protocol protocol = Protocol::V1Predict;
  std::span<const uint8_t> body;  // REST: kBodyPadding readable bytes behind it
  int64_t json_bytes = -1;        // V2 REST: Inference-Header-Content-Length, or -1
  const CancelFlag* cancel = nullptr;
};

// Fills `response` (cleared first). `json_bytes_out`: length of the JSON before binary data, else
// 0. On a stream an error becomes a reply with error_message and the status is ok.
// Errors: those of the codecs and backends.
Status serve(const ServeInput& input, Model& model, const Limits& limits, Worker& worker,
             ByteBuffer& response, size_t& json_bytes_out);

}  // namespace serval
