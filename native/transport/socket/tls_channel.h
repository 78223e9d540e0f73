// The bytes of one encrypted connection: records of TLS over a socket that does not block. Thread:
// the listener's.
#pragma once

#include <memory>
#include <string>

#include "transport/socket/channel.h"
#include "transport/socket/openssl.h"
#include "transport/socket/tls.h"

namespace serval {

// Owns `socket` and `made` (null, where memory was out: the handshake fails).
// Borrows `settings`: the protocols to agree on.
std::unique_ptr<Channel> tls_channel(const OpenSsl& functions, SSL* made, int socket,
                                     const TlsSettings& settings);

}  // namespace serval
