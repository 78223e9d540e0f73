// Sockets to the server under load. The load's thread; resolving a name blocks it.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "load/measure/plan.h"

namespace serval::load {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

// Where the target is, in the order in which the system prefers; none: `why` says why.
std::vector<Address> addresses_of(const Target& target, std::string& why);

// A socket that connects, without waiting; -1: `why` says why not; "": later it may.
int begin_connect(const Address& address, std::string& why);
// Once it is writable: "", or why it is not connected.
std::string connect_problem(int socket);

}  // namespace serval::load
