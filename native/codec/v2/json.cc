// Decodes V2 infer bodies: with the fast decoder first, with the plain one if that rejects the
// body, so that all errors come from one place. Hot path; pure, any thread.
#include "codec/v2/json.h"

namespace serval {

Status decode_v2_infer(std::span<const uint8_t> body, int64_t json_bytes,
                       const Signature* signature, const Limits& limits, Arena& arena,
                       DecodedRequest& out) {
  out.clear();
  if (signature == nullptr) return make_error(ErrorCode::ModelNotFound, "");
  if (decode_v2_infer_fast(body, json_bytes, *signature, limits, arena, out)) return {};
  out.clear();
  return decode_v2_infer_plain(body, json_bytes, *signature, limits, arena, out);
}

}  // namespace serval
