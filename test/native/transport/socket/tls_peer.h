// For tests of encrypted connections: certificates that are made on demand, and a client with
// OpenSSL's own API at the other end of a socket pair. Test time only.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "transport/socket/tls.h"

namespace serval::tls_test {

struct Key {
  EVP_PKEY* key = nullptr;
  explicit Key(EVP_PKEY* made) : key(made) {}
  Key(Key&& other) noexcept : key(std::exchange(other.key, nullptr)) {}
  ~Key() { EVP_PKEY_free(key); }
};

inline Key rsa_key(unsigned bits = 2048) { return Key(EVP_RSA_gen(bits)); }
inline Key ec_key() { return Key(EVP_EC_gen("P-256")); }

inline std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

inline std::string pem(const Key& key, const char* passphrase = nullptr) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(bio, key.key, passphrase == nullptr ? nullptr : EVP_aes_128_cbc(),
                                nullptr, 0, nullptr, const_cast<char*>(passphrase));
  return text_of(bio);
}

struct Cert {
  X509* cert = nullptr;
  explicit Cert(X509* made) : cert(made) {}
  Cert(Cert&& other) noexcept : cert(std::exchange(other.cert, nullptr)) {}
  Cert& operator=(Cert&& other) noexcept {
    std::swap(cert, other.cert);
    return *this;
  }
  ~Cert() { X509_free(cert); }
};

inline std::string pem(const Cert& cert) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, cert.cert);
  return text_of(bio);
}

struct CertOptions {
  bool authority = false;
  long begins_s = -3600;  // from now
  long ends_s = 3600;
  const char* usage = nullptr;  // extended key usage
};

// Makes a certificate of `name` and `key`, signed by `issuer` with `issuer_key`, or by itself.
inline Cert certificate(const char* name, const Key& key, const Cert* issuer, const Key& issuer_key,
                        CertOptions options = {}) {
  static long serial = 1;
  X509* cert = X509_new();
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++);
  X509_gmtime_adj(X509_getm_notBefore(cert), options.begins_s);
  X509_gmtime_adj(X509_getm_notAfter(cert), options.ends_s);
  X509_set_pubkey(cert, key.key);
  X509_NAME* subject = X509_get_subject_name(cert);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(cert, issuer == nullptr ? subject : X509_get_subject_name(issuer->cert));
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer == nullptr ? cert : issuer->cert, cert, nullptr, nullptr, 0);
  const auto extend = [&](int kind, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
  };
  extend(NID_basic_constraints, options.authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!options.authority) extend(NID_subject_alt_name, "DNS:localhost");
  if (options.usage != nullptr) extend(NID_ext_key_usage, options.usage);
  X509_sign(cert, issuer_key.key, EVP_sha256());
  return Cert(cert);
}

// An authority, and the certificates that it signed.
struct Authority {
  Key key = ec_key();
  Cert cert = certificate("test root", key, nullptr, key, {.authority = true});
};

// A certificate with its key, as PEM texts.
struct Identity {
  std::string certificate;
  std::string key;
};

inline Identity identity(const char* name, const Authority& by, Key key = ec_key(),
                         CertOptions options = {}) {
  return {pem(certificate(name, key, &by.cert, by.key, options)), pem(key)};
}

inline TlsSettings settings_of(const Identity& server) {
  TlsSettings settings;
  settings.enabled = true;
  settings.certificate.text = server.certificate;
  settings.key.text = server.key;
  return settings;
}

inline std::unique_ptr<TlsContext> context_of(const TlsSettings& settings) {
  Result<std::unique_ptr<TlsContext>> made = TlsContext::make(settings);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  return made.ok() ? std::move(made.value()) : nullptr;
}

inline std::string error_of(const TlsSettings& settings) {
  Result<std::unique_ptr<TlsContext>> made = TlsContext::make(settings);
  if (made.ok()) return "";
  EXPECT_EQ(made.error().code, ErrorCode::InvalidArgument);
  return made.error().message;
}

struct ClientOptions {
  int version_min = TLS1_2_VERSION;
  int version_max = TLS1_3_VERSION;
  std::string alpn = std::string("\x02h2", 3);  // as on the wire; "" = none
  const Identity* identity = nullptr;
  const char* ciphers = nullptr;
  const char* server_signed_by = nullptr;  // PEM; if set, the server is verified
};

