// Sockets to the server under load. The load's thread; resolving a name blocks it.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "load/measure/schedule.h"

namespace serval::load {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

// The target's addresses, in the system's order of preference; empty: `why` has the reason.
std::vector<Address> addresses_of(const Target& target, std::string& why);

// Begins to connect a socket without blocking; -1: `why` has the reason; "": it may work later.
int begin_connect(const Address& address, std::string& why);
// Call it once it is writable: "", or the reason why it is not connected.
std::string connect_problem(int socket);

}  // namespace serval::load
