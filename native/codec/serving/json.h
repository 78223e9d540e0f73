// TensorFlow Serving's predict bodies. Hot path; pure. Source: tfserving.md 1.3-1.6, 1.10, 9.
#pragma once

#include "codec/request.h"

namespace serval {

// Decodes a predict body against the model's signatures.
// `signatures` empty = the model is unknown: the body is checked as far as TensorFlow Serving
// checks it before its model lookup (JSON, top level object, signature_name), then the answer is
// model_not_found with an empty message (the caller words it). body: kBodyPadding readable bytes
// behind it. Tensors go into `arena` (or, where the bytes can be used as they are, stay views of
// the body).
// Shapes are NOT checked against the signature here (the engine does).
// Errors: malformed_body, invalid_argument, signature_not_found, unimplemented; texts as
// upstream's.
Status decode_v1_predict(std::span<const uint8_t> body, std::span<const Signature> signatures,
                         const Limits& limits, Arena& arena, DecodedRequest& out);

// The two halves of the above, for tests and fuzzing. The fast one accepts (ok) or turns down
// without saying why; what it accepts, the plain one accepts with the same tensors.
bool decode_v1_predict_fast(std::span<const uint8_t> body, std::span<const Signature> signatures,
                            const Limits& limits, Arena& arena, DecodedRequest& out);
Status decode_v1_predict_plain(std::span<const uint8_t> body, std::span<const Signature> signatures,
                               const Limits& limits, Arena& arena, DecodedRequest& out);

// Encodes {"predictions": ...} or {"outputs": ...}. outputs[i] belongs to request.outputs[i].
// Errors: invalid_argument as upstream's ("Tensor name: <n> has no shape information " ...).
// `arena` may be used for temporary memory.
Status encode_v1_predict(const Signature& signature, const DecodedRequest& request,
                         std::span<const TensorView> outputs, const Limits& limits,
                         ByteBuffer& out);

}  // namespace serval
