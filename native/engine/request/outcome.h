// The outcome of a request, written into its response. Hot path (errors); the thread that has the
// request.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "engine/request/request.h"

namespace serval {

// Writes the missing part and the text of an error into the response of `out`.
void put_error(const Error& error, Request& out);
// Writes an error into `out`: the code, the missing part and the text. On a stream the response is
// the message that carries the error for `message`, and the code is Ok.
void store_error(Protocol protocol, std::span<const uint8_t> message, const Error& error,
                 Request& out);
// Writes the outcome of a request into it. Thread: the one that finished it.
void store_outcome(Request& request, const Status& status);

}  // namespace serval
