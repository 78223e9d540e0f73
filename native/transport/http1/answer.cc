// Formats the head of an HTTP/1 response. Hot path; any thread.
#include "transport/http1/answer.h"

#include <charconv>

#include "transport/http.h"

namespace serval {

namespace {

constexpr std::string_view kJsonType = "application/json";

void append_number(std::string& out, uint64_t number) {
  char text[20];
  const auto done = std::to_chars(text, text + sizeof text, number);
  out.append(text, static_cast<size_t>(done.ptr - text));
}

}  // namespace

// Source: RFC 9110 15, RFC 6585; 499 is nginx's.
std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

// Hot path: reply.
void append_answer_head(std::string& out, int status, std::string_view content_type,
                        std::string_view lines, uint64_t content_length,
                        SaidOfConnection connection, uint64_t seconds) {
  if (status == 200) {
    out += "HTTP/1.1 200 OK\r\n";
  } else {
    out += "HTTP/1.1 ";
    append_number(out, static_cast<uint64_t>(status));
    out += ' ';
    out += reason_phrase(status);
    out += "\r\n";
  }
  out += "Date: ";
  out += date_text();
  out += "\r\n";
  if (content_type == kJsonType) {
    out += "Content-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n";
  } else if (!content_type.empty()) {
    out += "Content-Type: ";
    out += content_type;
    out += "\r\n";
  }
  out += lines;
  if (status != 204 && status != 304) {
    out += "Content-Length: ";
    append_number(out, content_length);
    out += "\r\n";
  }
  switch (connection) {
    case SaidOfConnection::Nothing: break;
    case SaidOfConnection::Close: out += "Connection: close\r\n"; break;
    case SaidOfConnection::KeepAlive:
      out += "Connection: keep-alive\r\nKeep-Alive: timeout=";
      append_number(out, seconds);
      out += "\r\n";
      break;
  }
  out += "\r\n";
}

}  // namespace serval
