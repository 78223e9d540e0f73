// Predict Protocol V2 over gRPC: ModelInferRequest and ModelInferResponse as protobuf wire bytes.
// Hot path; pure. Source: v2-protocol.md 1.4, the published V2 protocol.
#pragma once

#include "codec/request.h"

namespace serval {

// The model that a ModelInferRequest names, and its place in the queue. Filled from top-level
// fields only.
struct WireModelRef {
  std::string_view name;
  std::string_view version;
  std::string_view id;
  SchedulePolicy schedule;  // parameters priority and timeout; a wrong type is an error
};
// Errors: malformed_body ("... at byte N"); invalid_argument (name, version or id over its limit in
// limits.h; priority or timeout is not an int64_param or uint64_param of 0 or more). On an error
// `out` is empty, except that a wrong priority or timeout keeps name, version and id: a stream's
// error contains the id.
Status peek_wire_v2(std::span<const uint8_t> message, WireModelRef& out);

// Decodes a ModelInferRequest. Raw contents, and FP32 and FP64 in one packed run, stay views of the
// message if aligned to their element, otherwise they are copied into `arena`; other typed contents
// are converted into `arena`. Tensors in shared memory are listed in out.shared; such an input has
// a shape and no elements yet. Does not look up the model: peek_wire_v2() returns its name. Shapes
// are not compared with the signature (the engine does that). Order of checks: the whole message's
// form; unsupported features; inputs in wire order; outputs. Errors: malformed_body,
// invalid_argument, body_too_large, internal (memory).
Status decode_wire_v2(std::span<const uint8_t> message, const Signature& signature,
                      const Limits& limits, Arena& arena, DecodedRequest& out);

// Encodes a ModelInferResponse with raw_output_contents. With `stream`, wrapped as
// ModelStreamInferResponse.infer_response with the parameter triton_final_response. outputs[i]
// belongs to request.outputs[i]. Appends to `out`, which is unchanged on an error. An output in
// shared memory has parameters and an empty entry, as in Triton. Errors: internal (memory),
// body_too_large (response over limits.response_bytes_max).
Status encode_wire_v2(const AnswerModel& model, const Signature& signature,
                      const DecodedRequest& request, std::span<const TensorView> outputs,
                      bool stream, const Limits& limits, ByteBuffer& out);

// Appends a ModelStreamInferResponse that carries an error: error_message, and infer_response{id}
// with the parameter triton_final_response. Replaces bytes that are not UTF-8: clients refuse a
// message that holds such a string.
// Source: v2-protocol.md 11 "tritonclient grpc". False: out of memory.
bool encode_wire_v2_stream_error(std::string_view id, std::string_view message, ByteBuffer& out);

}  // namespace serval
