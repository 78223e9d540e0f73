// Errors of requests that cannot be accepted. Hot path (errors); the listener's thread.
#include "engine/lane/arrival.h"

namespace serval {

Error no_slot() { return make_error(ErrorCode::QueueFull, "too many requests in flight"); }

Error no_memory(uint64_t bytes, const MemoryBudget& budget) {
  return make_error(ErrorCode::MemoryFull,
                    "no memory for a request body of " + std::to_string(bytes) +
                        " bytes: " + std::to_string(budget.used()) +
                        " bytes are in use, the limit is " + std::to_string(budget.limit()));
}

Error too_large(const std::string& bytes, const Limits& limits) {
  return make_error(ErrorCode::BodyTooLarge, "request body " + bytes + "is over the limit of " +
                                                 std::to_string(limits.body_bytes_max) + " bytes");
}

std::string of_bytes(uint64_t bytes) { return "of " + std::to_string(bytes) + " bytes "; }

}  // namespace serval
