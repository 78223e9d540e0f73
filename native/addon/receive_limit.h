// How much of what clients send may lie in the kernel unread. Control plane; any thread.
#pragma once

#include <cstdint>

namespace serval {

// Sets SO_RCVBUF on the sockets of this process that listen on TCP port `port`: connections that
// they accept from now on have it too. The kernel doubles `bytes`. Returns how many sockets those
// are. Source: socket(7), tcp(7), proc(5).
uint32_t limit_receive(uint16_t port, int bytes);

}  // namespace serval
