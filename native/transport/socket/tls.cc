// Loads TLS files into a context. Control plane (reading files), and the listener's threads, which
// create a connection's SSL from the context.
#include "transport/socket/tls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "transport/socket/openssl.h"
#include "transport/socket/tls_channel.h"

namespace serval {
namespace {

// Far larger than any chain, key or set of root certificates (200 KB).
constexpr size_t kPemBytesMax = 4u << 20;

// TLS 1.2 ciphers that HTTP/2 allows (ephemeral keys, authenticated encryption), the fastest first.
// Source: RFC 9113 9.2.2.
constexpr const char* kCiphers12 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kCiphers13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

Error cannot(const std::string& why) { return invalid_argument("cannot use TLS: " + why); }

// Identifies the file that was read; all zero if there is none.
struct FileMark {
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = 0;
  time_t seconds = 0;
  long nanoseconds = 0;

  bool operator==(const FileMark&) const = default;
};

FileMark mark_of(const std::string& path) {
  struct stat file {};
  if (path.empty() || ::stat(path.c_str(), &file) != 0) return {};
  return {file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
}

using Marks = std::array<FileMark, 3>;

Marks marks_of(const TlsSettings& settings) {
  return {mark_of(settings.certificate.path), mark_of(settings.key.path),
          mark_of(settings.roots.path)};
}

// "certificate file /x.pem", "certificate given as text".
std::string place_of(const PemSource& source, const char* what) {
  return source.path.empty() ? std::string(what) + " given as text"
                             : std::string(what) + " file " + source.path;
}

Result<std::string> read_file(int file, const std::string& place) {
  struct stat about {};
  if (::fstat(file, &about) != 0) return cannot(place + ": " + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return cannot(place + ": expected a regular file");
  if (about.st_size > static_cast<off_t>(kPemBytesMax)) {
    return cannot(place + " has " + std::to_string(about.st_size) + " bytes, at most " +
                  std::to_string(kPemBytesMax) + " are expected");
  }
  std::string text(static_cast<size_t>(about.st_size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t moved = ::read(file, text.data() + filled, text.size() - filled);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return cannot(place + ": " + std::strerror(errno));
    if (moved == 0) break;
    filled += static_cast<size_t>(moved);
  }
  text.resize(filled);
  return text;
}

Result<std::string> pem_of(const PemSource& source, const char* what) {
  if (source.path.empty()) return source.text;
  const std::string place = place_of(source, what);
  // Non-blocking, because the path may name a pipe.
  const int file = ::open(source.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return cannot(place + ": " + std::strerror(errno));
  Result<std::string> text = read_file(file, place);
  ::close(file);
  return text;
}

// Prevents a passphrase prompt on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

// Reads PEM texts into a context.
class Reader {
 public:
  Reader(const OpenSsl& ssl, SSL_CTX* context) : ssl_(ssl), context_(context) {}

  Status certificate(const std::string& pem, const std::string& place) {
    BIO* const text = open(pem);
    Status done = text == nullptr ? Status(cannot("no memory")) : chain(text, place);
    ssl_.BIO_free(text);
    return done;
  }

  Status key(const std::string& pem, const std::string& place, const std::string& of) {
    BIO* const text = open(pem);
    EVP_PKEY* const key = text == nullptr
                              ? nullptr
                              : ssl_.PEM_read_bio_PrivateKey(text, nullptr, no_passphrase, nullptr);
    ssl_.BIO_free(text);
    if (key == nullptr) {
      const unsigned long code = ssl_.ERR_peek_last_error();
      const bool locked =
          ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_BAD_PASSWORD_READ;
      if (locked)
        return cannot(place + ": expected a key without a passphrase, got an encrypted one");
      return cannot(place + ": expected a private key in PEM" + reason());
    }
    const bool taken = ssl_.SSL_CTX_use_PrivateKey(context_, key) == 1;
    ssl_.EVP_PKEY_free(key);
    if (taken && ssl_.SSL_CTX_check_private_key(context_) == 1) return ok_status();
    return cannot(place + ": it does not belong to the certificate of " + of + reason());
  }

  Status roots(const std::string& pem, const std::string& place) {
    BIO* const text = open(pem);
    Status done = text == nullptr ? Status(cannot("no memory")) : each_root(text, place);
    ssl_.BIO_free(text);
    return done;
  }

 private:
  BIO* open(const std::string& pem) {
    ssl_.ERR_clear_error();
    return ssl_.BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  }

  // OpenSSL's last error, in brackets; if there are two, the last is often the more useful one.
  std::string reason() const {
    const std::string text = reason_text(ssl_, ssl_.ERR_peek_last_error());
    return text.empty() ? text : " (" + text + ")";
  }

  // Whether a list of PEM blocks has ended normally, as opposed to being malformed.
  bool at_end() const {
    const unsigned long code = ssl_.ERR_peek_last_error();
    return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  }

  Status chain(BIO* text, const std::string& place) {
    X509* const first = ssl_.PEM_read_bio_X509_AUX(text, nullptr, no_passphrase, nullptr);
    if (first == nullptr) return cannot(place + ": expected a certificate in PEM" + reason());
    const bool taken = ssl_.SSL_CTX_use_certificate(context_, first) == 1;
    ssl_.X509_free(first);
    if (!taken) return cannot(place + ": OpenSSL refuses the certificate" + reason());
    for (int index = 2;; index += 1) {
      ssl_.ERR_clear_error();
      X509* const next = ssl_.PEM_read_bio_X509(text, nullptr, no_passphrase, nullptr);
      if (next == nullptr) {
        if (at_end()) return ok_status();
        return cannot(place + ": certificate " + std::to_string(index) + " is broken" + reason());
      }
      // Takes ownership on success.
      if (ssl_.SSL_CTX_ctrl(context_, SSL_CTRL_CHAIN_CERT, 0, next) != 1) {
        ssl_.X509_free(next);
        return cannot(place + ": OpenSSL refuses certificate " + std::to_string(index) + reason());
      }
    }
  }

  Status each_root(BIO* text, const std::string& place) {
    X509_STORE* const store = ssl_.SSL_CTX_get_cert_store(context_);
    // Accepts a root that is itself signed by another one, as gRPC does.
    ssl_.X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    for (int index = 1;; index += 1) {
      ssl_.ERR_clear_error();
      X509* const root = ssl_.PEM_read_bio_X509(text, nullptr, no_passphrase, nullptr);
      if (root == nullptr) {
        if (index > 1 && at_end()) return ok_status();
        if (index == 1) return cannot(place + ": expected certificates in PEM" + reason());
        return cannot(place + ": certificate " + std::to_string(index) + " is broken" + reason());
      }
      // The root's name tells clients which of their certificates to send.
      const bool taken = ssl_.X509_STORE_add_cert(store, root) == 1 &&
                         ssl_.SSL_CTX_add_client_CA(context_, root) == 1;
      ssl_.X509_free(root);
      if (!taken) {
        return cannot(place + ": OpenSSL refuses certificate " + std::to_string(index) + reason());
      }
    }
  }

  const OpenSsl& ssl_;
  SSL_CTX* const context_;
};

// Finds a protocol in a client's ALPN list; null if it is missing.
const unsigned char* offer_of(std::string_view wanted, const unsigned char* offered,
                              unsigned offered_bytes) {
  for (unsigned at = 0; at < offered_bytes; at += 1u + offered[at]) {
    const unsigned bytes = offered[at];
    if (bytes != wanted.size() || at + bytes >= offered_bytes) continue;
    if (std::memcmp(offered + at + 1, wanted.data(), bytes) == 0) return offered + at + 1;
  }
  return nullptr;
}

// ALPN: one of these protocols or no connection.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                    const unsigned char* offered, unsigned offered_bytes, void* argument) {
  for (const std::string& wanted : static_cast<const TlsSettings*>(argument)->protocols) {
    const unsigned char* found = offer_of(wanted, offered, offered_bytes);
    if (found == nullptr) continue;
    *chosen = found;
    *chosen_bytes = static_cast<unsigned char>(wanted.size());
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

struct Deleter {
  const OpenSsl* ssl;
  void operator()(SSL_CTX* context) const { ssl->SSL_CTX_free(context); }
};
using Context = std::unique_ptr<SSL_CTX, Deleter>;

bool set_up(const OpenSsl& ssl, SSL_CTX* context, const TlsSettings& settings) {
  const int min_version = settings.only_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION;
  ssl.SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                       SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // Allows partial writes from moving buffers; frees the buffers of idle connections; lets a read
  // return after records without data, so that they cannot keep a thread busy.
  ssl.SSL_CTX_ctrl(context, SSL_CTRL_MODE,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                       SSL_MODE_RELEASE_BUFFERS,
                   nullptr);
  ssl.SSL_CTX_ctrl(context, SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, nullptr);
  ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nullptr);
  // Sessions are resumed by tickets; the server stores none.
  ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, nullptr);
  std::string sessions = "serval";
  for (const std::string& protocol : settings.protocols) sessions += "-" + protocol;
  ssl.SSL_CTX_set_alpn_select_cb(context, choose_protocol, const_cast<TlsSettings*>(&settings));
  return ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, min_version, nullptr) == 1 &&
         ssl.SSL_CTX_set_session_id_context(context,
                                            reinterpret_cast<const unsigned char*>(sessions.data()),
                                            static_cast<unsigned>(sessions.size())) == 1 &&
         ssl.SSL_CTX_set_cipher_list(context, kCiphers12) == 1 &&
         ssl.SSL_CTX_set_ciphersuites(context, kCiphers13) == 1;
}

Result<Context> make_context(const OpenSsl& ssl, const TlsSettings& settings) {
  if (settings.certificate.empty()) return cannot("there is no certificate");
  if (settings.key.empty()) return cannot("there is no key");
  if (settings.client_required && settings.roots.empty()) {
    return cannot(
        "client certificates are required, but there are no root certificates to verify them");
  }
  Result<std::string> certificate = pem_of(settings.certificate, "certificate");
  if (!certificate.ok()) return std::move(certificate.error());
  Result<std::string> key = pem_of(settings.key, "key");
  if (!key.ok()) return std::move(key.error());
  Result<std::string> roots = pem_of(settings.roots, "root certificates");
  if (!roots.ok()) return std::move(roots.error());
  for (const std::string* text : {&certificate.value(), &key.value(), &roots.value()}) {
    if (text->size() > kPemBytesMax) return cannot("a PEM text has more than 4 MiB");
  }

  ssl.ERR_clear_error();
  Context context(ssl.SSL_CTX_new(ssl.TLS_server_method()), Deleter{&ssl});
  if (context == nullptr || !set_up(ssl, context.get(), settings)) {
    return cannot("OpenSSL rejects the listener's settings: " +
                  reason_text(ssl, ssl.ERR_peek_last_error()));
  }
  Reader reader(ssl, context.get());
  const std::string certificate_place = place_of(settings.certificate, "certificate");
  if (Status done = reader.certificate(certificate.value(), certificate_place); !done.ok()) {
    return std::move(done.error());
  }
  Status done = reader.key(key.value(), place_of(settings.key, "key"), certificate_place);
  if (done.ok() && !settings.roots.empty()) {
    done = reader.roots(roots.value(), place_of(settings.roots, "root certificates"));
  }
  if (!done.ok()) return std::move(done.error());
  if (settings.client_required) {
    ssl.SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                           nullptr);
  }
  return context;
}

}  // namespace

struct TlsContext::State {
  const TlsSettings settings;
  const OpenSsl* const ssl;
  mutable std::mutex mutex;
  Context context;  // guarded by mutex
  Marks marks;      // guarded by mutex

