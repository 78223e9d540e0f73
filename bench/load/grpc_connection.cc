// nghttp2's client session over one socket: the message leaves from where it lies, answers are only
// counted. The generator's only thread.
#include "grpc_connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace serval::bench {
namespace {

constexpr size_t kCopyBytesMax = 4096;
constexpr size_t kPartsMax = 64;  // of one writev
constexpr size_t kInputBytes = 256 << 10;
constexpr int32_t kWindowBytes = INT32_MAX;  // the server is never kept waiting for us
constexpr uint32_t kPrefixLengthAt = 1;

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto* const name_bytes = reinterpret_cast<const uint8_t*>(name.data());
  const auto* const value_bytes = reinterpret_cast<const uint8_t*>(value.data());
  return {const_cast<uint8_t*>(name_bytes), const_cast<uint8_t*>(value_bytes), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

std::string error_text(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

}  // namespace

void Output::copy(const uint8_t* bytes, size_t size) {
  copied_.append(reinterpret_cast<const char*>(bytes), size);
  if (!empty() && parts_.back().borrowed == nullptr) {
    parts_.back().size += size;
  } else {
    parts_.push_back({nullptr, size});
  }
}

void Output::borrow(const uint8_t* bytes, size_t size) {
  if (size < kCopyBytesMax) {
    copy(bytes, size);
  } else {
    parts_.push_back({bytes, size});
  }
}

bool Output::write_to(int socket) {
  while (!empty()) {
    std::array<iovec, kPartsMax> vectors;
    size_t count = 0;
    const char* copied = copied_.data() + copied_from_;
    for (size_t i = next_; i < parts_.size() && count < kPartsMax; ++i) {
      const Part& part = parts_[i];
      const void* bytes = part.borrowed;
      if (bytes == nullptr) {
        bytes = copied;
        copied += part.size;
      }
      vectors[count++] = {const_cast<void*>(bytes), part.size};
    }
    const ssize_t written = writev(socket, vectors.data(), static_cast<int>(count));
    if (written < 0) return errno == EAGAIN;
    drop(static_cast<size_t>(written));
  }
  return true;
}

void Output::drop(size_t written) {
  while (written > 0) {
    Part& part = parts_[next_];
    const size_t gone = std::min(written, part.size);
    part.size -= gone;
    written -= gone;
    if (part.borrowed == nullptr) {
      copied_from_ += gone;
    } else {
      part.borrowed += gone;
    }
    if (part.size == 0) ++next_;
  }
  if (!empty()) return;
  parts_.clear();
  next_ = 0;
  copied_.clear();
  copied_from_ = 0;
}

// What nghttp2 calls; `user` is the connection, a stream's own pointer its call.
struct Connection::Callbacks {
  static Call* call_of(nghttp2_session* session, int32_t stream) {
    return static_cast<Call*>(nghttp2_session_get_stream_user_data(session, stream));
  }

  static ssize_t send(nghttp2_session*, const uint8_t* bytes, size_t size, int, void* user) {
    static_cast<Connection*>(user)->output_.copy(bytes, size);
    return static_cast<ssize_t>(size);
  }

  // DATA: as much of the message as the windows and the server's frame size take.
  static ssize_t read(nghttp2_session* session, int32_t stream, uint8_t*, size_t size,
                      uint32_t* flags, nghttp2_data_source*, void* user) {
    const Connection& self = *static_cast<Connection*>(user);
    Call& call = *call_of(session, stream);
    const size_t left = self.exchange_.frame.size() - call.sent;
    if (left == 0) return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (left <= size && !self.exchange_.streams) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(std::min(left, size));
  }

  static int send_data(nghttp2_session* session, nghttp2_frame* frame, const uint8_t* head,
                       size_t size, nghttp2_data_source*, void* user) {
    Connection& self = *static_cast<Connection*>(user);
    Call& call = *call_of(session, frame->hd.stream_id);
    self.output_.copy(head, 9);
    const auto* const message = reinterpret_cast<const uint8_t*>(self.exchange_.frame.data());
    self.output_.borrow(message + call.sent, size);
    call.sent += size;
    return 0;
  }

  static ssize_t read_length(nghttp2_session*, uint8_t, int32_t, int32_t session_window,
                             int32_t stream_window, uint32_t frame_bytes_max, void*) {
    return std::min({static_cast<ssize_t>(session_window), static_cast<ssize_t>(stream_window),
                     static_cast<ssize_t>(frame_bytes_max)});
  }

  static int header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                    size_t name_size, const uint8_t* value, size_t value_size, uint8_t, void*) {
    Call* const call = call_of(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    const std::string_view name_text(reinterpret_cast<const char*>(name), name_size);
    const std::string_view text(reinterpret_cast<const char*>(value), value_size);
    if (name_text == "grpc-status") {
      call->status_ok = text == "0";
      if (!call->status_ok) {
        call->connection->fail(*call, "gRPC status " + std::string(text));
      }
    } else if (name_text == ":status" && text != "200") {
      call->connection->fail(*call, "HTTP status " + std::string(text));
    }
    return 0;
  }

  static int data(nghttp2_session* session, uint8_t, int32_t stream, const uint8_t* bytes,
                  size_t size, void* user) {
    Call* const call = call_of(session, stream);
    if (call != nullptr) static_cast<Connection*>(user)->data_came(*call, {bytes, size});
    return 0;
  }

  static int frame_came(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Connection& self = *static_cast<Connection*>(user);
    if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
      self.ready_ = true;
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
      self.broken("the server says GOAWAY, error " + std::to_string(frame->goaway.error_code));
    }
    return 0;
  }

  static int closed(nghttp2_session* session, int32_t stream, uint32_t error, void* user) {
    Call* const call = call_of(session, stream);
    if (call != nullptr) static_cast<Connection*>(user)->closed(*call, error);
    return 0;
  }
};

Connection::Connection(const Exchange& exchange, CallEvents& events, std::string_view host,
                       uint16_t port)
    : exchange_(exchange), events_(events), input_(kInputBytes) {
  problem_ = connect_to(std::string(host), port);
  if (problem_.empty()) open_session();
}

std::string Connection::connect_to(const std::string& host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    return "'" + host + "' is no IPv4 address";
  }
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return error_text("socket");
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return error_text("connect");
  }
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (fcntl(socket_, F_SETFL, O_NONBLOCK) != 0) return error_text("fcntl");
  return "";
}

