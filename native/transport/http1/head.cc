// Finds the end of an HTTP/1 head and parses it with llhttp. Hot path; the listener's thread.
#include "transport/http1/head.h"

#include <llhttp.h>

#include <algorithm>
#include <array>

#include "base/bytes/views.h"

namespace serval {

namespace {

constexpr size_t kSkippedMax = 8;  // bytes of empty lines before a request
constexpr size_t kHeadersMax = 100;

constexpr std::array<bool, 256> kControl = [] {
  std::array<bool, 256> out{};
  for (size_t i = 0; i < 0x20; ++i) out[i] = i != '\t';
  out[0x7f] = true;
  return out;
}();

// Whether a list of tokens contains this one, in any case.
bool lists(std::string_view value, std::string_view lower) {
  while (!value.empty()) {
    const size_t comma = value.find(',');
    if (is_header(trimmed(value.substr(0, comma)), lower)) return true;
    if (comma == std::string_view::npos) return false;
    value.remove_prefix(comma + 1);
  }
  return false;
}

// The result that llhttp's callbacks fill.
struct Filling {
  ReadHead* out = nullptr;
  std::string_view target;
  size_t names = 0;
  bool complete = false;
  bool too_many = false;
};

std::string_view grown(std::string_view before, const char* at, size_t count) {
  return before.empty() ? std::string_view(at, count)
                        : std::string_view(before.data(), before.size() + count);
}

Filling& filling_of(llhttp_t* parser) { return *static_cast<Filling*>(parser->data); }

int on_url(llhttp_t* parser, const char* at, size_t count) {
  Filling& filling = filling_of(parser);
  filling.target = grown(filling.target, at, count);
  return 0;
}

int on_field(llhttp_t* parser, const char* at, size_t count) {
  Filling& filling = filling_of(parser);
  std::vector<HttpHeader>& headers = *filling.out->headers;
  if (headers.size() == filling.names) {
    if (headers.size() == kHeadersMax) {
      filling.too_many = true;
      return HPE_USER;
    }
    headers.emplace_back();
  }
  headers.back().name = grown(headers.back().name, at, count);
  return 0;
}

int on_value(llhttp_t* parser, const char* at, size_t count) {
  std::vector<HttpHeader>& headers = *filling_of(parser).out->headers;
  headers.back().value = grown(headers.back().value, at, count);
  return 0;
}

int on_value_complete(llhttp_t* parser) {
  filling_of(parser).names += 1;
  return 0;
}

int on_headers_complete(llhttp_t* parser) {
  Filling& filling = filling_of(parser);
  filling.complete = true;
  filling.out->keeps_alive = llhttp_should_keep_alive(parser) != 0;
  parser->upgrade = 0;  // protocol upgrades are not supported
  return 0;
}

const llhttp_settings_t& head_settings() {
  static const llhttp_settings_t made = [] {
    llhttp_settings_t out;
    llhttp_settings_init(&out);
    out.on_url = on_url;
    out.on_header_field = on_field;
    out.on_header_value = on_value;
    out.on_header_value_complete = on_value_complete;
    out.on_headers_complete = on_headers_complete;
    return out;
  }();
  return made;
}

// The reason why the parser stopped, in its own words.
std::string parser_reason(const llhttp_t& parser) {
  const char* said = llhttp_get_error_reason(&parser);
  return said == nullptr || *said == '\0' ? llhttp_errno_name(llhttp_get_errno(&parser)) : said;
}

HeadProblem parse_problem(llhttp_t& parser, llhttp_errno_t error, const Filling& filling) {
  if (filling.too_many) {
    return {431, "a request has at most " + std::to_string(kHeadersMax) + " headers"};
  }
  switch (error) {
    case HPE_INVALID_METHOD: return {400, "the request line does not begin with a method"};
    case HPE_INVALID_VERSION: return {505, "expected HTTP/1.1 or HTTP/1.0"};
    default: return {400, parser_reason(parser)};
  }
}

HeadProblem check_framing(llhttp_t& parser, ReadHead& out) {
  const HttpHeader* coding = nullptr;
  const HttpHeader* length = nullptr;
  for (const HttpHeader& header : *out.headers) {
    if (is_header(header.name, "transfer-encoding")) {
      if (coding != nullptr) return {400, "Transfer-Encoding: expected one header, got several"};
      coding = &header;
    } else if (is_header(header.name, "content-length")) {
      if (length != nullptr) return {400, "Content-Length: expected one header, got several"};
      length = &header;
    } else if (is_header(header.name, "connection")) {
      out.asks_keep_alive = out.asks_keep_alive || lists(header.value, "keep-alive");
      // "close" overrides keep-alive in HTTP/1.0 too: RFC 9112 9.3.
      out.keeps_alive = out.keeps_alive && !lists(header.value, "close");
    } else if (is_header(header.name, "expect") && !out.is_1_0) {
      if (!is_header(header.value, "100-continue")) {
        return {417, "Expect: expected 100-continue, got " + quoted(header.value)};
      }
      out.expects_continue = true;
    }
  }
  if (coding != nullptr) {
    if (out.is_1_0) return {400, "Transfer-Encoding: expected HTTP/1.1, got HTTP/1.0"};
    if (length != nullptr) return {400, "expected Transfer-Encoding or Content-Length, got both"};
    if (!is_header(coding->value, "chunked")) {
      return {coding->value.empty() ? 400 : 501,
              "Transfer-Encoding: expected chunked, got " + quoted(coding->value)};
    }
    out.framing = BodyFraming::Chunks;
  } else if (length != nullptr) {
    const std::string_view digits = length->value;
    if (digits.empty() || !std::all_of(digits.begin(), digits.end(),
                                       [](char one) { return one >= '0' && one <= '9'; })) {
      return {400, "Content-Length: expected a number, got " + quoted(digits)};
    }
    out.length = parser.content_length;
    out.framing = out.length > 0 ? BodyFraming::Length : BodyFraming::None;
  }
  return {};
}

}  // namespace

LineScanner::Found LineScanner::bad(std::string_view why) {
  problem_ = why;
  return Found::Bad;
}

// Hot path: receive.
LineScanner::Found LineScanner::scan(std::span<const uint8_t> bytes, Part part) {
  for (; at_ < bytes.size(); ++at_) {
    const uint8_t one = bytes[at_];
    if (cr_) {
      if (one != '\n') return bad("a line has a CR without LF");
      cr_ = false;
      if (line_bytes_ > 0) {
        lines_ += 1;
        line_bytes_ = 0;
        continue;
      }
      if (lines_ > 0 || part == Part::Trailers) {
        at_ += 1;
        return Found::End;
      }
      skipped_ = at_ + 1;
      if (skipped_ > kSkippedMax) return bad("expected a request, got empty lines");
      continue;
    }
    if (one == '\r') {
      cr_ = true;
      continue;
    }
    if (one == '\n') return bad("a line ends with LF without CR");
    if (kControl[one]) return bad("a line has a control character");
    if (line_bytes_ == 0 && (one == ' ' || one == '\t')) {
      return bad(lines_ == 0 && part == Part::Head ? "the request line begins with a space"
                                                   : "a header is folded into several lines");
    }
    line_bytes_ += 1;
    if (lines_ == 0) first_line_bytes_ = line_bytes_;
  }
  return Found::More;
}

// Hot path: receive.
HeadProblem read_head(std::string_view bytes, ReadHead& out) {
  llhttp_t parser;
  Filling filling;
  filling.out = &out;
  out.headers->clear();
  llhttp_init(&parser, HTTP_REQUEST, &head_settings());
  parser.data = &filling;
  // llhttp only knows some methods and reports others as errors; the routes decide which are
  // allowed.
  out.method = bytes.substr(0, bytes.find(' '));
  if (out.method == "PRI") return {505, "expected HTTP/1.1 or HTTP/1.0"};
  if (HeadProblem problem = read_method(out.method); problem.status != 0) return problem;
  constexpr std::string_view kAnyMethod = "POST";
  llhttp_errno_t error = llhttp_execute(&parser, kAnyMethod.data(), kAnyMethod.size());
  if (error == HPE_OK) {
    const std::string_view rest = bytes.substr(out.method.size());
    error = llhttp_execute(&parser, rest.data(), rest.size());
  }
  if (error != HPE_OK) return parse_problem(parser, error, filling);
  if (!filling.complete) return {400, "the head has no end"};
  // Method, target and version, separated by one space each.
  constexpr size_t kVersionBytes = 8;
  const size_t line = bytes.find('\r');
  if (line != out.method.size() + filling.target.size() + kVersionBytes + 2) {
    return {400, "expected a method, a target and a version with a space between them"};
  }
  out.is_1_0 = parser.http_major == 1 && parser.http_minor == 0;
  if (!out.is_1_0 && !(parser.http_major == 1 && parser.http_minor == 1)) {
    return {505, "expected HTTP/1.1 or HTTP/1.0"};
  }
  for (HttpHeader& header : *out.headers) {
    if (!is_token(header.name)) {
      return {400, "expected a header's name, got " + quoted(header.name)};
    }
    header.value = trimmed(header.value);
  }
  Target target;
  if (HeadProblem problem = read_target(out.method, filling.target, target); problem.status != 0) {
    return problem;
  }
  out.path = target.path;
  out.query = target.query;
  HeadProblem problem = check_host(*out.headers, out.is_1_0, target.authority);
  if (problem.status != 0) return problem;
  return check_framing(parser, out);
}

}  // namespace serval
