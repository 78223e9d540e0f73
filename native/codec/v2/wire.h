// Predict Protocol V2 over gRPC: ModelInferRequest and ModelInferResponse as protobuf wire bytes.
// Hot path; pure. Source: v2-protocol.md 1.4, seed 001.
#pragma once

#include "codec/request.h"

namespace serval {

// The model a ModelInferRequest names, and its place in the queue. Reads top-level fields only.
struct WireModelRef {
  std::string_view name;
  std::string_view version;
  std::string_view id;
  SchedulePolicy schedule;  // parameters priority and timeout; a wrong type there is an error
};
// Errors: malformed_body ("... at byte N"); invalid_argument (name, version or id over its limit in
// limits.h; priority or timeout no int64_param or uint64_param of 0 or more). At an error `out` is
// empty, except that a wrong priority or timeout leaves name, version and id: the id goes into a
// stream's error.
Status peek_wire_v2(std::span<const uint8_t> message, WireModelRef& out);

// Decodes a ModelInferRequest. Raw contents, and FP32 and FP64 in one packed run, stay views of the
// message when aligned to their element, else they are copied into `arena`; other typed contents
// are converted into `arena`. Tensors in shared memory are named in out.shared; an input of them
// has a shape and no elements yet. The model is not looked up: peek_wire_v2() says which it is.
// Shapes are not compared with the signature (the engine does). Order of checks: the whole
// message's form; features we do not have; inputs in wire order; outputs. Errors: malformed_body,
// invalid_argument, body_too_large, internal (memory).
Status decode_wire_v2(std::span<const uint8_t> message, const Signature& signature,
                      const Limits& limits, Arena& arena, DecodedRequest& out);

// Encodes a ModelInferResponse with raw_output_contents. With `stream`, wrapped as
// ModelStreamInferResponse.infer_response with the parameter triton_final_response. outputs[i]
// belongs to request.outputs[i]. Appends to `out`, which stays as it was at an error. An output in
// shared memory has parameters and an empty entry, as Triton has it. Errors: internal (memory),
// body_too_large (response over limits.response_bytes_max).
Status encode_wire_v2(const AnswerModel& model, const Signature& signature,
                      const DecodedRequest& request, std::span<const TensorView> outputs,
                      bool stream, const Limits& limits, ByteBuffer& out);

// A ModelStreamInferResponse that carries an error: error_message, and infer_response{id} with the
// parameter triton_final_response. Appends.
// Bytes that are not UTF-8 are replaced: clients refuse a message that holds such a string.
// Source: v2-protocol.md 11 "tritonclient grpc".
// False when memory is out.
bool encode_wire_v2_stream_error(std::string_view id, std::string_view message, ByteBuffer& out);

}  // namespace serval
