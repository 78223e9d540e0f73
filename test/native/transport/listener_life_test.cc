// Lifetime of connections: drains, ages, idleness, keepalive, their number, and where they come
// from (unix sockets; encrypted).
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>
#include <thread>

#include "transport/listener.h"
#include "transport/support/echo_server.h"

namespace serval {
namespace {

using namespace serval::testing;
using std::string;

constexpr uint64_t kMs = 1'000'000;

std::future<uint64_t> drain(EchoServer& server, uint64_t ms) {
  auto cut = std::make_shared<std::promise<uint64_t>>();
  server.listener->drain(ms, [cut](uint64_t calls) { cut->set_value(calls); });
  return cut->get_future();
}

bool is_refused(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool refused = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0;
  char byte = 0;
  pollfd wait{fd, POLLIN, 0};
  // Connections in the kernel's queue are refused as well when the socket closes.
  if (!refused && ::poll(&wait, 1, 10'000) > 0) refused = ::recv(fd, &byte, 1, 0) <= 0;
  ::close(fd);
  return refused;
}

TEST(Drain, EndsAtOnceWhereNothingRuns) {
  TransportSettings settings;
  settings.threads = 3;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
  const uint16_t port = server.port();
  std::future<uint64_t> cut = drain(server, 60'000);
  EXPECT_EQ(client.ending(), kNoError);
  EXPECT_EQ(cut.get(), 0u);
  EXPECT_EQ(server.listener->connections(), 0u);
  EXPECT_TRUE(is_refused(port));
}

TEST(Drain, OfNobodyIsDone) {
  EchoServer server;
  EXPECT_EQ(drain(server, 60'000).get(), 0u);
}

TEST(Drain, LetsCallsFinish) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint32_t call = client.call("/t.T/Later", "late");
  const uint32_t stream = client.open("/t.T/Echo");
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::begun, 2));
  std::future<uint64_t> cut = drain(server, 60'000);
  while (!client.go_away.has_value()) ASSERT_TRUE(client.take().has_value());
  EXPECT_EQ(client.go_away, kNoError);
  EXPECT_EQ(server.journal.counts().draining, 2);
  client.send(data_frames(stream, grpc_message("still"), true));
  EXPECT_EQ(client.answer(stream).messages(), std::vector<string>{"still"});
  server.go_on();
  EXPECT_EQ(client.answer(call).messages(), std::vector<string>{"late"});
  client.ending();
  EXPECT_EQ(cut.get(), 0u);
  EXPECT_EQ(server.journal.counts().closed, 0);
}

TEST(Drain, CutsWhatDoesNotFinish) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint32_t hanging = client.call("/t.T/Hang", "m");
  const uint32_t stream = client.open("/t.T/Echo");
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::messages, 1));
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::begun, 2));
  std::future<uint64_t> cut = drain(server, 50);
  EXPECT_EQ(client.answer(hanging).status(), 14);
  EXPECT_EQ(client.answer(stream).status(), 14);
  client.ending();
  EXPECT_EQ(cut.get(), 2u);
  EXPECT_EQ(server.journal.counts().closed, 2);
  EXPECT_GE(server.journal.counts().cutting, 1);
}

// A client that reads nothing cannot delay a drain beyond its grace period.
TEST(Drain, IsNotHeldUpByAClientThatReadsNothing) {
  EchoServer server;
  RawClient client(server.port());
  client.auto_windows = false;
  client.begin({{kInitialWindow, 0}});
  client.call("/t.T/Unary", "m");
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::messages, 1));
  const uint64_t begin = now_ns();
  drain(server, 30'000).get();
  EXPECT_LT(now_ns() - begin, 20'000 * kMs);
}

constexpr uint32_t kAnyStream = 0x7fffffff;

void take_go_away(RawClient& client, size_t number) {
  while (client.last_streams.size() < number) ASSERT_TRUE(client.take().has_value());
}

// Source: gRPC's "Graceful Shutdown": grpc-go's http2_server.go, Core's chttp2_transport.cc.
TEST(Drain, SaysWhichCallWasTheLastWhenItsClientHasHeardOfIt) {
  EchoServer server;
  RawClient client(server.port());
  client.answers_pings = false;
  client.begin();
  const uint32_t late = client.call("/t.T/Later", "late");
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::messages, 1));
  std::future<uint64_t> cut = drain(server, 60'000);
  take_go_away(client, 1);
  std::optional<Frame> ping = client.take();
  ASSERT_TRUE(ping.has_value());
  ASSERT_EQ(ping->type, kPing);
  // Calls that it made before it received the GOAWAY; streams are notified at once.
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
  const uint32_t stream = client.open("/t.T/Echo");
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::draining, 3));
  client.send(ping_frame(ping->payload, true));
  take_go_away(client, 2);
  EXPECT_EQ(client.last_streams, (std::vector<uint32_t>{kAnyStream, stream}));
  const uint32_t ignored = client.call("/t.T/Unary", "m");
  client.send(data_frames(stream, grpc_message("still"), true));
  EXPECT_EQ(client.answer(stream).messages(), std::vector<string>{"still"});
  server.go_on();
  EXPECT_EQ(client.answer(late).messages(), std::vector<string>{"late"});
  client.ending();
  EXPECT_FALSE(client.streams[ignored].ended);
  EXPECT_EQ(cut.get(), 0u);
  EXPECT_EQ(server.journal.counts().begun, 3);
}

