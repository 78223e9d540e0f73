// Listening sockets and what is accepted from them. Control plane (opening) and the listener's
// threads (accepting).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace serval {

// A unix socket to listen on; "" = none. `mode`: of its file, whatever the umask.
struct UnixSocket {
  UnixSocket(std::string where, mode_t access = 0700) : path(std::move(where)), mode(access) {}
  UnixSocket(const char* where) : path(where) {}
  std::string path;
  mode_t mode = 0700;
};

// One listening socket for each thread on TCP (SO_REUSEPORT), and one that all threads share on a
// unix socket. Closes them; removes the unix socket's file that it made.
class ListeningSockets {
 public:
  ListeningSockets() = default;
  ListeningSockets(ListeningSockets&& other) noexcept;
  ListeningSockets& operator=(ListeningSockets&& other) noexcept;
  ~ListeningSockets() { close(); }

  // `host`: a name or an address of IPv4 or IPv6, "" = no TCP; a name listens on all its addresses
  // of which one works ("::" takes IPv4 too where the system does). `port` 0 picks one. A unix
  // path that a dead server left is taken over; one that answers, or that is no socket, is an
  // error. Another process's listener on the port is an error, although the threads share it,
  // unless `reuse_port` is set and that process (of the same user) has SO_REUSEPORT too.
  // Errors: invalid_argument, worded "cannot listen on <host> port <port>: ..." as
  // ts/server/workers/pool.ts words them, "cannot listen on unix:<path>: ...".
  static Result<ListeningSockets> open(const std::string& host, uint16_t port,
                                       const UnixSocket& unix_socket, uint32_t threads,
                                       bool reuse_port = false);

  uint16_t port() const { return port_; }
  // Those that thread `thread` accepts from; not blocking, close-on-exec.
  std::vector<int> of_thread(uint32_t thread) const;
  // Clients are refused from now on, and another server may listen there; who waits in a queue is
  // cut. The descriptors stay: called while threads accept.
  void stop();
  void close();

 private:
  void remove_unix_file();

  std::vector<std::vector<int>> tcp_;  // by thread
  int unix_ = -1;
  std::string unix_path_;  // that it made; "" = none
  dev_t unix_device_ = 0;  // of that file
  ino_t unix_inode_ = 0;
  uint16_t port_ = 0;
};

// How many connections all threads of a listener have.
struct ConnectionCount {
  std::atomic<uint32_t> open{0};
};

// Accepts for one thread. Keeps one descriptor in reserve, so that where they have run out, a
// client is closed at once instead of waiting in the kernel's queue.
class Acceptor {
 public:
  Acceptor(ConnectionCount& count, uint32_t connections_max);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Full: a client was accepted and closed, because there are too many or no descriptors: call on.
  // None: nobody waits (or what waits is to be tried again later).
  enum class Outcome : uint8_t { Accepted, Full, None };
  // `socket` gets a socket that does not block, with TCP_NODELAY, counted in `open`; closed() takes
  // it out again.
  Outcome accept(int listening, int& socket);
  void closed() { count_.open.fetch_sub(1, std::memory_order_relaxed); }

 private:
  Outcome refuse_one(int listening);

  ConnectionCount& count_;
  const uint32_t connections_max_;
  int reserve_ = -1;
};

}  // namespace serval
