// One connection of a load, without its protocol: connects, does the TLS handshake, writes pending
// bytes, reads received ones. Hot path; the load's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/measure/loop.h"
#include "load/measure/schedule.h"
#include "load/wire/output.h"
#include "load/wire/tls_client.h"
#include "transport/loop/timers.h"
#include "transport/socket/channel.h"

namespace serval::load {

class Connection;

inline constexpr size_t kErrorBytesMax = 2048;  // kept of an error response

// One current request. The client owns it; the connection uses it from begin() to the event that
// ends it.
struct Call {
  TimerNode limit;  // first member, so that a timer can be cast to its call
  Connection* connection = nullptr;
  size_t place = 0;  // index in the connection's list
  uint64_t due_ns = 0;
  bool idle = false;  // a stream between two requests
  uint32_t tries = 1;
  size_t body = 0;  // index in the traffic's bodies
  // HTTP/2.
  int32_t stream = 0;
  size_t sent = 0;
  size_t received = 0;  // bytes of the response's body; for gRPC, of one message with its prefix
  uint32_t messages = 0;
  uint32_t message_bytes = 0;
  int status = 0;
  bool refused = false;   // `error` is the text of an error response
  bool complete = false;  // the whole response was received
  std::string said_status;
  std::string error;
  uint8_t prefix[5] = {};
};

// Events of connections, for the client, which may reuse `call` afterwards.
class ConnectionEvents {
 public:
  virtual ~ConnectionEvents() = default;
  // It accepts requests, or more of them than before.
  virtual void has_room(Connection& connection) = 0;
  virtual void answered(Call& call, uint64_t response_bytes) = 0;
  virtual void failed(Call& call, Failure kind, std::string_view error) = 0;
  // The server closed without having read the request, which may be sent elsewhere.
  virtual void unread(Call& call, std::string_view error) = 0;
};

// A target's traffic in the forms that connections send.
struct Prepared {
  const Target& target;
  Traffic traffic;
  std::vector<std::string> heads;    // HTTP/1.1: one for each body
  std::vector<std::string> lengths;  // content-length, for each body
  Prepared(const Target& given_target, Traffic given);
};

class Connection {
 public:
  // Owns `socket`, which is connecting. `tls`: null = plain. All arguments outlive it, `prepared`
  // until it is replaced.
  Connection(int socket, const TlsClient* tls, const Prepared& prepared, ConnectionEvents& events);
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return channel_->socket(); }
  // The reason why it is unusable, or "".
  const std::string& problem() const { return problem_; }
  // It has been open; it accepts no more requests while the last ones end.
  bool was_open() const { return opened_; }
  bool is_going() const { return going_; }
  // Whether it waits for the socket to be writable.
  bool wants_write() const;
  size_t in_flight() const { return calls_.size(); }
  bool has_unwritten() const { return !output_.empty(); }
  // Sets the traffic for requests from now on; no request is in progress.
  virtual void use(const Prepared& prepared) { prepared_ = &prepared; }
  // How many more requests may begin.
  size_t room() const { return opened_ && !going_ && problem_.empty() ? free_streams() : 0; }

  // Does what the socket is ready for. `room`: memory for reading.
  void advance(std::span<uint8_t> room);
  // Begins a call; nothing is written before flush(). Requires room() above 0.
  void begin(Call& call);
  // GrpcStream: the next request of a stream whose last one was answered.
  virtual void send_again(Call&) {}
  void flush();
  // Ends a call that took too long, without an event.
  virtual void give_up(Call& call) = 0;
  // Removes and returns the current calls, which belong to the client again.
  std::vector<Call*> take_calls() { return std::exchange(calls_, {}); }

  // Used by the client: positions in its lists, and the address that was tried.
  bool flush_wanted = false;
  bool counted_open = false;
  bool gone = false;
  size_t ready_place = SIZE_MAX;
  size_t address = 0;
  uint32_t watched = 0;

 protected:
  // The connection can be written to.
  virtual void connected() = 0;
  virtual void submit(Call& call) = 0;
  virtual void read(std::span<const uint8_t> bytes) = 0;
  // The server ended the connection; current calls are lost, except those whose response ends with
  // it.
  virtual void ended() {}
  // Fills the output with the protocol's pending bytes.
  virtual void fill() {}
  virtual size_t free_streams() const = 0;

  void opened();
  void fail(std::string why);
  void going() { going_ = true; }
  // GrpcStream: the call continues.
  void answer(Call& call, uint64_t response_bytes);
  void refuse(Call& call, Failure kind, std::string_view error);
  void leave_unread(Call& call, std::string_view error);
  // Ends a call by its HTTP status and the length of its response.
  void judge_http(Call& call);
  void remove(Call& call);

  const Prepared* prepared_;
  ConnectionEvents& events_;
  Output output_;
  std::vector<Call*> calls_;

 private:
  enum class State : uint8_t { Connecting, Handshaking, Connected };
  bool connect_on();
  void read_all(std::span<uint8_t> room);

  const TlsClient* const tls_;
  std::unique_ptr<Channel> channel_;
  SSL* ssl_ = nullptr;
  State state_ = State::Connecting;
  bool opened_ = false;
  bool going_ = false;
  bool write_broken_ = false;  // the server's last bytes still have to be read
  std::string problem_;
};

std::unique_ptr<Connection> http1_connection(int socket, const TlsClient* tls,
                                             const Prepared& prepared, ConnectionEvents& events);
std::unique_ptr<Connection> http2_connection(int socket, const TlsClient* tls,
                                             const Prepared& prepared, ConnectionEvents& events);

}  // namespace serval::load
