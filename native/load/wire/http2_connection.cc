// An HTTP/2 connection: nghttp2's client session. Bodies are sent in place; of responses only the
// outcome is kept. Hot path; the load's thread. Source: RFC 9113; gRPC over HTTP2
// (PROTOCOL-HTTP2.md).
#include <arpa/inet.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>

#include "load/wire/connection.h"

namespace serval::load {
namespace {

constexpr int32_t kWindowBytes = INT32_MAX;  // so large that the server never waits for us
constexpr size_t kFrameHeadBytes = 9;
constexpr int32_t kLastStream = 0x7ffffff0;  // later streams use another connection
constexpr size_t kPrefixBytes = 5;           // of a gRPC message: a flag and the length
constexpr uint32_t kRoomMax = 1u << 20;

std::string_view view(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto* const name_bytes = reinterpret_cast<const uint8_t*>(name.data());
  const auto* const value_bytes = reinterpret_cast<const uint8_t*>(value.data());
  return {const_cast<uint8_t*>(name_bytes), const_cast<uint8_t*>(value_bytes), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const char lower = static_cast<char>(digit | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Decodes grpc-message, which is percent-encoded.
std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(text[i + 2]);
    if (low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

class Http2Connection final : public Connection {
 public:
  using Connection::Connection;
  ~Http2Connection() override { nghttp2_session_del(session_); }

  void use(const Prepared& prepared) override {
    Connection::use(prepared);
    headers_.clear();
  }

  void send_again(Call& call) override {
    call.sent = 0;
    check(nghttp2_session_resume_data(session_, call.stream));
  }

  void give_up(Call& call) override {
    nghttp2_session_set_stream_user_data(session_, call.stream, nullptr);
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.stream, NGHTTP2_CANCEL);
    remove(call);
  }

 protected:
  void connected() override;
  void submit(Call& call) override;
  void read(std::span<const uint8_t> bytes) override;
  void fill() override { check(nghttp2_session_send(session_)); }
  size_t free_streams() const override {
    const uint32_t most =
        nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    const size_t limit = std::min(most, kRoomMax);
    return calls_.size() < limit ? limit - calls_.size() : 0;
  }

 private:
  struct Callbacks;
  bool is_grpc() const { return prepared_->traffic.judged != Judged::Http; }
  const std::string& body_of(const Call& call) const {
    return prepared_->traffic.bodies[call.body];
  }
  const std::vector<nghttp2_nv>& headers_of(const Call& call);
  void check(int code) {
    if (code != 0) fail(nghttp2_strerror(code));
  }
  void header_came(Call& call, std::string_view name, std::string_view value);
  void data_came(Call& call, std::span<const uint8_t> bytes);
  void message_part(Call& call, std::span<const uint8_t>& bytes);
  void end_came(Call& call);
  void closed(Call& call, uint32_t error);
  void judge(Call& call);
  void judge_call(Call& call);

  nghttp2_session* session_ = nullptr;
  std::vector<std::vector<nghttp2_nv>> headers_;  // per body
};

// The functions that nghttp2 calls; `user` is the connection, a stream's user data its call.
struct Http2Connection::Callbacks {
  static Http2Connection& of(void* user) { return *static_cast<Http2Connection*>(user); }
  static Call* call_of(nghttp2_session* session, int32_t stream) {
    return static_cast<Call*>(nghttp2_session_get_stream_user_data(session, stream));
  }

  static ssize_t send(nghttp2_session*, const uint8_t* bytes, size_t size, int, void* user) {
    of(user).output_.copy(view(bytes, size));
    return static_cast<ssize_t>(size);
  }

  // Sends DATA: as much of the body as the windows and the server's frame size allow.
  static ssize_t read(nghttp2_session* session, int32_t stream, uint8_t*, size_t size,
                      uint32_t* flags, nghttp2_data_source*, void* user) {
    const Call* const call = call_of(session, stream);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const Http2Connection& self = of(user);
    const bool streams = self.prepared_->traffic.judged == Judged::GrpcStream;
    const size_t left = self.body_of(*call).size() - call->sent;
    if (left == 0 && streams) return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (left <= size && !streams) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(std::min(left, size));
  }

  static int send_data(nghttp2_session* session, nghttp2_frame* frame, const uint8_t* head,
                       size_t size, nghttp2_data_source*, void* user) {
    Http2Connection& self = of(user);
    Call* const call = call_of(session, frame->hd.stream_id);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    self.output_.copy(view(head, kFrameHeadBytes));
    self.output_.borrow(std::string_view(self.body_of(*call)).substr(call->sent, size));
    call->sent += size;
    return 0;
  }

  static ssize_t read_length(nghttp2_session*, uint8_t, int32_t, int32_t session_window,
                             int32_t stream_window, uint32_t frame_bytes_max, void*) {
    return std::min({static_cast<ssize_t>(session_window), static_cast<ssize_t>(stream_window),
                     static_cast<ssize_t>(frame_bytes_max)});
  }

  static int header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                    size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                    void* user) {
    Call* const call = call_of(session, frame->hd.stream_id);
    if (call != nullptr)
      of(user).header_came(*call, view(name, name_size), view(value, value_size));
    return 0;
  }

  static int data(nghttp2_session* session, uint8_t, int32_t stream, const uint8_t* bytes,
                  size_t size, void* user) {
    Call* const call = call_of(session, stream);
    if (call != nullptr) of(user).data_came(*call, {bytes, size});
    return 0;
  }

  static int frame_came(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Connection& self = of(user);
    const bool is_ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    if (frame->hd.type == NGHTTP2_SETTINGS && !is_ack) {
      if (!self.was_open()) self.opened();
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
      self.going();
    } else if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
               (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)) {
      Call* const call = call_of(session, frame->hd.stream_id);
      if (call != nullptr) self.end_came(*call);
    }
    return 0;
  }

  static int closed(nghttp2_session* session, int32_t stream, uint32_t error, void* user) {
    Call* const call = call_of(session, stream);
    if (call != nullptr) of(user).closed(*call, error);
    return 0;
  }

  static const nghttp2_session_callbacks* all() {
    static const nghttp2_session_callbacks* const made = [] {
      nghttp2_session_callbacks* out = nullptr;
      nghttp2_session_callbacks_new(&out);
      nghttp2_session_callbacks_set_send_callback(out, send);
      nghttp2_session_callbacks_set_send_data_callback(out, send_data);
      nghttp2_session_callbacks_set_data_source_read_length_callback(out, read_length);
      nghttp2_session_callbacks_set_on_header_callback(out, header);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(out, data);
      nghttp2_session_callbacks_set_on_frame_recv_callback(out, frame_came);
      nghttp2_session_callbacks_set_on_stream_close_callback(out, closed);
      return out;
    }();
    return made;
  }
};

// Requests begin after the server's SETTINGS have arrived, with its limit of streams.
void Http2Connection::connected() {
  nghttp2_session_client_new(&session_, Callbacks::all(), this);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindowBytes},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindowBytes);
}

const std::vector<nghttp2_nv>& Http2Connection::headers_of(const Call& call) {
  if (!headers_.empty()) return headers_[call.body];
  const Traffic& traffic = prepared_->traffic;
  for (const std::string& length : prepared_->lengths) {
    std::vector<nghttp2_nv>& out = headers_.emplace_back();
    out.push_back(header(":method", traffic.method));
    out.push_back(header(":scheme", prepared_->target.tls ? "https" : "http"));
    out.push_back(header(":path", traffic.path));
    out.push_back(header(":authority", traffic.authority));
    if (is_grpc()) {
      out.push_back(header("content-type", "application/grpc"));
      out.push_back(header("te", "trailers"));
    } else {
      out.push_back(header("content-length", length));
    }
    for (const Field& field : traffic.fields) out.push_back(header(field.name, field.value));
  }
  return headers_[call.body];
}

void Http2Connection::submit(Call& call) {
  const std::vector<nghttp2_nv>& headers = headers_of(call);
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::read;
  call.stream =
      nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &provider, &call);
  if (call.stream < 0) fail(nghttp2_strerror(call.stream));
  if (call.stream >= kLastStream) going();
}

