// The bytes of one connection, plain or encrypted. Never blocks. Thread: the listener's.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace serval {

// What a read or a write came to.
struct Moved {
  // Some: `bytes` were moved. Blocked: none now. Closed: the peer ended, or the connection broke.
  enum class State : uint8_t { Some, Blocked, Closed };
  State state = State::Blocked;
  size_t bytes = 0;
};

class Channel {
 public:
  // Owns the socket, which does not block, and closes it.
  explicit Channel(int socket) : socket_(socket) {}
  virtual ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int socket() const { return socket_; }
  // Whether the peer is on this machine, over loopback or a unix socket; not once it has gone.
  bool is_local() const;

  enum class Handshake : uint8_t { Done, Blocked, Failed };
  // Goes on with it; called when the socket is readable or writable, until it is done.
  virtual Handshake handshake() { return Handshake::Done; }
  // Why a handshake failed, or that it was not finished, for the log; "" where it is done, or the
  // client has said nothing at all (who looks whether a port is open does).
  virtual std::string problem() const { return {}; }
  // The protocol that a handshake agreed on (ALPN); "" where there is none.
  virtual std::string_view protocol() const { return {}; }

  virtual Moved read(std::span<uint8_t> room) = 0;
  // `parts` as for writev(2), of any number; what was taken ends anywhere. The bytes that were not
  // taken come again first, from any address, at least as many as there were.
  virtual Moved write(std::span<const iovec> parts) = 0;
  // After read(), and when the handshake is done: bytes (or an end) are left that the socket does
  // not tell of.
  virtual bool has_unread() const { return false; }
  // Before writing, or the handshake, goes on the socket has to be readable (TLS), instead of
  // writable.
  virtual bool write_waits_for_read() const { return false; }
  // Says goodbye where that can be done at once.
  virtual void shut_down() {}

 private:
  const int socket_;
};

// Who is at the other end of a connected socket, for the log: "192.0.2.1:5000",
// "[2001:db8::1]:5000", "a unix socket".
std::string peer_of(int socket);

// A TCP or unix socket as it is.
std::unique_ptr<Channel> plain_channel(int socket);

}  // namespace serval
