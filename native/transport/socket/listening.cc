// Opens listening sockets and accepts connections. Control plane (opening); the listener's threads
// (accepting).
#include "transport/socket/listening.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace serval {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// With port 0 the first socket picks a port, which may be in use on the other addresses; then it
// picks again.
constexpr int kPicks = 8;

Error cannot_listen(const std::string& host, uint16_t port, const std::string& why) {
  return invalid_argument("cannot listen on " + host + " port " + std::to_string(port) + ": " +
                          why);
}

Error cannot_listen(const std::string& unix_path, const std::string& why) {
  return invalid_argument("cannot listen on unix:" + unix_path + ": " + why);
}

std::string reason_of(int error) {
  switch (error) {
    case EADDRINUSE:
      return "the port is in use by another process; choose another, or 0 for a free one";
    case EACCES: return "this user may not; ports below 1024 are often reserved";
    case EADDRNOTAVAIL: return "the address does not belong to this machine";
    default: return std::strerror(error);
  }
}

Result<Addresses> resolve(const std::string& host, uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (error == 0) return Addresses(found, &::freeaddrinfo);
  if (error == EAI_SYSTEM) return cannot_listen(host, port, std::strerror(errno));
  const bool known = error != EAI_NONAME && error != EAI_AGAIN && error != EAI_NODATA;
  return cannot_listen(host, port, known ? ::gai_strerror(error) : "the host name is not known");
}

void set_port(sockaddr_storage& address, uint16_t port) {
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
  }
}

uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  const uint16_t port = address.ss_family == AF_INET6
                            ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                            : reinterpret_cast<sockaddr_in&>(address).sin_port;
  return ntohs(port);
}

int turn_on(int socket, int option) {
  const int on = 1;
  return ::setsockopt(socket, SOL_SOCKET, option, &on, sizeof(on));
}

// Returns a listening socket, or -1 with errno set.
int listening_socket(const sockaddr* address, socklen_t length, bool shared, mode_t unix_mode = 0) {
  const int made = ::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  const bool tcp = address->sa_family != AF_UNIX;
  // Runs before bind(2), which gives the file the socket's mode less the umask: the file is never
  // too open.
  if ((tcp || ::fchmod(made, unix_mode) == 0) && (!tcp || turn_on(made, SO_REUSEADDR) == 0) &&
      (!shared || turn_on(made, SO_REUSEPORT) == 0) && ::bind(made, address, length) == 0 &&
      ::listen(made, SOMAXCONN) == 0) {
    return made;
  }
  const int error = errno;
  ::close(made);
  errno = error;
  return -1;
}

void close_all(std::vector<int>& sockets) {
  for (const int socket : sockets) ::close(socket);
  sockets.clear();
}

// How the sockets of one listener share a port.
struct Sharing {
  uint32_t threads = 1;
  bool processes = false;  // with other processes too
};

// Opens a socket per thread on one address; returns an errno on failure. Unless other processes may
// share the port, the first socket binds it exclusively and shares it only once it listens: with
// SO_REUSEPORT from the start, another process of this user that has also set it would go
// unnoticed, and each would get half of the clients.
int listen_shared(const addrinfo& at, uint16_t port, Sharing sharing, std::vector<int>& sockets) {
  const auto [threads, processes] = sharing;
  sockaddr_storage address{};
  std::memcpy(&address, at.ai_addr, at.ai_addrlen);
  for (uint32_t index = 0; index < threads; index += 1) {
    set_port(address, port);
    const int made = listening_socket(reinterpret_cast<const sockaddr*>(&address), at.ai_addrlen,
                                      processes || index > 0);
    if (made < 0) {
      const int error = errno;
      close_all(sockets);
      return error;
    }
    sockets.push_back(made);
    if (port == 0) port = port_of(made);
    if (index == 0 && threads > 1 && !processes && turn_on(made, SO_REUSEPORT) != 0) {
      const int error = errno;
      close_all(sockets);
      return error;
    }
  }
  return 0;
}

// The sockets opened for a name's addresses.
struct Opened {
  std::vector<std::vector<int>> sockets;  // by address, then by thread
  uint16_t port = 0;
  int error = 0;  // the first one
};

void close_all(Opened& opened) {
  for (std::vector<int>& sockets : opened.sockets) close_all(sockets);
  opened.sockets.clear();
}

