// The model that a gRPC message names, and what is answered where there is none. Hot path; the
// listener's thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "codec/serving/wire.h"
#include "codec/v2/wire.h"
#include "engine/request/protocol.h"
#include "engine/request/request.h"
#include "engine/tables/route_table.h"

namespace serval {

// The handle that serves what a ModelSpec names. Errors, without a text: what is missing.
Result<uint32_t> find_servable(const TfModelRef& spec, const RouteTable& routes);

// The handle that the message's model has; `ref` gets what a V2 message says besides.
// Errors: those of peek_wire_v2() and peek_tf(), and without a text, what is missing.
Result<uint32_t> find_model(Protocol protocol, std::span<const uint8_t> message,
                            const RouteTable& routes, WireModelRef& ref);

// A stream's reply that says what is wrong with a request, in place of what `out` has. False when
// memory is out.
bool put_stream_error(std::string_view id, std::string_view text, Request& out);

// What a failed look-up is answered, in the response of `out`: what is missing, or the error's
// text, which on a stream is in a reply. Answers the code.
ErrorCode put_lookup_error(Protocol protocol, const Error& problem, const WireModelRef& ref,
                           Request& out);

}  // namespace serval
