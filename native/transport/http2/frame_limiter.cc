// The limits of frame_limiter.h, with their reasons. Hot path.
#include "transport/http2/frame_limiter.h"

#include <algorithm>
#include <iterator>

namespace serval {

namespace {

// Each limit is well above what any honest client does at 50,000 calls and 10 Gbit a second, and
// well below what a flood needs to hurt: the most expensive of these frames takes a microsecond or
// two here, so a peer that stays just below a limit costs a few per cent of one core. Actions that
// a client does once per call are free (answered()): it pays for them with calls.
struct Named {
  const char* name;
  FrameLimit limit;
};

constexpr Named kEvents[] = {
    // A client sends one at the start and one acknowledgement of ours; gRPC clients change their
    // window about ten times while they measure the bandwidth. Each frame walks all streams of the
    // connection, 4096 of them in 50 us, and has to be acknowledged (CVE-2019-9515).
    {"SETTINGS", {200, 50}},
    // grpc-go measures the bandwidth with a ping for each round trip while data flows: 20,000 a
    // second from the same machine. Pings without data are limited by keepalive.h to three. The
    // acknowledgements queue up if a client does not read (CVE-2019-9512): nghttp2 ends the
    // connection at 1,000.
    {"PING", {10'000, 20'000}},
    // Costs us a stream lookup and the client 9 bytes (CVE-2019-9518). No client needs it; some
    // write an empty buffer now and then.
    {"empty DATA", {1'000, 100}},
    // A header list that does not fit one frame (16 KiB) is rare; the whole list has its own limit,
    // and nghttp2 ends a block of more than 8 (CVE-2024-27316).
    {"CONTINUATION", {1'000, 2'000}},
    // A client that receives 10 Gbit a second in frames of 16 KiB and answers each with two updates
    // (connection and stream) sends 153,000; 50,000 calls a second of a few messages each need as
    // many. One takes 0.1 us.
    {"WINDOW_UPDATE", {100'000, 400'000}},
    // Priorities are obsolete; old clients send a handful at the start, or one per call. Re-sorting
    // the tree of streams is the attack (CVE-2019-9513).
    {"PRIORITY", {1'000, 100}},
    // Frames of unknown types are allowed anywhere (RFC 9113 5.5): greasing sends a few.
    {"frames of unknown type", {1'000, 100}},
    // Rapid reset (CVE-2023-44487): calls that cost us their start and the client nothing, since
    // they do not count as open. The limit allows a client to cancel all it has (4096 streams)
    // twice, or to have 1,000 calls a second run into their time limits, besides what answered()
    // returns.
    {"RST_STREAM", {10'000, 1'000}},
    // The same attack through our resets (CVE-2025-8671): a broken frame on each new stream.
    // Streams refused because there are too many count here too; that happens to a client that has
    // not read our SETTINGS yet.
    {"refused streams", {5'000, 100}},
};
static_assert(std::size(kEvents) == static_cast<size_t>(Event::Count));

const Named& named(Event event) { return kEvents[static_cast<size_t>(event)]; }

}  // namespace

FrameLimiter::FrameLimiter() {
  for (size_t i = 0; i < std::size(kEvents); ++i) buckets_[i] = {kEvents[i].limit.burst * 1.0, 0};
}

bool FrameLimiter::allow(Event event, uint64_t now_ns) {
  const FrameLimit limit = named(event).limit;
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

void FrameLimiter::answered() {
  for (size_t i = 0; i < std::size(kEvents); ++i) {
    buckets_[i].tokens = std::min<double>(kEvents[i].limit.burst, buckets_[i].tokens + 1);
  }
}

FrameLimit FrameLimiter::limit_of(Event event) { return named(event).limit; }
const char* FrameLimiter::name_of(Event event) { return named(event).name; }

}  // namespace serval
