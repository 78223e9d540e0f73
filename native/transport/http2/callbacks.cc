// nghttp2's callbacks, and everything submitted to it. Hot path; the listener's thread.
#include <nghttp2/nghttp2.h>

#include <charconv>
#include <cstring>
#include <deque>
#include <vector>

#include "transport/grpc/text.h"
#include "transport/http2/connection.h"
#include "transport/loop/thread.h"

namespace serval {

namespace {

constexpr size_t kFrameHeadBytes = 9;
constexpr size_t kOutputBytesMax = 512 * 1024;
// A header list longer than its limit by this factor ends the connection, not only its call.
constexpr size_t kHeaderBombFactor = 4;
// The same burst of pings as FrameLimiter allows: all may arrive in one read.
constexpr size_t kOutboundAcksMax = 10'000;
constexpr size_t kSettingsEntriesMax = 32;
// Disables nghttp2's own limit, which ends a connection at 1,000 resets and 33 more a second, no
// matter what was answered meanwhile; FrameLimiter counts them instead.
constexpr uint64_t kLeftToLimiter = 1'000'000'000;
// Per header block. nghttp2 counts the pieces in which a frame's head is read, not the frames;
// FrameLimiter counts frames.
constexpr size_t kContinuationsMax = 2'000;
constexpr int kFirstUnknownType = NGHTTP2_CONTINUATION + 1;
// a response longer than this does not go before the short ones of others
constexpr size_t kLongAnswerBytes = 65'536;
constexpr std::string_view kJsonType = "application/json";

std::string_view text_of(const uint8_t* bytes, size_t count) {
  return {reinterpret_cast<const char*>(bytes), count};
}

// A header whose name and value are either stable (`kept`) or copied.
nghttp2_nv entry(std::string_view name, std::string_view value, bool kept) {
  nghttp2_nv out;
  out.name = reinterpret_cast<uint8_t*>(const_cast<char*>(name.data()));
  out.value = reinterpret_cast<uint8_t*>(const_cast<char*>(value.data()));
  out.namelen = name.size();
  out.valuelen = value.size();
  out.flags = kept ? NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE
                   : NGHTTP2_NV_FLAG_NO_COPY_NAME;
  return out;
}

// Headers of one block: entries, and the texts that they point to.
class Headers {
 public:
  void add(std::string_view name, std::string_view value) {
    entries_.push_back(entry(name, value, true));
  }
  void add_copied(std::string_view name, std::string_view value) {
    entries_.push_back(entry(name, value, false));
    entries_.back().flags = NGHTTP2_NV_FLAG_NONE;
  }
  void add(const Metadata& metadata) {
    for (const MetadataEntry& one : metadata) {
      const bool binary = one.name.size() >= 4 && one.name.ends_with("-bin");
      if (!binary) {
        add_copied(one.name, one.value);
        continue;
      }
      std::string text;
      append_base64(one.value, text);
      texts_.push_back(std::move(text));
      add_copied(one.name, texts_.back());
    }
  }
  // Adds HTTP/1 header lines, except those about the connection, which HTTP/2 does not have.
  void add_lines(std::string_view lines) {
    while (!lines.empty()) {
      const size_t end = lines.find("\r\n");
      const std::string_view line = lines.substr(0, end);
      lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 2);
      const size_t colon = line.find(": ");
      if (colon == std::string_view::npos) continue;
      std::string name(line.substr(0, colon));
      for (char& one : name) {
        if (one >= 'A' && one <= 'Z') one = static_cast<char>(one | 0x20);
      }
      if (name == "connection" || name == "keep-alive" || name == "transfer-encoding") continue;
      texts_.push_back(std::move(name));
      add_copied(texts_.back(), line.substr(colon + 2));
    }
  }
  void add_number(std::string_view name, uint64_t number) {
    char text[20];
    const auto done = std::to_chars(text, text + sizeof text, number);
    // short enough for the string's inline storage: only its slot is allocated
    add_text(name, std::string(text, done.ptr));
  }
  void clear() {
    entries_.clear();
    texts_.clear();
  }
  // Adds a value that is stored here until the block is submitted.
  void add_text(std::string_view name, std::string text) {
    texts_.push_back(std::move(text));
    add_copied(name, texts_.back());
  }
  const nghttp2_nv* data() const { return entries_.data(); }
  size_t size() const { return entries_.size(); }

