// An HTTP request as its handler sees it: a head, a body in pieces, one answer. Hot path; the
// listener's thread, all of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "transport/call.h"
#include "transport/loop/connection.h"

namespace serval {

// A header as it came; names in any case.
struct HttpHeader {
  std::string_view name;
  std::string_view value;
};

// Whether two header names are the same; `lower` is in lower case.
constexpr bool is_header(std::string_view name, std::string_view lower) {
  if (name.size() != lower.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char one = name[i];
    if ((one >= 'A' && one <= 'Z' ? static_cast<char>(one | 0x20) : one) != lower[i]) return false;
  }
  return true;
}

// The body of an error that the transport answers by itself. `reason`: printable ASCII.
std::string error_json(std::string_view reason);

// The value of the Date header, made once in a second. Valid until this thread's next call.
std::string_view date_text();

struct HttpAnswer {
  int status = 200;
  std::string_view content_type;  // "" = none
  std::string_view headers;       // more lines, each "Name: value\r\n"
  std::span<const uint8_t> body;
  // Holds `body`, if it may be swapped for an empty buffer; null: the body is copied.
  ByteBuffer* owned = nullptr;
};

// One request. The transport's; it stays valid until the handler's closed() or its own send()
// returns.
class HttpRequest : public NumberedCall {
 public:
  HttpRequest* as_request() final { return this; }

  // The request's line and headers. These views are valid while the handler's begin() runs, and
  // during a data() that follows in the same turn.
  std::string_view method() const { return method_; }  // upper case
  std::string_view path() const { return path_; }      // without the query, percent-encoded
  std::string_view query() const { return query_; }    // after "?", or ""
  std::span<const HttpHeader> headers() const { return headers_; }
  // The first header of a name in lower case; "" where it is missing.
  std::string_view header(std::string_view lower) const;
  // Content-Length; 0 where it is missing or 0.
  uint64_t stated_bytes() const { return stated_bytes_; }
  // Whether the client is on this machine: it came over loopback or a unix socket.
  virtual bool is_local() const = 0;

  // The handler's own; the transport does not look at them.
  void* state = nullptr;
  uint64_t word = 0;

  // Answers the request: closed() is not called any more, and the request is gone on return. What
  // is left of its body is dropped.
  virtual void send(const HttpAnswer& answer) = 0;
  // The handler wants the body: a client that waits for this gets 100 Continue.
  virtual void want_body() = 0;
  // The rest of the body waits, and its client with it; data of this turn may still come.
  virtual void set_paused(bool paused) = 0;

 protected:
  std::string_view method_, path_, query_;
  std::vector<HttpHeader> headers_;
  uint64_t stated_bytes_ = 0;
};

// Answers the requests of one thread of a listener, on that thread.
class HttpHandler : public TurnHandler {
 public:
  HttpHandler* requests() final { return this; }
  // The head is in. The request may be answered here and in each of the following.
  virtual void begin(HttpRequest& request) = 0;
  // A piece of the body, valid until return; the last one of each request says so, and is empty
  // where there is no more (or no body at all).
  virtual void data(HttpRequest& request, std::span<const uint8_t> bytes, bool last) = 0;
  // The client went away, or broke the protocol: nothing can be sent any more, and the request is
  // gone on return.
  virtual void closed(HttpRequest& request) = 0;
  // The transport answered so what it could not read as a request.
  struct Refused {
    int status;
    std::string_view reason;
    std::string_view method, path;  // "" where they are not known
  };
  virtual void refused(const Refused&) {}
};

}  // namespace serval
