// An HTTP/1.1 connection with keep-alive, one request at a time, responses parsed by llhttp. Hot
// path; the load's thread. Source: RFC 9112.
#include <llhttp.h>

#include <algorithm>

#include "load/wire/connection.h"

namespace serval::load {
namespace {

constexpr int kFirstFinalStatus = 200;
constexpr int kFirstRedirect = 300;

class Http1Connection final : public Connection {
 public:
  Http1Connection(int socket, const TlsClient* tls, const Prepared& prepared,
                  ConnectionEvents& events)
      : Connection(socket, tls, prepared, events) {
    llhttp_init(&parser_, HTTP_RESPONSE, &settings());
    parser_.data = this;
  }

  void give_up(Call& call) override {
    remove(call);
    fail("a response took too long");
  }

 protected:
  void connected() override { opened(); }
  size_t free_streams() const override { return calls_.empty() ? 1 : 0; }

  void submit(Call& call) override {
    output_.copy(prepared_->heads[call.body]);
    output_.borrow(prepared_->traffic.bodies[call.body]);
  }

  void read(std::span<const uint8_t> bytes) override {
    const auto* const begin = reinterpret_cast<const char*>(bytes.data());
    if (calls_.empty()) return fail("the server sent unexpected bytes");
    const llhttp_errno_t error = llhttp_execute(&parser_, begin, bytes.size());
    if (error == HPE_OK || !problem().empty()) return;
    fail(std::string("the response is not HTTP/1.1: ") + llhttp_errno_name(error));
  }

  // A response without a length ends with the connection.
  void ended() override {
    if (!calls_.empty()) llhttp_finish(&parser_);
  }

 private:
  static Http1Connection& of(llhttp_t* parser) {
    return *static_cast<Http1Connection*>(parser->data);
  }

  static int on_headers(llhttp_t* parser) {
    Http1Connection& self = of(parser);
    if (self.calls_.empty()) return -1;
    Call& call = *self.calls_.front();
    call.status = parser->status_code;
    call.refused = call.status < kFirstFinalStatus || call.status >= kFirstRedirect;
    return 0;
  }

  static int on_body(llhttp_t* parser, const char* at, size_t count) {
    Http1Connection& self = of(parser);
    if (self.calls_.empty()) return -1;
    Call& call = *self.calls_.front();
    call.received += count;
    if (call.refused && call.error.size() < kErrorBytesMax) {
      call.error.append(at, std::min(count, kErrorBytesMax - call.error.size()));
    }
    return 0;
  }

  static int on_complete(llhttp_t* parser) {
    Http1Connection& self = of(parser);
    if (self.calls_.empty()) return -1;
    Call& call = *self.calls_.front();
    // 100 Continue and other interim responses do not count.
    if (call.status < kFirstFinalStatus) return 0;
    if (llhttp_should_keep_alive(parser) == 0 || self.has_unwritten()) {
      // Set before the call ends, so that the next one uses another connection.
      self.going();
    }
    self.finish(call);
    return 0;
  }

  void finish(Call& call) {
    const int64_t expected = prepared_->traffic.response_bytes;
    if (call.refused) {
      refuse(call, Failure::Status, "status " + std::to_string(call.status) + ": " + call.error);
    } else if (expected >= 0 && call.received != static_cast<uint64_t>(expected)) {
      refuse(call, Failure::Status,
             "a response of " + std::to_string(call.received) + " bytes, expected " +
                 std::to_string(expected));
    } else {
      answer(call, call.received);
    }
  }

  static const llhttp_settings_t& settings() {
    static const llhttp_settings_t made = [] {
      llhttp_settings_t out;
      llhttp_settings_init(&out);
      out.on_headers_complete = on_headers;
      out.on_body = on_body;
      out.on_message_complete = on_complete;
      return out;
    }();
    return made;
  }

  llhttp_t parser_;
};

}  // namespace

std::unique_ptr<Connection> http1_connection(int socket, const TlsClient* tls,
                                             const Prepared& prepared, ConnectionEvents& events) {
  return std::make_unique<Http1Connection>(socket, tls, prepared, events);
}

}  // namespace serval::load
