// Sets the receive buffers of uWebSockets.js, which neither sets the option nor exposes its
// descriptors: they are searched among those of the process. Control plane; any thread.
#include "addon/receive_limit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>

namespace serval {

namespace {

// Returns whether `descriptor` is a socket that listens on `port`.
bool listens_on(int descriptor, uint16_t port) {
  int listens = 0;
  socklen_t bytes = sizeof(listens);
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0) return false;
  if (listens == 0) return false;
  sockaddr_storage address{};
  bytes = sizeof(address);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return false;
  switch (address.ss_family) {
    case AF_INET: return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port) == port;
    case AF_INET6: return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port) == port;
    default: return false;
  }
}

}  // namespace

uint32_t limit_receive(uint16_t port, int bytes) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return 0;
  uint32_t found = 0;
  while (const dirent* entry = readdir(folder.get())) {
    char* end = nullptr;
    const long descriptor = std::strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != '\0') continue;
    if (!listens_on(static_cast<int>(descriptor), port)) continue;
    const int fd = static_cast<int>(descriptor);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) == 0) ++found;
  }
  return found;
}

}  // namespace serval
