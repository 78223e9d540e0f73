// Implements plain sockets and peer addresses. Hot path; the listener's thread.
#include "transport/socket/channel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace serval {

Channel::~Channel() { ::close(socket_); }

namespace {

// Whether a network-order IPv4 address is in 127.0.0.0/8.
bool is_loopback(const in_addr& address) { return ntohl(address.s_addr) >> 24 == 127; }

bool is_loopback(const in6_addr& address) {
  if (IN6_IS_ADDR_LOOPBACK(&address)) return true;
  return IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127;
}

Moved outcome(ssize_t moved) {
  if (moved > 0) return {Moved::State::Some, static_cast<size_t>(moved)};
  const bool blocked = moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return {blocked ? Moved::State::Blocked : Moved::State::Closed, 0};
}

class PlainChannel final : public Channel {
 public:
  using Channel::Channel;

  Moved read(std::span<uint8_t> room) override {
    return outcome(::recv(socket(), room.data(), room.size(), 0));
  }

  Moved write(std::span<const iovec> parts) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = std::min<size_t>(parts.size(), IOV_MAX);
    return outcome(::sendmsg(socket(), &message, MSG_NOSIGNAL));
  }
};

}  // namespace

std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return "unknown";
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(v4->sin_port));
  }
  if (address.ss_family != AF_INET6) return "a unix socket";
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
  const std::string port = std::to_string(ntohs(v6->sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
    constexpr size_t kMappedBytes = 12;  // bytes of the IPv6 address before the mapped IPv4 address
    ::inet_ntop(AF_INET, v6->sin6_addr.s6_addr + kMappedBytes, text, sizeof text);
    return std::string(text) + ":" + port;
  }
  ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
  return "[" + std::string(text) + "]:" + port;
}

bool Channel::is_local() const {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  if (::getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return false;
  switch (address.ss_family) {
    case AF_UNIX: return true;
    case AF_INET: return is_loopback(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
    case AF_INET6: return is_loopback(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
    default: return false;
  }
}

std::unique_ptr<Channel> plain_channel(int socket) {
  return std::make_unique<PlainChannel>(socket);
}

}  // namespace serval
