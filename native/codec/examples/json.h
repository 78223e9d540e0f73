// TensorFlow Serving's REST classify and regress: converts JSON examples to serialized
// tensorflow.Example messages, and results to JSON. Hot path; pure.
// Source: tfserving.md 1.3, 1.7, 1.10, 9.
#pragma once

#include "codec/request.h"

namespace serval {

// Decodes a classify or regress body into the signature's single input: a rank-1 string tensor of
// serialized Examples in `arena` (each preceded by the context bytes, if there is a context). If
// `signatures` is empty, the model is unknown: the body is checked as far as TensorFlow Serving
// checks it before its model lookup, then the result is model_not_found with an empty message.
// body: kBodyPadding bytes after it must be readable. `check_method`:
// --enable_signature_method_name_check.
Status decode_v1_examples(std::span<const uint8_t> body, Method method, bool check_method,
                          std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                          DecodedRequest& out);

// The same for classify on a server that runs it: a classifier with named scores gets its inputs
// directly from the JSON if they fit, which `named` reports; otherwise they are Examples as above.
Status decode_v1_classify(std::span<const uint8_t> body, bool check_method,
                          std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                          DecodedRequest& out, bool& named);

// Encodes {"results": ...}. Labels that are not UTF-8 become {"b64": ...} (tfserving.md 9).
// Errors: invalid_argument in upstream's words.
Status encode_v1_results(Method method, const Signature& signature, const DecodedRequest& request,
                         std::span<const TensorView> outputs, const Limits& limits,
                         ByteBuffer& out);

}  // namespace serval
