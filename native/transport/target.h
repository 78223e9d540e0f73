// The method, target and host of a request, read alike for HTTP/1 and HTTP/2. Hot path; any thread.
// Source: RFC 9110 4 and 7, RFC 9112 3.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/http.h"

namespace serval {

// Why a request is refused; status 0: it is not.
struct HeadProblem {
  int status = 0;
  std::string reason;
};

// The parts of a request's target; views of it.
struct Target {
  std::string_view path, query;
  std::string_view authority;  // of absolute form: a host that counts instead of the header's
};

// Whether a byte may be in a token, and whether a text is one. Source: RFC 9110 5.6.2.
bool is_token_letter(uint8_t one);
bool is_token(std::string_view text);

// For a message: printable ASCII, cut, in quotes.
std::string quoted(std::string_view text);

HeadProblem read_method(std::string_view method);

// Splits a target.
HeadProblem read_target(std::string_view method, std::string_view target, Target& out);

// Expects one header Host (`may_lack`: or none), whose value becomes `authority` where there is
// one.
HeadProblem check_host(std::vector<HttpHeader>& headers, bool may_lack, std::string_view authority);

}  // namespace serval