// Hosts files sometimes list an address twice.
bool came_before(const addrinfo* first, const addrinfo* at) {
  for (; first != at; first = first->ai_next) {
    if (first->ai_addrlen == at->ai_addrlen &&
        std::memcmp(first->ai_addr, at->ai_addr, at->ai_addrlen) == 0) {
      return true;
    }
  }
  return false;
}

// A port in use on one of the addresses is an error; addresses that the machine does not have are
// skipped, such as the IPv6 address of "localhost" on machines without IPv6.
Opened listen_on(const addrinfo* addresses, uint16_t port, Sharing sharing) {
  Opened opened;
  opened.port = port;
  for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next) {
    if (came_before(addresses, at)) continue;
    std::vector<int> sockets;
    const int error = listen_shared(*at, opened.port, sharing, sockets);
    if (error != 0) {
      if (opened.error == 0 || error == EADDRINUSE) opened.error = error;
      if (error != EADDRINUSE) continue;
      close_all(opened);
      return opened;
    }
    if (opened.port == 0) opened.port = port_of(sockets[0]);
    opened.sockets.push_back(std::move(sockets));
  }
  return opened;
}

Result<Opened> listen_tcp(const std::string& host, uint16_t port, Sharing sharing) {
  // Brackets as in URLs.
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  Result<Addresses> addresses = resolve(brackets ? host.substr(1, host.size() - 2) : host, port);
  if (!addresses.ok()) return std::move(addresses.error());
  Opened opened;
  for (int pick = 0; pick < kPicks; pick += 1) {
    opened = listen_on(addresses.value().get(), port, sharing);
    if (!opened.sockets.empty()) return opened;
    if (port != 0 || opened.error != EADDRINUSE) break;
  }
  return cannot_listen(host, port, reason_of(opened.error));
}

// Whether a process accepts on a unix socket, or an error if that is unknown.
Result<bool> is_alive(const std::string& path, const sockaddr_un& address) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0) return cannot_listen(path, std::strerror(errno));
  const bool connected =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  const int error = errno;
  ::close(probe);
  if (connected || error == EAGAIN) return true;  // EAGAIN: the accept queue is full
  if (error == ECONNREFUSED || error == ENOENT) return false;
  return cannot_listen(path,
                       std::string("a socket exists there, and it is not known whether a server "
                                   "answers on it: ") +
                           std::strerror(error));
}

// Removes a socket that a dead server left behind.
Status make_room(const std::string& path, const sockaddr_un& address) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) return ok_status();
  if (!S_ISSOCK(there.st_mode)) {
    return cannot_listen(path,
                         "a file that is not a socket exists there; remove it or choose another");
  }
  Result<bool> alive = is_alive(path, address);
  if (!alive.ok()) return std::move(alive.error());
  if (alive.value()) return cannot_listen(path, "another server answers on it; choose another");
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return ok_status();
  return cannot_listen(
      path, std::string("a dead server's socket cannot be removed: ") + std::strerror(errno));
}

Result<int> listen_unix(const std::string& path, mode_t mode) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr size_t bytes_max = sizeof(address.sun_path) - 1;
  if (path.size() > bytes_max) {
    return cannot_listen(path, "the path has " + std::to_string(path.size()) +
                                   " bytes, the system takes at most " + std::to_string(bytes_max));
  }
  if (path.find('\0') != std::string::npos) {
    return cannot_listen(path.c_str(), "the path has a zero byte");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (Status room = make_room(path, address); !room.ok()) return std::move(room.error());
  const int made =
      listening_socket(reinterpret_cast<const sockaddr*>(&address), sizeof(address), false, mode);
  // restores the bits that the umask removed
  if (made >= 0 && ::chmod(path.c_str(), mode) == 0) return made;
  if (made >= 0) ::close(made);
  switch (errno) {
    case EADDRINUSE: return cannot_listen(path, "another server has just taken it");
    case ENOENT: return cannot_listen(path, "its folder does not exist");
    default: return cannot_listen(path, std::strerror(errno));
  }
}

}  // namespace

ListeningSockets::ListeningSockets(ListeningSockets&& other) noexcept { *this = std::move(other); }

ListeningSockets& ListeningSockets::operator=(ListeningSockets&& other) noexcept {
  if (this == &other) return *this;
  close();
  tcp_ = std::exchange(other.tcp_, {});
  unix_ = std::exchange(other.unix_, -1);
  unix_path_ = std::exchange(other.unix_path_, {});
  unix_device_ = other.unix_device_;
  unix_inode_ = other.unix_inode_;
  port_ = std::exchange(other.port_, 0);
  return *this;
}

