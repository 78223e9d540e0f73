// Answers HTTP requests with the engine or the bridge. Hot path; the listener's thread.
#include "calls/rest_calls.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/bytes/deflate.h"
#include "base/bytes/views.h"

namespace serval {

namespace {

constexpr size_t kOnePieceBytesMax = 256 * 1024;  // the most that a thread reads at a time
constexpr int kServiceUnavailable = 503;
constexpr size_t kPackedHereBytesMax = 16 * 1024;  // takes 0.1 ms
constexpr std::string_view kJson = "application/json";
constexpr std::string_view kBinary = "application/octet-stream";
constexpr std::string_view kJsonLength = "inference-header-content-length";

// A number of at most 15 digits; -1: invalid.
int64_t digits_of(std::string_view text) {
  constexpr size_t kDigitsMax = 15;
  int64_t number = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = done.ec == std::errc() && done.ptr == text.data() + text.size();
  return whole && text.size() <= kDigitsMax && number >= 0 ? number : -1;
}

}  // namespace

RestCalls::RestCalls(CallThread& thread, std::shared_ptr<Engine> engine,
                     const ServeSettings& settings, Bridge& bridge,
                     std::optional<ServerValue> connections)
    : LaneCalls(thread, std::move(engine), settings, bridge),
      connections_(connections),
      packer_(thread) {}

// Hot path: receive.
void RestCalls::begin(HttpRequest& request) {
  uint32_t caller = 0;
  const LearnedRoute* route = routes_.find(bridge_.route_generations(), request, caller);
  if (route != nullptr && route->answer != nullptr) {
    thread_.note_flow({});
    give(request, *route);
    return;
  }
  if (request.method() == "POST") note_load_format(request);
  if (route == nullptr || !begin_inference(request, *route, caller)) {
    open(request);
    return;
  }
  // Reserves memory for a body in pieces before any of it arrives.
  Inference& asked = *inference_of(request);
  const bool in_pieces = request.stated_bytes() > kOnePieceBytesMax;
  if (!in_pieces || open_body(request, asked)) request.want_body();
}

void RestCalls::give(HttpRequest& request, const LearnedRoute& route) {
  HttpAnswer answer;
  answer.status = route.answer->status;
  answer.content_type = route.answer->content_type;
  if (route.added != nullptr) answer.headers = *route.added;
  answer.body = route.answer->body;
  request.send(answer);
}

// False: JavaScript has to refuse it.
bool RestCalls::begin_inference(HttpRequest& request, const LearnedRoute& route, uint32_t caller) {
  if (request.stated_bytes() > lane_->settings().body_bytes_max) return false;
  AskedCodings codings;
  if (!read_codings(request, route.protocol == Protocol::V2Rest, codings)) return false;
  int64_t json_bytes = -1;
  if (route.protocol == Protocol::V2Rest) {
    const std::string_view length = request.header(kJsonLength);
    if (!length.empty()) {
      json_bytes = digits_of(length);
      if (json_bytes < 0) return false;
    }
  }
  if (free_inferences_.empty()) {
    inferences_.push_back(std::make_unique<Inference>());
    free_inferences_.push_back(inferences_.back().get());
  }
  Inference& asked = *free_inferences_.back();
  free_inferences_.pop_back();
  asked.protocol = route.protocol;
  asked.handle = route.handle;
  asked.route = route.number;
  asked.caller = caller;
  asked.json_bytes = json_bytes;
  asked.ticket = 0;
  asked.codings = codings;
  asked.added = route.added;
  asked.trace_parent.clear();
  asked.answer_lines.clear();
  const Tracer& tracer = lane_->engine().tracer();
  if (tracer.on() && tracer.reads_parents()) {
    asked.trace_parent = request.header("traceparent");
    if (!asked.trace_parent.empty()) asked.trace_state = request.header("tracestate");
  }
  request.state = &asked;
  return true;
}

void RestCalls::data(HttpRequest& request, std::span<const uint8_t> bytes, bool last) {
  Inference* asked = inference_of(request);
  if (asked != nullptr) infer(request, *asked, bytes, last);
  else forward(request, bytes, last);
}

// Hot path: receive. The common case is one piece, one call.
void RestCalls::infer(HttpRequest& request, Inference& asked, std::span<const uint8_t> bytes,
                      bool last) {
  const bool whole = asked.ticket == 0 && last && !asked.codings.body.has_value();
  if (!whole && !append(request, asked, bytes)) return;
  if (!last) return;
  if (!asked.trace_parent.empty()) {
    lane_->traces().set_parent(asked.trace_parent, asked.trace_state);
  }
  lane_->set_caller(asked.caller);
  if (whole) {
    settle(request, asked, lane_->infer(asked.protocol, asked.handle, bytes, asked.json_bytes));
    return;
  }
  const uint32_t ticket = std::exchange(asked.ticket, 0);
  const std::optional<Coding> coding = asked.codings.body;
  settle(
      request, asked,
      coding.has_value()
          ? lane_->infer_compressed(ticket, asked.protocol, asked.handle, asked.json_bytes, *coding)
          : lane_->infer_body(ticket, asked.protocol, asked.handle, asked.json_bytes));
}

// False: the request is answered, or will be.
bool RestCalls::open_body(HttpRequest& request, Inference& asked) {
  Result<uint32_t> opened =
      lane_->bodies().open(request.stated_bytes(), aligned_at(asked.json_bytes));
  if (opened.ok()) {
    asked.ticket = opened.value();
    return true;
  }
  failed(request, asked, opened.error().code, 0, bytes_of(opened.error().message));
  return false;
}

// Appends a piece of a body. False: the same.
bool RestCalls::append(HttpRequest& request, Inference& asked, std::span<const uint8_t> bytes) {
  if (asked.ticket == 0 && !open_body(request, asked)) return false;
  const Status appended = lane_->bodies().append(asked.ticket, bytes);
  if (appended.ok()) return true;
  failed(request, asked, appended.error().code, 0, bytes_of(appended.error().message));
  return false;
}

void RestCalls::settle(HttpRequest& request, Inference& asked, const Answer& answered) {
  thread_.note_flow(lane_->flow());
  TraceId trace_id;
  SpanId span_id;
  if (lane_->engine().tracer().on() && lane_->traces().take(trace_id, span_id)) {
    asked.answer_lines = "traceparent: " + trace_parent_text(trace_id, span_id) + "\r\n";
  }
  if (!answered.pending) {
    answer(request, asked, *lane_->slots().at(0), answered.code);
    return;
  }
  asked.ticket = answered.ticket;
  wait_for(answered.ticket, {request.id(), 0});
}

// Hot path: reply.
void RestCalls::answer(HttpRequest& request, Inference& asked, Request& out, ErrorCode code) {
  asked.ticket = 0;
  if (code != ErrorCode::Ok) {
    failed(request, asked, code, out.json_bytes_out, out.response.bytes());
    return;
  }
  asked.json_bytes_out = asked.protocol == Protocol::V2Rest ? out.json_bytes_out : 0;
  if (out.load_wait_ns != 0) [[unlikely]]
    asked.answer_lines +=
        std::string(kLoadWaitHeader) + ": " + std::to_string(out.load_wait_ms()) + "\r\n";
  if (asked.codings.answer.has_value()) pack(request, asked, out.response);
  else send_body(request, asked, out.response, {});
}

// Compresses the response: here if that takes some microseconds, else on another thread.
void RestCalls::pack(HttpRequest& request, Inference& asked, ByteBuffer& body) {
  PackedAnswer answer{request.id(), *asked.codings.answer,
                      std::exchange(body, thread_.take_buffer()), thread_.take_buffer()};
  const bool is_long = answer.plain.size() > kPackedHereBytesMax;
  if (is_long && packer_.start(lane_->engine(), answer)) return;
  (void)append_packed(answer.coding, kAnswerLevel, answer.plain.bytes(), SIZE_MAX, answer.packed);
  send_packed(answer);
}

// Sends a response uncompressed if compression failed.
void RestCalls::send_packed(PackedAnswer& packed) {
  HttpRequest* request = thread_.find_request(packed.request);
  Inference* asked = request == nullptr ? nullptr : inference_of(*request);
  if (asked != nullptr) {
    const bool is_packed = packed.packed.size() > 0;
    send_body(*request, *asked, is_packed ? packed.packed : packed.plain,
              is_packed ? std::optional<Coding>(packed.coding) : std::nullopt);
  }
  thread_.give_buffer(std::move(packed.plain));
  thread_.give_buffer(std::move(packed.packed));
}

// Hot path: reply.
void RestCalls::send_body(HttpRequest& request, Inference& asked, ByteBuffer& body,
                          std::optional<Coding> coding) {
  HttpAnswer answer;
  answer.content_type = kJson;
  std::string lines;
  if (coding.has_value()) lines.append("Content-Encoding: ").append(name_of(*coding)) += "\r\n";
  if (asked.json_bytes_out > 0) {
    answer.content_type = kBinary;
    lines += "Inference-Header-Content-Length: " + std::to_string(asked.json_bytes_out) + "\r\n";
  }
  lines += asked.answer_lines;
  lines += take_load_line(request);
  if (asked.added != nullptr) lines += *asked.added;
  answer.headers = lines;
  answer.body = body.bytes();
  answer.owned = &body;
  free_inferences_.push_back(&asked);
  request.state = nullptr;
  request.send(answer);
}

// JavaScript formats errors, because it has the route.
void RestCalls::failed(HttpRequest& request, const Inference& asked, ErrorCode code,
                       size_t missing_bytes, std::span<const uint8_t> text) {
  const std::array<uint32_t, 2> head{static_cast<uint32_t>(code),
                                     static_cast<uint32_t>(missing_bytes)};
  const uint32_t route = asked.route;
  const bool told = bridge_.push(ListenerEvent::Failed, thread_.index(), request.id(), route,
                                 {Bridge::words_of(head), text});
  drop(request);
  if (!told) send_text(request, kServiceUnavailable, "no memory for an error");
}

// The engine no longer references the request.
void RestCalls::drop(HttpRequest& request) {
  Inference* asked = inference_of(request);
  if (asked == nullptr) return;
  request.state = nullptr;
  cancel(asked->ticket);
  free_inferences_.push_back(asked);
}

void RestCalls::note_load_format(const HttpRequest& request) {
  const LoadFormat format = load_format(request.header(kLoadFormatHeader));
  if (format != LoadFormat::None) load_formats_[request.id()] = format;
}

std::string RestCalls::take_load_line(const HttpRequest& request) {
  if (load_formats_.empty()) [[likely]]
    return {};
  const auto found = load_formats_.find(request.id());
  if (found == load_formats_.end()) return {};
  const LoadFormat format = found->second;
  load_formats_.erase(found);
  return std::string(kLoadHeader) + ": " + load_report(format) + "\r\n";
}

void RestCalls::closed(HttpRequest& request) {
  if (!load_formats_.empty()) load_formats_.erase(request.id());
  if (inference_of(request) != nullptr) drop(request);
  else tell_closed(request.id());
}

void RestCalls::refused(const Refused& what) {
  constexpr std::string_view kEnd("\0", 1);
  (void)bridge_.push(ListenerEvent::Refused, thread_.index(), 0, static_cast<uint32_t>(what.status),
                     {bytes_of(what.reason), bytes_of(kEnd), bytes_of(what.method), bytes_of(kEnd),
                      bytes_of(what.path)});
}

void RestCalls::connected(int change) {
  if (engine() != nullptr && connections_) engine()->server_stats().add(*connections_, change);
}

void RestCalls::open(HttpRequest& request) {
  thread_.note_flow({});
  const auto add = [this](std::string_view text) { head_.append(text).append(1, '\0'); };
  head_.clear();
  add(request.method());
  add(request.path());
  add(request.query());
  for (const HttpHeader& header : request.headers()) {
    add(header.name);
    add(header.value);
  }
  const uint32_t flags = request.is_local() ? static_cast<uint32_t>(fb::RequestFlag::Local) : 0u;
  if (bridge_.push(ListenerEvent::Request, thread_.index(), request.id(), flags,
                   {bytes_of(head_)})) {
    return;
  }
  send_text(request, kServiceUnavailable, "no memory for a request");
}

void RestCalls::forward(HttpRequest& request, std::span<const uint8_t> bytes, bool last) {
  if (!last) {
    // Delivers one turn's data each time JavaScript takes events, so that they do not pile up.
    if (request.word == 0) {
      request.word = 1;
      waits_for_take_.push_back(request.id());
    }
    request.set_paused(true);
  }
  if (bridge_.push(ListenerEvent::Data, thread_.index(), request.id(), last ? 1 : 0, {bytes})) {
    return;
  }
  tell_closed(request.id());
  send_text(request, kServiceUnavailable, "no memory for a request body");
}

void RestCalls::send_text(HttpRequest& request, int status, std::string_view reason) {
  if (!load_formats_.empty()) load_formats_.erase(request.id());
  const std::string body = "{\"error\":\"" + std::string(reason) + "\"}";
  HttpAnswer answer;
  answer.status = status;
  answer.content_type = kJson;
  answer.headers = "Retry-After: 1\r\n";
  answer.body = bytes_of(body);
  request.send(answer);
}

void RestCalls::woken() {
  bridge_.take_commands(thread_.index(), commands_);
  for (const Bridge::Command& command : commands_) obey(command);
  commands_.clear();
  go_on_reading();
  go_on_telling();
  take_completed();
  for (PackedAnswer& packed : packer_.take()) send_packed(packed);
}

// Hot path: reply (queued).
void RestCalls::completed(const Waiting& waiting, Request& request) {
  HttpRequest* waits = thread_.find_request(waiting.call);
  if (waits == nullptr) return;
  if (Inference* asked = inference_of(*waits); asked != nullptr) {
    answer(*waits, *asked, request, request.code);
  }
}

void RestCalls::obey(const Bridge::Command& command) {
  if (command.kind == ListenerCommand::Learn) {
    (void)routes_.learn(bridge_.route_generations(), command.value, command.bytes);
    return;
  }
  HttpRequest* request = thread_.find_request(command.call);
  if (request == nullptr) return;
  if (command.kind == ListenerCommand::Pause) request->want_body();
  if (command.kind != ListenerCommand::Answer) return;
  uint32_t lines_bytes = 0;
  const std::span<const uint8_t> bytes(command.bytes);
  if (bytes.size() < sizeof lines_bytes) return;
  std::memcpy(&lines_bytes, bytes.data(), sizeof lines_bytes);
  const std::span<const uint8_t> rest = bytes.subspan(sizeof lines_bytes);
  if (rest.size() < lines_bytes) return;
  std::string_view lines = text_of(rest.first(lines_bytes));
  HttpAnswer answer;
  answer.status = static_cast<int>(command.value);
  if (!take_text(lines, answer.content_type)) return;
  answer.headers = lines;
  const std::string load = take_load_line(*request);
  std::string more;
  if (!load.empty() && answer.status == 200) {
    more = std::string(lines) + load;
    answer.headers = more;
  }
  answer.body = rest.subspan(lines_bytes);
  request->send(answer);
}

void RestCalls::go_on_reading() {
  for (const uint64_t id : taken_calls()) {
    HttpRequest* request = thread_.find_request(id);
    if (request == nullptr) continue;
    request->word = 0;
    request->set_paused(false);
  }
}

}  // namespace serval
