// Detects the protocol of a new connection. Hot path; the listener's thread.
#include "transport/loop/opening.h"

#include <sys/epoll.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/bytes/views.h"
#include "transport/http1/connection.h"
#include "transport/http2/connection.h"
#include "transport/loop/thread.h"

namespace serval {

namespace {

// The client preface of HTTP/2. Source: RFC 9113 3.4.
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::string_view kHttp2 = "h2";

}  // namespace

OpeningConnection::OpeningConnection(ListenerThread& thread, std::unique_ptr<Channel> channel)
    : Connection(std::move(channel)), thread_(thread), accepted_ns_(thread.now()) {
  due_.connection = this;
  if (thread.has_tls()) peer_ = peer_of(channel_->socket());
  else shaken_ns_ = accepted_ns_;
}

OpeningConnection::~OpeningConnection() { thread_.timers().clear(due_); }

bool OpeningConnection::begin() {
  const TransportSettings& limits = thread_.settings();
  const uint64_t ms =
      shaken_ns_ == 0 ? limits.handshake_ms_max : std::min(limits.silent_ms, limits.idle_ms);
  thread_.timers().set(due_, after_ms(thread_.now(), ms));
  return true;
}

void OpeningConnection::die() {
  if (dead_) return;
  dead_ = true;
  thread_.bury_later(*this);
}

bool OpeningConnection::shake_hands() {
  switch (channel_->handshake()) {
    case Channel::Handshake::Blocked:
      thread_.interest(*this, EPOLLIN | (channel_->write_waits_for_read() ? 0u : EPOLLOUT));
      return false;
    case Channel::Handshake::Failed: {
      std::string reason = channel_->problem();
      if (!reason.empty()) thread_.handshake_failed(std::move(peer_), std::move(reason));
      die();
      return false;
    }
    case Channel::Handshake::Done: break;
  }
  shaken_ns_ = thread_.now();
  thread_.interest(*this, EPOLLIN);
  begin();
  return true;
}

void OpeningConnection::readable() {
  if (dead_ || (shaken_ns_ == 0 && !shake_hands())) return;
  if (thread_.settings().serves == Serves::Grpc || channel_->protocol() == kHttp2) {
    become<Http2Connection>({}, accepted_ns_);
    return;
  }
  const std::span<uint8_t> room = thread_.read_buffer();
  const Moved moved = channel_->read(room);
  if (moved.state == Moved::State::Closed) die();
  else if (moved.state == Moved::State::Some) look_at_first(room.first(moved.bytes));
}

void OpeningConnection::look_at_first(std::span<const uint8_t> bytes) {
  if (!first_.empty()) {
    first_.insert(first_.end(), bytes.begin(), bytes.end());
    bytes = first_;
  }
  const std::string_view text = text_of(bytes.first(std::min(bytes.size(), kPreface.size())));
  if (text != kPreface.substr(0, text.size())) {
    become<Http1Connection>(bytes);
  } else if (text.size() == kPreface.size()) {
    become<Http2Connection>(bytes, accepted_ns_);
  } else if (first_.empty()) {
    first_.assign(bytes.begin(), bytes.end());
  }
}

template <typename Protocol, typename... Arguments>
void OpeningConnection::become(std::span<const uint8_t> first, Arguments... arguments) {
  auto made = std::make_unique<Protocol>(thread_, std::move(channel_), arguments...);
  Protocol& protocol = *made;
  dead_ = true;
  thread_.replace(*this, std::move(made));
  if (!protocol.begin()) {
    protocol.end();
    return;
  }
  protocol.start(first);
  if (leaving_) protocol.retire(true);
}

void OpeningConnection::due(uint64_t) {
  if (dead_) return;
  std::string reason = shaken_ns_ == 0 ? channel_->problem() : std::string();
  if (!reason.empty()) thread_.handshake_failed(std::move(peer_), std::move(reason));
  die();
}

void OpeningConnection::retire(bool) {
  leaving_ = true;
  if (shaken_ns_ == 0) die();
}

void OpeningConnection::look(bool idle, uint64_t) {
  if (idle && shaken_ns_ != 0) die();
}

uint64_t OpeningConnection::cut() {
  die();
  return 0;
}

}  // namespace serval
