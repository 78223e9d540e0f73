// The OpenSSL functions for encrypted connections, resolved in the process at first use: Node
// exports its own, and nothing is linked. So the addon also loads where Node has no OpenSSL, and
// two OpenSSLs never meet. Any thread.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <string>

#include "base/error.h"

namespace serval {

// Includes the functions behind OpenSSL's macros.
#define SERVAL_OPENSSL(X)           \
  X(BIO_clear_flags)                \
  X(BIO_free)                       \
  X(BIO_get_data)                   \
  X(BIO_meth_new)                   \
  X(BIO_meth_set_ctrl)              \
  X(BIO_meth_set_read)              \
  X(BIO_meth_set_write)             \
  X(BIO_new)                        \
  X(BIO_new_mem_buf)                \
  X(BIO_set_data)                   \
  X(BIO_set_flags)                  \
  X(BIO_set_init)                   \
  X(ERR_clear_error)                \
  X(ERR_peek_last_error)            \
  X(ERR_reason_error_string)        \
  X(EVP_PKEY_free)                  \
  X(OPENSSL_version_major)          \
  X(PEM_read_bio_PrivateKey)        \
  X(PEM_read_bio_X509)              \
  X(PEM_read_bio_X509_AUX)          \
  X(SHA256)                         \
  X(SSL_CTX_add_client_CA)          \
  X(SSL_CTX_check_private_key)      \
  X(SSL_CTX_ctrl)                   \
  X(SSL_CTX_free)                   \
  X(SSL_CTX_get_cert_store)         \
  X(SSL_CTX_new)                    \
  X(SSL_CTX_set_alpn_protos)        \
  X(SSL_CTX_set_alpn_select_cb)     \
  X(SSL_CTX_set_cipher_list)        \
  X(SSL_CTX_set_ciphersuites)       \
  X(SSL_CTX_set_options)            \
  X(SSL_CTX_set_session_id_context) \
  X(SSL_CTX_set_verify)             \
  X(SSL_CTX_use_PrivateKey)         \
  X(SSL_CTX_use_certificate)        \
  X(SSL_ctrl)                       \
  X(SSL_do_handshake)               \
  X(SSL_free)                       \
  X(SSL_get0_alpn_selected)         \
  X(SSL_get0_param)                 \
  X(SSL_get_error)                  \
  X(SSL_get_verify_result)          \
  X(SSL_has_pending)                \
  X(SSL_new)                        \
  X(SSL_read_ex)                    \
  X(SSL_set1_host)                  \
  X(SSL_set_accept_state)           \
  X(SSL_set_bio)                    \
  X(SSL_set_connect_state)          \
  X(SSL_set_msg_callback)           \
  X(SSL_shutdown)                   \
  X(SSL_write_ex)                   \
  X(TLS_client_method)              \
  X(TLS_server_method)              \
  X(X509_STORE_add_cert)            \
  X(X509_STORE_set_flags)           \
  X(X509_VERIFY_PARAM_set1_ip_asc)  \
  X(X509_free)                      \
  X(X509_verify_cert_error_string)

struct OpenSsl {
#define SERVAL_OPENSSL_MEMBER(name) decltype(&::name) name = nullptr;
  SERVAL_OPENSSL(SERVAL_OPENSSL_MEMBER)
#undef SERVAL_OPENSSL_MEMBER

  // Errors: invalid_argument if the process has no OpenSSL 3 or newer.
  static Result<const OpenSsl*> find();
};

// The reason text of an OpenSSL error code, "" if it has none.
std::string reason_text(const OpenSsl& ssl, unsigned long code);

}  // namespace serval
