// Limits how often a peer may send frames that cost us more than the peer before the connection
// ends with ENHANCE_YOUR_CALM. Counts and clocks only; pure. Thread: the connection's.
#pragma once

#include <cstdint>

namespace serval {

// The counted events. Each has its own limit.
enum class Event : uint8_t {
  Settings,      // including acknowledgements
  Ping,          // without acknowledgements
  EmptyData,     // no bytes and no END_STREAM
  Continuation,  // over all header blocks
  WindowUpdate,
  Priority,
  Other,      // unknown frame types
  PeerReset,  // RST_STREAM of a call that was not answered yet
  Refused,    // a call that we ended with RST_STREAM for a protocol error
  Count
};

// A token bucket for one event: `burst` at once, refilled with `per_second`.
struct FrameLimit {
  uint32_t burst;
  uint32_t per_second;
};

class FrameLimiter {
 public:
  FrameLimiter();
  // Counts an event at `now_ns`. False: too many; the connection has to end (ENHANCE_YOUR_CALM).
  bool allow(Event event, uint64_t now_ns);
  // A call was answered: returns one token of each event, so that clients that cancel now and then,
  // or send an odd frame with each call, are never cut off, at any rate.
  void answered();
  static FrameLimit limit_of(Event event);
  static const char* name_of(Event event);

 private:
  struct Bucket {
    double tokens;
    uint64_t at_ns;
  };
  Bucket buckets_[static_cast<int>(Event::Count)];
};

}  // namespace serval
