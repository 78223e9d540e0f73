// Compressed REST bodies: short ones are unpacked on the listener's thread, others on `sv-inflate`,
// a few at a time, from where they go into their model's queue. Hot path, compressed bodies only.
#include <utility>

#include "base/bytes/inflate.h"
#include "base/clock.h"
#include "codec/v2/json.h"
#include "engine/lane/lane.h"
#include "engine/model/instance.h"

namespace serval {

namespace {

// Packed and unpacked, what a listener's thread does itself: 0.1 ms.
constexpr size_t kHereBytesMax = 16 * 1024;
constexpr size_t kHereUnpackedMax = 64 * 1024;
// Between two looks at whether the client is still there.
constexpr size_t kStepBytes = 1u << 20;

// Replaces the packed body by what it unpacks to.
Status unpack(Request& request, Coding coding, uint64_t bytes_max, MemoryBudget* budget) {
  ByteBuffer plain;
  plain.charge_to(budget);
  plain.clear(aligned_at(request.json_bytes));
  Inflater inflater(coding, request.body.bytes(), bytes_max);
  while (!inflater.done()) {
    if (request.cancel.cancelled()) {
      return make_error(ErrorCode::Cancelled, "the client went away");
    }
    if (Status step = inflater.step(plain, kStepBytes); !step.ok()) return step;
  }
  std::swap(request.body, plain);
  return {};
}

}  // namespace

Answer Lane::infer_packed(uint32_t ticket, Protocol protocol, uint32_t handle, int64_t json_bytes,
                          Coding coding) {
  Request* request = slots_.find(ticket);
  if (request == nullptr) return answer_closed();
  const Arrival arrival{protocol, {}, json_bytes, settings_.rest_timeout_us, request, {}};
  const auto refused = [&](const Error& error) {
    release(*request);
    return answer_error(arrival, error, handle);
  };
  if (request->body.size() <= kHereBytesMax) {
    ByteBuffer& plain = slots_.first().body;
    plain.clear(aligned_at(json_bytes));
    Inflater inflater(coding, request->body.bytes(), settings_.inflated_bytes_max);
    if (Status step = inflater.step(plain, kHereUnpackedMax); !step.ok()) {
      return refused(step.error());
    }
    if (inflater.done()) {
      std::swap(request->body, plain);
      return infer_body(ticket, protocol, handle, json_bytes);
    }
  }
  const std::shared_ptr<Model>* model = table().find(handle);
  if (model == nullptr) {
    return refused(handle != 0 ? gone(handle) : make_error(ErrorCode::ModelNotFound, ""));
  }
  if (engine_->tracer().on()) begin_trace(**model);
  begin_queued(*request, *model, arrival, 0);
  request->trace = std::move(trace_);
  completions_.add_working(1);
  const uint32_t waiting = ticket_of(*request);
  const auto unpack = [request, coding] {
    const std::shared_ptr<Lane> lane = request->lane;  // outlives the request's use
    lane->unpack_and_push(*request, coding);
  };
  // Without a thread to be had it is done here: better late than never.
  if (!engine_->inflating().start(unpack)) unpack();
  return {ErrorCode::Ok, true, waiting};
}

// Thread: sv-inflate. The request is nobody else's until it is pushed or completed.
void Lane::unpack_and_push(Request& request, Coding coding) {
  const std::shared_ptr<Model> model = request.model;
  Status done =
      guarded([&] { return unpack(request, coding, settings_.inflated_bytes_max, budget_.get()); });
  engine_->trimmer().note();  // what it grew out of, or all of it, is free again
  if (done.ok() && request.protocol == Protocol::V2Rest &&
      model->queue().settings().reads_request()) {
    done = peek_v2_schedule(request.bytes(), request.json_bytes, request.schedule);
  }
  if (done.ok()) {
    const RequestQueue::Push pushed = push_request(model, request, Entry::First);
    if (pushed == RequestQueue::Push::Taken) return;
    const bool closed = pushed == RequestQueue::Push::Closed;
    if (!closed) engine_->server_stats().add(ServerValue::RefusedQueueFull, 1);
    done = not_taken(*model, request, closed);
  }
  finish_refused(*model, request, std::move(done.error()));
}

}  // namespace serval
