// Predict Protocol V2 over REST: JSON with the binary tensor data extension. Hot path; pure.
// Source: v2-protocol.md 1.1-1.3.
#pragma once

#include "codec/request.h"

namespace serval {

// Inference-Header-Content-Length was absent: the whole body is JSON.
inline constexpr int64_t kNoJsonHeader = -1;

// Decodes an infer body. `json_bytes`: the header's value, kNoJsonHeader, or 0 (the whole body is
// the raw data of the model's only input; all outputs binary). `signature` null = the model is
// unknown: returns model_not_found with an empty message at once. Fixed-size binary tensors stay
// views of the body if aligned to their element, otherwise they are copied into `arena`. Tensors in
// shared memory are listed in out.shared; such an input has a shape and no elements yet.
// Errors: malformed_body, invalid_argument.
Status decode_v2_infer(std::span<const uint8_t> body, int64_t json_bytes,
                       const Signature* signature, const Limits& limits, Arena& arena,
                       DecodedRequest& out);

// See serving/json.h. Both read the binary section with the same code.
bool decode_v2_infer_fast(std::span<const uint8_t> body, int64_t json_bytes,
                          const Signature& signature, const Limits& limits, Arena& arena,
                          DecodedRequest& out);
Status decode_v2_infer_plain(std::span<const uint8_t> body, int64_t json_bytes,
                             const Signature& signature, const Limits& limits, Arena& arena,
                             DecodedRequest& out);

// Reads only the top-level parameters `priority` and `timeout`, for models whose queue uses them;
// the decoder reports everything else that is wrong with the body. `json_bytes` as above; 0 has
// none. For a body that the decoder accepts, both are read as the decoder would; kBodyPadding bytes
// after the body can be read.
// Errors: invalid_argument (one of the two is not a whole number >= 0 in a body that is JSON).
Status peek_v2_schedule(std::span<const uint8_t> body, int64_t json_bytes, SchedulePolicy& out);

// Appends the start of every model's response: the model, the id, "outputs":[. False: out of
// memory.
bool append_answer_front(ByteBuffer& out, const AnswerModel& model, const DecodedRequest& request);

// Encodes the response; `json_bytes_out`: length of the JSON if binary data follows, else 0 (then
// the content type is JSON). An output in shared memory has neither data nor parameters.
// Errors: invalid_argument if a BYTES output requested as JSON is not valid UTF-8 (names the output
// and the element, and suggests binary data).
Status encode_v2_infer(const AnswerModel& model, const Signature& signature,
                       const DecodedRequest& request, std::span<const TensorView> outputs,
                       const Limits& limits, ByteBuffer& out, size_t& json_bytes_out);

}  // namespace serval
