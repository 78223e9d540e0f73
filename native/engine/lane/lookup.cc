// Look-up of models by name. Hot path; the listener's thread.
#include "engine/lane/lookup.h"

#include <optional>
#include <utility>

#include "engine/request/outcome.h"

namespace serval {

namespace {

Error error_of(const Missing& missing) {
  Error error = make_error(missing.code(), "");
  error.missing = missing.pack();
  return error;
}

}  // namespace

Result<uint32_t> find_servable(const TfModelRef& spec, LaneState& state) {
  Missing missing;
  const std::optional<uint32_t> handle = state.routes_to(spec.name).find_servable(
      spec.name, spec.has_version ? &spec.version : nullptr, spec.has_label ? &spec.label : nullptr,
      missing);
  return handle.has_value() ? Result<uint32_t>(*handle) : error_of(missing);
}

// Hot path: route for gRPC.
Result<uint32_t> find_model(Protocol protocol, std::span<const uint8_t> message, LaneState& state,
                            WireModelRef& ref) {
  if (is_tf_message(protocol)) {
    TfModelRef spec;
    if (Status peeked = peek_tf(message, spec); !peeked.ok()) return std::move(peeked.error());
    return find_servable(spec, state);
  }
  if (Status peeked = peek_wire_v2(message, ref); !peeked.ok()) return std::move(peeked.error());
  Missing missing;
  const std::optional<uint32_t> handle =
      state.routes_to(ref.name).find(ref.name, ref.version, missing);
  if (handle.has_value()) return *handle;
  missing.request_id = ref.id;
  return error_of(missing);
}

bool put_stream_error(std::string_view id, std::string_view text, Request& out) {
  out.json_bytes_out = 0;
  out.response.clear();
  return encode_wire_v2_stream_error(id, text, out.response);
}

ErrorCode put_lookup_error(Protocol protocol, const Error& problem, const WireModelRef& ref,
                           Request& out) {
  if (protocol == Protocol::V2GrpcStream && problem.missing.empty()) {
    if (put_stream_error(ref.id, problem.message, out)) return ErrorCode::Ok;
    put_error(make_error(ErrorCode::MemoryFull, "out of memory"), out);
    return ErrorCode::MemoryFull;
  }
  put_error(problem, out);
  return problem.code;
}

}  // namespace serval