void Http2Connection::read(std::span<const uint8_t> bytes) {
  const ssize_t taken = nghttp2_session_mem_recv(session_, bytes.data(), bytes.size());
  if (taken < 0) return fail(nghttp2_strerror(static_cast<int>(taken)));
  const bool over = nghttp2_session_want_read(session_) == 0;
  if (over && nghttp2_session_want_write(session_) == 0) fail("the server ended the connection");
}

void Http2Connection::header_came(Call& call, std::string_view name, std::string_view value) {
  if (name == ":status") {
    call.status = 0;
    for (const char digit : value) call.status = call.status * 10 + (digit - '0');
    call.refused = !is_grpc() && (call.status < 200 || call.status >= 300);
  } else if (name == "grpc-status") {
    call.said_status = value;
  } else if (name == "grpc-message") {
    call.error = decoded(value.substr(0, kErrorBytesMax));
  }
}

void Http2Connection::data_came(Call& call, std::span<const uint8_t> bytes) {
  if (is_grpc()) {
    while (!bytes.empty()) message_part(call, bytes);
    return;
  }
  call.received += bytes.size();
  if (call.refused && call.error.size() < kErrorBytesMax) {
    call.error += view(bytes.data(), std::min(bytes.size(), kErrorBytesMax - call.error.size()));
  }
}

