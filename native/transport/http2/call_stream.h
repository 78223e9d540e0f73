// One gRPC call on its HTTP/2 stream: reads the head, assembles messages, queues responses until
// they are written. Hot path; the listener's thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/call.h"
#include "transport/grpc/packing.h"
#include "transport/http2/stream.h"
#include "transport/loop/blocks.h"
#include "transport/loop/timers.h"
#include "transport/loop/unpacking.h"

namespace serval {

// A plain HTTP response to a request that is not a gRPC call.
struct Refusal {
  std::string_view status;
  std::string_view allow;  // "" = none
  std::string_view text;   // for people who open the address
};

class CallStream final : public Http2Stream, public Call {
 public:
  CallStream(Http2Connection& connection, int32_t number);
  ~CallStream() override;

  void add_header(std::string_view name, std::string_view value) override;
  void head_ended() override;
  void data(std::span<const uint8_t> bytes) override;
  void end_stream() override;
  void settle() override;
  void gone() override;
  void drain() override;
  void cut() override { fail(grpc_code::kUnavailable, "the server is shutting down"); }
  void deadline_passed() override;
  void unpack_on() override;
  void resume_taking() override;

  size_t ready(size_t room, bool& ends) override;
  void put(size_t count, Output& output) override;
  bool submit_trailers() override;
  bool needs_reset() const override { return !remote_ended_; }
  bool answered() const override { return over_; }
  bool waits_for_handler() const override {
    return begun_ && !over_ && (kind_.client_streams || delivered_);
  }
  // A handler keeps nothing of a unary call before its message.
  bool can_move() const override;
  NumberedCall* moving_call() override { return begun_ && !over_ ? this : nullptr; }
  uint64_t streaming_id() const override { return over_ ? 0 : id(); }
  // Returns the next bytes of a refusal's text.
  std::string_view take_refusal(size_t room);
  bool refusal_taken() const { return refusal_.empty(); }
  // Responses of streams that were written since the last call.
  size_t take_left();

  // Ends the call with a status from the transport and notifies the handler.
  void fail(int code, std::string_view message);

  const Metadata& metadata() const override;
  std::string_view metadata_value(std::string_view name) const override;
  bool is_local() const override;
  void add_initial_metadata(std::string_view name, std::string_view value) override;
  void add_trailing_metadata(std::string_view name, std::string_view value) override;
  void send_initial_metadata() override;
  bool send(ByteBuffer& message) override;
  bool send(std::span<const uint8_t> message) override;
  void finish(const CallStatus& status) override;
  void set_paused(bool paused) override;
  size_t unsent_messages() const override { return answers_.size() - first_answer_; }
  uint64_t unsent_bytes() const override { return unsent_bytes_; }

 private:
  struct Head {
    bool post = false;
    bool head = false;  // the method is HEAD
    bool grpc = false;
    bool found = false;  // its gRPC method is known
    bool known = true;   // its grpc-encoding is supported
    bool timeout_bad = false;
    MessageCoding coding = MessageCoding::Identity;
    MessageCoding answer_coding = MessageCoding::Identity;
    size_t bytes = 0;
    std::string path;         // only if it is unknown
    std::string coding_name;  // only if it is unknown
    std::string metadata;     // name, NUL, value, NUL ...
  };
  struct OutMessage {
    Block* block;
    uint8_t prefix[5];
    size_t sent;  // bytes written of prefix and content
    size_t bytes() const { return sizeof prefix + block->buffer.size(); }
  };

  bool blocked() const { return paused_ || unpacking_ != nullptr; }
  void take_in(std::span<const uint8_t> bytes);
  bool begin_message(size_t at_hand);
  void message_whole(std::span<const uint8_t> bytes, bool owned);
  void begin_unpack();
  void end_unpack();
  void deliver(Received message);
  void take_held();
  void input_ended();
  void give_body();
  bool queue(Block* block, bool packed);
  bool may_send(size_t bytes);
  void start_response(bool with_data);
  void resume();
  void end_call();
  void tell_failed(int code, std::string_view message);
  void refuse();
  void drop_answers();

  MethodKind kind_;
  Head head_;

  bool head_ended_ = false;
  bool begun_ = false;  // the handler knows the call
  bool over_ = false;   // it was answered, or is gone
  bool remote_ended_ = false;
  bool input_done_ = false;  // the handler was notified of the end of input, or the status was set
  bool paused_ = false;
  bool taking_ = false;     // inside take_in()
  bool delivered_ = false;  // the message of a unary call was delivered
  bool response_started_ = false;
  bool finished_ = false;  // a status waits after the responses

  // The message that is being received.
  uint8_t prefix_[5];
  size_t prefix_bytes_ = 0;
  size_t message_bytes_ = 0;
  uint64_t messages_ = 0;
  ByteBuffer body_;
  bool has_body_ = false;             // body_ is in use
  std::span<const uint8_t> pending_;  // a unary call's message, until its stream has ended
  bool has_pending_ = false;
  bool pending_borrowed_ = false;
  std::shared_ptr<Unpacking> unpacking_;  // null = no message is being decompressed
  ByteBuffer held_;                       // bytes that arrived while messages may not be delivered

  std::vector<OutMessage> answers_;
  size_t first_answer_ = 0;  // earlier entries were sent
  uint64_t unsent_bytes_ = 0;
  size_t left_ = 0;
  const Refusal* refused_ = nullptr;  // the refusal to send after the client has ended
  size_t refused_bytes_ = 0;          // received meanwhile
  std::string_view refusal_;          // unsent rest of the text
  int status_ = 0;
  std::string status_message_;
  std::string status_details_;
  Metadata initial_;
  Metadata trailing_;
  mutable Metadata metadata_;
  mutable bool metadata_read_ = false;
};

}  // namespace serval
