// Implements the TLS channel. Hot path; the listener's thread. OpenSSL's error queue is per thread:
// it is cleared before each call, since SSL_get_error() reads it.
#include "transport/socket/tls_channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace serval {
namespace {

constexpr size_t kRecordBytes = SSL3_RT_MAX_PLAIN_LENGTH;
// The number of handshake messages that a connected client may send: key updates, renegotiation
// attempts. They cost the server more than the client (22 bytes and some microseconds); honest
// clients update keys once in gigabytes.
constexpr int kLateMessagesMax = 32;
constexpr size_t kBytesForLateMessage = 1u << 20;

class TlsChannel final : public Channel {
 public:
  TlsChannel(const OpenSsl& functions, SSL* made, int socket, const TlsSettings& settings);
  ~TlsChannel() override;

  Handshake handshake() override;
  std::string problem() const override;
  Moved read(std::span<uint8_t> room) override;
  Moved write(std::span<const iovec> parts) override;
  bool has_unread() const override { return has_unread_; }
  bool write_waits_for_read() const override { return waits_for_read_; }
  std::string_view protocol() const override { return protocol_; }
  void shut_down() override;

  // Read callback of the BIO, OpenSSL's view of the socket.
  int receive(BIO* bio, char* room, int size);
  int send(BIO* bio, const char* bytes, int size);
  // Counts a handshake message after the handshake.
  void late_message() { late_messages_left_ -= 1; }

 private:
  void give_late_messages(size_t bytes);
  std::string reason() const;

