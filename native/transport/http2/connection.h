// One HTTP/2 connection: an nghttp2 session over a channel, its calls and requests, its frame
// limiter. Hot path; the listener's thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/http2/call_stream.h"
#include "transport/http2/frame_limiter.h"
#include "transport/http2/keepalive.h"
#include "transport/http2/request_stream.h"
#include "transport/http2/stream_history.h"
#include "transport/loop/connection.h"
#include "transport/loop/output.h"

struct nghttp2_session;
struct nghttp2_session_callbacks;
struct nghttp2_option;

namespace serval {

class ListenerThread;

class Http2Connection final : public Connection {
 public:
  // Requires that the channel's TLS handshake has ended. `accepted_ns`: the start of the handshake
  // time limit.
  Http2Connection(ListenerThread& thread, std::unique_ptr<Channel> channel, uint64_t accepted_ns);
  // Notifies the handlers of its calls.
  ~Http2Connection() override;

  bool begin() override;
  // Passes the bytes that were read to detect the protocol; called once, after begin().
  void start(std::span<const uint8_t> first);
  void readable() override;
  void writable() override;
  void flush() override;
  void due(uint64_t now_ns) override;
  // Sends GOAWAY in two steps: first that no more calls may begin; then, when the client has
  // acknowledged that, the last stream's number. Closes when all calls have ended.
  void retire(bool stops) override;
  void end() override { die(); }
  void look(bool idle, uint64_t now_ns) override;
  // Ends calls with UNAVAILABLE.
  uint64_t cut() override;
  void look_at_unsent(bool too_many, uint64_t now_ns) override;
  uint32_t waiting_calls() const override;
  bool can_move() const override;
  void hold_reading(bool holds) override;
  void leave_thread() override;
  void enter_thread(ListenerThread& thread) override;

  // --- for its streams ---
  const TransportSettings& settings() const;
  CallHandler& handler();
  HttpHandler& requests();
  BlockPool& blocks();
  Timers& timers();
  uint64_t now() const;
  bool takes_calls() const { return leaving_ != Leaving::Said; }
  bool stops() const { return stops_; }
  // The reason why a call cannot be accepted now, "" = it can.
  std::string too_much_unsent() const;
  void unsent_changed(int64_t bytes);
  void call_begins(NumberedCall& call);
  void call_ends(NumberedCall& call);
  void consume(Http2Stream& stream, size_t bytes);
  // Runs one step of decompression on another thread; the stream is notified afterwards.
  void unpack(CallStream& stream, std::shared_ptr<Unpacking> message);
  const std::shared_ptr<MemoryBudget>& budget();
  uint64_t stalled_ms() const;
  void resume_later(uint64_t call);
  // An empty HeadRoom with reserved capacity.
  HeadRoom take_head_room();
  void give_head_room(HeadRoom room);
  void settle_later(Http2Stream& stream) { unsettled_.push_back(&stream); }
  void resume_answers(Http2Stream& stream);
  void submit_response(CallStream& stream, const Metadata& initial, std::string_view coding,
                       bool with_data, bool is_long);
  // `only`: no response was sent before.
  void submit_status(CallStream& stream, bool only, const Metadata& initial,
                     const Metadata& trailing, int code, std::string_view message,
                     std::string_view details);
  // `with_text`: false for HEAD requests.
  void submit_refusal(CallStream& stream, const Refusal& why, bool with_text);
  // Submits the response head of a request; the stream supplies the body, if any.
  void submit_answer(RequestStream& stream, const HttpAnswer& answer, bool with_body);
  // Sends 100 Continue.
  void submit_continue(RequestStream& stream);
  void reset(Http2Stream& stream, bool too_much);
  void touch();

  // nghttp2's callbacks (callbacks.cc).
  struct Callbacks;
  static nghttp2_session_callbacks* make_callbacks();
  static nghttp2_option* make_options();

 private:
  friend struct Callbacks;
  // Asked: a GOAWAY with the largest number was sent, followed by a ping. Said: the GOAWAY with the
  // last call's number was sent.
  enum class Leaving : uint8_t { No, Asked, Said };

  // Returns the bytes read.
  size_t receive();
  bool feed(std::span<const uint8_t> bytes);
  bool fill();
  void interest(bool reads, bool writes);
  // Counts an event; too many end the connection.
  bool allow(Event event);
  static constexpr size_t kPingBytes = 8;
  void ping_answered(const uint8_t (&payload)[kPingBytes]);
  // The GOAWAY has been written.
  void went_away();
  // Sends the second GOAWAY.
  void leave();
  // Converts a verdict to nghttp2's result: 0, or that the connection has ended.
  int judge(StreamHistory::Verdict verdict);
  int broken(uint32_t code, std::string_view why);
  void go_away(uint32_t code, std::string_view why);
  // Stops reading; pending output has one second to be written.
  void begin_closing();
  void set_timer();
  void settle_all();
  void tell_left();
  // Schedules its response in turn with others instead of first.
  void take_turns(Http2Stream& stream);
  Http2Stream* begin_stream(int32_t number);
  // Replaces a request by a gRPC call, on a port that serves both.
  Http2Stream* make_call(RequestStream& request);
  void link(Http2Stream* stream);
  void drop_stream(Http2Stream* stream);
  void die();
  void close_when_done();

  ListenerThread* thread_;  // not null
  nghttp2_session* session_ = nullptr;
  std::unique_ptr<Output> output_;  // while something waits to be written
  FrameLimiter limiter_;
  StreamHistory history_;
  Keepalive keepalive_;
  uint64_t handshake_until_ns_;
  // Ends the wait for a peer that does not read the goodbye, or does not answer the ping.
  uint64_t closing_until_ns_ = UINT64_MAX;
  uint64_t leave_ns_ = UINT64_MAX;
  Http2Stream* streams_ = nullptr;
  std::vector<Http2Stream*> unsettled_;
  std::vector<HeadRoom> head_rooms_;
  std::vector<uint64_t> left_;  // calls some of whose responses were written
  uint32_t calls_ = 0;
  uint64_t unsent_bytes_ = 0;
  uint64_t written_bytes_ = 0;
  uint64_t seen_written_ = 0;  // at the last check, and when it changed
  uint64_t seen_at_ns_ = 0;
  size_t block_bytes_ = 0;  // of the current header block
  bool settings_came_ = false;
  bool received_any_ = false;
  Leaving leaving_ = Leaving::No;
  bool stops_ = false;    // streams were asked to end
  bool closing_ = false;  // closes after pending output is written
  bool dirty_ = false;
  bool held_ = false;                   // reads nothing, until it can move
  bool reads_ = true, writes_ = false;  // events that the poller waits for
};

}  // namespace serval
