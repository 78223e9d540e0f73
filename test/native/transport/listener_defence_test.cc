// Attacks on the listener: floods of frames that cost us more than the client, header bombs, frames
// that break the protocol, arbitrary bytes. The attacker's connection ends, other connections do
// not, and healthy clients are still served.
#include <gtest/gtest.h>

#include <random>

#include "transport/http2/frame_limiter.h"
#include "transport/listener.h"
#include "transport/support/echo_server.h"

namespace serval {
namespace {

using namespace serval::testing;
using std::string;

constexpr uint32_t kFrameSizeError = 6;

TransportSettings without_strikes() {
  TransportSettings settings;
  settings.ping_strikes_max = 0;
  return settings;
}

// Stops the clock: a flood's limits do not grow during it, however slowly it arrives.
TransportSettings with_time_held() {
  TransportSettings settings = without_strikes();
  settings.clock = [] {
    static const uint64_t at_ns = now_ns();
    return at_ns;
  };
  return settings;
}

bool serves(const EchoServer& server) {
  RawClient client(server.port());
  client.begin();
  return client.answer(client.call("/t.T/Unary", "m")).status() == 0;
}

// Expects ENHANCE_YOUR_CALM, unless the client cannot receive it: a GOAWAY is lost if not all bytes
// of the client were read.
void expect_calmed(RawClient& client) {
  const std::optional<uint32_t> code = client.ending();
  EXPECT_TRUE(!code.has_value() || code == kEnhanceYourCalm) << *code;
}

// Sends `bytes` repeatedly, up to `times`. False: the server no longer reads.
bool flood(RawClient& client, const string& bytes, uint32_t times) {
  constexpr uint32_t kAtOnce = 100;
  string many;
  for (uint32_t i = 0; i < kAtOnce; ++i) many += bytes;
  for (uint32_t sent = 0; sent < times; sent += kAtOnce) {
    if (!client.send(many)) return false;
    while (client.take(0).has_value()) continue;
    if (client.ended()) return false;
  }
  return true;
}

TEST(Flood, OfFramesThatDoNothingEndsItsConnection) {
  const std::pair<Event, string> kinds[] = {
      {Event::Settings, settings_frame()},
      {Event::Ping, ping_frame()},
      {Event::Priority, frame(kPriority, 0, 1, big_endian(0, 4) + "\x10")},
      {Event::Other, frame(0xbe, 0, 0, "")},
  };
  EchoServer server(with_time_held());
  for (const auto& [event, bytes] : kinds) {
    RawClient client(server.port());
    client.begin();
    const FrameLimit limit = FrameLimiter::limit_of(event);
    ASSERT_TRUE(flood(client, bytes, limit.burst / 2));
    EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0)
        << FrameLimiter::name_of(event);
    flood(client, bytes, limit.burst);
    expect_calmed(client);
    EXPECT_TRUE(serves(server)) << FrameLimiter::name_of(event);
  }
}

TEST(Flood, OfEmptyDataEndsItsConnection) {
  EchoServer server(with_time_held());
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Collect");
  flood(client, frame(kData, 0, stream, ""), 2 * FrameLimiter::limit_of(Event::EmptyData).burst);
  expect_calmed(client);
  EXPECT_TRUE(server.journal.wait_for(&Journal::Counts::closed, 1));
  EXPECT_TRUE(serves(server));
}

// CVE-2024-27316: an endless header block, empty or large.
TEST(Flood, OfContinuationsEndsItsConnection) {
  EchoServer server(with_time_held());
  for (const size_t bytes : {0u, 1u, 16'000u}) {
    RawClient client(server.port());
    client.begin();
    client.send(frame(kHeaders, 0, 1, hpack(call_headers("/t.T/Unary"))));
    const string header = bytes < 2 ? string() : hpack({{"x", string(bytes, 'x')}});
    // A single byte: empty names and values, three of which form a header.
    flood(client, frame(kContinuation, 0, 1, bytes == 1 ? string(1, '\0') : header),
          5 * FrameLimiter::limit_of(Event::Continuation).burst);
    client.ending();
    EXPECT_EQ(server.journal.counts().begun, 0);
  }
  EXPECT_TRUE(serves(server));
}

// CVE-2023-44487.
TEST(Flood, OfCallsThatAreResetEndsItsConnection) {
  EchoServer server(with_time_held());
  RawClient client(server.port());
  client.begin();
  const string head = hpack(call_headers("/t.T/Hang"));
  uint32_t stream = 1;
  for (bool listens = true; listens && stream < 200'000;) {
    string many;
    for (int i = 0; i < 100; ++i, stream += 2) {
      many += frame(kHeaders, kEndHeaders, stream, head) + reset_frame(stream);
    }
    listens = client.send(many);
    while (client.take(0).has_value()) continue;
    listens = listens && !client.ended();
  }
  expect_calmed(client);
  const int burst = static_cast<int>(FrameLimiter::limit_of(Event::PeerReset).burst);
  const Journal::Counts counts = server.journal.counts();
  EXPECT_EQ(counts.begun, burst + 1);
  EXPECT_EQ(counts.closed, counts.begun);
  EXPECT_TRUE(serves(server));
}

// CVE-2025-8671: an invalid frame makes us reset the call.
TEST(Flood, OfCallsThatWeHaveToResetEndsItsConnection) {
  EchoServer server(with_time_held());
  RawClient client(server.port());
  client.begin();
  const string head = hpack(call_headers("/t.T/Hang"));
  uint32_t stream = 1;
  for (bool listens = true; listens && stream < 200'000;) {
    string many;
    for (int i = 0; i < 100; ++i, stream += 2) {
      many += frame(kHeaders, kEndHeaders, stream, head) + window_update(stream, 0x7fffffff);
    }
    // One at a time: a stream counts as open until its reset was sent.
    listens = client.send(many);
    while (listens && !client.streams[stream - 2].reset.has_value()) {
      listens = client.take().has_value();
    }
  }
  expect_calmed(client);
  EXPECT_EQ(server.journal.counts().begun,
            static_cast<int>(FrameLimiter::limit_of(Event::Refused).burst) + 1);
  EXPECT_TRUE(serves(server));
}

TEST(HealthyClient, MayCancelAllItsCallsAtOnce) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  for (int round = 0; round < 2; ++round) {
    std::vector<uint32_t> streams;
    for (int i = 0; i < 4'000; ++i) streams.push_back(client.call("/t.T/Hang", "m"));
    ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::messages, 4'000 * (round + 1)));
    for (const uint32_t stream : streams) client.send(reset_frame(stream));
    ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::closed, 4'000 * (round + 1)));
  }
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
}

TEST(HealthyClient, MayCancelSomeOfItsCallsForEver) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  uint32_t last = 0;
  for (int call = 0; call < 30'000; ++call) {
    last = client.call("/t.T/Unary", "m");
    if (call % 3 == 0) client.send(reset_frame(client.call("/t.T/Hang", "m")));
    if (call % 100 != 99) continue;
    ASSERT_EQ(client.answer(last).status(), 0) << call;
  }
}

// A client that has not read our SETTINGS yet cannot know the limit.
TEST(Streams, BeyondTheirNumberAreRefusedAndMayComeAgain) {
  TransportSettings settings;
  settings.concurrent_streams_max = 10;
  EchoServer server(settings);
  RawClient client(server.port());
  string bytes = string(kPreface) + settings_frame();
  for (uint32_t stream = 1; stream < 25; stream += 2) {
    bytes += headers_frame(stream, call_headers("/t.T/Later")) +
             data_frames(stream, grpc_message("m"), true);
  }
  client.send(bytes);
  EXPECT_EQ(client.answer(21).reset, kRefusedStream);
  EXPECT_EQ(client.answer(23).reset, kRefusedStream);
  server.go_on();
  for (uint32_t stream = 1; stream < 21; stream += 2) {
    EXPECT_EQ(client.answer(stream).status(), 0) << stream;
  }
  client.send(headers_frame(25, call_headers("/t.T/Unary")) +
              data_frames(25, grpc_message("m"), true));
  EXPECT_EQ(client.answer(25).status(), 0);
}

// A client that has acknowledged them knows the limit.
TEST(Streams, BeyondTheirNumberEndTheConnectionOfWhoKnows) {
  TransportSettings settings;
  settings.concurrent_streams_max = 10;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  for (int i = 0; i < 11; ++i) client.open("/t.T/Hang");
  EXPECT_EQ(client.ending(), kProtocolError);
  EXPECT_TRUE(server.journal.wait_for(&Journal::Counts::closed, 10));
  EXPECT_TRUE(serves(server));
}

TEST(Headers, BeyondTheirLimitEndTheCallOrTheConnection) {
  EchoServer server;
  {
    RawClient client(server.port());
    client.begin();
    const auto status_of = [&](const HeaderList& more) {
      const string block = hpack(call_headers("/t.T/Unary", more));
      static uint32_t stream = 1;
      string bytes = frame(kHeaders, 0, stream, block.substr(0, kFrameBytesMax));
      for (size_t at = kFrameBytesMax; at < block.size(); at += kFrameBytesMax) {
        bytes += frame(kContinuation, 0, stream, block.substr(at, kFrameBytesMax));
      }
      bytes += frame(kContinuation, kEndHeaders, stream, "");
      client.send(bytes + data_frames(stream, grpc_message("m"), true));
      const int status = client.answer(stream).status();
      stream += 2;
      return status;
    };
    EXPECT_EQ(status_of({{"x", string(10, 'x')}}), 0);
    EXPECT_EQ(status_of({{"a", string(30'000, 'x')}, {"b", string(30'000, 'x')}}), 0);
    EXPECT_EQ(status_of({{"a", string(35'000, 'x')}, {"b", string(35'000, 'x')}}), 8);
    // Each header counts 32 bytes more than its size. Source: RFC 9113 6.5.2.
    EXPECT_EQ(status_of(HeaderList(1'800, {"x", "1"})), 0);
    EXPECT_EQ(status_of(HeaderList(2'100, {"x", "1"})), 8);
    EXPECT_EQ(status_of({{"x", "1"}}), 0);
  }
  // A bomb: one entry of 4,000 bytes in the table, referenced repeatedly with one byte each.
  RawClient client(server.port());
  client.begin();
  const string entry =
      "\x40" + hpack_integer(0, 7, 1) + "b" + hpack_integer(0, 7, 4'000) + string(4'000, 'b');
  client.send(frame(kHeaders, kEndHeaders, 1,
                    hpack(call_headers("/t.T/Unary")) + entry + string(10'000, '\xbe')));
  expect_calmed(client);
  EXPECT_TRUE(serves(server));
}

TEST(BrokenFrame, EndsItsConnectionWithAReason) {
  const string head = hpack(call_headers("/t.T/Hang"));
  struct Case {
    const char* what;
    string bytes;
    uint32_t code;
  };
  const Case cases[] = {
      {"a frame of 16,385 bytes", frame(kData, 0, 1, string(16'385, 'x')), kFrameSizeError},
      {"DATA of no stream", frame(kData, 0, 0, "x"), kProtocolError},
      {"DATA of a stream that was not opened", frame(kData, 0, 5, "x"), kProtocolError},
      {"HEADERS of no stream", frame(kHeaders, kEndHeaders, 0, head), kProtocolError},
      {"HEADERS of a server's stream", frame(kHeaders, kEndHeaders, 2, head), kProtocolError},
      {"SETTINGS of a stream", frame(kSettings, 0, 1, ""), kProtocolError},
      {"SETTINGS of five bytes", frame(kSettings, 0, 0, "12345"), kFrameSizeError},
      {"an acknowledgement with entries", frame(kSettings, kAck, 0, "123456"), kFrameSizeError},
      {"a window of 2 GiB", settings_frame({{kInitialWindow, 0x80000000u}}), kFlowControlError},
      {"PING of seven bytes", frame(kPing, 0, 0, "1234567"), kFrameSizeError},
      {"PING of a stream", frame(kPing, 0, 1, "12345678"), kProtocolError},
      {"RST_STREAM of three bytes", frame(kReset, 0, 1, "123"), kFrameSizeError},
      {"RST_STREAM of a stream that was not opened", reset_frame(5), kProtocolError},
      {"HEADERS of a number below the last one",
       frame(kHeaders, kEndHeaders, 5, head) + frame(kHeaders, kEndHeaders, 3, head),
       kProtocolError},
      {"DATA behind END_STREAM",
       frame(kHeaders, kEndHeaders | kEndStream, 1, head) + frame(kData, 0, 1, "x"), kStreamClosed},
      {"HEADERS behind RST_STREAM",
       frame(kHeaders, kEndHeaders, 1, head) + reset_frame(1) +
           frame(kHeaders, kEndHeaders | kEndStream, 1, head),
       kStreamClosed},
      {"PRIORITY of no stream", frame(kPriority, 0, 0, string(5, '\0')), kProtocolError},
      {"an update of nothing", window_update(0, 0), kProtocolError},
      {"PUSH_PROMISE", frame(kPushPromise, kEndHeaders, 1, big_endian(2, 4) + head),
       kProtocolError},
      {"CONTINUATION of nothing", frame(kContinuation, kEndHeaders, 1, head), kProtocolError},
      {"another frame within a header block", frame(kHeaders, 0, 1, head) + ping_frame(),
       kProtocolError},
      {"more padding than there is",
       frame(kHeaders, kEndHeaders | kPadded, 1,
             "\x20"
             "x"),
       kProtocolError},
      {"headers that are no HPACK", frame(kHeaders, kEndHeaders, 1, string(10, '\xff')),
       kCompressionError},
      {"an index that is not there", frame(kHeaders, kEndHeaders, 1, "\xff\x80\x01"),
       kCompressionError},
  };
  EchoServer server;
  for (const Case& one : cases) {
    RawClient client(server.port());
    client.begin();
    client.send(one.bytes);
    EXPECT_EQ(client.ending(), one.code) << one.what;
  }
  EXPECT_TRUE(serves(server));
  EXPECT_EQ(server.journal.counts().messages, 1);
}

// The same after the response, when its stream is closed, too. libnghttp2 ignores DATA then.
TEST(BrokenFrame, MayComeBehindItsCallsAnswer) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  ASSERT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
  client.send(frame(kData, 0, 1, "x"));
  ASSERT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
  client.send(headers_frame(1, call_headers("/t.T/Unary"), true));
  EXPECT_EQ(client.ending(), kStreamClosed);
}

// A client that has not yet received the end of its call is healthy.
TEST(LateFrames, OfACallThatEndedEarlyAreTaken) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Early");
  client.send(data_frames(stream, grpc_message("m"), false));
  EXPECT_EQ(client.answer(stream).status(), 5);
  ASSERT_TRUE(client.sync());  // its stream is reset by now
  client.send(data_frames(stream, grpc_message("more"), false));
  client.send(headers_frame(stream, {{"trailer", "x"}}, true));
  client.send(reset_frame(stream));
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
  EXPECT_FALSE(client.go_away.has_value());
}

TEST(NoHttp2, EndsItsConnection) {
  EchoServer server;
  const string kinds[] = {
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
      string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + string(500, 'x'),
      string(100'000, '\0'),
      string(kPreface) + ping_frame(),  // SETTINGS must come first
  };
  for (const string& bytes : kinds) {
    RawClient client(server.port());
    client.send(bytes);
    client.ending();
  }
  EXPECT_TRUE(server.has_connections(0));
  EXPECT_TRUE(serves(server));
}

// Valid traffic with a few bytes damaged, cut and doubled: some of it is understood, some not.
TEST(SpoiltTraffic, HarmsNobody) {
  TransportSettings settings = without_strikes();
  settings.compression_level = 1;
  EchoServer server(settings);
  std::mt19937 random(9);
  string good = string(kPreface) + settings_frame({{kInitialWindow, 1'000}});
  uint32_t stream = 1;
  for (const char* path : {"/t.T/Unary", "/t.T/Echo", "/t.T/Push", "/t.T/Paused", "/t.T/Collect",
                           "/t.T/Later", "/t.T/Early", "/t.T/Status", "/t.T/Flood"}) {
    good += headers_frame(stream, call_headers(path, {{"grpc-timeout", "100m"},
                                                      {"grpc-encoding", "gzip"},
                                                      {"grpc-accept-encoding", "gzip"},
                                                      {"x-a-bin", "AAAA"}}));
    good += data_frames(stream, grpc_message("9 1000"), false, 7);
    good += window_update(stream, 100) + ping_frame();
    good += stream % 4 == 1 ? data_frames(stream, grpc_message("x"), true) : reset_frame(stream);
    stream += 2;
  }
  for (int round = 0; round < 400; ++round) {
    string bytes = good;
    for (uint64_t n = random() % 8; n > 0; --n) {
      bytes[24 + random() % (bytes.size() - 24)] = static_cast<char>(random());
    }
    if (random() % 3 == 0) bytes.resize(random() % bytes.size());
    if (random() % 3 == 0) bytes += bytes.substr(24 + random() % (bytes.size() / 2 + 1));
    RawClient client(server.port());
    for (size_t at = 0; at < bytes.size();) {
      const size_t part = 1 + random() % 2'000;
      if (!client.send(std::string_view(bytes).substr(at, part))) break;
      at += part;
    }
    while (client.take(0).has_value()) continue;
    if (round % 4 == 0) server.go_on();
  }
  EXPECT_TRUE(serves(server));
  ASSERT_TRUE(server.has_connections(0));
  server.listener.reset();
  EXPECT_EQ(server.budget->used(), 0u);
}

}  // namespace
}  // namespace serval