  const OpenSsl& functions_;
  const TlsSettings& settings_;
  SSL* const ssl_;
  std::string protocol_;
  std::string problem_;
  size_t unfinished_ = 0;  // bytes of a write that has to be repeated
  size_t read_bytes_ = 0;  // bytes read that have not yet earned another late message
  int late_messages_left_ = kLateMessagesMax;
  bool connected_ = false;
  bool heard_ = false;  // the client has sent something
  bool broken_ = false;
  bool ended_ = false;         // the peer announced that it sends no more
  bool socket_empty_ = false;  // the last receive() found the socket empty
  bool has_unread_ = false;
  bool waits_for_read_ = false;
};

int receive(BIO* bio, char* room, int size);
int send(BIO* bio, const char* bytes, int size);

long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

// One per process, as OpenSSL requires; never freed.
BIO_METHOD* socket_method(const OpenSsl& ssl) {
  static BIO_METHOD* const made = [&ssl] {
    BIO_METHOD* method = ssl.BIO_meth_new(BIO_TYPE_SOURCE_SINK, "serval socket");
    if (method == nullptr) return method;
    ssl.BIO_meth_set_read(method, receive);
    ssl.BIO_meth_set_write(method, send);
    ssl.BIO_meth_set_ctrl(method, control);
    return method;
  }();
  return made;
}

const OpenSsl* functions_of_bio() {
  static const OpenSsl* const found = OpenSsl::find().value();
  return found;
}

int receive(BIO* bio, char* room, int size) {
  return static_cast<TlsChannel*>(functions_of_bio()->BIO_get_data(bio))->receive(bio, room, size);
}

int send(BIO* bio, const char* bytes, int size) {
  return static_cast<TlsChannel*>(functions_of_bio()->BIO_get_data(bio))->send(bio, bytes, size);
}

void count_late_message(int written, int, int content_type, const void*, size_t, SSL*, void* arg) {
  const bool came = written == 0 && content_type == SSL3_RT_HANDSHAKE;
  if (came) static_cast<TlsChannel*>(arg)->late_message();
}

bool is_blocked(ssize_t moved) {
  return moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

TlsChannel::TlsChannel(const OpenSsl& functions, SSL* made, int socket, const TlsSettings& settings)
    : Channel(socket), functions_(functions), settings_(settings), ssl_(made) {
  BIO_METHOD* const method = made == nullptr ? nullptr : socket_method(functions);
  BIO* const bio = method == nullptr ? nullptr : functions.BIO_new(method);
  if (bio == nullptr) {
    broken_ = true;
    problem_ = "no memory";
    return;
  }
  functions.BIO_set_data(bio, this);
  functions.BIO_set_init(bio, 1);
  functions.SSL_set_bio(made, bio, bio);
  functions.SSL_set_accept_state(made);
}

TlsChannel::~TlsChannel() {
  if (ssl_ != nullptr) functions_.SSL_free(ssl_);
}

int TlsChannel::receive(BIO* bio, char* room, int size) {
  functions_.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  const ssize_t moved = ::recv(socket(), room, static_cast<size_t>(size), 0);
  socket_empty_ = is_blocked(moved);
  if (moved > 0) heard_ = true;
  if (socket_empty_) functions_.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
  return static_cast<int>(moved);
}

int TlsChannel::send(BIO* bio, const char* bytes, int size) {
  functions_.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  const ssize_t moved = ::send(socket(), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (is_blocked(moved)) functions_.BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
  return static_cast<int>(moved);
}

std::string TlsChannel::reason() const {
  if (!heard_) return {};
  const unsigned long code = functions_.ERR_peek_last_error();
  if (code == 0) return "the client closed the connection";
  std::string text = reason_text(functions_, code);
  const long verified = functions_.SSL_get_verify_result(ssl_);
  if (verified == X509_V_OK) return text;
  return text + " (" + functions_.X509_verify_cert_error_string(verified) + ")";
}

std::string TlsChannel::problem() const {
  const bool goes_on = heard_ && !connected_ && !broken_;
  return goes_on ? "the client did not finish it" : problem_;
}

Channel::Handshake TlsChannel::handshake() {
  if (broken_) return Handshake::Failed;
  if (connected_) return Handshake::Done;
  functions_.ERR_clear_error();
  const int done = functions_.SSL_do_handshake(ssl_);
  if (done == 1) {
    // Also reached by clients that send no list of protocols.
    const unsigned char* name = nullptr;
    unsigned length = 0;
    functions_.SSL_get0_alpn_selected(ssl_, &name, &length);
    if (length > 0) protocol_.assign(reinterpret_cast<const char*>(name), length);
    connected_ = !settings_.protocol_required || !protocol_.empty();
    if (connected_) {
      waits_for_read_ = false;
      functions_.SSL_set_msg_callback(ssl_, count_late_message);
      functions_.SSL_ctrl(ssl_, SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, this);
      has_unread_ = functions_.SSL_has_pending(ssl_) != 0;
      return Handshake::Done;
    }
    problem_ = "the client does not offer HTTP/2 (ALPN \"h2\")";
    broken_ = true;
    return Handshake::Failed;
  }
  const int error = functions_.SSL_get_error(ssl_, done);
  waits_for_read_ = error == SSL_ERROR_WANT_READ;
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return Handshake::Blocked;
  problem_ = reason();
  broken_ = true;
  return Handshake::Failed;
}

void TlsChannel::give_late_messages(size_t bytes) {
  read_bytes_ += bytes;
  if (read_bytes_ < kBytesForLateMessage) return;
  read_bytes_ = 0;
  late_messages_left_ = std::min(late_messages_left_ + 1, kLateMessagesMax);
}

// Reads one record after the other, as many as have arrived: the socket is read ahead by some
// records, so it does not signal those that are buffered.
Moved TlsChannel::read(std::span<uint8_t> room) {
  size_t moved = 0;
  while (!broken_ && !ended_ && moved < room.size()) {
    functions_.ERR_clear_error();
    size_t bytes = 0;
    socket_empty_ = false;
    const int done = functions_.SSL_read_ex(ssl_, room.data() + moved, room.size() - moved, &bytes);
    const int error = functions_.SSL_get_error(ssl_, done);
    if (late_messages_left_ < 0) {
      broken_ = true;
    } else if (error == SSL_ERROR_NONE) {
      moved += bytes;
      give_late_messages(bytes);
      if (functions_.SSL_has_pending(ssl_) == 0) break;
    } else if (error == SSL_ERROR_ZERO_RETURN) {
      ended_ = true;
    } else if (error == SSL_ERROR_WANT_WRITE || (error == SSL_ERROR_WANT_READ && socket_empty_)) {
      break;
    } else if (error != SSL_ERROR_WANT_READ) {  // WANT_READ: the record had no data
      broken_ = true;
    }
  }
  const bool over = broken_ || ended_;
  has_unread_ = moved > 0 && (over || (!socket_empty_ && functions_.SSL_has_pending(ssl_) != 0));
  if (moved > 0) return {Moved::State::Some, moved};
  return {over ? Moved::State::Closed : Moved::State::Blocked, 0};
}

// The position of a write in its parts.
class Cursor {
 public:
  explicit Cursor(std::span<const iovec> parts) : parts_(parts) { skip_empty(); }

  bool at_end() const { return index_ == parts_.size(); }

  // Returns `bytes_max` bytes, or all that remain: in place if one part holds them, else copied to
  // `room`. Does not advance.
  std::span<const uint8_t> peek(size_t bytes_max, uint8_t* room) const {
    const size_t here = parts_[index_].iov_len - offset_;
    const uint8_t* at = static_cast<const uint8_t*>(parts_[index_].iov_base) + offset_;
    if (here >= bytes_max || index_ + 1 == parts_.size()) return {at, std::min(here, bytes_max)};
    size_t filled = here;
    std::memcpy(room, at, here);
    for (size_t next = index_ + 1; next < parts_.size() && filled < bytes_max; next += 1) {
      const size_t bytes = std::min(parts_[next].iov_len, bytes_max - filled);
      if (bytes > 0) std::memcpy(room + filled, parts_[next].iov_base, bytes);
      filled += bytes;
    }
    return {room, filled};
  }

  void advance(size_t bytes) {
    while (bytes > 0) {
      const size_t step = std::min(bytes, parts_[index_].iov_len - offset_);
      offset_ += step;
      bytes -= step;
      skip_empty();
    }
  }

 private:
  void skip_empty() {
    while (index_ < parts_.size() && offset_ == parts_[index_].iov_len) {
      index_ += 1;
      offset_ = 0;
    }
  }

  std::span<const iovec> parts_;
  size_t index_ = 0;
  size_t offset_ = 0;
};

// Writes whole records; small parts are copied together, and 16 KiB of a large part are used in
// place. OpenSSL keeps a record that the socket accepted only partly, and requires the same call
// again with the same bytes.
Moved TlsChannel::write(std::span<const iovec> parts) {
  uint8_t room[kRecordBytes];
  Cursor cursor(parts);
  size_t moved = 0;
  waits_for_read_ = false;
  while (!broken_ && !cursor.at_end()) {
    const std::span<const uint8_t> record =
        cursor.peek(unfinished_ > 0 ? unfinished_ : kRecordBytes, room);
    functions_.ERR_clear_error();
    size_t bytes = 0;
    if (functions_.SSL_write_ex(ssl_, record.data(), record.size(), &bytes) == 1) {
      unfinished_ = 0;
      cursor.advance(bytes);
      moved += bytes;
      continue;
    }
    const int error = functions_.SSL_get_error(ssl_, 0);
    unfinished_ = record.size();
    waits_for_read_ = error == SSL_ERROR_WANT_READ;
    if (waits_for_read_ || error == SSL_ERROR_WANT_WRITE) break;
    broken_ = true;
  }
  if (moved > 0) return {Moved::State::Some, moved};
  return {broken_ ? Moved::State::Closed : Moved::State::Blocked, 0};
}

void TlsChannel::shut_down() {
  if (broken_ || !connected_ || unfinished_ > 0) return;
  functions_.ERR_clear_error();
  functions_.SSL_shutdown(ssl_);
  broken_ = true;
}

}  // namespace

std::unique_ptr<Channel> tls_channel(const OpenSsl& functions, SSL* made, int socket,
                                     const TlsSettings& settings) {
  return std::make_unique<TlsChannel>(functions, made, socket, settings);
}

}  // namespace serval
