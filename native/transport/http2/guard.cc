// See guard.h: the numbers, and why. Hot path.
#include "transport/http2/guard.h"

#include <algorithm>
#include <iterator>

namespace serval {

namespace {

// A limit is well above what any client does that means well, at 50,000 calls and 10 Gbit a second,
// and well below what a flood needs to hurt: the dearest of these frames take a microsecond or two
// here, so what a limit lets through for ever is a few per cent of one core. Whatever a client does
// once in a call is free (answered()): it pays with calls.
struct Named {
  const char* name;
  GuardLimit limit;
};

constexpr Named kEvents[] = {
    // A client sends one at the start and an acknowledgement of ours; gRPC's own change their
    // window while they measure the bandwidth, ten times or so. Each walks all streams of the
    // connection, 4096 of them in 50 us, and wants an answer (CVE-2019-9515).
    {"SETTINGS", {200, 50}},
    // grpc-go measures the bandwidth with a ping for each round trip while data flows: 20,000 a
    // second beside us. Those without data are keepalive.h's, and too many at three. The answers to
    // pings queue up where a client does not read (CVE-2019-9512): nghttp2 ends it at 1,000.
    {"PING", {10'000, 20'000}},
    // Costs us a look at the stream and the client 9 bytes (CVE-2019-9518). No client has a reason;
    // some write an empty buffer now and then.
    {"empty DATA", {1'000, 100}},
    // A header list that one frame does not hold (16 KiB) is rare; the whole list has a limit of
    // its
    // own, and nghttp2 ends a block of more than 8 (CVE-2024-27316).
    {"CONTINUATION", {1'000, 2'000}},
    // Who takes 10 Gbit a second from us in frames of 16 KiB and answers each with two (connection
    // and stream) sends 153,000; at 50,000 calls a second, each of a few messages, as many. One
    // takes 0.1 us.
    {"WINDOW_UPDATE", {100'000, 400'000}},
    // Nobody looks at priorities any more; old clients send a handful at the start, or one for a
    // call. Sorting the tree of streams again is the attack (CVE-2019-9513).
    {"PRIORITY", {1'000, 100}},
    // Frames of unknown types are allowed anywhere (RFC 9113 5.5): greasing sends a few.
    {"frames of unknown type", {1'000, 100}},
    // Rapid reset (CVE-2023-44487): calls that cost us their start and the client nothing, since
    // they do not count as open. A client that cancels all it has (4096 streams), and once more, is
    // well; so is one whose calls mostly run into their time limits, 1,000 a second, beside what
    // answered() gives back.
    {"RST_STREAM", {10'000, 1'000}},
    // The same with us resetting (CVE-2025-8671): a broken frame on each new stream. What is
    // refused because there are too many streams is in here too, and happens to a client that has
    // not read our SETTINGS yet.
    {"refused streams", {5'000, 100}},
};
static_assert(std::size(kEvents) == static_cast<size_t>(Event::Count));

const Named& named(Event event) { return kEvents[static_cast<size_t>(event)]; }

}  // namespace

FrameGuard::FrameGuard() {
  for (size_t i = 0; i < std::size(kEvents); ++i) buckets_[i] = {kEvents[i].limit.burst * 1.0, 0};
}

bool FrameGuard::allow(Event event, uint64_t now_ns) {
  const GuardLimit limit = named(event).limit;
  Bucket& bucket = buckets_[static_cast<size_t>(event)];
  if (now_ns > bucket.at_ns) {
    const double seconds = static_cast<double>(now_ns - bucket.at_ns) * 1e-9;
    bucket.tokens = std::min<double>(limit.burst, bucket.tokens + seconds * limit.per_second);
    bucket.at_ns = now_ns;
  }
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

void FrameGuard::answered() {
  for (size_t i = 0; i < std::size(kEvents); ++i) {
    buckets_[i].tokens = std::min<double>(kEvents[i].limit.burst, buckets_[i].tokens + 1);
  }
}

GuardLimit FrameGuard::limit_of(Event event) { return named(event).limit; }
const char* FrameGuard::name_of(Event event) { return named(event).name; }

}  // namespace serval
