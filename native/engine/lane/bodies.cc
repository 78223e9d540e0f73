// Bodies in pieces. Hot path: receive; the listener's thread.
#include "engine/lane/bodies.h"

#include <utility>

#include "engine/lane/arrival.h"

namespace serval {

Error Bodies::refused(Error error) {
  state_.engine->server_stats().refused(error.code);
  return error;
}

Result<uint32_t> Bodies::open(uint64_t expected_bytes, uint64_t aligned_at) {
  if (expected_bytes > state_.settings.body_bytes_max) {
    return refused(too_large(of_bytes(expected_bytes), state_.settings));
  }
  Request* request = state_.slots.open();
  if (request == nullptr) return refused(no_slot());
  request->body.clear(aligned_at);
  // A stated length is trusted: a body that does not fit the budget is refused before it arrives.
  // Memory that was not written to yet costs addresses only.
  if (!request->body.reserve(expected_bytes)) {
    state_.slots.release(*request);
    return refused(no_memory(expected_bytes, *state_.budget));
  }
  return state_.slots.ticket_of(*request);
}

// Hot path: receive. Appends one chunk inside the callback: the chunk's memory dies on return.
Status Bodies::append(uint32_t ticket, std::span<const uint8_t> chunk) {
  Request* request = state_.slots.find(ticket);
  if (request == nullptr) return make_error(ErrorCode::Internal, "append to a closed ticket");
  const uint64_t bytes = request->body.size() + chunk.size();
  if (bytes > state_.settings.body_bytes_max) return refused(too_large("", state_.settings));
  if (!request->body.append(chunk.data(), chunk.size())) {
    return refused(no_memory(bytes, *state_.budget));
  }
  return {};
}

}  // namespace serval
