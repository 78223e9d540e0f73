// How requests come in: each is run at once on the listener's thread, or gets a slot and goes into
// its model's queue. Hot path. Thread: the listener's.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "codec/v2/json.h"
#include "engine/lane/lane.h"
#include "engine/lane/lookup.h"
#include "engine/model/batcher.h"
#include "engine/model/instance.h"
#include "engine/model/record.h"

namespace serval {

namespace {

// A short message is copied: less work than a reference that JavaScript has to make and drop.
constexpr size_t kPinBytesMin = 16 * 1024;
// A short message is copied out of a buffer that is larger than this: it stays with the listener.
constexpr size_t kTakeBytesMax = 64 * 1024;

// A body of `bytes` that has no room.
Error no_memory(uint64_t bytes, const MemoryBudget& budget) {
  return make_error(ErrorCode::MemoryFull,
                    "no memory for a request body of " + std::to_string(bytes) +
                        " bytes: " + std::to_string(budget.used()) +
                        " bytes are in use, the limit is " + std::to_string(budget.limit()));
}

// `bytes`: "of N bytes " where the length is known.
Error too_large(const std::string& bytes, const Limits& limits) {
  return make_error(ErrorCode::BodyTooLarge, "request body " + bytes + "is over the limit of " +
                                                 std::to_string(limits.body_bytes_max) + " bytes");
}

std::string of_bytes(uint64_t bytes) { return "of " + std::to_string(bytes) + " bytes "; }

}  // namespace

Error no_slot() { return make_error(ErrorCode::QueueFull, "too many requests in flight"); }

// A REST request whose body came in one piece.
Answer Lane::infer(Protocol protocol, uint32_t handle, std::span<const uint8_t> body,
                   int64_t json_bytes) {
  Arrival arrival{protocol, body, json_bytes, settings_.rest_timeout_us, nullptr, {}};
  if (body.size() <= settings_.body_bytes_max) return admit(arrival, handle);
  return answer_error(arrival, too_large(of_bytes(body.size()), settings_), handle);
}

// A gRPC message: its bytes are used where they are.
Answer Lane::infer_message(Protocol protocol, std::span<const uint8_t> message, uint64_t timeout_us,
                           ByteBuffer* owned) {
  if (protocol == Protocol::TfMultiInference) {
    return infer_tasks({protocol, message, -1, timeout_us, nullptr, {}, owned});
  }
  WireModelRef ref;
  const Result<uint32_t> handle = find_model(protocol, message, *table().routes, ref);
  if (handle.ok()) {
    return admit({protocol, message, -1, timeout_us, nullptr, ref.schedule, owned}, handle.value());
  }
  parent_.reset();
  log_error({protocol, message, -1, timeout_us, nullptr, {}}, handle.error(), 0);
  return {put_lookup_error(protocol, handle.error(), ref, slots_.first()), false, 0};
}

Answer Lane::infer_body(uint32_t ticket, Protocol protocol, uint32_t handle, int64_t json_bytes) {
  Request* request = slots_.find(ticket);
  if (request == nullptr) return answer_closed();
  return admit(
      {protocol, request->body.bytes(), json_bytes, settings_.rest_timeout_us, request, {}},
      handle);
}

Result<uint32_t> Lane::open_body(uint64_t expected_bytes, uint64_t aligned_at) {
  const auto refused = [this](Error error) {
    engine_->server_stats().refused(error.code);
    return error;
  };
  if (expected_bytes > settings_.body_bytes_max) {
    return refused(too_large(of_bytes(expected_bytes), settings_));
  }
  Request* request = slots_.open();
  if (request == nullptr) return refused(no_slot());
  request->body.clear(aligned_at);
  // A stated length is believed: what the budget has no room for is refused before it comes.
  // Memory that nothing was written to yet costs addresses only.
  if (!request->body.reserve(expected_bytes)) {
    release(*request);
    return refused(no_memory(expected_bytes, *budget_));
  }
  return ticket_of(*request);
}

// Hot path: receive. One chunk: appended inside the callback, the chunk's memory dies on return.
Status Lane::append_body(uint32_t ticket, std::span<const uint8_t> chunk) {
  Request* request = slots_.find(ticket);
  if (request == nullptr) return make_error(ErrorCode::Internal, "append to a closed ticket");
  if (request->body.size() + chunk.size() > settings_.body_bytes_max) {
    engine_->server_stats().refused(ErrorCode::BodyTooLarge);
    return too_large("", settings_);
  }
  if (!request->body.append(chunk.data(), chunk.size())) {
    engine_->server_stats().refused(ErrorCode::MemoryFull);
    return no_memory(request->body.size() + chunk.size(), *budget_);
  }
  return {};
}

const EngineTable& Lane::table() {
  if (table_->epoch != engine_->epoch()) table_ = engine_->table();
  return *table_;
}

// Decides whether the request that has come is traced. Only where something is.
void Lane::begin_trace(Model& model) {
  // Left by a request that came while nothing was traced: those are not asked here.
  if (parents_ != engine_->tracer().generation()) parent_.reset();
  trace_ = engine_->tracer().begin(*model.trace_sampler().load(std::memory_order_acquire), parent_);
  parent_.reset();
  traced_.fresh = trace_ != nullptr;
  if (!traced_.fresh) return;
  traced_.trace_id = trace_->trace_id;
  traced_.span_id = trace_->span_id;
}

bool Lane::take_traced(TraceId& trace_id, SpanId& span_id) {
  if (!traced_.fresh) return false;
  traced_.fresh = false;
  trace_id = traced_.trace_id;
  span_id = traced_.span_id;
  return true;
}

// Hot path: queue. The one way in: at once where the policy says so; queued otherwise, and where it
// took too long for this thread.
Answer Lane::admit(Arrival arrival, uint32_t handle) {
  const std::shared_ptr<Model>* model = table().find(handle);
  if (model != nullptr && engine_->tracer().on()) begin_trace(**model);
  if (model != nullptr && !runs_inline(**model, arrival.protocol, arrival.bytes.size())) {
    return enqueue(arrival, *model, 0);
  }
  const std::optional<Answer> answer =
      model != nullptr ? run_here(arrival, **model) : answer_missing(arrival, handle);
  if (!answer.has_value()) return enqueue(arrival, *model, inline_runner_.spent_ns());
  if (arrival.request != nullptr) release(*arrival.request);
  return *answer;
}

// Where JavaScript's bytes are read as text, they are read from slot 0: there is padding behind
// them. Errors: memory_full.
Status Lane::pad_body(Arrival& arrival) {
  if (arrival.request != nullptr || is_message(arrival.protocol)) return {};
  ByteBuffer& body = slots_.first().body;
  body.clear(aligned_at(arrival.json_bytes));
  if (!body.append(arrival.bytes.data(), arrival.bytes.size())) {
    return no_memory(arrival.bytes.size(), *budget_);
  }
  arrival.bytes = body.bytes();
  return {};
}

// Answers in slot 0; nothing when it took too long for this thread: the request is to be queued.
std::optional<Answer> Lane::run_here(Arrival& arrival, Model& model) {
  if (Status padded = pad_body(arrival); !padded.ok()) {
    return answer_error(arrival, padded.error(), model.handle());
  }
  const uint64_t limit_ns = arrival.timeout_us == 0 ? kNever : left_of(arrival.timeout_us, 0);
  const ServeInput input{arrival.protocol, arrival.bytes, arrival.json_bytes, nullptr};
  Request& out = slots_.first();
  out.trace = std::move(trace_);
  const bool served = inline_runner_.run(model, input, 0, limit_ns, out);
  if (!served) {
    trace_ = std::move(out.trace);
    return std::nullopt;
  }
  out.trace.reset();
  model.counters().requests_inline.fetch_add(1, std::memory_order_relaxed);
  return Answer{slots_.first().code, false, 0};
}

// No model has the handle: it is gone, or (0) there never was one.
Answer Lane::answer_missing(Arrival& arrival, uint32_t handle) {
  if (handle != 0 || is_message(arrival.protocol)) {
    return answer_error(arrival, gone(handle), handle);
  }
  Status checked = pad_body(arrival);
  if (checked.ok()) checked = inline_runner_.check_unknown(arrival.protocol, arrival.bytes);
  if (checked.ok()) checked = make_error(ErrorCode::ModelNotFound, "");
  return answer_error(arrival, checked.error());
}

// The request for what came, with its bytes. Errors: queue_full (no slot left), memory_full.
Result<Request*> Lane::take_in(const Arrival& arrival) {
  if (arrival.request != nullptr) return arrival.request;
  Request* request = slots_.open();
  if (request == nullptr) return no_slot();
  request->body.clear(aligned_at(arrival.json_bytes));
  if (is_message(arrival.protocol)) {
    if (Status taken = take_message(arrival, *request); !taken.ok()) {
      release(*request);
      return std::move(taken.error());
    }
    return request;
  }
  if (request->body.append(arrival.bytes.data(), arrival.bytes.size())) return request;
  release(*request);
  return no_memory(arrival.bytes.size(), *budget_);
}

// A message's bytes: its buffer, a copy, or a pin. Errors: memory_full.
Status Lane::take_message(const Arrival& arrival, Request& request) {
  const std::span<const uint8_t> bytes = arrival.bytes;
  const bool is_short = bytes.size() <= kPinBytesMin;
  if (arrival.owned != nullptr && (!is_short || arrival.owned->base_bytes() <= kTakeBytesMax)) {
    std::swap(request.body, *arrival.owned);
    return {};
  }
  if (is_short && request.body.append(bytes.data(), bytes.size())) return {};
  if (slots_.pin(request, bytes)) return {};
  if (!is_short && request.body.append(bytes.data(), bytes.size())) return {};
  return no_memory(bytes.size(), *budget_);
}

void Lane::begin_queued(Request& request, const std::shared_ptr<Model>& model,
                        const Arrival& arrival, uint64_t spent_ns) {
  request.stage = Request::Stage::Queued;
  request.protocol = arrival.protocol;
  request.json_bytes = arrival.json_bytes;
  request.schedule = arrival.schedule;
  request.model = model;
  request.lane = shared_from_this();
  request.queued = Stopwatch();
  if (arrival.timeout_us != 0) {
    request.deadline_ns = now_ns() + left_of(arrival.timeout_us, spent_ns);
  }
}

// `spent_ns`: of the request's time, on a run that was given up.
Answer Lane::enqueue(const Arrival& arrival, const std::shared_ptr<Model>& model,
                     uint64_t spent_ns) {
  const Result<Request*> taken_in = take_in(arrival);
  if (!taken_in.ok()) return answer_error(arrival, taken_in.error(), model->handle());
  Request& request = *taken_in.value();
  begin_queued(request, model, arrival, spent_ns);
  request.trace = std::move(trace_);
  if (request.protocol == Protocol::V2Rest && model->queue().settings().reads_request()) {
    Status peeked = peek_v2_schedule(request.bytes(), request.json_bytes, request.schedule);
    if (!peeked.ok()) return refuse(request, *model, peeked.error());
  }
  // Where somebody is told of the request, it may be done and gone on return.
  const Answer pending{ErrorCode::Ok, true, ticket_of(request)};
  const Status pushed = push(request, model);
  return pushed.ok() ? pending : refuse(request, *model, pushed.error());
}

// Puts a request into its model's queue; where it is told of at once, it may be done and gone on
// return. Errors, and it is still the caller's: queue_full, model_not_ready.
Status Lane::push(Request& request, const std::shared_ptr<Model>& model) {
  completions_.add_working(1);
  const bool later = model->batcher() != nullptr && hooks_.ends_turns();
  const RequestQueue::Push pushed =
      push_request(model, request, later ? Entry::Unflushed : Entry::First);
  if (pushed == RequestQueue::Push::Taken) {
    if (later) turn_.add(model, request);
    return {};
  }
  completions_.add_working(-1);
  const bool closed = pushed == RequestQueue::Push::Closed;
  if (!closed) {
    model->counters().queue_full.fetch_add(1, std::memory_order_relaxed);
    engine_->server_stats().add(ServerValue::RefusedQueueFull, 1);
  }
  return not_taken(*model, request, closed);
}

// A request that the queue does not take.
Answer Lane::refuse(Request& request, Model& model, const Error& error) {
  end_request(model, request, error);
  store_error(request.protocol, request.bytes(), error, slots_.first());
  const Answer answer{slots_.first().code, false, 0};
  request.lane.reset();
  release(request);
  return answer;
}

Answer Lane::answer_closed() {
  return answer_error({}, make_error(ErrorCode::Internal, "infer on a closed ticket"));
}

// In slot 0: the error's text, on a stream the reply that carries it. `handle`: of the request's
// model, 0 = there is none, or a message says it.
Answer Lane::answer_error(const Arrival& arrival, const Error& error, uint32_t handle) {
  log_error(arrival, error, handle);
  trace_.reset();
  parent_.reset();
  store_error(arrival.protocol, arrival.bytes, error, slots_.first());
  return {slots_.first().code, false, 0};
}

// Of a request that came to no queue. What names its model in a URL is logged where that is read.
void Lane::log_error(const Arrival& arrival, const Error& error, uint32_t handle) {
  engine_->server_stats().refused(error.code);
  AccessLog& log = engine_->access_log();
  if (!log.is_on() || (handle == 0 && !is_message(arrival.protocol))) return;
  RefusedRequest refused{arrival.protocol, {}, {}, {}, arrival.bytes.size()};
  const std::shared_ptr<Model>* model = table().find(handle);
  std::string version;
  WireModelRef ref;
  TfModelRef tf;
  if (model != nullptr) {
    refused.model = (*model)->spec().name;
    refused.version = (*model)->version_text();
  } else if (arrival.protocol == Protocol::TfMultiInference) {
    // Its tasks name it.
  } else if (is_tf_message(arrival.protocol)) {
    if (peek_tf(arrival.bytes, tf).ok()) refused.model = tf.name;
    if (tf.has_version) refused.version = version = std::to_string(tf.version);
  } else if (is_message(arrival.protocol) && peek_wire_v2(arrival.bytes, ref).ok()) {
    refused.model = ref.name;
    refused.version = ref.version;
    refused.id = ref.id;
  }
  log_refused(log, refused, error);
}

}  // namespace serval