TEST(Drain, IsNotHeldUpByAClientThatAnswersNoPings) {
  EchoServer server;
  RawClient client(server.port());
  client.answers_pings = false;
  client.begin();
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
  const uint64_t begin = now_ns();
  EXPECT_EQ(drain(server, 30'000).get(), 0u);
  EXPECT_LT(now_ns() - begin, 20'000 * kMs);
  client.ending();
  EXPECT_EQ(client.last_streams.front(), kAnyStream);
}

// The client knows the fate of every call that was in transit.
TEST(Drain, LeavesNoCallInTheDark) {
  for (int round = 0; round < 20; ++round) {
    EchoServer server;
    RawClient client(server.port());
    client.begin();
    for (int i = 0; i < 100; ++i) client.call("/t.T/Unary", "m");
    std::future<uint64_t> cut = drain(server, 60'000);
    client.ending();
    EXPECT_EQ(cut.get(), 0u);
    EXPECT_EQ(client.streams.size(), 100u);
    for (const auto& [number, got] : client.streams) {
      EXPECT_EQ(got.status(), 0) << number << " of " << client.last_streams.back();
    }
  }
}

TEST(Listener, EndsWithCallsUnderWay) {
  std::unique_ptr<EchoServer> server = std::make_unique<EchoServer>();
  RawClient client(server->port());
  client.begin();
  client.call("/t.T/Hang", "m");
  client.open("/t.T/Paused");
  ASSERT_TRUE(server->journal.wait_for(&Journal::Counts::begun, 2));
  server->listener.reset();
  EXPECT_EQ(server->journal.counts().closed, 2);
  client.ending();
  EXPECT_EQ(server->budget->used(), 0u);
}

TEST(Age, RetiresAConnectionWhoseCallsFinish) {
  TransportSettings settings;
  settings.connection_age_ms_max = 50;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  const uint32_t call = client.call("/t.T/Later", "late");
  while (!client.go_away.has_value()) ASSERT_TRUE(client.take().has_value());
  EXPECT_EQ(client.go_away, kNoError);
  EXPECT_FALSE(client.streams[call].ended);
  server.go_on();
  EXPECT_EQ(client.answer(call).messages(), std::vector<string>{"late"});
  client.ending();
  EXPECT_EQ(client.last_streams, (std::vector<uint32_t>{kAnyStream, call}));
  EXPECT_TRUE(server.has_connections(0));
}

TEST(Age, WaitsForNoPingThatIsNotAnswered) {
  TransportSettings settings;
  settings.connection_age_ms_max = 20;
  settings.keepalive_timeout_ms = 30;
  EchoServer server(settings);
  RawClient client(server.port());
  client.answers_pings = false;
  client.begin();
  EXPECT_EQ(client.ending(), kNoError);
  EXPECT_EQ(client.last_streams, (std::vector<uint32_t>{kAnyStream, 0}));
}

// Streams on a connection that exceeded its age are also notified when the server stops.
TEST(Age, DoesNotKeepStreamsFromHearingOfADrain) {
  TransportSettings settings;
  settings.connection_age_ms_max = 20;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Echo");
  take_go_away(client, 2);
  EXPECT_EQ(server.journal.counts().draining, 0);
  std::future<uint64_t> cut = drain(server, 60'000);
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::draining, 1));
  client.send(data_frames(stream, grpc_message("still"), true));
  EXPECT_EQ(client.answer(stream).messages(), std::vector<string>{"still"});
  client.ending();
  EXPECT_EQ(cut.get(), 0u);
}

TEST(Age, CutsCallsAfterItsGrace) {
  TransportSettings settings;
  settings.connection_age_ms_max = 30;
  settings.connection_age_grace_ms = 30;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  const uint32_t call = client.call("/t.T/Hang", "m");
  client.ending();
  EXPECT_EQ(client.streams[call].status(), 14);
  EXPECT_TRUE(server.journal.wait_for(&Journal::Counts::closed, 1));
}

TEST(Idle, ConnectionsAreRetired) {
  TransportSettings settings;
  settings.connection_idle_ms_max = 50;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  EXPECT_EQ(client.ending(), kNoError);
  RawClient busy(server.port());
  busy.begin();
  const uint32_t call = busy.call("/t.T/Later", "late");
  RawClient other(server.port());
  other.begin();
  EXPECT_EQ(other.ending(), kNoError);  // the busy one would have ended by now
  EXPECT_FALSE(busy.go_away.has_value());
  server.go_on();
  EXPECT_EQ(busy.answer(call).status(), 0);
  EXPECT_EQ(busy.ending(), kNoError);
}

TEST(KeepalivePings, AreAnsweredByTheLiving) {
  TransportSettings settings;
  settings.keepalive_time_ms = 20;
  settings.keepalive_timeout_ms = 5'000;
  settings.keepalive_permit_without_calls = true;
  settings.pings_without_data_max = 0;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  while (client.pings < 5) ASSERT_TRUE(client.take().has_value());
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
}

TEST(KeepalivePings, FindOutThatAPeerIsGone) {
  TransportSettings settings;
  settings.keepalive_time_ms = 20;
  settings.keepalive_timeout_ms = 30;
  EchoServer server(settings);
  RawClient client(server.port());
  client.answers_pings = false;
  client.begin();
  client.call("/t.T/Hang", "m");
  client.ending();
  EXPECT_EQ(client.pings, 1u);
  EXPECT_TRUE(server.journal.wait_for(&Journal::Counts::closed, 1));
}

TEST(ClientsPings, AreAnsweredAndMayNotBeTooMany) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  client.send(ping_frame("question"));
  for (;;) {
    const std::optional<Frame> got = client.take();
    ASSERT_TRUE(got.has_value());
    if (got->type != kPing) continue;
    EXPECT_NE(got->flags & kAck, 0);
    EXPECT_EQ(got->payload, "question");
    break;
  }
  for (int i = 0; i < 3; ++i) client.send(ping_frame());
  EXPECT_EQ(client.ending(), kEnhanceYourCalm);
}

TEST(ClientsPings, AreForgivenWhileAnswersGo) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  for (int i = 0; i < 20; ++i) {
    for (int ping = 0; ping < 3; ++ping) client.send(ping_frame());
    ASSERT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0) << i;
  }
}

