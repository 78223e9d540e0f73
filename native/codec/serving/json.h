// TensorFlow Serving's predict bodies. Hot path; pure. Source: tfserving.md 1.3-1.6, 1.10, 9.
#pragma once

#include "codec/request.h"

namespace serval {

// Decodes a predict body against the model's signatures. If `signatures` is empty, the model is
// unknown: the body is checked as far as TensorFlow Serving checks it before its model lookup
// (JSON, top-level object, signature_name), then the result is model_not_found with an empty
// message (the caller words it). body: kBodyPadding bytes after it must be readable. Tensors are
// allocated from `arena` (or are views of the body if the bytes can be used directly). Shapes are
// NOT checked against the signature here (the engine does that).
// Errors: malformed_body, invalid_argument, signature_not_found, unimplemented; texts as
// upstream's.
Status decode_v1_predict(std::span<const uint8_t> body, std::span<const Signature> signatures,
                         const Limits& limits, Arena& arena, DecodedRequest& out);

// The two halves of the above, for tests and fuzzing. The fast one accepts or rejects without a
// reason; the plain one accepts everything that the fast one accepts, with the same tensors.
bool decode_v1_predict_fast(std::span<const uint8_t> body, std::span<const Signature> signatures,
                            const Limits& limits, Arena& arena, DecodedRequest& out);
Status decode_v1_predict_plain(std::span<const uint8_t> body, std::span<const Signature> signatures,
                               const Limits& limits, Arena& arena, DecodedRequest& out);

// Whether the input is a column of a table: [?,1] as an ONNX graph declares it. Its rows may be
// plain values, and a missing floating-point value may be null, as data frames write it; TensorFlow
// Serving refuses both.
bool is_v1_column(const TensorSpec& spec);

// Encodes {"predictions": ...} or {"outputs": ...}. outputs[i] belongs to request.outputs[i].
// Errors: invalid_argument as upstream's ("Tensor name: <n> has no shape information " ...).
// `arena` may be used for temporary memory.
Status encode_v1_predict(const Signature& signature, const DecodedRequest& request,
                         std::span<const TensorView> outputs, const Limits& limits,
                         ByteBuffer& out);

}  // namespace serval