void Connection::open_session() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_send_callback(callbacks, Callbacks::send);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, Callbacks::send_data);
  nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, Callbacks::read_length);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::frame_came);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::closed);
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindowBytes},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindowBytes);
  flush();
}

Connection::~Connection() {
  nghttp2_session_del(session_);
  if (socket_ >= 0) close(socket_);
}

void Connection::begin(Call& call) {
  const uint64_t due_ns = call.due_ns;
  call = Call{};
  call.due_ns = due_ns;
  call.connection = this;
  const nghttp2_nv headers[] = {
      header(":method", "POST"),
      header(":scheme", "http"),
      header(":path", exchange_.method),
      header(":authority", exchange_.authority),
      header("content-type", "application/grpc"),
      header("te", "trailers"),
  };
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::read;
  call.stream =
      nghttp2_submit_request(session_, nullptr, headers, std::size(headers), &provider, &call);
  if (call.stream < 0) broken(nghttp2_strerror(call.stream));
}

void Connection::send_again(Call& call) {
  call.sent = 0;
  const int code = nghttp2_session_resume_data(session_, call.stream);
  if (code != 0) broken(nghttp2_strerror(code));
}

void Connection::flush() {
  if (!problem_.empty()) return;
  const int code = nghttp2_session_send(session_);
  if (code != 0) return broken(nghttp2_strerror(code));
  if (!output_.write_to(socket_)) broken(error_text("write"));
}

void Connection::receive() {
  while (problem_.empty()) {
    const ssize_t size = read(socket_, input_.data(), input_.size());
    if (size == 0) return broken("the server closed a connection");
    if (size < 0 && errno == EAGAIN) return;
    if (size < 0) return broken(error_text("read"));
    const ssize_t taken =
        nghttp2_session_mem_recv(session_, input_.data(), static_cast<size_t>(size));
    if (taken < 0) return broken(nghttp2_strerror(static_cast<int>(taken)));
    if (static_cast<size_t>(size) < input_.size()) return;
  }
}

void Connection::data_came(Call& call, std::span<const uint8_t> bytes) {
  while (!bytes.empty() && !call.failed) part_came(call, bytes);
}

// Up to the end of one message.
void Connection::part_came(Call& call, std::span<const uint8_t>& bytes) {
  if (call.received < kPrefixBytes) {
    const size_t taken = std::min(bytes.size(), kPrefixBytes - call.received);
    std::memcpy(call.prefix.data() + call.received, bytes.data(), taken);
    call.received += taken;
    bytes = bytes.subspan(taken);
    if (call.received < kPrefixBytes) return;
    uint32_t size = 0;
    std::memcpy(&size, call.prefix.data() + kPrefixLengthAt, sizeof size);
    size = ntohl(size);
    if (call.prefix[0] != 0) return fail(call, "a compressed answer");
    if (size != exchange_.answer_bytes) {
      return fail(call, "an answer of " + std::to_string(size) + " bytes, expected " +
                            std::to_string(exchange_.answer_bytes));
    }
  }
  const size_t whole = kPrefixBytes + exchange_.answer_bytes;
  const size_t taken = std::min(bytes.size(), whole - call.received);
  call.received += taken;
  bytes = bytes.subspan(taken);
  if (call.received < whole) return;
  call.received = 0;
  ++call.answers;
  if (exchange_.streams) events_.answered(call);
}

void Connection::closed(Call& call, uint32_t error) {
  if (call.failed) return;
  if (exchange_.streams) return fail(call, "the server ended a stream");
  if (error != 0) return fail(call, "the stream was reset, error " + std::to_string(error));
  if (!call.status_ok) return fail(call, "no gRPC status came");
  if (call.answers != 1) {
    return fail(call, std::to_string(call.answers) + " answers came, expected 1");
  }
  events_.answered(call);
}

void Connection::fail(Call& call, std::string why) {
  if (call.failed) return;
  call.failed = true;
  events_.failed(call, std::move(why));
}

void Connection::broken(std::string why) {
  if (problem_.empty()) problem_ = std::move(why);
}

}  // namespace serval::bench
