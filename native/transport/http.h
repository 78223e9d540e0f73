// An HTTP request as its handler sees it: a head, a body in pieces, one response. Hot path;
// everything runs on the listener's thread.
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

// A header as received; the name is in any case.
struct HttpHeader {
  std::string_view name;
  std::string_view value;
};

// Compares header names, ignoring case; `lower` is in lower case.
constexpr bool is_header(std::string_view name, std::string_view lower) {
  if (name.size() != lower.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char one = name[i];
    if ((one >= 'A' && one <= 'Z' ? static_cast<char>(one | 0x20) : one) != lower[i]) return false;
  }
  return true;
}

// The JSON body of an error that the transport sends by itself. `reason`: printable ASCII.
std::string error_json(std::string_view reason);

// The value of the Date header, formatted once per second. Valid until this thread's next call.
std::string_view date_text();

struct HttpAnswer {
  int status = 200;
  std::string_view content_type;  // "" = none
  std::string_view headers;       // additional lines, each "Name: value\r\n"
  std::span<const uint8_t> body;
  // The buffer that holds `body`, if it may be swapped for an empty one; null: the body is copied.
  ByteBuffer* owned = nullptr;
};

// One request, owned by the transport. It is valid until the handler's closed() or its own send()
// returns.
class HttpRequest : public NumberedCall {
 public:
  HttpRequest* as_request() final { return this; }

  // The request line and the headers. These views are valid while the handler's begin() runs, and
  // during a data() that follows in the same turn.
  std::string_view method() const { return method_; }  // upper case
  std::string_view path() const { return path_; }      // without the query, percent-encoded
  std::string_view query() const { return query_; }    // after "?", or ""
  std::span<const HttpHeader> headers() const { return headers_; }
  // The first header with this lower-case name; "" if it is missing.
  std::string_view header(std::string_view lower) const;
  // Content-Length; 0 if it is missing or 0.
  uint64_t stated_bytes() const { return stated_bytes_; }
  // Whether the client is on this machine (connected over loopback or a unix socket).
  virtual bool is_local() const = 0;

  // For the handler; the transport never reads it.
  void* state = nullptr;
  uint64_t word = 0;

  // Sends the response: closed() is not called any more, and the request is gone on return. The
  // unread rest of the body is discarded.
  virtual void send(const HttpAnswer& answer) = 0;
  // Asks for the body: a client that sent "Expect: 100-continue" gets 100 Continue.
  virtual void want_body() = 0;
  // Pauses the rest of the body, and so the client; data of this turn may still be delivered.
  virtual void set_paused(bool paused) = 0;

 protected:
  std::string_view method_, path_, query_;
  std::vector<HttpHeader> headers_;
  uint64_t stated_bytes_ = 0;
};

// Serves the requests of one thread of a listener, on that thread.
class HttpHandler : public TurnHandler {
 public:
  HttpHandler* requests() final { return this; }
  // The head is complete. The handler may respond here and in each of the callbacks below.
  virtual void begin(HttpRequest& request) = 0;
  // A piece of the body, valid until return. The last piece of each request has `last` set; it is
  // empty if no bytes remain (or there is no body at all).
  virtual void data(HttpRequest& request, std::span<const uint8_t> bytes, bool last) = 0;
  // The client went away or violated the protocol: nothing more can be sent, and the request is
  // gone on return.
  virtual void closed(HttpRequest& request) = 0;
  // The transport's own response to something it could not read as a request.
  struct Refused {
    int status;
    std::string_view reason;
    std::string_view method, path;  // "" if they are unknown
  };
  virtual void refused(const Refused&) {}
};

}  // namespace serval
