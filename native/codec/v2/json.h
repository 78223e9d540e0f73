// Predict Protocol V2 over REST: JSON with the binary tensor data extension. Hot path; pure.
// Source: v2-protocol.md 1.1-1.3.
#pragma once

#include "codec/request.h"

namespace serval {

// Inference-Header-Content-Length was absent: the whole body is JSON.
inline constexpr int64_t kNoJsonHeader = -1;

// Decodes an infer body. `json_bytes`: the header's value, kNoJsonHeader, or 0 (the whole body is
// the raw data of the model's only input; all outputs binary). `signature` null = the model is
// unknown: answers model_not_found with an empty message at once. Fixed-size binary tensors stay
// views of the body when aligned to their element, else they are copied into `arena`. Tensors in
// shared memory are named in out.shared; an input of them has a shape and no elements yet.
// Errors: malformed_body, invalid_argument.
Status decode_v2_infer(std::span<const uint8_t> body, int64_t json_bytes,
                       const Signature* signature, const Limits& limits, Arena& arena,
                       DecodedRequest& out);

// As serving/json.h says. The binary section is read by the same code in both.
bool decode_v2_infer_fast(std::span<const uint8_t> body, int64_t json_bytes,
                          const Signature& signature, const Limits& limits, Arena& arena,
                          DecodedRequest& out);
Status decode_v2_infer_plain(std::span<const uint8_t> body, int64_t json_bytes,
                             const Signature& signature, const Limits& limits, Arena& arena,
                             DecodedRequest& out);

// Reads the top-level parameters `priority` and `timeout` only, for models whose queue wants them;
// what else is wrong with the body is the decoder's to say. `json_bytes` as above; 0 has none.
// Of a body that the decoder accepts, both are read as it would; kBodyPadding bytes behind the body
// can be read.
// Errors: invalid_argument (one of the two is no whole number >= 0 in a body that is JSON).
Status peek_v2_schedule(std::span<const uint8_t> body, int64_t json_bytes, SchedulePolicy& out);

// What answers of all kinds of models begin with: the model, the id, "outputs":[. False: no memory.
bool append_answer_front(ByteBuffer& out, const AnswerModel& model, const DecodedRequest& request);

// Encodes the answer; `json_bytes_out`: length of the JSON when binary data follows, else 0 (then
// the content type is JSON). An output in shared memory has neither data nor parameters.
// Errors: invalid_argument when a BYTES output asked for as JSON is not valid UTF-8 (names the
// output and the element, and says to ask for binary data).
Status encode_v2_infer(const AnswerModel& model, const Signature& signature,
                       const DecodedRequest& request, std::span<const TensorView> outputs,
                       const Limits& limits, ByteBuffer& out, size_t& json_bytes_out);

}  // namespace serval
