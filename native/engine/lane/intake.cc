// Decides whether to run a request inline or to queue it. Hot path. Thread: the listener's.
#include "engine/lane/intake.h"

#include <utility>

#include "codec/v2/json.h"
#include "engine/lane/lookup.h"
#include "engine/model/record.h"
#include "engine/model/refusals.h"
#include "engine/request/outcome.h"

namespace serval {

Answer Intake::accept_whole(Protocol protocol, uint32_t handle, std::span<const uint8_t> body,
                            int64_t json_bytes) {
  const Arrival arrival{protocol, body, json_bytes, state_.settings.rest_timeout_us, nullptr, {}};
  if (body.size() <= state_.settings.body_bytes_max) return admit(arrival, handle);
  return replies_.answer(arrival, too_large(of_bytes(body.size()), state_.settings), handle);
}

Answer Intake::accept_message(const Arrival& arrival) {
  WireModelRef ref;
  const Result<uint32_t> handle = find_model(arrival.protocol, arrival.bytes, state_, ref);
  if (handle.ok()) {
    Arrival found = arrival;
    found.schedule = ref.schedule;
    return admit(found, handle.value());
  }
  traces_.drop_parent();
  replies_.log(arrival, handle.error(), 0);
  return {put_lookup_error(arrival.protocol, handle.error(), ref, state_.slots.first()), false, 0};
}

Answer Intake::accept_body(uint32_t ticket, Protocol protocol, uint32_t handle,
                           int64_t json_bytes) {
  Request* request = state_.slots.find(ticket);
  if (request == nullptr) return replies_.answer_closed();
  return admit(
      {protocol, request->body.bytes(), json_bytes, state_.settings.rest_timeout_us, request, {}},
      handle);
}

// Hot path: queue. The one entry: runs the request at once if the policy says so; queues it
// otherwise, and if it took too long for this thread.
Answer Intake::admit(Arrival arrival, uint32_t handle) {
  const std::shared_ptr<Model>* model = state_.published().find(handle);
  Admission admission;
  if (model != nullptr) {
    if (const Status admitted = state_.admit(**model, admission); !admitted.ok()) {
      const Answer refused = replies_.answer(arrival, admitted.error(), handle);
      if (arrival.request != nullptr) state_.slots.release(*arrival.request);
      return refused;
    }
    traces_.begin(**model);
  }
  CacheUse cache = CacheUse::Waits;
  const uint64_t alone = state_.flow_requests();
  if (model != nullptr && !runs_inline(**model, arrival.protocol, arrival.bytes.size(), alone)) {
    if ((*model)->cache() == nullptr || arrival.bytes.size() > kCachedInlineBodyMax) {
      return enqueue(arrival, *model, std::move(admission), 0, false);
    }
    cache = CacheUse::HitsOnly;
  }
  const std::optional<Answer> answer = model != nullptr
                                           ? run_here(arrival, **model, cache, admission)
                                           : answer_missing(arrival, handle);
  if (!answer.has_value()) {
    return enqueue(arrival, *model, std::move(admission), inline_runner_.spent_ns(),
                   state_.slots.first().died);
  }
  if (arrival.request != nullptr) state_.slots.release(*arrival.request);
  return *answer;
}

// Copies JavaScript's bytes that are read as text into slot 0, which has padding after them.
// Errors: memory_full.
Status Intake::pad_body(Arrival& arrival) {
  if (arrival.request != nullptr || is_message(arrival.protocol)) return {};
  ByteBuffer& body = state_.slots.first().body;
  body.clear(aligned_at(arrival.json_bytes));
  if (!body.append(arrival.bytes.data(), arrival.bytes.size())) {
    return no_memory(arrival.bytes.size(), *state_.budget);
  }
  arrival.bytes = body.bytes();
  return {};
}

// Runs the request and puts the response into slot 0. Returns nothing if the run took too long for
// this thread, or the request must wait for its model's process or an equal request, or (HitsOnly)
// its response is not cached: the caller must queue the request.
std::optional<Answer> Intake::run_here(Arrival& arrival, Model& model, CacheUse cache,
                                       Admission& admission) {
  if (Status padded = pad_body(arrival); !padded.ok()) {
    return replies_.answer(arrival, padded.error(), model.handle());
  }
  const uint64_t limit_ns = arrival.timeout_us == 0 ? kNever : left_of(arrival.timeout_us, 0);
  ServeInput input{arrival.protocol, arrival.bytes, arrival.json_bytes, nullptr};
  input.cache = cache;
  Request& out = state_.slots.first();
  out.trace = traces_.release();
  out.wait_until_ns = 0;
  out.died = false;
  out.admission = std::move(admission);
  const bool served = inline_runner_.run(model, input, 0, limit_ns, out);
  admission = std::move(out.admission);
  if (!served) {
    traces_.restore(std::move(out.trace));
    return std::nullopt;
  }
  out.trace.reset();
  model.counters().requests_inline.fetch_add(1, std::memory_order_relaxed);
  return Answer{out.code, false, 0};
}

// Answers a request whose handle has no model: it was unloaded, or (0) never existed.
Answer Intake::answer_missing(Arrival& arrival, uint32_t handle) {
  if (handle != 0 || is_message(arrival.protocol)) {
    return replies_.answer(arrival, gone(handle), handle);
  }
  Status checked = pad_body(arrival);
  if (checked.ok()) checked = inline_runner_.check_unknown(arrival.protocol, arrival.bytes);
  if (checked.ok()) checked = make_error(ErrorCode::ModelNotFound, "");
  return replies_.answer(arrival, checked.error());
}

// `spent_ns`: time that an ended run on this thread spent on the request; `died`: its process ended
// during that run.
Answer Intake::enqueue(const Arrival& arrival, const std::shared_ptr<Model>& model,
                       Admission admission, uint64_t spent_ns, bool died) {
  const Result<Request*> accepted = queueing_.accept(arrival);
  if (!accepted.ok()) return replies_.answer(arrival, accepted.error(), model->handle());
  Request& request = *accepted.value();
  queueing_.begin(request, model, arrival, spent_ns);
  request.died = died;
  request.admission = std::move(admission);
  request.trace = traces_.release();
  if (request.protocol == Protocol::V2Rest && model->queue().settings().reads_request()) {
    Status peeked = peek_v2_schedule(request.bytes(), request.json_bytes, request.schedule);
    if (!peeked.ok()) return refuse(request, *model, peeked.error());
  }
  // Read before push(): once queued, the request may already be finished and recycled.
  const Answer pending{ErrorCode::Ok, true, state_.slots.ticket_of(request)};
  const Status pushed = queueing_.push(request, model);
  return pushed.ok() ? pending : refuse(request, *request.model, pushed.error());
}

// Answers a request that its queue did not accept.
Answer Intake::refuse(Request& request, Model& model, const Error& error) {
  end_request(model, request, error);
  store_error(request.protocol, request.bytes(), error, state_.slots.first());
  const Answer answer{state_.slots.first().code, false, 0};
  request.home.reset();
  state_.slots.release(request);
  return answer;
}

}  // namespace serval
