// Listening sockets, and accepting from them. Control plane (opening) and the listener's threads
// (accepting).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace serval {

// A unix socket to listen on; "" = none. `mode`: of its file, regardless of the umask.
struct UnixSocket {
  UnixSocket(std::string where, mode_t access = 0700) : path(std::move(where)), mode(access) {}
  UnixSocket(const char* where) : path(where) {}
  std::string path;
  mode_t mode = 0700;
};

// One listening TCP socket per thread (SO_REUSEPORT), and one unix socket that all threads share.
// Closes them; removes the unix socket file that it created.
class ListeningSockets {
 public:
  ListeningSockets() = default;
  ListeningSockets(ListeningSockets&& other) noexcept;
  ListeningSockets& operator=(ListeningSockets&& other) noexcept;
  ~ListeningSockets() { close(); }

  // `host`: a name or an IPv4 or IPv6 address, "" = no TCP; a name listens on all its addresses
  // that work ("::" also accepts IPv4 if the system does). `port` 0 picks one. A unix path that a
  // dead server left behind is taken over; one that answers, or is not a socket, is an error.
  // Another process's listener on the port is an error, although the threads share it, unless
  // `reuse_port` is set and that process (of the same user) has SO_REUSEPORT too.
  // Errors: invalid_argument, worded "cannot listen on <host> port <port>: ..." as in
  // ts/server/workers/pool.ts, "cannot listen on unix:<path>: ...".
  static Result<ListeningSockets> open(const std::string& host, uint16_t port,
                                       const UnixSocket& unix_socket, uint32_t threads,
                                       bool reuse_port = false);

  uint16_t port() const { return port_; }
  // The sockets that thread `thread` accepts from; non-blocking, close-on-exec.
  std::vector<int> of_thread(uint32_t thread) const;
  // Refuses clients from now on and frees the address for another server; clients in the accept
  // queue are disconnected. The descriptors stay open, since threads may be accepting.
  void stop();
  void close();

 private:
  void remove_unix_file();

  std::vector<std::vector<int>> tcp_;  // by thread
  int unix_ = -1;
  std::string unix_path_;  // created here; "" = none
  dev_t unix_device_ = 0;  // of that file
  ino_t unix_inode_ = 0;
  uint16_t port_ = 0;
};

// The number of connections over all threads of a listener.
struct ConnectionCount {
  std::atomic<uint32_t> open{0};
};

// Accepts for one thread. Keeps one descriptor in reserve, so that a client is closed at once when
// descriptors run out, instead of waiting in the kernel's queue.
class Acceptor {
 public:
  Acceptor(ConnectionCount& count, uint32_t connections_max);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Full: a client was accepted and closed because there are too many connections or no
  // descriptors; call again. None: no client is waiting (or accepting has to be retried later).
  enum class Outcome : uint8_t { Accepted, Full, None };
  // `socket` receives a non-blocking socket with TCP_NODELAY, counted in `open` until closed().
  Outcome accept(int listening, int& socket);
  void closed() { count_.open.fetch_sub(1, std::memory_order_relaxed); }

 private:
  Outcome refuse_one(int listening);

  ConnectionCount& count_;
  const uint32_t connections_max_;
  int reserve_ = -1;
};

}  // namespace serval
