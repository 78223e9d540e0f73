// Connects sockets to the target. The load's thread.
#include "load/wire/connecting.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace serval::load {
namespace {

std::string error_text(int code) { return std::string("connect: ") + std::strerror(code); }

}  // namespace

std::vector<Address> addresses_of(const Target& target, std::string& why) {
  Address address;
  if (!target.unix_path.empty()) {
    auto& unix_address = reinterpret_cast<sockaddr_un&>(address.bytes);
    if (target.unix_path.size() >= sizeof unix_address.sun_path) {
      why = "the path of the unix socket is too long";
      return {};
    }
    unix_address.sun_family = AF_UNIX;
    target.unix_path.copy(unix_address.sun_path, target.unix_path.size());
    address.size = sizeof unix_address;
    return {address};
  }
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(target.port);
  const int code = getaddrinfo(target.host.c_str(), port.c_str(), &wanted, &found);
  if (code != 0) {
    why = gai_strerror(code);
    return {};
  }
  std::vector<Address> out;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
    out.push_back(address);
  }
  freeaddrinfo(found);
  return out;
}

int begin_connect(const Address& address, std::string& why) {
  const int socket =
      ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) {
    why = error_text(errno);
    return -1;
  }
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto* const bytes = reinterpret_cast<const sockaddr*>(&address.bytes);
  if (connect(socket, bytes, address.size) == 0 || errno == EINPROGRESS) return socket;
  // EAGAIN: the accept queue of a unix socket is full.
  why = errno == EAGAIN ? std::string() : error_text(errno);
  close(socket);
  return -1;
}

std::string connect_problem(int socket) {
  int code = 0;
  socklen_t size = sizeof code;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = errno;
  return code == 0 ? std::string() : error_text(code);
}

}  // namespace serval::load
