// The method, target and host of a request, parsed alike for HTTP/1 and HTTP/2. Hot path; any
// thread.
// Source: RFC 9110 4 and 7, RFC 9112 3.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/http.h"

namespace serval {

// The reason to refuse a request; status 0: none.
struct HeadProblem {
  int status = 0;
  std::string reason;
};

// The parts of a request's target; views into it.
struct Target {
  std::string_view path, query;
  std::string_view authority;  // the host of the absolute form, which overrides the Host header
};

// Whether a byte may be part of a token, and whether a text is a token. Source: RFC 9110 5.6.2.
bool is_token_letter(uint8_t one);
bool is_token(std::string_view text);

// Quotes a text for a message: printable ASCII, truncated.
std::string quoted(std::string_view text);

HeadProblem read_method(std::string_view method);

// Splits a target.
HeadProblem read_target(std::string_view method, std::string_view target, Target& out);

// Requires exactly one Host header (`may_lack`: or none) and replaces its value by `authority` if
// that is not empty.
HeadProblem check_host(std::vector<HttpHeader>& headers, bool may_lack, std::string_view authority);

}  // namespace serval
