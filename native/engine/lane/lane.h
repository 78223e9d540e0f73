// A lane into the engine, one for each thread that sends it requests: the parts that accept, queue
// and complete them. Knows nothing of N-API; its owner supplies hooks. Hot path.
// Threads: every method belongs to the lane's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/lane/bodies.h"
#include "engine/lane/compressed_body.h"
#include "engine/lane/held_bytes.h"
#include "engine/lane/inline_runner.h"
#include "engine/lane/intake.h"
#include "engine/lane/queueing.h"
#include "engine/lane/replies.h"
#include "engine/lane/state.h"
#include "engine/lane/tasks.h"
#include "engine/lane/traces.h"
#include "engine/lane/turn.h"

namespace serval {

class Lane {
 public:
  // Borrows the hooks until close().
  Lane(std::shared_ptr<Engine> engine, const ServeSettings& settings, LaneHooks* hooks);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  const ServeSettings& settings() const { return state_.settings; }
  Engine& engine() { return *state_.engine; }
  std::shared_ptr<Engine> shared_engine() const { return state_.engine; }
  const std::shared_ptr<Home>& home() const { return state_.home; }

  // Tickets, and the requests they name. Slot 0 holds the responses of immediate answers.
  RequestSlots& slots() { return state_.slots; }
  // Bodies that arrive in pieces.
  Bodies& bodies() { return bodies_; }
  // Traces of the requests that arrive.
  ArrivalTraces& traces() { return traces_; }
  // Memory that this thread's JavaScript holds.
  HeldBytes& held_bytes() { return held_bytes_; }

  // Sets the caller of the requests that follow; see LaneState.
  void set_caller(uint32_t number) { state_.set_caller(number); }

  // The flow of the latest request; see LaneState.
  FlowShare flow() const { return state_.flow(); }

  // Runs or queues a whole REST body. handle 0 = the model is unknown (V1 still checks the body).
  Answer infer(Protocol protocol, uint32_t handle, std::span<const uint8_t> body,
               int64_t json_bytes) {
    return intake_.accept_whole(protocol, handle, body, json_bytes);
  }
  // Runs or queues a body that was received in pieces. Consumes the ticket if it answers at once; a
  // pending answer keeps it.
  Answer infer_body(uint32_t ticket, Protocol protocol, uint32_t handle, int64_t json_bytes) {
    return intake_.accept_body(ticket, protocol, handle, json_bytes);
  }
  // Does the same for a compressed body. Errors: body_too_large, malformed_body, memory_full.
  Answer infer_compressed(uint32_t ticket, Protocol protocol, uint32_t handle, int64_t json_bytes,
                          Coding coding) {
    return compressed_bodies_.accept(ticket, protocol, handle, json_bytes, coding);
  }
  // Runs or queues a gRPC message, which names its model. `timeout_us`: remaining time of the
  // call's deadline, 0 = no deadline. `owned`: the buffer that holds the message, charged to the
  // engine's budget; if the request is queued, the buffer may be swapped for another one. Errors:
  // those of the protocol; queue_full (no slot left), memory_full.
  Answer infer_message(Protocol protocol, std::span<const uint8_t> message, uint64_t timeout_us,
                       ByteBuffer* owned = nullptr) {
    const Arrival arrival{protocol, message, -1, timeout_us, nullptr, {}, owned};
    return protocol == Protocol::TfMultiInference ? tasks_.accept(arrival)
                                                  : intake_.accept_message(arrival);
  }

  // Ends an event-loop iteration: wakes the instances of all requests that it queued for batching.
  // If there is only one request, for an idle model, runs it right here if that is fast.
  void flush() { turn_.flush(); }
  bool has_unflushed() const { return !turn_.empty(); }

  // Ends a request whose client left. An open body is dropped at once; a queued request that has
  // not begun is removed; a running one is ended and completes. Returns true if no completion will
  // follow.
  bool cancel(uint32_t ticket);

  // Opens a ticket for a load, an unload or a warm-up, which ends with a completion. cancel() ends
  // a warm-up.
  Result<uint32_t> open_control();

  // Takes up to out.size() completed requests; each must be released. Also picks up what the
  // engine published.
  size_t take_completed(std::span<Request*> out);
  // Releases a request that take_completed() returned, unless it is kept.
  void release_taken(uint32_t ticket);
  bool has_completed() { return !state_.completions.empty(); }

  // Appends the models of queued and running requests: for each "<count> <name>" and a NUL byte.
  // Returns false if memory is out.
  bool unanswered(ByteBuffer& out) const;

  // Cancels waiting requests and blocks until no instance touches this lane's memory.
  void close();

 private:
  bool goes_on(Request& request);

  LaneState state_;
  ArrivalTraces traces_;
  ErrorReplies replies_;
  InlineRunner inline_runner_;
  TurnRequests turn_;
  Queueing queueing_;
  Bodies bodies_;
  Intake intake_;
  Tasks tasks_;
  CompressedBodies compressed_bodies_;
  HeldBytes held_bytes_;
};

}  // namespace serval