Result<ListeningSockets> ListeningSockets::open(const std::string& host, uint16_t port,
                                                const UnixSocket& unix_socket, uint32_t threads,
                                                bool reuse_port) {
  ListeningSockets made;
  made.tcp_.resize(threads);
  if (!host.empty()) {
    Result<Opened> opened = listen_tcp(host, port, {threads, reuse_port});
    if (!opened.ok()) return std::move(opened.error());
    made.port_ = opened.value().port;
    for (const std::vector<int>& sockets : opened.value().sockets) {
      for (uint32_t thread = 0; thread < threads; thread += 1) {
        made.tcp_[thread].push_back(sockets[thread]);
      }
    }
  }
  if (const std::string& unix_path = unix_socket.path; !unix_path.empty()) {
    Result<int> listening = listen_unix(unix_path, unix_socket.mode);
    if (!listening.ok()) return std::move(listening.error());
    made.unix_ = listening.value();
    struct stat file {};
    if (::lstat(unix_path.c_str(), &file) == 0) {
      made.unix_path_ = unix_path;
      made.unix_device_ = file.st_dev;
      made.unix_inode_ = file.st_ino;
    }
  }
  return made;
}

std::vector<int> ListeningSockets::of_thread(uint32_t thread) const {
  std::vector<int> sockets;
  if (thread < tcp_.size()) sockets = tcp_[thread];
  if (unix_ >= 0) sockets.push_back(unix_);
  return sockets;
}

// On Linux, shutdown(2) ends a listening socket; accept(2) then fails with EINVAL.
void ListeningSockets::stop() {
  for (const std::vector<int>& sockets : tcp_) {
    for (const int socket : sockets) ::shutdown(socket, SHUT_RDWR);
  }
  if (unix_ >= 0) ::shutdown(unix_, SHUT_RDWR);
  remove_unix_file();
}

void ListeningSockets::close() {
  for (std::vector<int>& sockets : tcp_) close_all(sockets);
  tcp_.clear();
  if (unix_ >= 0) ::close(std::exchange(unix_, -1));
  remove_unix_file();
}

// Another server may have created its own file there meanwhile.
void ListeningSockets::remove_unix_file() {
  struct stat file {};
  if (!unix_path_.empty() && ::lstat(unix_path_.c_str(), &file) == 0 &&
      file.st_dev == unix_device_ && file.st_ino == unix_inode_) {
    ::unlink(unix_path_.c_str());
  }
  unix_path_.clear();
}

namespace {

int accept_now(int listening) {
  return ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int open_reserve() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

Acceptor::Acceptor(ConnectionCount& count, uint32_t connections_max)
    : count_(count), connections_max_(connections_max), reserve_(open_reserve()) {}

Acceptor::~Acceptor() {
  if (reserve_ >= 0) ::close(reserve_);
}

// Loops over errors of connections that ended before they were accepted.
Acceptor::Outcome Acceptor::accept(int listening, int& socket) {
  for (;;) {
    const int accepted = accept_now(listening);
    if (accepted >= 0) {
      if (count_.open.fetch_add(1, std::memory_order_relaxed) >= connections_max_) {
        closed();
        ::close(accepted);
        return Outcome::Full;
      }
      const int on = 1;  // fails on unix sockets, which do not need it
      ::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      socket = accepted;
      return Outcome::Accepted;
    }
    switch (errno) {
      case EMFILE:
      case ENFILE: return refuse_one(listening);
      // Errors of the next pending connection, which is gone: accept(2) of Linux.
      case EINTR:
      case ECONNABORTED:
      case EPROTO:
      case ENOPROTOOPT:
      case EHOSTDOWN:
      case ENONET:
      case EHOSTUNREACH:
      case ENETDOWN:
      case ENETUNREACH:
      case EPERM: continue;
      default: return Outcome::None;
    }
  }
}

// Frees the reserve descriptor so that one client can be accepted and closed.
Acceptor::Outcome Acceptor::refuse_one(int listening) {
  if (reserve_ >= 0) ::close(std::exchange(reserve_, -1));
  const int accepted = accept_now(listening);
  if (accepted >= 0) ::close(accepted);
  reserve_ = open_reserve();
  return accepted >= 0 ? Outcome::Full : Outcome::None;
}

}  // namespace serval
