// The byte stream of one encrypted connection: TLS records over a non-blocking socket. Thread: the
// listener's.
#pragma once

#include <memory>
#include <string>

#include "transport/socket/channel.h"
#include "transport/socket/openssl.h"
#include "transport/socket/tls.h"

namespace serval {

// Owns `socket` and `made` (null if memory was out: the handshake fails). Borrows `settings`: the
// protocols to negotiate.
std::unique_ptr<Channel> tls_channel(const OpenSsl& functions, SSL* made, int socket,
                                     const TlsSettings& settings);

}  // namespace serval
