// One stream of an HTTP/2 connection, as the connection and nghttp2's callbacks see it. Hot path;
// the listener's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace serval {

class Http2Connection;
class NumberedCall;
class Output;
class RequestStream;

class Http2Stream {
 public:
  Http2Stream(Http2Connection& connection, int32_t number)
      : connection_(connection), number_(number) {}
  virtual ~Http2Stream() = default;
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;

  int32_t number() const { return number_; }
  Http2Connection& connection() { return connection_; }
  // Null: it is a gRPC call.
  virtual RequestStream* as_http() { return nullptr; }

  // --- called by the connection ---
  // A header of the request, or of its trailers; beyond the limit it is only counted.
  virtual void add_header(std::string_view name, std::string_view value) = 0;
  virtual void head_ended() = 0;
  // DATA; the bytes are valid until settle() is called.
  virtual void data(std::span<const uint8_t> bytes) = 0;
  virtual void end_stream() = 0;
  // The bytes of data() become invalid: copies those that are still needed.
  virtual void settle() = 0;
  // The stream is gone: it was reset, or its connection ended.
  virtual void gone() = 0;
  // The server is stopping.
  virtual void drain() {}
  // A drain is over: ends the stream now.
  virtual void cut() = 0;

  // --- called for nghttp2 ---
  // The number of response bytes available for a frame of at most `room`; sets `ends` if no more
  // will follow.
  virtual size_t ready(size_t room, bool& ends) = 0;
  // Appends `count` of them to the output.
  virtual void put(size_t count, Output& output) = 0;
  // Submits trailers after the last byte. False: there are no trailers.
  virtual bool submit_trailers() = 0;
  // Whether the client has not ended its side.
  virtual bool needs_reset() const = 0;
  virtual bool answered() const = 0;
  virtual bool waits_for_handler() const = 0;
  // The number of a call that wants left() for written messages; 0: none.
  virtual uint64_t streaming_id() const { return 0; }
  // Whether it may continue on another thread: its handler keeps nothing of it, and no output
  // waits.
  virtual bool can_move() const = 0;
  // The call that the thread knows by its number; null: none.
  virtual NumberedCall* moving_call() { return nullptr; }
  // Whether its response waits while those of others are written.
  bool is_deferred() const { return deferred_; }
  void set_deferred(bool deferred) { deferred_ = deferred; }

  Http2Stream* previous = nullptr;  // the connection's list
  Http2Stream* next = nullptr;

 protected:
  Http2Connection& connection_;
  const int32_t number_;
  bool deferred_ = false;
};

}  // namespace serval
