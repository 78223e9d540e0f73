// See lookup.h. Hot path; the listener's thread.
#include "engine/listener/lookup.h"

#include <utility>

#include "codec/serving/wire.h"

namespace serval {

// Hot path 3/12 for gRPC.
Result<uint32_t> find_model(Protocol protocol, std::span<const uint8_t> message,
                            const RouteTable& routes, WireModelRef& ref) {
  if (is_tf_message(protocol)) {
    TfModelRef spec;
    if (Status peeked = peek_tf(message, spec); !peeked.ok()) return std::move(peeked.error());
    return routes.find_servable(spec.name, spec.has_version ? &spec.version : nullptr,
                                spec.has_label ? &spec.label : nullptr);
  }
  if (Status peeked = peek_wire_v2(message, ref); !peeked.ok()) return std::move(peeked.error());
  return routes.find(ref.name, ref.version);
}

ErrorCode put_lookup_error(Protocol protocol, const Error& problem, const WireModelRef& ref,
                           Request& out) {
  ErrorCode code = problem.code;
  std::string_view text = problem.message;
  out.json_bytes_out = 0;
  out.response.clear();
  if (protocol == Protocol::V2GrpcStream) {
    if (encode_wire_v2_stream_error(ref.id, text, out.response)) return ErrorCode::Ok;
    code = ErrorCode::MemoryFull;
    text = "out of memory";
  }
  if (!out.response.append(text)) out.response.clear();
  return code;
}

}  // namespace serval
