// The client's end of encrypted connections, using the process's OpenSSL and the listeners' channel
// class. The load's thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "load/measure/schedule.h"
#include "transport/socket/channel.h"
#include "transport/socket/openssl.h"
#include "transport/socket/tls.h"

namespace serval::load {

class TlsClient {
 public:
  // Errors: invalid_argument: the roots are not PEM, or the process has no OpenSSL.
  static Result<std::unique_ptr<TlsClient>> make(const Target& target);
  // Called by make(); both arguments outlive it.
  TlsClient(const OpenSsl& functions, const Target& target);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  struct Connecting {
    std::unique_ptr<Channel> channel;
    SSL* ssl;  // owned by the channel; null if memory was out, then the handshake fails
  };
  // Makes the channel of a connected socket, which it owns. The server's certificate has to be
  // valid for the target's host.
  Connecting connect(int socket) const;
  // Call it after the handshake: "", or why the protocol is not the target's.
  std::string disagreement(const SSL* ssl) const;

 private:
  Status set_up();

  const OpenSsl& functions_;
  const Target& target_;
  TlsSettings settings_;
  SSL_CTX* context_ = nullptr;
};

}  // namespace serval::load
