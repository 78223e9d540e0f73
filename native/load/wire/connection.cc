// Connects, reads and writes one connection of a load. Hot path; the load's thread.
#include "load/wire/connection.h"

#include <utility>

#include "load/wire/connecting.h"

namespace serval::load {
namespace {

constexpr std::string_view kClosed = "the server closed the connection";

std::string head_of(const Traffic& traffic, const std::string& length) {
  std::string head = traffic.method + " " + traffic.path + " HTTP/1.1\r\n";
  head += "host: " + traffic.authority + "\r\n";
  for (const Field& field : traffic.fields) head += field.name + ": " + field.value + "\r\n";
  return head + "content-length: " + length + "\r\n\r\n";
}

}  // namespace

Prepared::Prepared(const Target& given_target, Traffic given)
    : target(given_target), traffic(std::move(given)) {
  for (const std::string& body : traffic.bodies) {
    lengths.push_back(std::to_string(body.size()));
    heads.push_back(head_of(traffic, lengths.back()));
  }
}

Connection::Connection(int socket, const TlsClient* tls, const Prepared& prepared,
                       ConnectionEvents& events)
    : prepared_(&prepared), events_(events), tls_(tls) {
  if (tls == nullptr) {
    channel_ = plain_channel(socket);
    return;
  }
  TlsClient::Connecting connecting = tls->connect(socket);
  channel_ = std::move(connecting.channel);
  ssl_ = connecting.ssl;
}

bool Connection::wants_write() const {
  if (state_ == State::Connecting) return true;
  if (channel_->write_waits_for_read()) return false;
  return state_ == State::Handshaking || (!output_.empty() && !write_broken_);
}

void Connection::advance(std::span<uint8_t> room) {
  if (state_ != State::Connected && !connect_on()) return;
  read_all(room);
  flush();
}

// True once it is connected.
bool Connection::connect_on() {
  if (state_ == State::Connecting) {
    std::string why = connect_problem(channel_->socket());
    if (!why.empty()) {
      fail(std::move(why));
      return false;
    }
    state_ = State::Handshaking;
  }
  switch (channel_->handshake()) {
    case Channel::Handshake::Blocked: return false;
    case Channel::Handshake::Failed: {
      const std::string why = channel_->problem();
      fail("TLS: " + (why.empty() ? std::string(kClosed) : why));
      return false;
    }
    case Channel::Handshake::Done: break;
  }
  if (tls_ != nullptr) {
    std::string why = tls_->disagreement(ssl_);
    if (!why.empty()) {
      fail(std::move(why));
      return false;
    }
  }
  state_ = State::Connected;
  connected();
  return true;
}

void Connection::read_all(std::span<uint8_t> room) {
  while (problem_.empty()) {
    const Moved moved = channel_->read(room);
    if (moved.state == Moved::State::Blocked) return;
    if (moved.state == Moved::State::Closed) {
      ended();
      return fail(std::string(kClosed));
    }
    read(room.first(moved.bytes));
    if (moved.bytes < room.size() && !channel_->has_unread()) return;
  }
}

void Connection::begin(Call& call) {
  call.connection = this;
  call.place = calls_.size();
  call.stream = 0;
  call.sent = call.received = 0;
  call.messages = call.message_bytes = 0;
  call.status = 0;
  call.refused = call.complete = false;
  call.said_status.clear();
  call.error.clear();
  calls_.push_back(&call);
  submit(call);
}

void Connection::flush() {
  if (!problem_.empty() || state_ != State::Connected || write_broken_) return;
  fill();
  if (!problem_.empty() || output_.empty()) return;
  write_broken_ = output_.write_to(*channel_) == Moved::State::Closed;
}

void Connection::opened() {
  opened_ = true;
  events_.has_room(*this);
}

void Connection::fail(std::string why) {
  if (problem_.empty()) problem_ = std::move(why);
}

void Connection::remove(Call& call) {
  Call* const last = calls_.back();
  calls_[call.place] = last;
  last->place = call.place;
  calls_.pop_back();
}

void Connection::answer(Call& call, uint64_t response_bytes) {
  if (prepared_->traffic.judged != Judged::GrpcStream) remove(call);
  events_.has_room(*this);
  events_.answered(call, response_bytes);
}

void Connection::leave_unread(Call& call, std::string_view error) {
  remove(call);
  events_.has_room(*this);
  events_.unread(call, error);
}

void Connection::refuse(Call& call, Failure kind, std::string_view error) {
  remove(call);
  events_.has_room(*this);
  events_.failed(call, kind, error);
}

}  // namespace serval::load