// Reads up to the end of one message.
void Http2Connection::message_part(Call& call, std::span<const uint8_t>& bytes) {
  if (call.received < kPrefixBytes) {
    const size_t taken = std::min(bytes.size(), kPrefixBytes - call.received);
    std::memcpy(call.prefix + call.received, bytes.data(), taken);
    call.received += taken;
    bytes = bytes.subspan(taken);
    if (call.received < kPrefixBytes) return;
    std::memcpy(&call.message_bytes, call.prefix + 1, sizeof call.message_bytes);
    call.message_bytes = ntohl(call.message_bytes);
  }
  const size_t whole = kPrefixBytes + call.message_bytes;
  const size_t taken = std::min(bytes.size(), whole - call.received);
  call.received += taken;
  bytes = bytes.subspan(taken);
  if (call.received < whole) return;
  call.received = 0;
  ++call.messages;
  if (prepared_->traffic.judged != Judged::GrpcStream) return;
  const int64_t expected = prepared_->traffic.response_bytes;
  if (expected < 0 || expected == call.message_bytes) return answer(call, call.message_bytes);
  nghttp2_session_set_stream_user_data(session_, call.stream, nullptr);
  refuse(call, Failure::Status,
         "a response of " + std::to_string(call.message_bytes) + " bytes, expected " +
             std::to_string(expected));
  bytes = {};
}

// The response ended before the whole request was sent: the rest is not sent.
void Http2Connection::end_came(Call& call) {
  call.complete = true;
  if (call.sent == body_of(call).size()) return;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.stream, NGHTTP2_CANCEL);
}

// After GOAWAY, streams above the last one that the server read are closed as refused.
void Http2Connection::closed(Call& call, uint32_t error) {
  if (call.complete) return judge(call);
  if (error == NGHTTP2_REFUSED_STREAM && is_going()) {
    return leave_unread(call, "the server ended the connection");
  }
  refuse(call, Failure::Reset, "the server reset the stream (" + std::to_string(error) + ")");
}

void Http2Connection::judge(Call& call) {
  if (is_grpc()) return judge_call(call);
  const int64_t expected = prepared_->traffic.response_bytes;
  if (call.refused) {
    refuse(call, Failure::Status, "status " + std::to_string(call.status) + ": " + call.error);
  } else if (expected >= 0 && call.received != static_cast<uint64_t>(expected)) {
    refuse(call, Failure::Status,
           "a response of " + std::to_string(call.received) + " bytes, expected " +
               std::to_string(expected));
  } else {
    answer(call, call.received);
  }
}

void Http2Connection::judge_call(Call& call) {
  const int64_t expected = prepared_->traffic.response_bytes;
  std::string error;
  const bool says_ok = call.said_status.empty() || call.said_status == "0";
  if (call.said_status.empty() || (says_ok && call.status != 200)) {
    error = "no gRPC response, status " + std::to_string(call.status);
  } else if (call.said_status != "0") {
    error = "gRPC status " + call.said_status + ": " + call.error;
  } else if (prepared_->traffic.judged == Judged::GrpcStream) {
    error = "the server ended a stream";
  } else if (expected >= 0 && call.messages != 1) {
    error = std::to_string(call.messages) + " messages came, expected 1";
  } else if (expected >= 0 && call.message_bytes != expected) {
    error = "a response of " + std::to_string(call.message_bytes) + " bytes, expected " +
            std::to_string(expected);
  } else {
    return answer(call, call.message_bytes);
  }
  refuse(call, Failure::Status, error);
}

}  // namespace

std::unique_ptr<Connection> http2_connection(int socket, const TlsClient* tls,
                                             const Prepared& prepared, ConnectionEvents& events) {
  return std::make_unique<Http2Connection>(socket, tls, prepared, events);
}

}  // namespace serval::load
