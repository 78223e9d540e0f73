// Parses request targets, methods and hosts. Hot path; any thread.
#include "transport/target.h"

#include <algorithm>
#include <array>

namespace serval {

namespace {

constexpr size_t kQuotedMax = 64;

// RFC 3986 3.2.2: the characters of a name.
constexpr std::array<bool, 256> kHostLetter = [] {
  std::array<bool, 256> out{};
  for (const char one : std::string_view("-._~%!$&'()*+,;=")) {
    out[static_cast<uint8_t>(one)] = true;
  }
  for (char one = '0'; one <= '9'; ++one) out[static_cast<uint8_t>(one)] = true;
  for (char one = 'a'; one <= 'z'; ++one) out[static_cast<uint8_t>(one)] = true;
  for (char one = 'A'; one <= 'Z'; ++one) out[static_cast<uint8_t>(one)] = true;
  return out;
}();

// RFC 9110 5.6.2.
constexpr std::array<bool, 256> kTokenLetter = [] {
  std::array<bool, 256> out{};
  for (const char one : std::string_view("!#$%&'*+-.^_`|~")) out[static_cast<uint8_t>(one)] = true;
  for (char one = '0'; one <= '9'; ++one) out[static_cast<uint8_t>(one)] = true;
  for (char one = 'a'; one <= 'z'; ++one) out[static_cast<uint8_t>(one)] = true;
  for (char one = 'A'; one <= 'Z'; ++one) out[static_cast<uint8_t>(one)] = true;
  return out;
}();

bool all_of(std::string_view text, const std::array<bool, 256>& letters) {
  return std::all_of(text.begin(), text.end(),
                     [&](char one) { return letters[static_cast<uint8_t>(one)]; });
}

// Whether a text is a host, or empty, with or without a port. Source: RFC 3986 3.2.2, 3.2.3.
bool is_host(std::string_view text) {
  size_t end = text.find(':');
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos || end < 2) return false;
    for (const char one : text.substr(1, end - 1)) {
      if (one != ':' && !kHostLetter[static_cast<uint8_t>(one)]) return false;
    }
    end += 1;
  } else if (!all_of(text.substr(0, end), kHostLetter)) {
    return false;
  }
  if (end == std::string_view::npos || end == text.size()) return true;
  const std::string_view port = text.substr(end + 1);
  return text[end] == ':' &&
         std::all_of(port.begin(), port.end(), [](char one) { return one >= '0' && one <= '9'; });
}

// nginx accepts the same letters. A method with other letters is usually the rest of a body that
// was taken to be shorter than it is: "abcGET".
bool is_method(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char one) {
    return (one >= 'A' && one <= 'Z') || one == '-' || one == '_';
  });
}

}  // namespace

bool is_token_letter(uint8_t one) { return kTokenLetter[one]; }

bool is_token(std::string_view text) { return !text.empty() && all_of(text, kTokenLetter); }

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char one : text.substr(0, kQuotedMax)) out += one >= ' ' && one <= '~' ? one : '?';
  return out + "'";
}

HeadProblem read_method(std::string_view method) {
  if (method == "CONNECT") return {501, "method 'CONNECT' is not known"};
  if (!is_token(method)) return {400, "the request line does not begin with a method"};
  if (!is_method(method)) return {501, "method " + quoted(method) + " is not known"};
  return {};
}

HeadProblem read_target(std::string_view method, std::string_view target, Target& out) {
  if (target == "*" && method == "OPTIONS") {
    out.path = target;
    return {};
  }
  if (target.empty()) return {400, "the request line has no target"};
  if (target[0] != '/') {
    const size_t scheme = target.find("://");
    const bool known =
        scheme != std::string_view::npos && (is_header(target.substr(0, scheme), "http") ||
                                             is_header(target.substr(0, scheme), "https"));
    if (!known) return {400, "expected a path as target, got " + quoted(target)};
    const std::string_view rest = target.substr(scheme + 3);
    const size_t path = rest.find_first_of("/?");
    out.authority = rest.substr(0, path);
    if (out.authority.empty()) return {400, "the target has no host: " + quoted(target)};
    target = path == std::string_view::npos ? std::string_view("/") : rest.substr(path);
    if (target[0] == '?') {
      out.path = "/";
      out.query = target.substr(1);
      return {};
    }
  }
  const size_t mark = target.find('?');
  out.path = target.substr(0, mark);
  if (mark != std::string_view::npos) out.query = target.substr(mark + 1);
  return {};
}

HeadProblem check_host(std::vector<HttpHeader>& headers, bool may_lack,
                       std::string_view authority) {
  HttpHeader* host = nullptr;
  for (HttpHeader& header : headers) {
    if (!is_header(header.name, "host")) continue;
    if (host != nullptr) return {400, "Host: expected one header, got several"};
    host = &header;
  }
  if (host == nullptr) {
    if (may_lack) return {};
    return {400, "Host: expected one header, got none"};
  }
  if (!is_host(host->value)) {
    return {400, "Host: expected a host and a port, got " + quoted(host->value)};
  }
  if (authority.empty()) return {};
  if (!is_host(authority)) {
    return {400, "expected a host and a port in the target, got " + quoted(authority)};
  }
  host->value = authority;  // RFC 9112 3.2.2
  return {};
}

}  // namespace serval
