// The client's end of encrypted connections, over OpenSSL of the process and the channel that
// listeners use. The load's thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "load/measure/plan.h"
#include "transport/socket/channel.h"
#include "transport/socket/openssl.h"
#include "transport/socket/tls.h"

namespace serval::load {

class TlsClient {
 public:
  // Errors: invalid_argument: roots that are no PEM, or no OpenSSL in the process.
  static Result<std::unique_ptr<TlsClient>> make(const Target& target);
  // For make(); both outlive it.
  TlsClient(const OpenSsl& functions, const Target& target);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  struct Connecting {
    std::unique_ptr<Channel> channel;
    SSL* ssl;  // the channel's; null where memory was out, then the handshake fails
  };
  // The channel of a connected socket, which it owns. The server's certificate has to be for the
  // target's host.
  Connecting connect(int socket) const;
  // After the handshake: "", or why the protocol is not the target's.
  std::string disagreement(const SSL* ssl) const;

 private:
  Status set_up();

  const OpenSsl& functions_;
  const Target& target_;
  TlsSettings settings_;
  SSL_CTX* context_ = nullptr;
};

}  // namespace serval::load
