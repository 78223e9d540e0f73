// A client of the listener that speaks HTTP/2 frame by frame, as correctly as a test needs. One
// thread; each wait takes at most ten seconds.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "transport/support/frames.h"

namespace serval::testing {

struct Frame {
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
  std::string payload;
};

// Everything that arrived on a stream.
struct StreamAnswer {
  HeaderList initial, trailing;
  std::string data;
  int header_blocks = 0;
  bool ended = false;
  std::optional<uint32_t> reset;

  static std::string value_of(const HeaderList& headers, std::string_view name) {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return "";
  }
  // Returns a header of the trailers, or of the only block.
  std::string trailer(std::string_view name) const {
    return value_of(header_blocks > 1 ? trailing : initial, name);
  }
  std::string header(std::string_view name) const { return value_of(initial, name); }
  int status() const {
    const std::string text = trailer("grpc-status");
    return text.empty() ? -1 : std::stoi(text);
  }
  std::string message() const { return trailer("grpc-message"); }
  // Returns the contents of the complete messages.
  std::vector<std::string> messages() const {
    std::vector<std::string> out;
    for (std::string_view rest = data; rest.size() >= 5;) {
      const size_t bytes = read_u32(rest, 1);
      if (rest.size() < 5 + bytes) break;
      out.emplace_back(rest.substr(5, bytes));
      rest.remove_prefix(5 + bytes);
    }
    return out;
  }
};

inline int tcp_socket(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ADD_FAILURE() << "connect: " << std::strerror(errno);
  }
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return fd;
}

inline int unix_socket(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ADD_FAILURE() << "connect: " << std::strerror(errno);
  }
  return fd;
}

class RawClient {
 public:
  static constexpr uint64_t kPatienceMs = 10'000;

