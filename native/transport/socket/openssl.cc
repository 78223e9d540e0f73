// Resolves OpenSSL's functions in the process. Control plane.
#include "transport/socket/openssl.h"

#include <dlfcn.h>

namespace serval {
namespace {

struct Found {
  OpenSsl functions;
  const char* missing = nullptr;
};

Found look_up() {
  Found found;
#define SERVAL_OPENSSL_FIND(name)                                                           \
  found.functions.name = reinterpret_cast<decltype(&::name)>(::dlsym(RTLD_DEFAULT, #name)); \
  if (found.functions.name == nullptr && found.missing == nullptr) found.missing = #name;
  SERVAL_OPENSSL(SERVAL_OPENSSL_FIND)
#undef SERVAL_OPENSSL_FIND
  return found;
}

}  // namespace

Result<const OpenSsl*> OpenSsl::find() {
  static const Found found = look_up();
  if (found.missing != nullptr) {
    return invalid_argument(
        std::string("cannot use TLS: this Node has no OpenSSL 3 that it shares (") + found.missing +
        " is missing)");
  }
  const unsigned major = found.functions.OPENSSL_version_major();
  if (major < 3) {
    return invalid_argument("cannot use TLS: OpenSSL 3 is needed, this Node has version " +
                            std::to_string(major));
  }
  return &found.functions;
}

std::string reason_text(const OpenSsl& ssl, unsigned long code) {
  const char* text = code == 0 ? nullptr : ssl.ERR_reason_error_string(code);
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace serval