TEST(Connections, HaveANumber) {
  std::atomic<uint32_t> full{0};
  TransportEvents events;
  events.full = [&](uint32_t connections) { full = connections; };
  TransportSettings settings;
  settings.connections_max = 3;
  EchoServer server(settings, 1u << 30, events);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->begin();
  }
  EXPECT_EQ(server.listener->connections(), 3u);
  RawClient refused(server.port());
  refused.ending();
  while (full == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // reported last
  EXPECT_EQ(full, 3u);
  EXPECT_EQ(clients[0]->answer(clients[0]->call("/t.T/Unary", "m")).status(), 0);
  clients.pop_back();
  ASSERT_TRUE(server.has_connections(2));
  RawClient next(server.port());
  next.begin();
  EXPECT_EQ(next.answer(next.call("/t.T/Unary", "m")).status(), 0);
}

TEST(Handshake, HasATimeLimit) {
  TransportSettings settings;
  settings.handshake_ms_max = 50;
  EchoServer server(settings);
  RawClient silent(server.port()), half(server.port()), no_settings(server.port());
  half.send(kPreface.substr(0, 10));
  no_settings.send(kPreface);
  silent.ending();
  half.ending();
  no_settings.ending();
  EXPECT_TRUE(server.has_connections(0));
  RawClient client(server.port());
  client.begin();
  const uint32_t call = client.call("/t.T/Hang", "m", {{"grpc-timeout", "200m"}});
  EXPECT_EQ(client.answer(call).status(), 4);  // the limit did not apply to this one
}

TEST(UnixSocket, CarriesCallsBesideTcp) {
  char folder[] = "/tmp/serval-listener-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  TransportSettings settings;
  settings.unix_path = string(folder) + "/grpc.sock";
  settings.threads = 2;
  {
    EchoServer server(settings);
    RawClient tcp(server.port());
    tcp.begin();
    EXPECT_EQ(tcp.answer(tcp.call("/t.T/Unary", "m")).status(), 0);
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 10; ++i) {
      clients.push_back(std::make_unique<RawClient>(unix_socket(settings.unix_path)));
      clients.back()->begin();
      EXPECT_EQ(clients.back()->answer(clients.back()->call("/t.T/Unary", "m")).status(), 0);
    }
  }
  struct stat now {};
  EXPECT_NE(stat(settings.unix_path.c_str(), &now), 0) << "its file is still there";
  rmdir(folder);
}

TEST(Listener, SaysWhatIsWrongWithItsAddress) {
  TransportSettings settings;
  settings.host = "256.1.1.1";
  const auto started =
      TransportListener::start(settings, std::make_shared<MemoryBudget>(1u << 20), {},
                               [](CallThread&) { return std::unique_ptr<CallHandler>(); });
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(started.error().message.find("256.1.1.1"), string::npos) << started.error().message;
}

}  // namespace
}  // namespace serval
