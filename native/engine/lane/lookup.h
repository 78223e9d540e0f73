// Looks up the model that a gRPC message names, and words the error if there is none. Hot path; the
// listener's thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "codec/serving/wire.h"
#include "codec/v2/wire.h"
#include "engine/lane/state.h"
#include "engine/published/route_table.h"
#include "engine/request/protocol.h"
#include "engine/request/request.h"

namespace serval {

// Returns the handle that serves the model of a ModelSpec, as the lane's caller sees it. Errors,
// without a text: what is missing.
Result<uint32_t> find_servable(const TfModelRef& spec, LaneState& state);

// Returns the handle of the message's model; sets `ref` to the other fields of a V2 message.
// Errors: those of peek_wire_v2() and peek_tf(), and without a text, what is missing.
Result<uint32_t> find_model(Protocol protocol, std::span<const uint8_t> message, LaneState& state,
                            WireModelRef& ref);

// Replaces the contents of `out` by a stream's response that carries the error of a request.
// Returns false if out of memory.
bool put_stream_error(std::string_view id, std::string_view text, Request& out);

// Writes the response to a failed look-up into `out`: the missing part, or the error's text, which
// on a stream is inside a response message. Returns the code.
ErrorCode put_lookup_error(Protocol protocol, const Error& problem, const WireModelRef& ref,
                           Request& out);

}  // namespace serval
