// A request between bytes and tensors, by its protocol: decoding with the checks against the
// signature, and encoding. The same code runs on the listener's thread (inline), on an instance
// thread (queued) and in the batcher.
#pragma once

#include <span>
#include <string_view>

#include "codec/request.h"
#include "engine/cache/model_cache.h"
#include "engine/model/model.h"
#include "engine/request/settings.h"

namespace serval {

struct ServeInput {
  Protocol protocol = Protocol::V1Predict;
  std::span<const uint8_t> body;  // REST: followed by kBodyPadding readable bytes
  int64_t json_bytes = -1;        // V2 REST: Inference-Header-Content-Length, or -1
  const CancelFlag* cancel = nullptr;
  // If the body is a MultiInferenceRequest: the signature of the task to serve.
  const std::string_view* task = nullptr;
  CancelFlag* displace = nullptr;  // on a listener's thread: the flag of `cancel`; else null
  StepCall* step = nullptr;        // a step of an ensemble: its tensors, instead of a body
  CacheUse cache = CacheUse::Off;
  // The steps of an ensemble may wait for turns: not on a listener's thread.
  bool takes_turns = false;
};

// Returns the input of a queued request. Borrows it.
inline ServeInput input_of(const Request& request, const CancelFlag* cancel) {
  return {request.protocol,
          request.bytes(),
          request.json_bytes,
          cancel,
          request.group == nullptr ? nullptr : &request.task_signature,
          nullptr,
          request.step,
          request.waited_for_equal ? CacheUse::Runs : CacheUse::Waits,
          true};
}

// Adds to an error about a missing signature, as data, the signature and its model.
void explain_signature(const Model& model, Error& error);

// Decodes bytes to tensors as the client sent them, not checked against the signature. Errors:
// those of the codecs.
Status decode_as_sent(const ServeInput& input, const Model& model, const ServeSettings& settings,
                      Arena& arena, DecodedRequest& decoded);
// The steps of serve(). Decodes bytes to tensors, checked against the signature, in the shapes the
// model accepts. Errors: those of the codecs; invalid_argument (shape, more rows than the model's
// maximum).
Status decode_request(const ServeInput& input, const Model& model, const ServeSettings& settings,
                      Arena& arena, DecodedRequest& decoded);
// Encodes tensors to bytes, which replace the response of `out`; for a step of an ensemble they go
// to `out.step` instead. Changes `outputs` to the client's shapes and classes; text goes to
// `arena`.
Status encode_answer(Protocol protocol, const Model& model, const DecodedRequest& decoded,
                     std::span<const uint32_t> output_indices, std::span<TensorView> outputs,
                     const ServeSettings& settings, Arena& arena, Request& out);

}  // namespace serval