  State(TlsSettings given, const OpenSsl* found)
      : settings(std::move(given)), ssl(found), context(nullptr, Deleter{found}) {}
};

TlsContext::TlsContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::make(TlsSettings settings) {
  Result<const OpenSsl*> found = OpenSsl::find();
  if (!found.ok()) return std::move(found.error());
  auto made =
      std::make_unique<TlsContext>(std::make_unique<State>(std::move(settings), found.value()));
  Status read = made->reload();
  if (!read.ok()) return std::move(read.error());
  return made;
}

std::unique_ptr<Channel> TlsContext::accept(int socket) {
  SSL* made = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    made = state_->ssl->SSL_new(state_->context.get());
  }
  return tls_channel(*state_->ssl, made, socket, state_->settings);
}

bool TlsContext::changed() const {
  const Marks now = marks_of(state_->settings);
  const std::lock_guard lock(state_->mutex);
  return now != state_->marks;
}

Status TlsContext::reload() {
  // Recorded before the files are read, so that a change meanwhile is detected.
  const Marks marks = marks_of(state_->settings);
  Result<Context> made = make_context(*state_->ssl, state_->settings);
  state_->ssl->ERR_clear_error();
  const std::lock_guard lock(state_->mutex);
  state_->marks = marks;
  if (!made.ok()) return std::move(made.error());
  // Existing connections keep the context that they were accepted with.
  std::swap(state_->context, made.value());
  return ok_status();
}

}  // namespace serval
