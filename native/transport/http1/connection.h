// One HTTP/1 connection: requests one after the other, each answered before the next is begun. Hot
// path; the listener's thread. Source: RFC 9112.
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

// The connection is its own request: there is one at a time.
class Http1Connection final : public Connection, public HttpRequest, private ChunkSink {
 public:
  Http1Connection(ListenerThread& thread, std::unique_ptr<Channel> channel);
  // Tells the handler of a request that was not answered.
  ~Http1Connection() override;

  bool begin() override;
  // The first bytes, which were read to find out what is spoken; once, after begin().
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

  bool is_local() const override;
  void send(const HttpAnswer& answer) override;
  void want_body() override;
  void set_paused(bool paused) override;

 private:
  // Head: no request, or a part of its head. Body, Chunks: a body comes. Waiting: all came, the
  // answer is due. Closing: what is there is written, then that is the end.
  enum class Phase : uint8_t { Head, Body, Chunks, Waiting, Closing };

  void receive();
  void feed(std::span<const uint8_t> bytes);
  void feed_held();
  // Takes in what it can; returns how much that was.
  size_t take_in(std::span<const uint8_t> bytes);
  size_t take_head(std::span<const uint8_t> bytes);
  size_t take_chunks(std::span<const uint8_t> bytes);
  bool hold(std::span<const uint8_t> bytes);
  bool holds_enough() const;
  void begin_request(std::string_view head);
  void deliver(std::span<const uint8_t> bytes, bool last);
  void request_ended();
  bool chunk_data(std::span<const uint8_t> bytes) override;
  // Answers what is no request, and closes.
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

  ListenerThread& thread_;
  LineScanner scanner_;
  ChunkReader chunks_;
  std::unique_ptr<Output> output_;  // while something waits to be written
  ByteBuffer held_;                 // bytes that came and are not taken in yet
  size_t held_at_ = 0;              // those before are gone
  uint64_t body_left_ = 0;
  uint64_t dropped_bytes_ = 0;
  uint64_t unsent_bytes_ = 0;
  uint64_t written_bytes_ = 0;
  uint64_t seen_written_ = 0;  // at the last look, and when it changed
  uint64_t seen_at_ns_ = 0;
  uint64_t heard_ns_ = 0;       // when bytes came, or an answer went
  uint64_t head_began_ns_ = 0;  // 0 = none of it has come
  uint64_t written_ns_ = 0;     // when the client last took something
  uint64_t closing_until_ns_ = UINT64_MAX;
  uint64_t look_ns_ = 0;  // at a body or an answer of which nothing moves
  Phase phase_ = Phase::Head;
  bool begun_ = false;    // the handler knows of the request
  bool answered_ = true;  // it was answered, or there is none
  bool keeps_alive_ = true;
  bool asks_keep_alive_ = false;
  bool had_request_ = false;
  bool is_head_ = false;  // HTTP's method of that name
  bool is_safe_ = false;  // GET or HEAD
  bool expects_ = false;  // the client waits for 100 before it sends the body
  bool paused_ = false;
  bool taking_ = false;   // in take_in()
  bool ended_ = false;    // the client sends no more
  bool leaving_ = false;  // after the request that there is
  bool lingers_ = false;  // reads on after the end of its answers
  bool shut_ = false;     // said that no more comes
  bool dirty_ = false;
  bool reads_ = true, writes_ = false;  // what the poller looks for
  bool blocked_ = false;                // the client takes no more for now
  mutable int8_t local_ = -1;           // -1: not asked yet
};

}  // namespace serval
