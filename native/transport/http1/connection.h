// One HTTP/1 connection: requests one after the other, each answered before the next one begins.
// Hot path; the listener's thread. Source: RFC 9112.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "transport/http.h"
#include "transport/http1/chunks.h"
#include "transport/http1/head.h"
#include "transport/loop/connection.h"
#include "transport/loop/output.h"

namespace serval {

class ListenerThread;

// The connection is also its request object, since it serves one at a time.
class Http1Connection final : public Connection, public HttpRequest, private ChunkSink {
 public:
  Http1Connection(ListenerThread& thread, std::unique_ptr<Channel> channel);
  // Notifies the handler if a request is still unanswered.
  ~Http1Connection() override;

  bool begin() override;
  // Passes the bytes that were read to detect the protocol; called once, after begin().
  void start(std::span<const uint8_t> first);
  void readable() override;
  void writable() override;
  void flush() override;
  void due(uint64_t now_ns) override;
  void retire(bool stops) override;
  void end() override { die(); }
  void look(bool idle, uint64_t now_ns) override;
  uint64_t cut() override;
  void look_at_unsent(bool too_many, uint64_t now_ns) override;
  uint32_t waiting_calls() const override;
  bool can_move() const override;
  void leave_thread() override;
  void enter_thread(ListenerThread& thread) override;

  bool is_local() const override;
  void send(const HttpAnswer& answer) override;
  void want_body() override;
  void set_paused(bool paused) override;

 private:
  // Head: between requests, or reading a head. Body, Chunks: reading a body. Waiting: the request
  // is complete, the response is due. Closing: writes what is queued, then closes.
  enum class Phase : uint8_t { Head, Body, Chunks, Waiting, Closing };

  // Returns the bytes read.
  size_t receive();
  void feed(std::span<const uint8_t> bytes);
  void feed_held();
  // Consumes as much as it can; returns the number of bytes consumed.
  size_t take_in(std::span<const uint8_t> bytes);
  size_t take_head(std::span<const uint8_t> bytes);
  size_t take_chunks(std::span<const uint8_t> bytes);
  bool hold(std::span<const uint8_t> bytes);
  bool holds_enough() const;
  void begin_request(std::string_view head);
  void deliver(std::span<const uint8_t> bytes, bool last);
  void request_ended();
  bool chunk_data(std::span<const uint8_t> bytes) override;
  // Responds to bytes that are not a valid request, and closes.
  void refuse(int status, std::string_view reason, std::string_view method = {},
              std::string_view path = {});
  void put(const HttpAnswer& answer);
  void end_request();
  void peer_ended();
  void begin_closing(bool lingers);
  bool waits_to_write() const { return output_ != nullptr && !output_->empty(); }
  void count_unsent();
  void interest(bool reads, bool writes);
  uint64_t next_due() const;
  uint64_t moved_ns() const;
  bool is_stalled(uint64_t now_ns);
  void set_timer();
  void touch();
  void die();

  ListenerThread* thread_;  // not null
  LineScanner scanner_;
  ChunkReader chunks_;
  std::unique_ptr<Output> output_;  // while something waits to be written
  ByteBuffer held_;                 // received bytes that are not consumed yet
  size_t held_at_ = 0;              // offset of the first byte in held_ that is not consumed
  uint64_t body_left_ = 0;
  uint64_t dropped_bytes_ = 0;
  uint64_t unsent_bytes_ = 0;
  uint64_t written_bytes_ = 0;
  uint64_t seen_written_ = 0;  // at the last check, and when it changed
  uint64_t seen_at_ns_ = 0;
  uint64_t heard_ns_ = 0;       // when bytes were last received, or a response was sent
  uint64_t head_began_ns_ = 0;  // 0 = no part of it has arrived
  uint64_t written_ns_ = 0;     // when the client last accepted bytes
  uint64_t closing_until_ns_ = UINT64_MAX;
  uint64_t look_ns_ = 0;  // next check for a body or a response that does not move
  Phase phase_ = Phase::Head;
  bool begun_ = false;    // the handler knows the request
  bool answered_ = true;  // it was answered, or there is none
  bool keeps_alive_ = true;
  bool asks_keep_alive_ = false;
  bool had_request_ = false;
  bool is_head_ = false;  // the method is HEAD
  bool is_safe_ = false;  // GET or HEAD
  bool expects_ = false;  // the client waits for 100 Continue before it sends the body
  bool paused_ = false;
  bool taking_ = false;   // inside take_in()
  bool ended_ = false;    // the client sends no more
  bool leaving_ = false;  // close after the current request
  bool lingers_ = false;  // reads on after its last response was sent
  bool shut_ = false;     // the sending side was shut down
  bool dirty_ = false;
  bool reads_ = true, writes_ = false;  // events that the poller waits for
  bool blocked_ = false;                // the client accepts no more for now
  bool awaits_output_ = false;          // held requests wait until the output is written
  mutable int8_t local_ = -1;           // -1: not determined yet
};

}  // namespace serval
