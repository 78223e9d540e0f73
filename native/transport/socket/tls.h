// Encrypted connections: a context that all threads share and reads its files anew, and the channel
// of one connection. OpenSSL is the process's own (Node's), found when it is first needed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "transport/socket/channel.h"

namespace serval {

// PEM: in a file, which is read anew when it changes, or given as text.
struct PemSource {
  std::string path;
  std::string text;

  bool empty() const { return path.empty() && text.empty(); }
};

struct TlsSettings {
  bool enabled = false;
  PemSource certificate;  // with its chain
  PemSource key;
  PemSource roots;               // who signs clients' certificates
  bool client_required = false;  // mutual TLS
  bool only_tls13 = false;       // else 1.2 too
  // The protocols of ALPN, the preferred one first, and whether the handshake fails with clients
  // that do not ask for one of them.
  std::vector<std::string> protocols{"h2"};
  bool protocol_required = true;
};

class TlsContext {
 public:
  struct State;
  // Errors: invalid_argument naming the file, or what is given as text, and OpenSSL's reason;
  // also where the key does not belong to the certificate, or there is no OpenSSL.
  static Result<std::unique_ptr<TlsContext>> make(TlsSettings settings);
  explicit TlsContext(std::unique_ptr<State> state);
  ~TlsContext();

  // The channel of an accepted socket, which it owns; any thread. TLS 1.2 (where it is not left
  // out) or newer; clients that offer other protocols only (ALPN) fail the handshake. Never null:
  // where memory is out, that fails.
  std::unique_ptr<Channel> accept(int socket);

  // Whether a file is another one than it was read from (device, inode, size or time). Any thread.
  bool changed() const;
  // Reads the files anew; connections that are there go on as they are. On an error what was read
  // before stays, and changed() is false until the files change once more. One thread at a time.
  Status reload();

 private:
  const std::unique_ptr<State> state_;
};

}  // namespace serval
