// Decodes V1 predict bodies: with the fast decoder first, with the plain one if that rejects the
// body. Hot path; pure, any thread.
#include "codec/serving/json.h"

namespace serval {

Status decode_v1_predict(std::span<const uint8_t> body, std::span<const Signature> signatures,
                         const Limits& limits, Arena& arena, DecodedRequest& out) {
  if (decode_v1_predict_fast(body, signatures, limits, arena, out)) return {};
  return decode_v1_predict_plain(body, signatures, limits, arena, out);
}

}  // namespace serval
