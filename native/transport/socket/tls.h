// Encrypted connections: a context that all threads share and that reloads its files, and the
// channel of one connection. Uses the process's own OpenSSL (Node's), resolved at first use.
// Threads: stated at each function.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "transport/socket/channel.h"

namespace serval {

// PEM data: from a file, which is reloaded when it changes, or given as text.
struct PemSource {
  std::string path;
  std::string text;

  bool empty() const { return path.empty() && text.empty(); }
};

struct TlsSettings {
  bool enabled = false;
  PemSource certificate;  // including its chain
  PemSource key;
  PemSource roots;               // CAs of client certificates
  bool client_required = false;  // mutual TLS
  bool only_tls13 = false;       // false: also 1.2
  // The ALPN protocols, the preferred one first, and whether the handshake fails for clients that
  // offer none of them.
  std::vector<std::string> protocols{"h2"};
  bool protocol_required = true;
};

class TlsContext {
 public:
  struct State;
  // Errors: invalid_argument naming the file, or the text setting, with OpenSSL's reason; also if
  // the key does not match the certificate, or there is no OpenSSL.
  static Result<std::unique_ptr<TlsContext>> make(TlsSettings settings);
  explicit TlsContext(std::unique_ptr<State> state);
  ~TlsContext();

  // Makes the channel of an accepted socket, which it owns; any thread. TLS 1.2 (unless disabled)
  // or newer; clients that only offer other protocols (ALPN) fail the handshake. Never null: if
  // memory is out, the handshake fails.
  std::unique_ptr<Channel> accept(int socket);

  // Whether a file differs from the one that was read (device, inode, size or time). Any thread.
  bool changed() const;
  // Reloads the files; existing connections keep the old ones. On an error the previous files stay
  // in use, and changed() is false until the files change again. One thread at a time.
  Status reload();

 private:
  const std::unique_ptr<State> state_;
};

}  // namespace serval
