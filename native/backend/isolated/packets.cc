// Sends and receives control packets. Control plane, any thread.
#include "backend/isolated/packets.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

namespace serval::isolated {

namespace {

constexpr time_t kSendSecondsMax = 5;

union Ancillary {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int) * kDescriptorsMax)];
};

void take_descriptors(msghdr& message, std::vector<Descriptor>& out) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
      out.emplace_back(fd);
    }
  }
}

}  // namespace

bool send_packet(int socket, const Packet& packet, std::span<const int> descriptors) {
  Packet copy = packet;
  iovec part{&copy, sizeof copy};
  Ancillary ancillary{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = ancillary.bytes;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof copy);
}

Received receive_packet(int socket) {
  Received received;
  iovec part{&received.packet, sizeof received.packet};
  Ancillary ancillary{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.bytes;
  message.msg_controllen = sizeof ancillary.bytes;
  ssize_t count = 0;
  do {
    count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    const bool later = errno == EAGAIN || errno == EWOULDBLOCK;
    received.what = later ? Received::What::Nothing : Received::What::Ended;
    return received;
  }
  take_descriptors(message, received.descriptors);
  if (count == 0) received.what = Received::What::Ended;
  else if (count == static_cast<ssize_t>(sizeof received.packet) &&
           (message.msg_flags & MSG_TRUNC) == 0) {
    received.what = Received::What::Packet;
    if ((message.msg_flags & MSG_CTRUNC) != 0) received.descriptors.clear();
  }
  return received;
}

Result<SocketPair> make_sockets() {
  int fds[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    return make_error(ErrorCode::Internal,
                      std::string("cannot create sockets for a process: ") + std::strerror(errno));
  }
  SocketPair pair{Descriptor(fds[0]), Descriptor(fds[1])};
  const timeval limit{kSendSecondsMax, 0};
  for (const int fd : fds) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return pair;
}

}  // namespace serval::isolated
