// Hot path. Thread: the listener's.
#include "engine/listener/listener.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/copies.h"
#include "codec/examples/json.h"
#include "codec/serving/json.h"
#include "codec/serving/wire.h"
#include "codec/v2/json.h"
#include "codec/v2/wire.h"
#include "engine/model/batcher.h"
#include "engine/model/instance.h"

namespace serval {

namespace {

constexpr uint32_t kSlotBits = 14;
constexpr uint32_t kSlotMask = (1u << kSlotBits) - 1;
constexpr uint32_t kUseMask = (1u << (32 - kSlotBits)) - 1;
constexpr size_t kPinBytesMin = 16 * 1024;
// What free slots of a listener keep together: so much, and so large a part of the budget.
constexpr uint64_t kRetainedBytesMax = 64u << 20;
constexpr uint64_t kRetainedPart = 16;

// A body of `bytes` that has no room.
Error no_memory(uint64_t bytes, const MemoryBudget& budget) {
  return make_error(ErrorCode::MemoryFull,
                    "no memory for a request body of " + std::to_string(bytes) +
                        " bytes: " + std::to_string(budget.used()) +
                        " bytes are in use, the limit is " + std::to_string(budget.limit()));
}

Error no_slot() { return make_error(ErrorCode::QueueFull, "too many requests in flight"); }

// `bytes`: "of N bytes " where the length is known.
Error too_large(const std::string& bytes, const Limits& limits) {
  return make_error(ErrorCode::BodyTooLarge, "request body " + bytes + "is over the limit of " +
                                                 std::to_string(limits.body_bytes_max) + " bytes");
}

std::string of_bytes(uint64_t bytes) { return "of " + std::to_string(bytes) + " bytes "; }

// Nanoseconds of a time limit, less what was spent; at least 1.
uint64_t left_of(uint64_t timeout_us, uint64_t spent_ns) {
  const uint64_t timeout_ns = std::min(timeout_us, kTimeoutUsMax) * 1000;
  return timeout_ns > spent_ns ? timeout_ns - spent_ns : 1;
}

Error gone(uint32_t handle) {
  return make_error(ErrorCode::ModelNotReady, "the model was unloaded",
                    "handle " + std::to_string(handle));
}

}  // namespace

Listener::Listener(std::shared_ptr<Engine> engine, Limits limits, ListenerHooks* hooks)
    : engine_(std::move(engine)),
      budget_(engine_->budget()),
      limits_(limits),
      retained_bytes_max_(std::min(kRetainedBytesMax, budget_->limit() / kRetainedPart)),
      table_(engine_->table()),
      worker_(budget_.get()),
      hooks_(hooks) {
  new_slot();
  engine_->inline_watch().add(inline_runs_);
}

Listener::~Listener() {
  if (engine_ != nullptr) engine_->inline_watch().remove(inline_runs_);
}

uint32_t Listener::ticket_of(const Request& request) const {
  return (request.use & kUseMask) << kSlotBits | request.slot;
}

Request* Listener::find(uint32_t ticket) {
  Request* request = slot(ticket & kSlotMask);
  if (request == nullptr || request->stage == Request::Stage::Free) return nullptr;
  return (request->use & kUseMask) == ticket >> kSlotBits ? request : nullptr;
}

const EngineTable& Listener::table() {
  if (table_->epoch != engine_->epoch()) table_ = engine_->table();
  return *table_;
}

Request* Listener::new_slot() {
  slots_.push_back(std::make_unique<Request>());
  Request* request = slots_.back().get();
  request->slot = static_cast<uint32_t>(slots_.size() - 1);
  request->body.charge_to(budget_.get());
  request->response.charge_to(budget_.get());
  return request;
}

Request* Listener::open_slot() {
  uint32_t index = 0;
  if (!free_slots_.empty()) {
    index = free_slots_.back();
    free_slots_.pop_back();
  } else {
    if (slots_.size() > std::min<size_t>(limits_.in_flight_max, kSlotMask)) return nullptr;
    index = new_slot()->slot;
  }
  Request* request = slots_[index].get();
  retained_bytes_ -= request->held_bytes();
  request->stage = Request::Stage::Body;
  request->code = ErrorCode::Ok;
  request->json_bytes_out = 0;
  request->schedule = SchedulePolicy();
  request->deadline_ns = 0;
  request->cancel.reset();
  ++tickets_open_;
  return request;
}

void Listener::release(Request& request) {
  unpin(request);
  request.model.reset();
  if (request.held_bytes() >= MemoryBudget::kLargeBytes) engine_->trimmer().note();
  if (retained_bytes_ + request.held_bytes() > retained_bytes_max_) {
    drop(request.body);
    drop(request.response);
  }
  retained_bytes_ += request.held_bytes();
  ++request.use;
  request.stage = Request::Stage::Free;
  free_slots_.push_back(request.slot);
  --tickets_open_;
}

void Listener::add_working(int change) {
  std::lock_guard lock(mutex_);
  working_ += change;
}

Answer Listener::answer_error(Error error) {
  ByteBuffer& text = slots_[0]->response;
  text.clear();
  slots_[0]->json_bytes_out = 0;
  if (!text.append(error.message)) text.clear();
  return {error.code, false, 0};
}

// The model is unknown. V1 finds fault with the body first. Source: tfserving.md 1.3.
Answer Listener::answer_unknown(Protocol protocol, std::span<const uint8_t> body) {
  Status checked;
  if (protocol != Protocol::V2Rest && body.size() <= kUnknownModelBodyMax) {
    worker_.decoded.clear();
    checked = protocol == Protocol::V1Predict
                  ? decode_v1_predict(body, {}, limits_, worker_.arena, worker_.decoded)
                  : decode_v1_examples(
                        body, protocol == Protocol::V1Classify ? Method::Classify : Method::Regress,
                        false, {}, limits_, worker_.arena, worker_.decoded);
    worker_.arena.reset();
  }
  if (checked.ok()) return answer_error(make_error(ErrorCode::ModelNotFound, ""));
  return answer_error(std::move(checked.error()));
}

// Answers in slot 0; nothing when it took too long for this thread: the request is to be queued.
std::optional<Answer> Listener::run_inline(Model& model, ServeInput input, uint64_t timeout_us) {
  Request& slot0 = *slots_[0];
  uint64_t limit_ns = model.policy().run_ns_max();
  if (timeout_us != 0) limit_ns = std::min(limit_ns, left_of(timeout_us, 0));
  input.cancel = inline_runs_.flag();
  inline_runs_.begin(engine_->inline_watch(), limit_ns);
  Status done =
      serve_recorded(input, model, 0, 0, limits_, worker_, slot0.response, slot0.json_bytes_out);
  if (inline_runs_.end(engine_->inline_watch()) && !done.ok()) return std::nullopt;
  model.counters().requests_inline.fetch_add(1, std::memory_order_relaxed);
  if (!done.ok()) return answer_error(std::move(done.error()));
  return Answer{};
}

// Joined models run inline only where they are asked to by flush().
bool Listener::runs_inline(Model& model, Protocol protocol, size_t body_bytes) {
  return model.batch_mode() != BatchMode::On && model.policy().run_inline(protocol, body_bytes);
}

// A request that the queue does not take.
Answer Listener::refuse(Request& request, Model& model, Error error) {
  ServedRequest served;
  served.protocol = request.protocol;
  served.code = error.code;
  served.request_bytes = request.bytes().size();
  record_request(model, served);
  request.listener.reset();
  const bool stream = request.protocol == Protocol::V2GrpcStream;
  ByteBuffer& response = slots_[0]->response;
  slots_[0]->json_bytes_out = 0;
  const bool told = stream && put_stream_error(request.bytes(), error.message, response);
  release(request);
  return told ? Answer{} : answer_error(std::move(error));
}

void Listener::begin_queued(Request& request, const std::shared_ptr<Model>& model,
                            Protocol protocol, int64_t json_bytes, uint64_t spent_ns) {
  request.stage = Request::Stage::Queued;
  request.protocol = protocol;
  request.json_bytes = json_bytes;
  request.model = model;
  request.listener = shared_from_this();
  request.queued = Stopwatch();
  if (is_rest(protocol) && limits_.rest_timeout_us != 0) {
    request.deadline_ns = now_ns() + left_of(limits_.rest_timeout_us, spent_ns);
  }
}

Answer Listener::enqueue(Request& request, const std::shared_ptr<Model>& model, Protocol protocol,
                         int64_t json_bytes, uint64_t spent_ns) {
  begin_queued(request, model, protocol, json_bytes, spent_ns);
  if (protocol == Protocol::V2Rest && model->queue().settings().reads_request()) {
    Status peeked = peek_v2_schedule(request.bytes(), json_bytes, request.schedule);
    if (!peeked.ok()) return refuse(request, *model, std::move(peeked.error()));
  }
  add_working(1);
  const bool later = model->batcher() != nullptr && hooks_->ends_turns();
  const RequestQueue::Push pushed =
      push_request(model, request, later ? Entry::Unflushed : Entry::First);
  if (pushed == RequestQueue::Push::Taken) return queued(request, model, later);
  add_working(-1);
  const bool closed = pushed == RequestQueue::Push::Closed;
  if (!closed) model->counters().queue_full.fetch_add(1, std::memory_order_relaxed);
  return refuse(request, *model, not_taken(*model, request, closed));
}

// `later`: nobody was told of the request yet. Where somebody was, it may be done and gone by now:
// only what this thread wrote before is used.
Answer Listener::queued(Request& request, const std::shared_ptr<Model>& model, bool later) {
  const Answer answer{ErrorCode::Ok, true, ticket_of(request)};
  if (!later) return answer;
  for (Unflushed& one : unflushed_) {
    if (one.model != model) continue;
    one.only = nullptr;
    if (++one.requests % std::max<uint32_t>(1, model->spec().batch.rows_max) == 0) {
      model->wake();  // a batch is full: no need to wait for the turn's end
    }
    return answer;
  }
  unflushed_.push_back({model, &request, 1});
  return answer;
}

void Listener::flush() {
  if (unflushed_.empty()) return;
  std::vector<Unflushed> unflushed;
  unflushed.swap(unflushed_);
  for (const Unflushed& one : unflushed) flush_model(one.model, one.only);
  if (unflushed_.empty()) {
    unflushed.clear();
    unflushed_.swap(unflushed);  // keeps its memory
  }
}

void Listener::flush_model(const std::shared_ptr<Model>& model, Request* only) {
  const bool idle =
      model->spec().batch.delay_us == 0 && model->busy().load(std::memory_order_relaxed) == 0;
  if (only != nullptr && idle && only->stage == Request::Stage::Queued &&
      model->policy().run_inline(only->protocol, only->bytes().size()) &&
      model->queue().take_if_alone(only)) {
    run_queued_here(*model, *only);
    return;
  }
  model->wake();
}

// Hot path 4/12. A request that would be a batch of one: the thread that has it answers it.
void Listener::run_queued_here(Model& model, Request& request) {
  const ServeInput input{request.protocol, request.bytes(), request.json_bytes,
                         inline_runs_.flag()};
  inline_runs_.begin(engine_->inline_watch(), model.policy().run_ns_max());
  Status done = serve_recorded(input, model, 0, request.queued.elapsed_ns(), limits_, worker_,
                               request.response, request.json_bytes_out);
  if (inline_runs_.end(engine_->inline_watch()) && !done.ok()) {
    const std::shared_ptr<Model> held = request.model;  // the request may be gone once it is pushed
    if (push_request(held, request, Entry::Again) == RequestQueue::Push::Taken) return;
    done = gone(model.handle());
  }
  store_outcome(request, std::move(done));
  request.listener.reset();
  std::lock_guard lock(mutex_);
  --working_;
  completed_.push_back(&request);  // the end of the turn takes it: nobody has to be woken
}

// Hot path 3/12. A REST request whose body came in one piece.
Answer Listener::infer(Protocol protocol, uint32_t handle, std::span<const uint8_t> body,
                       int64_t json_bytes) {
  if (body.size() > limits_.body_bytes_max) {
    return answer_error(too_large(of_bytes(body.size()), limits_));
  }
  const std::shared_ptr<Model>* model = table().find(handle);
  if (handle != 0 && model == nullptr) return answer_error(gone(handle));
  Request& slot0 = *slots_[0];
  const bool at_once = model == nullptr || runs_inline(**model, protocol, body.size());
  const size_t aligned_at = json_bytes > 0 ? static_cast<size_t>(json_bytes) : 0;
  uint64_t spent_ns = 0;
  if (at_once) {
    slot0.body.clear(aligned_at);
    if (!slot0.body.append(body.data(), body.size())) {
      return answer_error(no_memory(body.size(), *budget_));
    }
    if (model == nullptr) return answer_unknown(protocol, slot0.body.bytes());
    const ServeInput input{protocol, slot0.body.bytes(), json_bytes, nullptr};
    if (const auto answer = run_inline(**model, input, limits_.rest_timeout_us)) return *answer;
    spent_ns = worker_.times.input_ns + worker_.times.infer_ns;
  }
  Request* request = open_slot();
  if (request == nullptr) return answer_error(no_slot());
  request->body.clear(aligned_at);
  if (!request->body.append(body.data(), body.size())) {
    release(*request);
    return answer_error(no_memory(body.size(), *budget_));
  }
  return enqueue(*request, *model, protocol, json_bytes, spent_ns);
}

namespace {

// The handle that a message's model has; `ref` gets what a V2 message says besides.
Result<uint32_t> find_model(Protocol protocol, std::span<const uint8_t> message,
                            const RouteTable& routes, WireModelRef& ref) {
  if (is_tf_message(protocol)) {
    TfModelRef spec;
    if (Status peeked = peek_tf(message, spec); !peeked.ok()) return std::move(peeked.error());
    return routes.find_servable(spec.name, spec.has_version ? &spec.version : nullptr,
                                spec.has_label ? &spec.label : nullptr);
  }
  if (Status peeked = peek_wire_v2(message, ref); !peeked.ok()) return std::move(peeked.error());
  return routes.find(ref.name, ref.version);
}

}  // namespace

// Hot path 3/12. A gRPC message: its bytes are used where they are.
Answer Listener::infer_message(Protocol protocol, std::span<const uint8_t> message,
                               uint64_t timeout_us) {
  WireModelRef ref;
  const EngineTable& current = table();
  Error problem;
  if (Result<uint32_t> handle = find_model(protocol, message, *current.routes, ref); !handle.ok()) {
    problem = std::move(handle.error());
  } else if (const std::shared_ptr<Model>* model = current.find(handle.value())) {
    uint64_t spent_ns = 0;
    if (runs_inline(**model, protocol, message.size())) {
      const ServeInput input{protocol, message, -1, nullptr};
      if (const auto answer = run_inline(**model, input, timeout_us)) return *answer;
      spent_ns = worker_.times.input_ns + worker_.times.infer_ns;
    }
    Request* request = open_slot();
    if (request != nullptr) {
      // A short message is copied: less work than a reference that JavaScript has to make and drop.
      request->body.clear();
      if (message.size() > kPinBytesMin || !request->body.append(message.data(), message.size())) {
        request->pinned = message;
        request->pin = hooks_->pin();
        budget_->add(message.size());
      }
      request->schedule = ref.schedule;
      if (timeout_us != 0) {
        request->deadline_ns = now_ns() + left_of(timeout_us, spent_ns);
      }
      return enqueue(*request, *model, protocol, -1, 0);
    }
    problem = no_slot();
  } else {
    problem = gone(handle.value());
  }
  if (protocol != Protocol::V2GrpcStream) return answer_error(std::move(problem));
  ByteBuffer& response = slots_[0]->response;
  response.clear();
  if (!encode_wire_v2_stream_error(ref.id, problem.message, response)) {
    return answer_error(make_error(ErrorCode::MemoryFull, "out of memory"));
  }
  return {};
}

Result<uint32_t> Listener::open_body(uint64_t expected_bytes, uint64_t aligned_at) {
  if (expected_bytes > limits_.body_bytes_max) {
    return too_large(of_bytes(expected_bytes), limits_);
  }
  Request* request = open_slot();
  if (request == nullptr) return no_slot();
  request->body.clear(aligned_at);
  // A stated length is believed: what the budget has no room for is refused before it comes.
  // Memory that nothing was written to yet costs addresses only.
  if (!request->body.reserve(expected_bytes)) {
    release(*request);
    return no_memory(expected_bytes, *budget_);
  }
  return ticket_of(*request);
}

// Hot path 2/12. One chunk: appended inside the callback, the chunk's memory dies on return.
Status Listener::append_body(uint32_t ticket, std::span<const uint8_t> chunk) {
  Request* request = find(ticket);
  if (request == nullptr) return make_error(ErrorCode::Internal, "append to a closed ticket");
  if (request->body.size() + chunk.size() > limits_.body_bytes_max) {
    return too_large("", limits_);
  }
  if (!request->body.append(chunk.data(), chunk.size())) {
    return no_memory(request->body.size() + chunk.size(), *budget_);
  }
  return {};
}

Answer Listener::infer_body(uint32_t ticket, Protocol protocol, uint32_t handle,
                            int64_t json_bytes) {
  Request* request = find(ticket);
  if (request == nullptr) {
    return answer_error(make_error(ErrorCode::Internal, "infer on a closed ticket"));
  }
  const std::shared_ptr<Model>* model = table().find(handle);
  if (model != nullptr && !runs_inline(**model, protocol, request->body.size())) {
    return enqueue(*request, *model, protocol, json_bytes, 0);
  }
  Answer answer;
  if (model != nullptr) {
    const ServeInput input{protocol, request->body.bytes(), json_bytes, nullptr};
    const std::optional<Answer> ran = run_inline(**model, input, limits_.rest_timeout_us);
    if (!ran) {
      const uint64_t spent_ns = worker_.times.input_ns + worker_.times.infer_ns;
      return enqueue(*request, *model, protocol, json_bytes, spent_ns);
    }
    answer = *ran;
  } else if (handle != 0) {
    answer = answer_error(gone(handle));
  } else {
    answer = answer_unknown(protocol, request->body.bytes());
  }
  release(*request);
  return answer;
}

bool Listener::cancel(uint32_t ticket) {
  Request* request = find(ticket);
  if (request == nullptr) return true;
  if (request->stage == Request::Stage::Body || request->stage == Request::Stage::Kept) {
    release(*request);
    return true;
  }
  request->cancel.cancel(EndCause::ClientLeft);
  if (request->stage != Request::Stage::Queued) return false;
  if (!request->model->queue().remove(request)) return false;
  request->model->counters().cancelled.fetch_add(1, std::memory_order_relaxed);
  ServedRequest served;
  served.protocol = request->protocol;
  served.code = ErrorCode::Cancelled;
  served.request_bytes = request->bytes().size();
  served.queue_ns = served.total_ns = request->queued.elapsed_ns();
  record_request(*request->model, served);
  request->listener.reset();
  add_working(-1);
  release(*request);
  return true;
}

Result<uint32_t> Listener::open_control() {
  Request* request = open_slot();
  if (request == nullptr) return no_slot();
  request->stage = Request::Stage::Control;
  add_working(1);
  return ticket_of(*request);
}

}  // namespace serval
