// Writes errors as responses. Hot path (errors); the thread that has the request.
#include "engine/request/outcome.h"

#include <string_view>

#include "codec/v2/wire.h"

namespace serval {

void put_error(const Error& error, Request& out) {
  out.response.clear();
  out.json_bytes_out = error.missing.size();
  if (out.response.append(error.missing) && out.response.append(error.message)) return;
  out.response.clear();
  out.json_bytes_out = 0;
}

void store_error(Protocol protocol, std::span<const uint8_t> message, const Error& error,
                 Request& out) {
  out.json_bytes_out = 0;
  out.response.clear();
  out.code = ErrorCode::Ok;
  if (protocol == Protocol::V2GrpcStream) {
    WireModelRef ref;
    const bool readable = peek_wire_v2(message, ref).ok();
    const std::string_view id = readable ? ref.id : std::string_view();
    if (encode_wire_v2_stream_error(id, error.message, out.response)) return;
  }
  put_error(error, out);
  out.code = error.code;
}

void store_outcome(Request& request, const Status& status) {
  request.code = ErrorCode::Ok;
  if (status.ok()) return;
  const bool queued = request.stage == Request::Stage::Queued;
  store_error(queued ? request.protocol : Protocol::V1Predict, request.bytes(), status.error(),
              request);
}

}  // namespace serval
