// Sets up TLS for the load client. The load's thread.
#include "load/wire/tls_client.h"

#include <arpa/inet.h>

#include <utility>

#include "transport/socket/tls_channel.h"

namespace serval::load {
namespace {

constexpr std::string_view kHttp2 = "h2";
constexpr std::string_view kHttp1 = "http/1.1";

std::string_view protocol_of(const Target& target) {
  return target.protocol == Protocol::Http2 ? kHttp2 : kHttp1;
}

bool is_address(const std::string& host) {
  in6_addr room;
  return inet_pton(AF_INET, host.c_str(), &room) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &room) == 1;
}

// Adds every certificate of the PEM text; returns their number.
int add_roots(const OpenSsl& ssl, SSL_CTX* context, const std::string& pem) {
  X509_STORE* const store = ssl.SSL_CTX_get_cert_store(context);
  ssl.X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  BIO* const text = ssl.BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  int count = 0;
  while (text != nullptr) {
    X509* const root = ssl.PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    if (root == nullptr) break;
    if (ssl.X509_STORE_add_cert(store, root) == 1) ++count;
    ssl.X509_free(root);
  }
  if (text != nullptr) ssl.BIO_free(text);
  ssl.ERR_clear_error();
  return count;
}

}  // namespace

TlsClient::TlsClient(const OpenSsl& functions, const Target& target)
    : functions_(functions), target_(target) {
  settings_.protocol_required = false;
}

TlsClient::~TlsClient() {
  if (context_ != nullptr) functions_.SSL_CTX_free(context_);
}

Result<std::unique_ptr<TlsClient>> TlsClient::make(const Target& target) {
  Result<const OpenSsl*> found = OpenSsl::find();
  if (!found.ok()) return std::move(found.error());
  auto made = std::make_unique<TlsClient>(*found.value(), target);
  Status done = made->set_up();
  if (!done.ok()) return std::move(done.error());
  return made;
}

Status TlsClient::set_up() {
  const OpenSsl& ssl = functions_;
  ssl.ERR_clear_error();
  context_ = ssl.SSL_CTX_new(ssl.TLS_client_method());
  if (context_ == nullptr) return invalid_argument("cannot use TLS: no memory");
  // The same modes as the listener's channel requires: partial writes from any address, reads of
  // several records.
  ssl.SSL_CTX_ctrl(context_, SSL_CTRL_MODE,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, nullptr);
  ssl.SSL_CTX_ctrl(context_, SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, nullptr);
  ssl.SSL_CTX_ctrl(context_, SSL_CTRL_SET_READ_AHEAD, 1, nullptr);
  ssl.SSL_CTX_ctrl(context_, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  const std::string_view protocol = protocol_of(target_);
  const std::string offer = static_cast<char>(protocol.size()) + std::string(protocol);
  ssl.SSL_CTX_set_alpn_protos(context_, reinterpret_cast<const unsigned char*>(offer.data()),
                              static_cast<unsigned>(offer.size()));
  ssl.SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  if (add_roots(ssl, context_, target_.tls_ca) == 0) {
    return invalid_argument("cannot use TLS: root certificates in PEM are expected");
  }
  return ok_status();
}

TlsClient::Connecting TlsClient::connect(int socket) const {
  SSL* const made = functions_.SSL_new(context_);
  Connecting out{tls_channel(functions_, made, socket, settings_), made};
  if (made == nullptr) return out;
  functions_.SSL_set_connect_state(made);
  if (is_address(target_.host)) {
    functions_.X509_VERIFY_PARAM_set1_ip_asc(functions_.SSL_get0_param(made), target_.host.c_str());
  } else {
    functions_.SSL_set1_host(made, target_.host.c_str());
    functions_.SSL_ctrl(made, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                        const_cast<char*>(target_.host.c_str()));
  }
  return out;
}

std::string TlsClient::disagreement(const SSL* ssl) const {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  functions_.SSL_get0_alpn_selected(ssl, &name, &length);
  const std::string_view agreed(reinterpret_cast<const char*>(name), length);
  const std::string_view wanted = protocol_of(target_);
  // A server without ALPN speaks HTTP/1.1.
  if (agreed == wanted || (agreed.empty() && wanted == kHttp1)) return {};
  return "the server does not speak " + std::string(wanted) + " (ALPN)";
}

}  // namespace serval::load
