// The byte stream of one connection, plain or encrypted. Never blocks. Thread: the listener's.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace serval {

// The result of a read or a write.
struct Moved {
  // Some: `bytes` were moved. Blocked: none for now. Closed: the peer ended, or the connection
  // broke.
  enum class State : uint8_t { Some, Blocked, Closed };
  State state = State::Blocked;
  size_t bytes = 0;
};

class Channel {
 public:
  // Owns the non-blocking socket and closes it.
  explicit Channel(int socket) : socket_(socket) {}
  virtual ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int socket() const { return socket_; }
  // Whether the peer is on this machine, over loopback or a unix socket; false once it has
  // disconnected.
  bool is_local() const;

  enum class Handshake : uint8_t { Done, Blocked, Failed };
  // Continues the handshake; call it when the socket is readable or writable, until it is done.
  virtual Handshake handshake() { return Handshake::Done; }
  // Why a handshake failed or is unfinished, for the log; "" if it is done, or if the client never
  // sent anything (a port check).
  virtual std::string problem() const { return {}; }
  // The protocol that the handshake negotiated (ALPN); "" if none.
  virtual std::string_view protocol() const { return {}; }

  virtual Moved read(std::span<uint8_t> room) = 0;
  // `parts` as for writev(2), of any number; a write may end anywhere. The caller repeats the
  // unwritten bytes first, from any address, at least as many as before.
  virtual Moved write(std::span<const iovec> parts) = 0;
  // After read(), and when the handshake is done: whether bytes (or an end) are buffered that the
  // socket does not signal.
  virtual bool has_unread() const { return false; }
  // Whether writing, or the handshake, waits for the socket to be readable (TLS) instead of
  // writable.
  virtual bool write_waits_for_read() const { return false; }
  // Sends a close notification if that is possible without blocking.
  virtual void shut_down() {}

 private:
  const int socket_;
};

// The peer of a connected socket, for the log: "192.0.2.1:5000", "[2001:db8::1]:5000", "a unix
// socket".
std::string peer_of(int socket);

// A plain TCP or unix socket.
std::unique_ptr<Channel> plain_channel(int socket);

}  // namespace serval