  explicit RawClient(uint16_t port) : RawClient(tcp_socket(port)) {}
  // Takes ownership of the socket; `tls` (borrowed): encrypted, with h2.
  explicit RawClient(int fd, SSL_CTX* tls = nullptr) : fd_(fd) {
    nghttp2_hd_inflate_new(&inflater_);
    if (tls == nullptr) return;
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, fd);
    static constexpr unsigned char kH2[] = {2, 'h', '2'};
    SSL_set_alpn_protos(ssl_, kH2, sizeof kH2);
    EXPECT_EQ(SSL_connect(ssl_), 1);
  }
  ~RawClient() {
    if (ssl_ != nullptr) SSL_free(ssl_);
    close();
    nghttp2_hd_inflate_del(inflater_);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }
  // Without auto_windows the client accepts no more than its stated windows.
  bool auto_windows = true;

  // Sends the preface, SETTINGS and the acknowledgement of the server's.
  void begin(const std::vector<std::pair<uint16_t, uint32_t>>& settings = {}) {
    send(std::string(kPreface) + settings_frame(settings));
    if (auto_windows) send(window_update(0, 1u << 30));
    for (int acks = 0, theirs = 0; acks == 0 || theirs == 0;) {
      const std::optional<Frame> got = take();
      ASSERT_TRUE(got.has_value()) << "the connection ended before its SETTINGS";
      if (got->type != kSettings) continue;
      if ((got->flags & kAck) != 0) ++acks;
      else ++theirs;
    }
  }

  // False: the server no longer reads.
  bool send(std::string_view bytes) {
    const uint64_t until = now_ns() + kPatienceMs * 1'000'000;
    while (!bytes.empty()) {
      const ssize_t count =
          ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                          : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) {
        bytes.remove_prefix(static_cast<size_t>(count));
        continue;
      }
      if (ssl_ != nullptr || errno != EAGAIN || now_ns() > until) return false;
      pollfd wait{fd_, POLLOUT, 0};
      ::poll(&wait, 1, 100);
    }
    return true;
  }
  // Sends as much as fits now.
  size_t send_some(std::string_view bytes) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return count > 0 ? static_cast<size_t>(count) : 0;
  }

  // Returns the next frame unchanged; nothing if the connection ended, or (a failure) nothing
  // arrived.
  std::optional<Frame> read_frame(uint64_t patience_ms = kPatienceMs) {
    const uint64_t until = now_ns() + patience_ms * 1'000'000;
    for (;;) {
      if (in_.size() >= 9) {
        const size_t bytes = read_u32(std::string(1, '\0') + in_.substr(0, 3));
        if (in_.size() >= 9 + bytes) {
          Frame out{static_cast<uint8_t>(in_[3]), static_cast<uint8_t>(in_[4]),
                    read_u32(in_, 5) & 0x7fffffff, in_.substr(9, bytes)};
          in_.erase(0, 9 + bytes);
          return out;
        }
      }
      if (ended_) return std::nullopt;
      if (!read_more(until)) {
        timed_out_ = !ended_ && patience_ms > 0;
        return std::nullopt;
      }
    }
  }
  bool timed_out() const { return timed_out_; }
  bool ended() const { return ended_; }

  // Reads a frame and reacts as a client does: acknowledges, opens windows, keeps responses.
  std::optional<Frame> take(uint64_t patience_ms = kPatienceMs) {
    std::optional<Frame> got = read_frame(patience_ms);
    if (!got.has_value()) return got;
    switch (got->type) {
      case kSettings:
        if ((got->flags & kAck) == 0) send(frame(kSettings, kAck, 0, ""));
        break;
      case kPing:
        ++pings;
        if ((got->flags & kAck) == 0 && answers_pings) send(ping_frame(got->payload, true));
        break;
      case kGoAway:
        go_away = read_u32(got->payload, 4);
        last_streams.push_back(read_u32(got->payload));
        break;
      case kHeaders: take_headers(*got); break;
      case kData: take_data(*got); break;
      case kReset: streams[got->stream].reset = read_u32(got->payload); break;
      default: break;
    }
    return got;
  }

  // Reads until the stream or the connection has ended.
  StreamAnswer& answer(uint32_t stream) {
    StreamAnswer& out = streams[stream];
    while (!out.ended && !out.reset.has_value() && take().has_value()) continue;
    EXPECT_FALSE(timed_out_) << "nothing came for stream " << stream;
    return out;
  }
  // Reads until the stream has `count` messages.
  std::vector<std::string> messages(uint32_t stream, size_t count) {
    StreamAnswer& out = streams[stream];
    while (out.messages().size() < count && !out.ended && take().has_value()) continue;
    EXPECT_FALSE(timed_out_) << "nothing came for stream " << stream;
    return out.messages();
  }
  // Reads until the connection ends; returns the code of its GOAWAY, nothing if there was none.
  std::optional<uint32_t> ending() {
    while (take().has_value()) continue;
    EXPECT_FALSE(timed_out_) << "the connection did not end";
    return go_away;
  }
  // Returns when the server has read everything that was sent and its immediate responses are here.
  // It pings twice: an acknowledgement overtakes the responses of the same iteration, never those
  // of the previous one.
  bool sync() { return ping() && ping(); }
  bool ping() {
    send(ping_frame("syncsync"));
    for (;;) {
      const std::optional<Frame> got = take();
      if (!got.has_value()) return false;
      if (got->type == kPing && (got->flags & kAck) != 0 && got->payload == "syncsync") return true;
    }
  }

  // Sends a call with one message, or none; returns its stream.
  uint32_t call(std::string_view path, std::string_view message, const HeaderList& more = {}) {
    const uint32_t stream = open(path, more);
    send(data_frames(stream, grpc_message(message), true));
    return stream;
  }
  uint32_t open(std::string_view path, const HeaderList& more = {}) {
    const uint32_t stream = next_stream_;
    next_stream_ += 2;
    send(headers_frame(stream, call_headers(path, more)));
    return stream;
  }

  std::map<uint32_t, StreamAnswer> streams;
  std::optional<uint32_t> go_away;
  std::vector<uint32_t> last_streams;  // the last stream named by each GOAWAY
  uint32_t pings = 0;
  bool answers_pings = true;

 private:
  bool read_more(uint64_t until) {
    char bytes[65'536];
    while (ssl_ == nullptr || SSL_pending(ssl_) == 0) {
      const uint64_t left_ns = until - std::min(until, now_ns());
      pollfd wait{fd_, POLLIN, 0};
      const int wait_ms = left_ns == 0 ? 0 : static_cast<int>(left_ns / 1'000'000 + 1);
      if (::poll(&wait, 1, wait_ms) > 0) break;
      if (left_ns == 0) return false;
    }
    const ssize_t count =
        ssl_ != nullptr ? SSL_read(ssl_, bytes, sizeof bytes) : ::recv(fd_, bytes, sizeof bytes, 0);
    if (count > 0) in_.append(bytes, static_cast<size_t>(count));
    else ended_ = true;
    return count > 0;
  }

  void take_headers(const Frame& got) {
    ASSERT_NE(got.flags & kEndHeaders, 0) << "longer header blocks are not read here";
    StreamAnswer& out = streams[got.stream];
    HeaderList& into = ++out.header_blocks > 1 ? out.trailing : out.initial;
    const auto* at = reinterpret_cast<const uint8_t*>(got.payload.data());
    size_t left = got.payload.size();
    for (int flags = 0; (flags & NGHTTP2_HD_INFLATE_FINAL) == 0;) {
      nghttp2_nv header;
      flags = 0;
      const ssize_t taken = nghttp2_hd_inflate_hd2(inflater_, &header, &flags, at, left, 1);
      ASSERT_GE(taken, 0) << "its header block is broken";
      at += taken;
      left -= static_cast<size_t>(taken);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        into.emplace_back(std::string(reinterpret_cast<char*>(header.name), header.namelen),
                          std::string(reinterpret_cast<char*>(header.value), header.valuelen));
      }
    }
    nghttp2_hd_inflate_end_headers(inflater_);
    out.ended = (got.flags & kEndStream) != 0;
  }

  void take_data(const Frame& got) {
    StreamAnswer& out = streams[got.stream];
    out.data += got.payload;
    out.ended = (got.flags & kEndStream) != 0;
    if (!auto_windows || got.payload.empty()) return;
    const auto bytes = static_cast<uint32_t>(got.payload.size());
    send(window_update(0, bytes));
    if (!out.ended) send(window_update(got.stream, bytes));
  }

  int fd_;
  SSL* ssl_ = nullptr;
  nghttp2_hd_inflater* inflater_ = nullptr;
  std::string in_;
  bool ended_ = false;
  bool timed_out_ = false;
  uint32_t next_stream_ = 1;
};

}  // namespace serval::testing
