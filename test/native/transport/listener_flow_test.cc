// Flow control and memory: clients that do not read, that send endlessly, that open no windows. In
// every case the listener holds little memory for them, and others are served.
#include <gtest/gtest.h>

#include <algorithm>

#include "transport/listener.h"
#include "transport/support/echo_server.h"

namespace serval {
namespace {

using namespace serval::testing;
using std::string;

// Settings for clients that use pings to sync(); the limits on pings are not tested here.
TransportSettings patient() {
  TransportSettings settings;
  settings.ping_strikes_max = 0;
  return settings;
}

bool still_serves(const EchoServer& server) {
  RawClient client(server.port());
  client.begin();
  return client.answer(client.call("/t.T/Unary", "m")).status() == 0;
}

TEST(Window, OfAStreamHoldsBackItsAnswers) {
  EchoServer server(patient());
  RawClient client(server.port());
  client.auto_windows = false;
  client.begin();
  client.send(window_update(0, 10'000'000));
  const uint32_t stream = client.call("/t.T/Push", "100 50000");
  StreamAnswer& got = client.streams[stream];
  while (got.data.size() < 65'535) ASSERT_TRUE(client.take().has_value());
  ASSERT_TRUE(client.sync());
  EXPECT_EQ(got.data.size(), 65'535u);
  // Two of the hundred were sent, whatever else the handler would send.
  EXPECT_LE(server.journal.counts().left, 2);
  EXPECT_LT(server.budget->used(), 2'000'000u);
  // Another stream has its own window.
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
  for (uint32_t more = 1; more < 70'000; more *= 3) {
    const size_t before = got.data.size();
    client.send(window_update(stream, more));
    while (got.data.size() < before + more) ASSERT_TRUE(client.take().has_value());
    EXPECT_EQ(got.data.size(), before + more);
  }
  client.send(window_update(stream, 10'000'000));
  EXPECT_EQ(client.answer(stream).messages().size(), 100u);
  EXPECT_EQ(got.status(), 0);
}

TEST(Window, OfTheConnectionIsSharedByItsStreams) {
  EchoServer server(patient());
  RawClient client(server.port());
  client.auto_windows = false;
  client.begin({{kInitialWindow, 1u << 24}});
  const uint32_t one = client.call("/t.T/Push", "20 10000");
  const uint32_t two = client.call("/t.T/Push", "20 10000");
  const auto bytes = [&] {
    return client.streams[one].data.size() + client.streams[two].data.size();
  };
  while (bytes() < 65'535) ASSERT_TRUE(client.take().has_value());
  ASSERT_TRUE(client.sync());
  EXPECT_EQ(bytes(), 65'535u);
  client.send(window_update(0, 10'000'000));
  EXPECT_EQ(client.answer(one).messages().size(), 20u);
  EXPECT_EQ(client.answer(two).messages().size(), 20u);
}

TEST(Window, OfZeroOpensWithTheClientsSettings) {
  EchoServer server(patient());
  RawClient client(server.port());
  client.auto_windows = false;
  client.begin({{kInitialWindow, 0}});
  const uint32_t unary = client.call("/t.T/Unary", "text");
  const uint32_t status = client.call("/t.T/Status", "7 no");
  // A response without a message needs no window.
  EXPECT_EQ(client.answer(status).status(), 7);
  ASSERT_TRUE(client.sync());
  EXPECT_EQ(client.streams[unary].data, "");
  client.send(settings_frame({{kInitialWindow, 3}}));
  while (client.streams[unary].data.size() < 3) ASSERT_TRUE(client.take().has_value());
  // The window goes below zero and up again. Source: RFC 9113 6.9.2.
  client.send(settings_frame({{kInitialWindow, 0}}));
  client.send(window_update(unary, 2));
  ASSERT_TRUE(client.sync());
  EXPECT_EQ(client.streams[unary].data.size(), 3u);
  client.send(settings_frame({{kInitialWindow, 100}}));
  EXPECT_EQ(client.answer(unary).messages(), std::vector<string>{"text"});
  EXPECT_EQ(client.streams[unary].status(), 0);
}

TEST(Window, ThatGrowsTooFarEndsItsStreamOrConnection) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.call("/t.T/Hang", "m");
  client.send(window_update(stream, 0x7fffffff));
  EXPECT_EQ(client.answer(stream).reset, kFlowControlError);
  client.send(window_update(0, 0x7fffffff));
  EXPECT_EQ(client.ending(), kFlowControlError);
  EXPECT_TRUE(still_serves(server));
}

// A client that respects the windows gets updates as its message arrives.
TEST(Window, OfTheServerFollowsALongMessage) {
  TransportSettings settings = patient();
  settings.stream_window_bytes = 100'000;
  settings.connection_window_bytes = 100'000;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Collect");
  const string all = grpc_message(string(3'000'000, 'x'));
  // A connection has a window of 65,535 until its first update.
  int64_t stream_credit = 100'000, credit = 65'535;
  for (size_t at = 0; at < all.size();) {
    const size_t part = std::min<size_t>(10'000, all.size() - at);
    while (std::min(credit, stream_credit) < static_cast<int64_t>(part)) {
      const std::optional<Frame> got = client.take();
      ASSERT_TRUE(got.has_value()) << "no window at " << at;
      if (got->type != kWindowUpdate) continue;
      (got->stream == 0 ? credit : stream_credit) += read_u32(got->payload);
    }
    client.send(frame(kData, at + part == all.size() ? kEndStream : 0, stream,
                      std::string_view(all).substr(at, part)));
    at += part;
    credit -= static_cast<int64_t>(part);
    stream_credit -= static_cast<int64_t>(part);
  }
  EXPECT_EQ(client.answer(stream).messages(), std::vector<string>{"3000000"});
}

TEST(PausedStream, HoldsBackItsClientAndNobodyElse) {
  TransportSettings settings = patient();
  settings.stream_window_bytes = 100'000;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Paused");
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::begun, 1));
  for (int i = 0; i < 10; ++i) {
    client.send(
        data_frames(stream, grpc_message(string(9'995, static_cast<char>('a' + i))), false));
  }
  ASSERT_TRUE(client.sync());
  EXPECT_EQ(server.journal.counts().messages, 0);
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", string(90'000, 'u'))).status(), 0);
  server.go_on();
  EXPECT_EQ(client.messages(stream, 10).size(), 10u);
  client.send(data_frames(stream, grpc_message("last"), true));
  const StreamAnswer& got = client.answer(stream);
  EXPECT_EQ(got.messages().back(), "last");
  EXPECT_EQ(got.status(), 0);
}

TEST(PausedStream, ThatIsSentMoreThanItsWindowEnds) {
  TransportSettings settings = patient();
  settings.stream_window_bytes = 100'000;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Paused");
  client.send(data_frames(stream, grpc_message(string(150'000, 'x')), false));
  while (client.take().has_value() && !client.streams[stream].reset.has_value()) continue;
  const bool calm =
      client.go_away == kFlowControlError || client.streams[stream].reset == kFlowControlError;
  EXPECT_TRUE(calm);
  EXPECT_TRUE(server.journal.wait_for(&Journal::Counts::closed, 1));
  EXPECT_TRUE(still_serves(server));
}

TEST(PausedStream, EndsWithItsClientOrItsDeadline) {
  EchoServer server(patient());
  RawClient client(server.port());
  client.begin();
  const uint32_t late = client.open("/t.T/Paused", {{"grpc-timeout", "30m"}});
  client.send(data_frames(late, grpc_message(string(5'000, 'x')), true));
  EXPECT_EQ(client.answer(late).status(), 4);
  const uint32_t stream = client.open("/t.T/Paused");
  client.send(data_frames(stream, grpc_message(string(5'000, 'x')), true));
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::begun, 2));
  client.send(reset_frame(stream));
  EXPECT_TRUE(server.journal.wait_for(&Journal::Counts::closed, 2));
  EXPECT_EQ(server.journal.counts().messages, 0);
}

// Endless calls from a client that reads nothing: the server stops reading from it.
TEST(SilentReader, IsNotReadFromAnyMore) {
  EchoServer server(patient());
  RawClient client(server.port());
  client.begin({{kInitialWindow, 1u << 30}});
  string bytes;
  size_t sent = 0;
  uint32_t calls = 0;
  constexpr size_t kTooMany = 256u << 20;
  while (sent < kTooMany) {
    if (bytes.empty()) {
      const uint32_t stream = 2 * calls++ + 1;
      bytes = headers_frame(stream, call_headers("/t.T/Unary")) +
              data_frames(stream, grpc_message(string(10'000, 'x')), true);
    }
    pollfd wait{client.fd(), POLLOUT, 0};
    if (::poll(&wait, 1, 500) == 0) break;
    const size_t count = client.send_some(bytes);
    bytes.erase(0, count);
    sent += count;
  }
  EXPECT_LT(sent, kTooMany);
  EXPECT_LT(server.budget->used(), 64u << 20);
  EXPECT_TRUE(still_serves(server));
  // When it reads at last, all calls are answered.
  while (!bytes.empty()) {
    bytes.erase(0, client.send_some(bytes));
    ASSERT_TRUE(client.take().has_value());
  }
  EXPECT_EQ(client.answer(2 * calls - 1).status(), 0);
  EXPECT_EQ(server.journal.counts().closed, 0);
}

TEST(SilentReader, GetsNoMoreThanTheBudgetHolds) {
  EchoServer server(patient(), 20'000'000);
  {
    RawClient client(server.port());
    client.auto_windows = false;
    client.begin({{kInitialWindow, 0}});
    const uint32_t stream = client.call("/t.T/Flood", "100 1000000");
    ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::refused_sends, 1));
    EXPECT_EQ(server.journal.counts().closed, 1);
    const StreamAnswer& got = client.answer(stream);
    EXPECT_TRUE(got.reset == kEnhanceYourCalm || got.status() == 8);
    EXPECT_TRUE(still_serves(server));
  }
  ASSERT_TRUE(server.has_connections(0));
  server.listener.reset();
  EXPECT_EQ(server.budget->used(), 0u);
}

TEST(SilentReader, IsRefusedWhileAnswersWaitBeyondTheLimit) {
  TransportSettings settings = patient();
  settings.unsent_bytes_max = 1'000'000;
  EchoServer server(settings);
  RawClient client(server.port());
  client.auto_windows = false;
  client.begin({{kInitialWindow, 0}});
  const uint32_t stream = client.call("/t.T/Flood", "20 100000");
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::messages, 1));
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 8);
  EXPECT_TRUE(still_serves(server));  // clients that read are answered
  client.send(reset_frame(stream));
  client.send(settings_frame({{kInitialWindow, 65'535}}));
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
}

// A client that gets a GOAWAY and does not read it: earlier data fills its socket.
TEST(SilentReader, IsNotWaitedForAtItsEnd) {
  TransportSettings settings;
  settings.ping_strikes_max = 1;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin({{kInitialWindow, 1u << 30}});
  // Sent in one piece, because nothing is read after its socket is full.
  client.send(headers_frame(1, call_headers("/t.T/Flood")) +
              data_frames(1, grpc_message("100 1000000"), true) + ping_frame() + ping_frame() +
              ping_frame());
  EXPECT_TRUE(server.journal.wait_for(&Journal::Counts::messages, 1));
  EXPECT_TRUE(server.has_connections(0));
  EXPECT_TRUE(still_serves(server));
}

// Half a message without the rest holds memory of at most one message, within the budget.
TEST(Message, BeyondTheBudgetIsRefusedBeforeItComes) {
  EchoServer server(patient(), 10'000'000);
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Collect");
  client.send(frame(kData, 0, stream, '\0' + big_endian(100'000'000, 4) + "x"));
  EXPECT_EQ(client.answer(stream).status(), 8);
  // Several messages that fit alone but not together: the first ones continue.
  std::vector<uint32_t> streams;
  for (int i = 0; i < 8; ++i) {
    streams.push_back(client.open("/t.T/Collect"));
    client.send(frame(kData, 0, streams.back(), '\0' + big_endian(3'000'000, 4) + "x"));
  }
  const auto refused = [&] {
    return std::count_if(streams.begin(), streams.end(),
                         [&](uint32_t each) { return client.streams[each].ended; });
  };
  while (refused() < 5) ASSERT_TRUE(client.take().has_value());
  ASSERT_TRUE(client.sync());
  EXPECT_EQ(refused(), 5);
  EXPECT_TRUE(still_serves(server));
  client.send(data_frames(streams[0], string(2'999'999, 'x'), true));
  EXPECT_EQ(client.answer(streams[0]).messages(), std::vector<string>{"3000000"});
}

// Empty messages cost five bytes each to send; a great many in one frame are accepted one by one.
TEST(Message, OfNoBytesMayComeManyTimes) {
  EchoServer server(patient());
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Collect");
  string many;
  for (int i = 0; i < 20'000; ++i) many += grpc_message("");
  client.send(data_frames(stream, many, true));
  EXPECT_EQ(client.answer(stream).messages(), std::vector<string>{"0"});
  EXPECT_EQ(server.journal.counts().messages, 20'000);
}

}  // namespace
}  // namespace serval