// A server's channel and a client at the two ends of a socket pair; neither blocks.
class Pair {
 public:
  Pair(TlsContext& server, const ClientOptions& options, int buffer_bytes = 0) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    if (buffer_bytes > 0) {
      for (const int end : ends) {
        ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
      }
    }
    channel = server.accept(ends[0]);
    socket = ends[1];
    context_ = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_security_level(context_, 0);  // otherwise TLS 1.1 is not available
    SSL_CTX_set_min_proto_version(context_, options.version_min);
    SSL_CTX_set_max_proto_version(context_, options.version_max);
    if (options.ciphers != nullptr) SSL_CTX_set_cipher_list(context_, options.ciphers);
    if (options.identity != nullptr) use(*options.identity);
    if (options.server_signed_by != nullptr) trust(options.server_signed_by);
    client = SSL_new(context_);
    SSL_set_mode(client, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (!options.alpn.empty()) {
      SSL_set_alpn_protos(client, reinterpret_cast<const unsigned char*>(options.alpn.data()),
                          static_cast<unsigned>(options.alpn.size()));
    }
    SSL_set_fd(client, socket);
    SSL_set_connect_state(client);
  }
  ~Pair() {
    SSL_free(client);
    SSL_CTX_free(context_);
    hang_up();
    ERR_clear_error();
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void hang_up() {
    if (socket >= 0) ::close(std::exchange(socket, -1));
  }

  // Runs both sides in turns, until the server has finished or failed.
  Channel::Handshake shake_hands() {
    for (int turn = 0; turn < 200; turn += 1) {
      ERR_clear_error();
      SSL_do_handshake(client);
      const Channel::Handshake state = channel->handshake();
      if (state == Channel::Handshake::Blocked) continue;
      ERR_clear_error();
      SSL_do_handshake(client);
      return state;
    }
    return Channel::Handshake::Blocked;
  }

  // Sends as much of `bytes` as the client can now.
  size_t client_sends(std::string_view bytes) {
    ERR_clear_error();
    size_t sent = 0;
    SSL_write_ex(client, bytes.data(), bytes.size(), &sent);
    return sent;
  }

  // Returns everything that has arrived at the client.
  std::string client_reads() {
    std::string all;
    char room[16'384];
    size_t bytes = 0;
    ERR_clear_error();
    while (SSL_read_ex(client, room, sizeof(room), &bytes) == 1) all.append(room, bytes);
    return all;
  }

  // Returns everything that has arrived at the server; `closed`: the connection is closed as well.
  std::string server_reads(bool* closed = nullptr, size_t room_bytes = 16'384) {
    std::string all;
    std::string room(room_bytes, '\0');
    for (;;) {
      const Moved moved = channel->read({reinterpret_cast<uint8_t*>(room.data()), room.size()});
      if (closed != nullptr) *closed = moved.state == Moved::State::Closed;
      if (moved.state != Moved::State::Some) return all;
      all.append(room, 0, moved.bytes);
      // Simulates a level-triggered epoll: other bytes must be reported by the channel.
      pollfd socket_now{channel->socket(), POLLIN, 0};
      const bool readable = ::poll(&socket_now, 1, 0) == 1;
      if (!readable && !channel->has_unread()) return all;
    }
  }

  std::unique_ptr<Channel> channel;
  SSL* client = nullptr;
  int socket = -1;

 private:
  void use(const Identity& own) {
    BIO* certificate = BIO_new_mem_buf(own.certificate.data(), -1);
    BIO* key = BIO_new_mem_buf(own.key.data(), -1);
    X509* cert = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
    EVP_PKEY* secret = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(context_, cert);
    SSL_CTX_use_PrivateKey(context_, secret);
    X509_free(cert);
    EVP_PKEY_free(secret);
    BIO_free(certificate);
    BIO_free(key);
  }

  void trust(const char* root) {
    BIO* text = BIO_new_mem_buf(root, -1);
    X509* cert = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), cert);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    X509_free(cert);
    BIO_free(text);
  }

  SSL_CTX* context_ = nullptr;
};

// Returns the name in the certificate that a server presents.
inline std::string name_shown(const Pair& pair) {
  X509* cert = SSL_get1_peer_certificate(pair.client);
  if (cert == nullptr) return "";
  char name[64] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name, sizeof(name));
  X509_free(cert);
  return name;
}

// A folder of PEM files that is removed with them.
class PemFolder {
 public:
  PemFolder() {
    char name[] = "/tmp/serval-tls-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~PemFolder() {
    for (const char* file : {"cert", "key", "roots", "new"}) ::unlink(at(file).c_str());
    ::rmdir(path_.c_str());
  }
  std::string at(const std::string& file) const { return path_ + "/" + file; }
  // Replaces a file atomically: writes another file and renames it.
  void put(const std::string& file, const std::string& text) const {
    std::ofstream(at("new")) << text;
    ASSERT_EQ(::rename(at("new").c_str(), at(file).c_str()), 0);
  }

 private:
  std::string path_;
};

}  // namespace serval::tls_test
