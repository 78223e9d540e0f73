// TensorFlow Serving's REST classify and regress bodies: JSON examples to serialized
// tensorflow.Example messages, and results back. Hot path; pure.
// Source: tfserving.md 1.3, 1.7, 1.10, 9.
#pragma once

#include "codec/request.h"

namespace serval {

// Decodes a classify or regress body into the signature's single input: a rank-1 string tensor of
// serialized Examples in `arena` (context bytes, where there is a context, in front of each).
// `signatures` empty = the model is unknown: the body is checked as far as TensorFlow Serving
// checks it before its model lookup, then model_not_found with an empty message.
// body: kBodyPadding readable bytes behind it. `check_method`:
// --enable_signature_method_name_check.
Status decode_v1_examples(std::span<const uint8_t> body, Method method, bool check_method,
                          std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                          DecodedRequest& out);

// The same of classify for a server that runs it: a classifier with named scores gets its inputs
// straight from the JSON where they fit, and `named` says so; else they are Examples as above.
Status decode_v1_classify(std::span<const uint8_t> body, bool check_method,
                          std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                          DecodedRequest& out, bool& named);

// Encodes {"results": ...}. Labels that are no UTF-8 become {"b64": ...} (tfserving.md 9).
// Errors: invalid_argument as upstream's.
Status encode_v1_results(Method method, const Signature& signature, const DecodedRequest& request,
                         std::span<const TensorView> outputs, const Limits& limits,
                         ByteBuffer& out);

}  // namespace serval
