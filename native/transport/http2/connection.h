// One HTTP/2 connection: an nghttp2 session over a channel, its calls and requests, its guards. Hot
// path; the listener's thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/http2/call_stream.h"
#include "transport/http2/guard.h"
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
  // The channel's TLS handshake has ended. `accepted_ns`: since when its client is waited for.
  Http2Connection(ListenerThread& thread, std::unique_ptr<Channel> channel, uint64_t accepted_ns);
  // Tells the handlers of its calls.
  ~Http2Connection() override;

  bool begin() override;
  // The first bytes, which were read to find out what is spoken; once, after begin().
  void start(std::span<const uint8_t> first);
  void readable() override;
  void writable() override;
  void flush() override;
  void due(uint64_t now_ns) override;
  // Says GOAWAY in two steps: first that no more calls may begin, then, when the client has heard
  // of that, which was the last one. Closes when they have ended.
  void retire(bool stops) override;
  void end() override { die(); }
  void look(bool idle, uint64_t now_ns) override;
  // Ends calls with UNAVAILABLE.
  uint64_t cut() override;
  void look_at_unsent(bool too_many, uint64_t now_ns) override;
  uint32_t waiting_calls() const override;

  // --- what its streams ask for ---
  const TransportSettings& settings() const;
  CallHandler& handler();
  HttpHandler& requests();
  BlockPool& blocks();
  Timers& timers();
  uint64_t now() const;
  bool takes_calls() const { return leaving_ != Leaving::Said; }
  bool stops() const { return stops_; }
  // Why a call cannot be taken now, "" = it can.
  std::string too_much_unsent() const;
  void unsent_changed(int64_t bytes);
  void call_begins(NumberedCall& call);
  void call_ends(NumberedCall& call);
  void consume(Http2Stream& stream, size_t bytes);
  // Runs a step of the message elsewhere; the stream is told.
  void unpack(CallStream& stream, std::shared_ptr<Unpacking> message);
  const std::shared_ptr<MemoryBudget>& budget();
  void resume_later(uint64_t call);
  // Empty, with room.
  HeadRoom take_head_room();
  void give_head_room(HeadRoom room);
  void settle_later(Http2Stream& stream) { unsettled_.push_back(&stream); }
  void resume_answers(Http2Stream& stream);
  void submit_response(CallStream& stream, const Metadata& initial, std::string_view coding,
                       bool with_data, bool is_long);
  // `only`: there was no response before.
  void submit_status(CallStream& stream, bool only, const Metadata& initial,
                     const Metadata& trailing, int code, std::string_view message,
                     std::string_view details);
  // `with_text`: it was not asked with HEAD.
  void submit_refusal(CallStream& stream, const Refusal& why, bool with_text);
  // The answer to a request; its body, where there is one, is the stream's.
  void submit_answer(RequestStream& stream, const HttpAnswer& answer, bool with_body);
  // 100 Continue.
  void submit_continue(RequestStream& stream);
  void reset(Http2Stream& stream, bool too_much);
  void touch();

  // nghttp2's callbacks (callbacks.cc).
  struct Callbacks;
  static nghttp2_session_callbacks* make_callbacks();
  static nghttp2_option* make_options();

 private:
  friend struct Callbacks;
  // Asked: GOAWAY of the largest number there is was said, and a ping sent behind it. Said: GOAWAY
  // of the last call.
  enum class Leaving : uint8_t { No, Asked, Said };

  void receive();
  bool feed(std::span<const uint8_t> bytes);
  bool fill();
  void interest(bool reads, bool writes);
  // Counts what came; too much of it ends the connection.
  bool allow(Event event);
  static constexpr size_t kPingBytes = 8;
  void ping_answered(const uint8_t (&payload)[kPingBytes]);
  // GOAWAY has left.
  void went_away();
  // The second one.
  void leave();
  // nghttp2's result: 0, or that the connection has ended.
  int judge(StreamHistory::Verdict verdict);
  int broken(uint32_t code, std::string_view why);
  void go_away(uint32_t code, std::string_view why);
  // Nothing is read any more; what is to be written has a second.
  void begin_closing();
  void set_timer();
  void settle_all();
  void tell_left();
  // Its answer takes turns with others, instead of going first.
  void take_turns(Http2Stream& stream);
  Http2Stream* begin_stream(int32_t number);
  // Where a port serves both: a request that turned out to be a gRPC call.
  Http2Stream* make_call(RequestStream& request);
  void link(Http2Stream* stream);
  void drop_stream(Http2Stream* stream);
  void die();
  void close_when_done();

  ListenerThread& thread_;
  nghttp2_session* session_ = nullptr;
  std::unique_ptr<Output> output_;  // while something waits to be written
  FrameGuard guard_;
  StreamHistory history_;
  Keepalive keepalive_;
  uint64_t handshake_until_ns_;
  // A peer that does not take our goodbye is not waited for, nor one that does not answer the ping.
  uint64_t closing_until_ns_ = UINT64_MAX;
  uint64_t leave_ns_ = UINT64_MAX;
  Http2Stream* streams_ = nullptr;
  std::vector<Http2Stream*> unsettled_;
  std::vector<HeadRoom> head_rooms_;
  std::vector<uint64_t> left_;  // calls of whose answers some left
  uint32_t calls_ = 0;
  uint64_t unsent_bytes_ = 0;
  uint64_t written_bytes_ = 0;
  uint64_t seen_written_ = 0;  // at the last look, and when it changed
  uint64_t seen_at_ns_ = 0;
  size_t block_bytes_ = 0;  // of the header block that comes
  bool settings_came_ = false;
  bool received_any_ = false;
  Leaving leaving_ = Leaving::No;
  bool stops_ = false;    // streams are told to end
  bool closing_ = false;  // after what is to be written
  bool dirty_ = false;
  bool reads_ = true, writes_ = false;  // what the poller looks for
};

}  // namespace serval
