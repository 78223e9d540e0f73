// Answers gRPC calls with the engine or the bridge. Hot path; the listener's thread.
#include "calls/engine_calls.h"

#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "base/bytes/views.h"
#include "base/clock.h"
#include "calls/call_log.h"
#include "engine/lane/lookup.h"
#include "engine/observe/load_report.h"

namespace serval {

namespace {

// The remaining time of a call in the engine's form: 0 = no limit.
uint64_t timeout_us(const Call& call) {
  if (call.deadline_ns() == 0) return 0;
  const uint64_t now = now_ns();
  return call.deadline_ns() <= now ? 1 : std::max<uint64_t>(1, (call.deadline_ns() - now) / 1000);
}

// A deadline in milliseconds since 1970; Infinity = none.
double deadline_ms(const Call& call) {
  if (call.deadline_ns() == 0) return std::numeric_limits<double>::infinity();
  const auto since_1970 = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const double left_ns = static_cast<double>(call.deadline_ns()) - static_cast<double>(now_ns());
  return (static_cast<double>(since_1970.count()) + left_ns) / 1e6;
}

// Frees a stream, which lives as long as its call.
void free_stream(InferStream* stream) { const std::unique_ptr<InferStream> gone(stream); }
InferStream* stream_of(Call& call) { return static_cast<InferStream*>(call.state); }

}  // namespace

EngineCalls::EngineCalls(CallThread& thread, std::shared_ptr<Engine> engine,
                         const ServeSettings& settings, const MethodTable& methods, Bridge& bridge)
    : LaneCalls(thread, std::move(engine), settings, bridge), methods_(methods) {}

void EngineCalls::begin(Call& call) {
  // Checked first: a refused caller can send no message and opens nothing.
  const auto [refusal, caller] = access_.judge(bridge_.access(), call);
  call.caller = caller;
  if (refusal != nullptr) {
    if (engine() != nullptr) engine()->server_stats().add(ServerValue::RefusedAccess, 1);
    finish(call, refusal->code, refusal->text);
    return;
  }
  if (!method_of(call).streams) return;
  note_stream(call.id());
  if (is_native(call)) call.state = std::make_unique<InferStream>().release();
  else open(call);
}

// Hot path: receive.
void EngineCalls::message(Call& call, Received message) {
  const bool streams = method_of(call).streams;
  if (is_native(call)) {
    if (streams) infer_streamed(call, message);
    else infer(call, message);
    return;
  }
  if (!streams) {
    const uint64_t id = call.id();
    open(call);
    if (thread_.find(id) == nullptr) return;
  } else {
    // Delivers one message each time JavaScript reads events, so that unanswered messages do not
    // pile up.
    forwarded_[call.id()].waits_for_take = true;
    waits_for_take_.push_back(call.id());
    call.set_paused(true);
  }
  forward(call, ListenerEvent::Message, 0, message.bytes);
}

// Passes a message to the engine, with its caller's trace context if that is used. Only the
// response headers of a call's first message can say that it is traced; later messages of a stream
// have no place for it.
Answer EngineCalls::ask(Call& call, Received message, bool first) {
  const Protocol protocol = *method_of(call).protocol;
  const Tracer& tracer = lane_->engine().tracer();
  const bool traces = tracer.on();
  if (traces && tracer.reads_parents()) {
    const std::string_view parent = call.metadata_value("traceparent");
    if (!parent.empty()) lane_->traces().set_parent(parent, call.metadata_value("tracestate"));
  }
  if (first) {
    const LoadFormat format = load_format(call.metadata_value(kLoadFormatHeader));
    if (format != LoadFormat::None) call.add_initial_metadata(kLoadHeader, load_report(format));
  }
  lane_->set_caller(call.caller);
  const Answer answered =
      lane_->infer_message(protocol, message.bytes, timeout_us(call), message.owned);
  thread_.note_flow(lane_->flow());
  TraceId trace_id;
  SpanId span_id;
  if (traces && lane_->traces().take(trace_id, span_id) && first) {
    call.add_initial_metadata("traceparent", trace_parent_text(trace_id, span_id));
  }
  return answered;
}

void EngineCalls::infer(Call& call, Received message) {
  const Answer answered = ask(call, message, true);
  if (answered.pending) {
    call.word = answered.ticket;
    wait_for(answered.ticket, {call.id(), 0});
    return;
  }
  answer(call, *lane_->slots().at(0), answered.code);
}

void EngineCalls::infer_streamed(Call& call, Received message) {
  InferStream& stream = *stream_of(call);
  // A message that arrives after the drain has begun is not run: the closing status says so.
  if (!stream.takes_requests()) return;
  const uint64_t number = stream.begin(message.bytes.size());
  const Answer answered = ask(call, message, number == 0);
  if (answered.pending) {
    stream.find(number)->ticket = answered.ticket;
    wait_for(answered.ticket, {call.id(), number});
    stream.adjust_reading(call);
    return;
  }
  answer_streamed(call, number, *lane_->slots().at(0), answered.code);
}

void EngineCalls::answer(Call& call, Request& out, ErrorCode code) {
  call.word = 0;
  if (code == ErrorCode::Ok) {
    if (out.load_wait_ns != 0)
      call.add_initial_metadata(kLoadWaitHeader, std::to_string(out.load_wait_ms()));
    if (call.send(out.response)) call.finish({});
  } else if (code == ErrorCode::LimitReached) {
    fail(call, code, text_of(out.response.bytes().subspan(out.json_bytes_out)));
  } else if (out.json_bytes_out > 0) {
    const std::optional<MissingWords> words = words_here(call, out);
    if (words.has_value()) fail(call, code, words->text);
    else explain(call, out, code);
  } else {
    fail(call, code, text_of(out.response.bytes()));
  }
}

void EngineCalls::answer_streamed(Call& call, uint64_t number, Request& out, ErrorCode code) {
  InferStream& stream = *stream_of(call);
  InferStream::Place* place = stream.find(number);
  if (place == nullptr) return;
  place->ticket = 0;
  if (code == ErrorCode::Ok || reply_here(call, out)) {
    if (!stream.answer(thread_, call, number, out.response)) return;
    if (!stream.finish_when_empty(call)) stream.adjust_reading(call);
    else free_stream(&stream);
  } else if (out.json_bytes_out > 0) {
    place->explaining = true;
    explain(call, out, code);
  } else {
    // Not an error of the request itself (those are sent as replies): it ends the stream.
    drop_stream(call);
    fail(call, code, text_of(out.response.bytes()));
  }
}

void EngineCalls::fail(Call& call, ErrorCode code, std::string_view text) {
  const std::string words = methods_.worded(call.method(), code, text);
  call.finish({methods_.status_of(code), words, {}});
}

// The error text for missing names; nothing if explain() has to find it.
std::optional<MissingWords> EngineCalls::words_here(Call& call, const Request& out) const {
  const auto missing = out.response.bytes().first(out.json_bytes_out);
  return word_missing(methods_.wording_of(call.method()), missing);
}

// The same for a request of a stream: a reply instead of the error. False: there is none.
bool EngineCalls::reply_here(Call& call, Request& out) const {
  if (out.json_bytes_out == 0) return false;
  const std::optional<MissingWords> words = words_here(call, out);
  if (!words.has_value()) return false;
  return put_stream_error(words->request_id, words->text, out);
}

// Asks JavaScript, which has the registry's snapshot, for the error text of names that only the
// registry can explain.
void EngineCalls::explain(Call& call, const Request& out, ErrorCode code) {
  const std::array<uint32_t, 3> head{static_cast<uint32_t>(code),
                                     static_cast<uint32_t>(out.json_bytes_out), call.caller};
  if (bridge_.push(ListenerEvent::Explain, thread_.index(), call.id(), call.method(),
                   {Bridge::words_of(head), out.response.bytes()})) {
    return;
  }
  drop_stream(call);
  call.finish({grpc_code::kResourceExhausted, "no memory for an error", {}});
}

void EngineCalls::half_closed(Call& call) {
  if (!is_native(call)) {
    forward(call, ListenerEvent::HalfClosed);
    return;
  }
  InferStream* stream = stream_of(call);
  stream->half_closed();
  if (stream->finish_when_empty(call)) free_stream(stream);
}

void EngineCalls::draining(Call& call) {
  InferStream* stream = is_native(call) ? stream_of(call) : nullptr;
  if (stream == nullptr) return;
  stream->draining();
  if (stream->finish_when_empty(call)) free_stream(stream);
}

// Cancels the requests of a native stream, whose responses nobody would receive.
void EngineCalls::drop_stream(Call& call) {
  InferStream* stream = stream_of(call);
  if (stream == nullptr) return;
  call.state = nullptr;
  for (const InferStream::Place& place : stream->places()) cancel(place.ticket);
  free_stream(stream);
}

void EngineCalls::finish(Call& call, int code, std::string_view message) {
  if (engine() != nullptr) log_call(engine()->access_log(), method_of(call).path, code, message);
  call.finish({code, message, {}});
}

// Logs a failed call unless the engine does: it logs its own requests, and each request of a
// stream, which ends when its client leaves.
void EngineCalls::failed(const Failed& failed) {
  if (failed.call != nullptr && is_native(*failed.call)) {
    const bool streams = method_of(*failed.call).streams;
    if (streams ? failed.code == grpc_code::kCancelled : failed.call->word != 0) return;
  }
  if (engine() == nullptr) return;
  log_call(engine()->access_log(), failed.path, failed.code, failed.message);
}

void EngineCalls::connected(int change) {
  if (engine() != nullptr) engine()->server_stats().add(ServerValue::ConnectionsGrpc, change);
}

void EngineCalls::closed(Call& call) {
  if (is_native(call)) {
    drop_stream(call);
    cancel(static_cast<uint32_t>(call.word));
    return;
  }
  forwarded_.erase(call.id());
  tell_closed(call.id());
}

void EngineCalls::left(Call& call, size_t messages) {
  if (!is_native(call)) {
    forward(call, ListenerEvent::Left, static_cast<uint32_t>(messages));
  } else if (InferStream* stream = stream_of(call); stream != nullptr) {
    stream->adjust_reading(call);
  }
}

// Removes ended streams when they are half of the list.
void EngineCalls::note_stream(uint64_t call) {
  constexpr size_t kEndedMax = 64;
  if (streams_.size() >= 2 * streams_kept_ + kEndedMax) {
    std::erase_if(streams_, [this](uint64_t id) { return thread_.find(id) == nullptr; });
    streams_kept_ = streams_.size();
  }
  streams_.push_back(call);
}

// Ends the streams of callers that are no longer allowed.
void EngineCalls::end_revoked() {
  if (streams_.empty() || !access_.is_stale(bridge_.access())) return;
  std::vector<uint64_t> calls;
  calls.swap(streams_);
  for (const uint64_t id : calls) {
    Call* call = thread_.find(id);
    if (call == nullptr) continue;
    const auto [refusal, caller] = access_.judge(bridge_.access(), *call);
    call->caller = caller;
    if (refusal == nullptr) {
      streams_.push_back(id);
      continue;
    }
    if (engine() != nullptr) engine()->server_stats().add(ServerValue::RefusedAccess, 1);
    if (is_native(*call)) {
      drop_stream(*call);
    } else {
      forwarded_.erase(id);
      tell_closed(id);
    }
    finish(*call, refusal->code, refusal->text);
  }
  streams_kept_ = streams_.size();
}

void EngineCalls::woken() {
  end_revoked();
  take_completed();
  bridge_.take_commands(thread_.index(), commands_);
  for (const Bridge::Command& command : commands_) obey(command);
  commands_.clear();
  go_on_telling();
  go_on_reading();
}

// Hot path: reply (queued) for gRPC.
void EngineCalls::completed(const Waiting& waiting, Request& request) {
  Call* call = thread_.find(waiting.call);
  if (call == nullptr) return;
  if (call->state != nullptr) answer_streamed(*call, waiting.number, request, request.code);
  else answer(*call, request, request.code);
}

void EngineCalls::open(Call& call) {
  thread_.note_flow({});
  const double deadline = deadline_ms(call);
  if (method_of(call).streams) forwarded_.emplace(call.id(), Forwarded{});
  std::array<uint8_t, sizeof deadline + sizeof call.caller> payload{};
  std::memcpy(payload.data(), &deadline, sizeof deadline);
  std::memcpy(payload.data() + sizeof deadline, &call.caller, sizeof call.caller);
  forward(call, ListenerEvent::Open, call.method(), payload);
}

void EngineCalls::forward(Call& call, ListenerEvent kind, uint32_t value,
                          std::span<const uint8_t> payload) {
  if (bridge_.push(kind, thread_.index(), call.id(), value, {payload})) return;
  forwarded_.erase(call.id());
  if (kind != ListenerEvent::Open) tell_closed(call.id());
  finish(call, grpc_code::kResourceExhausted, "no memory for a message");
}

void EngineCalls::obey(const Bridge::Command& command) {
  Call* call = thread_.find(command.call);
  if (call == nullptr) return;
  switch (command.kind) {
    case ListenerCommand::Message: call->send(std::span<const uint8_t>(command.bytes)); return;
    case ListenerCommand::Finish:
      forwarded_.erase(command.call);
      finish(*call, static_cast<int>(command.value), text_of(command.bytes));
      return;
    case ListenerCommand::Pause: {
      const auto found = forwarded_.find(command.call);
      if (found == forwarded_.end()) return;
      found->second.paused_by_handler = command.value != 0;
      call->set_paused(found->second.paused_by_handler || found->second.waits_for_take);
      return;
    }
    case ListenerCommand::ExplainedStatus:
    case ListenerCommand::ExplainedReply: explained(*call, command); return;
    case ListenerCommand::Answer:  // for HTTP requests only
    case ListenerCommand::Learn: return;
  }
}

void EngineCalls::explained(Call& call, const Bridge::Command& command) {
  if (!is_native(call)) return;
  InferStream* stream = stream_of(call);
  if (command.kind == ListenerCommand::ExplainedStatus || stream == nullptr) {
    drop_stream(call);
    call.finish({static_cast<int>(command.value), text_of(command.bytes), {}});
    return;
  }
  InferStream::Place* place = stream->explained();
  if (place == nullptr) return;
  place->explaining = false;
  place->answered = true;
  place->reply = thread_.take_buffer();
  if (!place->reply.append(command.bytes.data(), command.bytes.size())) {
    drop_stream(call);
    call.finish({grpc_code::kResourceExhausted, "no memory for a reply", {}});
    return;
  }
  if (!stream->send_answered(call)) return;
  if (stream->finish_when_empty(call)) free_stream(stream);
  else stream->adjust_reading(call);
}

void EngineCalls::go_on_reading() {
  for (const uint64_t id : taken_calls()) {
    Call* call = thread_.find(id);
    const auto found = forwarded_.find(id);
    if (call == nullptr || found == forwarded_.end()) continue;
    found->second.waits_for_take = false;
    call->set_paused(found->second.paused_by_handler);
  }
}

}  // namespace serval
