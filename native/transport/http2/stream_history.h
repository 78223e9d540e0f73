// Records which of a connection's newest streams the peer has opened and ended, to tell HEADERS for
// a closed stream from HEADERS that only arrived late. Pure. Hot path; thread: the connection's.
// Source: RFC 9113 5.1, 5.1.1.
#pragma once

#include <cstdint>

namespace serval {

class StreamHistory {
 public:
  enum class Verdict : uint8_t {
    Fine,    // or not judged here: a server's stream numbers, old streams
    Ended,   // the peer had ended the stream: STREAM_CLOSED
    Skipped  // its number is below that of a later stream: PROTOCOL_ERROR
  };
  // Records HEADERS, which open a stream or end it.
  Verdict headers(int32_t stream, bool ends);
  // Records END_STREAM of DATA, or RST_STREAM.
  void ended(int32_t stream) { ended_ |= bit_of(stream) & opened_; }

  // The number of stream numbers remembered, counted back from the last one.
  static constexpr int32_t kRemembered = 64;

 private:
  // The bit of a stream; 0 = it is not remembered.
  uint64_t bit_of(int32_t stream) const;

  int32_t last_ = -1;
  uint64_t opened_ = 0, ended_ = 0;  // bit n: stream last_ - 2 n
};

}  // namespace serval