 private:
  std::vector<nghttp2_nv> entries_;
  std::deque<std::string> texts_;
};

void add_status(Headers& headers, int code, std::string_view message, std::string_view details) {
  if (code == grpc_code::kOk) {
    headers.add("grpc-status", "0");
  } else {
    headers.add_text("grpc-status", std::to_string(code));
  }
  if (!message.empty()) {
    std::string encoded;
    append_percent_encoded(message, encoded);
    headers.add_text("grpc-message", std::move(encoded));
  }
  if (!details.empty()) {
    std::string encoded;
    append_base64(details, encoded);
    headers.add_text("grpc-status-details-bin", std::move(encoded));
  }
}

}  // namespace

struct Http2Connection::Callbacks {
  static Http2Connection& of(void* user) { return *static_cast<Http2Connection*>(user); }
  static Http2Stream* stream(nghttp2_session* session, int32_t number) {
    return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, number));
  }

  static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
    Http2Connection& connection = of(user);
    const bool ends = (head->flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (head->type) {
      case NGHTTP2_DATA:  // excludes DATA of streams that are gone
        if (ends) connection.history_.ended(head->stream_id);
        return 0;
      case NGHTTP2_HEADERS:
        return connection.judge(connection.history_.headers(head->stream_id, ends));
      case NGHTTP2_RST_STREAM:  // counted later, when its stream is known
        connection.history_.ended(head->stream_id);
        return 0;
      case NGHTTP2_GOAWAY: return 0;
      case NGHTTP2_SETTINGS:
        return connection.allow(Event::Settings) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
      case NGHTTP2_PING:
        if ((head->flags & NGHTTP2_FLAG_ACK) != 0) return 0;
        return connection.allow(Event::Ping) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
      case NGHTTP2_WINDOW_UPDATE:
        return connection.allow(Event::WindowUpdate) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
      case NGHTTP2_PRIORITY:
        // nghttp2 only checks the length when priorities are off.
        if (head->stream_id == 0) return connection.broken(NGHTTP2_PROTOCOL_ERROR, "PRIORITY");
        return connection.allow(Event::Priority) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
      case NGHTTP2_CONTINUATION:
        return connection.allow(Event::Continuation) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
      default: return connection.allow(Event::Other) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Connection& connection = of(user);
    connection.block_bytes_ = 0;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Http2Stream* begun = connection.begin_stream(frame->hd.stream_id);
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, begun);
    return 0;
  }

  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_bytes, const uint8_t* value, size_t value_bytes, uint8_t,
                       void* user) {
    Http2Connection& connection = of(user);
    connection.block_bytes_ += name_bytes + value_bytes;
    if (connection.block_bytes_ > kHeaderBombFactor * connection.settings().header_bytes_max) {
      connection.go_away(NGHTTP2_ENHANCE_YOUR_CALM, "too many headers");
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    Http2Stream* call = stream(session, frame->hd.stream_id);
    if (call != nullptr) call->add_header(text_of(name, name_bytes), text_of(value, value_bytes));
    return 0;
  }

  static int on_frame_recv(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Connection& connection = of(user);
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA: {
        Http2Stream* call = stream(session, frame->hd.stream_id);
        const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
        if (frame->hd.type == NGHTTP2_DATA && frame->hd.length == 0 && !ends &&
            !connection.allow(Event::EmptyData)) {
          return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        if (call == nullptr) return 0;
        if (frame->hd.type == NGHTTP2_HEADERS) {
          RequestStream* request = call->as_http();
          if (request != nullptr && request->is_call()) call = connection.make_call(*request);
          call->head_ended();
        }
        if (ends) call->end_stream();
        return 0;
      }
      case NGHTTP2_SETTINGS: connection.settings_came_ = true; return 0;
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
          connection.ping_answered(frame->ping.opaque_data);
        } else if (!connection.keepalive_.ping_received(connection.now())) {
          connection.go_away(NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings");
        }
        return 0;
      case NGHTTP2_RST_STREAM: {
        // Also counts streams that are gone: such a reset serves no purpose.
        Http2Stream* call = stream(session, frame->hd.stream_id);
        const bool late = call != nullptr && call->answered();
        return late || connection.allow(Event::PeerReset) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
      }
      default: return 0;
    }
  }

  // Skips the payload of frames of unknown types.
  static int skip_extension(nghttp2_session*, void**, const nghttp2_frame_hd*, void*) {
    return NGHTTP2_ERR_CANCEL;
  }

  static int on_data(nghttp2_session* session, uint8_t, int32_t number, const uint8_t* bytes,
                     size_t count, void*) {
    // Returns the connection's whole window at once: the budget limits what its calls hold, and a
    // paused call must not stop the others.
    nghttp2_session_consume_connection(session, count);
    Http2Stream* call = stream(session, number);
    if (call == nullptr) nghttp2_session_consume_stream(session, number, count);
    else call->data({bytes, count});
    return 0;
  }

  static int on_invalid_frame(nghttp2_session*, const nghttp2_frame*, int, void* user) {
    return of(user).allow(Event::Refused) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int on_frame_send(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Connection& connection = of(user);
    const bool answers = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (answers) connection.keepalive_.sent_data();
    if (frame->hd.type == NGHTTP2_GOAWAY) connection.went_away();
    if (!answers || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    Http2Stream* call = stream(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    connection.limiter_.answered();
    // A client that has its response need not send the rest of its request.
    if (call->needs_reset()) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
    return 0;
  }

  static int on_stream_close(nghttp2_session* session, int32_t number, uint32_t, void* user) {
    Http2Stream* call = stream(session, number);
    if (call == nullptr) return 0;
    nghttp2_session_set_stream_user_data(session, number, nullptr);
    call->gone();
    of(user).drop_stream(call);
    return 0;
  }

  static ssize_t frame_room(nghttp2_session*, uint8_t, int32_t, int32_t connection_window,
                            int32_t stream_window, uint32_t frame_max, void*) {
    const uint32_t window = static_cast<uint32_t>(std::min(connection_window, stream_window));
    return static_cast<ssize_t>(std::min(window, frame_max));
  }

  static ssize_t read_answers(nghttp2_session* session, int32_t number, uint8_t*, size_t room,
                              uint32_t* flags, nghttp2_data_source*, void*) {
    Http2Stream* call = stream(session, number);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    bool ends = false;
    const size_t count = call->ready(room, ends);
    if (count == 0 && !ends) {
      call->set_deferred(true);
      return NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (ends) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (call->submit_trailers()) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    }
    return static_cast<ssize_t>(count);
  }

  // Supplies the text of a refusal.
  static ssize_t read_refusal(nghttp2_session* session, int32_t number, uint8_t* room,
                              size_t room_bytes, uint32_t* flags, nghttp2_data_source*, void*) {
    // Only calls are refused with a text.
    auto* call = static_cast<CallStream*>(stream(session, number));
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::string_view part = call->take_refusal(room_bytes);
    std::memcpy(room, part.data(), part.size());
    if (call->refusal_taken()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part.size());
  }

  static int send_answers(nghttp2_session* session, nghttp2_frame* frame, const uint8_t* head,
                          size_t count, nghttp2_data_source*, void* user) {
    Http2Connection& connection = of(user);
    Output& output = *connection.output_;
    if (output.bytes() > kOutputBytesMax) return NGHTTP2_ERR_WOULDBLOCK;
    Http2Stream* call = stream(session, frame->hd.stream_id);
    bool ends = false;
    if (call == nullptr || call->ready(count, ends) != count) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    output.add(head, kFrameHeadBytes);
    call->put(count, output);
    if (const uint64_t id = call->streaming_id(); id != 0) connection.left_.push_back(id);
    return 0;
  }
};

nghttp2_session_callbacks* Http2Connection::make_callbacks() {
  nghttp2_session_callbacks* out = nullptr;
  if (nghttp2_session_callbacks_new(&out) != 0) return nullptr;
  nghttp2_session_callbacks_set_on_begin_frame_callback(out, Callbacks::on_begin_frame);
  nghttp2_session_callbacks_set_on_begin_headers_callback(out, Callbacks::on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(out, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(out, Callbacks::on_frame_recv);
  nghttp2_session_callbacks_set_unpack_extension_callback(out, Callbacks::skip_extension);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(out, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(out, Callbacks::on_invalid_frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(out, Callbacks::on_frame_send);
  nghttp2_session_callbacks_set_on_stream_close_callback(out, Callbacks::on_stream_close);
  nghttp2_session_callbacks_set_data_source_read_length_callback(out, Callbacks::frame_room);
  nghttp2_session_callbacks_set_send_data_callback(out, Callbacks::send_answers);
  return out;
}

nghttp2_option* Http2Connection::make_options() {
  nghttp2_option* out = nullptr;
  if (nghttp2_option_new(&out) != 0) return nullptr;
  nghttp2_option_set_no_auto_window_update(out, 1);
  nghttp2_option_set_no_closed_streams(out, 1);
  nghttp2_option_set_max_outbound_ack(out, kOutboundAcksMax);
  nghttp2_option_set_max_settings(out, kSettingsEntriesMax);
  nghttp2_option_set_stream_reset_rate_limit(out, kLeftToLimiter, kLeftToLimiter);
  nghttp2_option_set_max_continuations(out, kContinuationsMax);
  // Otherwise nghttp2 skips frames of unknown types before on_begin_frame().
  for (int type = kFirstUnknownType; type <= UINT8_MAX; ++type) {
    nghttp2_option_set_user_recv_extension_type(out, static_cast<uint8_t>(type));
  }
  return out;
}

void Http2Connection::submit_response(CallStream& stream, const Metadata& initial,
                                      std::string_view coding, bool with_data, bool is_long) {
  Headers headers;
  headers.add(":status", "200");
  headers.add("content-type", "application/grpc");
  if (!coding.empty()) headers.add("grpc-encoding", coding);
  headers.add("grpc-accept-encoding", kAcceptedCodings);
  headers.add(initial);
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::read_answers;
  nghttp2_submit_response(session_, stream.number(), headers.data(), headers.size(),
                          with_data ? &provider : nullptr);
  if (is_long) take_turns(stream);
  touch();
}

void Http2Connection::submit_status(CallStream& stream, bool only, const Metadata& initial,
                                    const Metadata& trailing, int code, std::string_view message,
                                    std::string_view details) {
  Headers headers;
  if (only) {
    headers.add(":status", "200");
    headers.add("content-type", "application/grpc");
    headers.add(initial);
  }
  add_status(headers, code, message, details);
  headers.add(trailing);
  if (only) {
    nghttp2_submit_response(session_, stream.number(), headers.data(), headers.size(), nullptr);
    touch();
  } else {
    nghttp2_submit_trailer(session_, stream.number(), headers.data(), headers.size());
  }
}

void Http2Connection::submit_refusal(CallStream& stream, const Refusal& why, bool with_text) {
  Headers headers;
  headers.add(":status", why.status);
  if (!why.allow.empty()) headers.add("allow", why.allow);
  headers.add("content-type", "text/plain; charset=utf-8");
  headers.add_text("content-length", std::to_string(why.text.size()));
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::read_refusal;
  nghttp2_submit_response(session_, stream.number(), headers.data(), headers.size(),
                          with_text ? &provider : nullptr);
  touch();
}

void Http2Connection::submit_answer(RequestStream& stream, const HttpAnswer& answer,
                                    bool with_body) {
  static thread_local Headers headers;
  headers.clear();
  if (answer.status == 200) headers.add(":status", "200");
  else headers.add_number(":status", static_cast<uint64_t>(answer.status));
  headers.add_copied("date", date_text());
  if (answer.content_type == kJsonType) {
    headers.add("content-type", kJsonType);
    headers.add("x-content-type-options", "nosniff");
  } else if (!answer.content_type.empty()) {
    headers.add_copied("content-type", answer.content_type);
  }
  headers.add_lines(answer.headers);
  if (answer.status != 204 && answer.status != 304) {
    headers.add_number("content-length", answer.body.size());
  }
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::read_answers;
  nghttp2_submit_response(session_, stream.number(), headers.data(), headers.size(),
                          with_body ? &provider : nullptr);
  if (with_body && answer.body.size() >= kLongAnswerBytes) take_turns(stream);
  touch();
}

void Http2Connection::submit_continue(RequestStream& stream) {
  const nghttp2_nv status = entry(":status", "100", true);
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream.number(), nullptr, &status, 1,
                         nullptr);
  touch();
}

void Http2Connection::take_turns(Http2Stream& stream) {
  const nghttp2_extpri priority{NGHTTP2_EXTPRI_DEFAULT_URGENCY, 1};
  nghttp2_session_change_extpri_stream_priority(session_, stream.number(), &priority, 1);
}

void Http2Connection::reset(Http2Stream& stream, bool too_much) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.number(),
                            too_much ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_CANCEL);
  touch();
}

}  // namespace serval
