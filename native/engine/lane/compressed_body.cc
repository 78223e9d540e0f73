// Decompression of REST bodies. Hot path, compressed bodies only. Threads: the listener's and
// sv-inflate.
#include "engine/lane/compressed_body.h"

#include <utility>

#include "codec/v2/json.h"
#include "engine/model/queued.h"
#include "engine/model/refusals.h"
#include "engine/request/catch_exceptions.h"

namespace serval {

namespace {

// Compressed and decompressed bytes that a listener's thread does itself: 0.1 ms.
constexpr size_t kHereBytesMax = 16 * 1024;
constexpr size_t kHereInflatedMax = 64 * 1024;
// Decompressed bytes between two checks that the client is still connected.
constexpr size_t kStepBytes = 1u << 20;

// Replaces the compressed body by its contents.
Status decompress(Request& request, Coding coding, uint64_t bytes_max, MemoryBudget* budget) {
  ByteBuffer plain;
  plain.charge_to(budget);
  plain.clear(aligned_at(request.json_bytes));
  Inflater inflater(coding, request.body.bytes(), bytes_max);
  while (!inflater.done()) {
    if (request.cancel.cancelled()) return client_left();
    if (Status step = inflater.step(plain, kStepBytes); !step.ok()) return step;
  }
  std::swap(request.body, plain);
  return {};
}

}  // namespace

Answer CompressedBodies::accept(uint32_t ticket, Protocol protocol, uint32_t handle,
                                int64_t json_bytes, Coding coding) {
  Request* request = state_.slots.find(ticket);
  if (request == nullptr) return replies_.answer_closed();
  const Arrival arrival{protocol, {}, json_bytes, state_.settings.rest_timeout_us, request, {}};
  const auto refused = [&](const Error& error) {
    state_.slots.release(*request);
    return replies_.answer(arrival, error, handle);
  };
  if (request->body.size() <= kHereBytesMax) {
    ByteBuffer& plain = state_.slots.first().body;
    plain.clear(aligned_at(json_bytes));
    Inflater inflater(coding, request->body.bytes(), state_.settings.inflated_bytes_max);
    if (Status step = inflater.step(plain, kHereInflatedMax); !step.ok()) {
      return refused(step.error());
    }
    if (inflater.done()) {
      std::swap(request->body, plain);
      return intake_.accept_body(ticket, protocol, handle, json_bytes);
    }
  }
  const std::shared_ptr<Model>* model = state_.published().find(handle);
  if (model == nullptr) {
    return refused(handle != 0 ? gone(handle) : make_error(ErrorCode::ModelNotFound, ""));
  }
  Admission admission;
  if (const Status admitted = state_.admit(**model, admission); !admitted.ok()) {
    return refused(admitted.error());
  }
  traces_.begin(**model);
  queueing_.begin(*request, *model, arrival, 0);
  request->admission = std::move(admission);
  request->trace = traces_.release();
  state_.completions.add_working(1);
  const uint32_t waiting = state_.slots.ticket_of(*request);
  // The lane waits for the request before it closes: the request counts as working.
  const auto work = [this, request, coding] { decompress_and_push(*request, coding); };
  // If no thread can be started, the listener's thread does it.
  if (!state_.engine->inflating().start(work)) work();
  return {ErrorCode::Ok, true, waiting};
}

// Decompresses and queues the request. Thread: sv-inflate, the only user of the request until it is
// pushed or completed. Does not touch the lane afterwards: the lane may be closed and destroyed by
// then.
void CompressedBodies::decompress_and_push(Request& request, Coding coding) {
  const std::shared_ptr<Model> model = request.model;
  Status done = catch_exceptions([&] {
    return decompress(request, coding, state_.settings.inflated_bytes_max, state_.budget.get());
  });
  state_.engine->trimmer().note();  // the memory that the body outgrew, or all of it, is free
  if (done.ok() && request.protocol == Protocol::V2Rest &&
      model->queue().settings().reads_request()) {
    done = peek_v2_schedule(request.bytes(), request.json_bytes, request.schedule);
  }
  if (done.ok()) {
    const RequestQueue::Push pushed = push_request(model, request, Entry::First);
    if (pushed == RequestQueue::Push::Taken) return;
    const bool closed = pushed == RequestQueue::Push::Closed;
    if (closed && model->is_absent()) {
      request.again = true;
      return complete_one(request);
    }
    if (!closed) state_.engine->server_stats().add(ServerValue::RefusedQueueFull, 1);
    done = not_taken(*model, request, closed);
  }
  finish_refused(*model, request, std::move(done.error()));
}

}  // namespace serval
