// Limits the unread bytes from clients in the kernel's buffers. Control plane; any thread.
#pragma once

#include <cstdint>

namespace serval {

// Sets SO_RCVBUF on the sockets of this process that listen on TCP port `port`: connections that
// they accept from now on inherit it. The kernel doubles `bytes`. Returns the number of these
// sockets. Source: socket(7), tcp(7), proc(5).
uint32_t limit_receive(uint16_t port, int bytes);

}  // namespace serval
