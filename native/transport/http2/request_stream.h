// One HTTP request on its HTTP/2 stream: reads the head, delivers the body in pieces, queues the
// response until it is written. Hot path; the listener's thread. Source: RFC 9113 8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/http.h"
#include "transport/http2/stream.h"
#include "transport/loop/blocks.h"
#include "transport/target.h"

namespace serval {

// Memory for the head of a request, which a connection reuses.
struct HeadRoom {
  std::string text;
  std::vector<HttpHeader> headers;
};

class RequestStream final : public Http2Stream, public HttpRequest {
 public:
  RequestStream(Http2Connection& connection, int32_t number);
  ~RequestStream() override;

  RequestStream* as_http() override { return this; }
  // Whether the head, once complete, is that of a gRPC call that this port serves.
  bool is_call() const;
  // The received headers in order, including pseudo headers.
  template <typename Visit>
  void each_header(const Visit& visit) const {
    for (const HttpHeader& header : headers_) visit(header.name, header.value);
  }

  void add_header(std::string_view name, std::string_view value) override;
  void head_ended() override;
  void data(std::span<const uint8_t> bytes) override;
  void end_stream() override;
  void settle() override;
  void gone() override;
  void cut() override;
  // Nothing has moved for too long, of the body or of the response.
  void deadline_passed() override;
  void resume_taking() override;

  size_t ready(size_t room, bool& ends) override;
  void put(size_t count, Output& output) override;
  bool submit_trailers() override { return false; }
  bool needs_reset() const override { return !remote_ended_; }
  bool answered() const override { return over_; }
  bool waits_for_handler() const override { return begun_ && !over_ && input_done_; }
  // Its handler has parts of the body.
  bool can_move() const override { return !begun_ && !over_; }

  bool is_local() const override;
  void send(const HttpAnswer& answer) override;
  void want_body() override;
  void set_paused(bool paused) override;

 private:
  HeadProblem read_head();
  void refuse(int status, std::string_view reason);
  void put_answer(const HttpAnswer& answer);
  void deliver(std::span<const uint8_t> bytes, bool last);
  void settle_later();
  void hold(std::span<const uint8_t> bytes);
  void take_held();
  void give_held();
  void end_request();
  void watch();

  std::string text_;  // the text of all headers
  size_t head_bytes_ = 0;
  size_t target_bytes_ = 0;
  bool head_ended_ = false;
  bool expects_ = false;  // the client waits for 100 Continue before it sends the body
  bool begun_ = false;    // the handler knows the request
  bool over_ = false;     // it was answered, or is gone
  bool remote_ended_ = false;
  bool input_done_ = false;  // the handler has received the whole body
  bool paused_ = false;
  bool taking_ = false;               // inside take_held()
  bool unsettled_ = false;            // settle() is due
  std::span<const uint8_t> pending_;  // received bytes, valid until more arrive or the read ends
  ByteBuffer held_;                   // bytes that arrived while paused
  // when a byte of the body was received, or of the response was written
  uint64_t moved_ns_ = 0;
  Block* body_ = nullptr;  // the response's body
  size_t sent_ = 0;        // bytes of body_ written
};

}  // namespace serval
