// What a peer may do on one connection before it is told to calm down: frames that cost us and not
// him. Counts and clocks only; pure. Thread: the connection's.
#pragma once

#include <cstdint>

namespace serval {

// What came. Each has a limit of its own.
enum class Event : uint8_t {
  Settings,      // with acknowledgements
  Ping,          // not acknowledgements
  EmptyData,     // no bytes and no END_STREAM
  Continuation,  // of all header blocks
  WindowUpdate,
  Priority,
  Other,      // of unknown type
  PeerReset,  // RST_STREAM of a call that we had not answered
  Refused,    // a call that was answered with an error of the protocol (RST_STREAM of ours)
  Count
};

// For all events the same form: `burst` at once, and `per_second` more.
struct GuardLimit {
  uint32_t burst;
  uint32_t per_second;
};

class FrameGuard {
 public:
  FrameGuard();
  // Counts what came at `now_ns`. False: it was too much, the connection is to end
  // (ENHANCE_YOUR_CALM).
  bool allow(Event event, uint64_t now_ns);
  // A call was answered: gives back one of each event, so that clients that cancel now and then, or
  // send an odd frame with each call, never end, at whatever rates.
  void answered();
  static GuardLimit limit_of(Event event);
  static const char* name_of(Event event);

 private:
  struct Bucket {
    double tokens;
    uint64_t at_ns;
  };
  Bucket buckets_[static_cast<int>(Event::Count)];
};

}  // namespace serval
