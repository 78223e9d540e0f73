// The load client against the native gRPC listener: calls, streams, errors, a server that stops,
// and clients that are closed at any moment. Runs on the test's own thread beside both.
#include "load/client.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "transport/support/echo_server.h"

namespace serval::load {
namespace {

using testing::EchoServer;

std::string prefixed(std::string_view message) {
  std::string out(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>(message.size() >> shift & 0xff);
  }
  return out.append(message);
}

class Loaded {
 public:
  explicit Loaded(uint16_t port)
      : client_(target_of(port), {[this](std::string problem) {
                                    const std::lock_guard lock(mutex_);
                                    problem_ = std::move(problem);
                                    changed_.notify_all();
                                  },
                                  [this](Measured result) {
                                    const std::lock_guard lock(mutex_);
                                    result_ = std::move(result);
                                    changed_.notify_all();
                                  }}) {
    EXPECT_TRUE(client_.start());
  }

  static Traffic traffic(std::string path, const std::vector<std::string>& messages,
                         Judged judged = Judged::Grpc) {
    Traffic out;
    out.judged = judged;
    out.authority = "test";
    out.path = std::move(path);
    for (const std::string& each : messages) out.bodies.push_back(prefixed(each));
    return out;
  }

  std::string prepare(Traffic traffic, const Schedule& schedule) {
    client_.prepare(std::move(traffic), schedule);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return problem_.has_value(); });
    return std::exchange(problem_, {}).value_or("nothing came");
  }

  Measured run(Traffic traffic, const Schedule& schedule) {
    EXPECT_EQ(prepare(std::move(traffic), schedule), "");
    client_.go(now_ns());
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return result_.has_value(); });
    return std::move(std::exchange(result_, {}).value());
  }

  Client& client() { return client_; }

 private:
  static Target target_of(uint16_t port) {
    Target out;
    out.host = "127.0.0.1";
    out.port = port;
    out.protocol = Protocol::Http2;
    return out;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> problem_;
  std::optional<Measured> result_;
  Client client_;
};

Schedule some(uint64_t requests, size_t concurrency, size_t connections) {
  Schedule schedule;
  schedule.requests = requests;
  schedule.concurrency = concurrency;
  schedule.connections = schedule.connections_max = connections;
  return schedule;
}

TEST(LoadClient, SendsBodiesInTurnOverAllConnections) {
  EchoServer server;
  Loaded loaded(server.port());
  Schedule schedule = some(300, 12, 4);
  schedule.spins = true;
  const Measured result =
      loaded.run(Loaded::traffic("/t.T/Unary", {"abc", std::string(200'000, 'x')}), schedule);
  EXPECT_EQ(result.answered, 300u) << result.first_error;
  EXPECT_EQ(result.failed, 0u);
  EXPECT_EQ(result.latencies.count(), 300u);
  EXPECT_TRUE(server.has_connections(4));
}

TEST(LoadClient, ResponsesOfAnotherLengthHaveFailed) {
  EchoServer server;
  Loaded loaded(server.port());
  Traffic traffic = Loaded::traffic("/t.T/Unary", {"abc", "abcd"});
  traffic.response_bytes = 3;
  const Measured result = loaded.run(traffic, some(10, 1, 1));
  EXPECT_EQ(result.answered, 5u);
  EXPECT_EQ(result.failures[static_cast<size_t>(Failure::Status)], 5u);
  EXPECT_EQ(result.first_error, "a response of 4 bytes, expected 3");
}

TEST(LoadClient, StreamsCarryOneRequestAfterTheOther) {
  EchoServer server;
  Loaded loaded(server.port());
  Schedule schedule = some(0, 6, 2);
  schedule.measure_ns = 200'000'000;
  schedule.grace_ns = 5'000'000'000;
  Traffic traffic = Loaded::traffic("/t.T/Echo", {"abcdef"}, Judged::GrpcStream);
  traffic.response_bytes = 6;
  const Measured result = loaded.run(traffic, schedule);
  EXPECT_GT(result.answered, 60u);
  EXPECT_EQ(result.failed, 0u) << result.first_error;
  EXPECT_EQ(server.journal.counts().begun, 6);
}

TEST(LoadClient, AStreamThatTheServerEndsHasFailed) {
  EchoServer server;
  Loaded loaded(server.port());
  const Measured result =
      loaded.run(Loaded::traffic("/t.T/Early", {"a"}, Judged::GrpcStream), some(3, 1, 1));
  EXPECT_EQ(result.failed, 3u);
  EXPECT_EQ(result.first_error, "gRPC status 5: enough");
}

TEST(LoadClient, SaysThatAServerThatStoppedIsNotThere) {
  auto server = std::make_unique<EchoServer>();
  Loaded loaded(server->port());
  ASSERT_EQ(loaded.prepare(Loaded::traffic("/t.T/Hang", {"a"}), some(4, 4, 2)), "");
  server->listener.reset();
  Schedule schedule = some(4, 4, 2);
  const std::string problem = loaded.prepare(Loaded::traffic("/t.T/Hang", {"a"}), schedule);
  EXPECT_NE(problem.find("no connection: connect: Connection refused"), std::string::npos)
      << problem;
}

TEST(LoadClient, ALoadThatWasNotPreparedDoesNotBegin) {
  EchoServer server;
  Loaded loaded(server.port());
  loaded.client().go(now_ns());
  const uint16_t port = server.port();
  server.listener.reset();
  Loaded without(port);
  EXPECT_NE(without.prepare(Loaded::traffic("/t.T/Unary", {"a"}), some(1, 1, 1)), "");
  without.client().go(now_ns());
}

TEST(LoadClient, AnotherLoadReplacesOneThatRuns) {
  EchoServer server;
  Loaded loaded(server.port());
  ASSERT_EQ(loaded.prepare(Loaded::traffic("/t.T/Hang", {"a"}), some(8, 8, 2)), "");
  loaded.client().go(now_ns());
  const Measured result = loaded.run(Loaded::traffic("/t.T/Unary", {"a"}), some(20, 4, 2));
  EXPECT_EQ(result.answered, 20u) << result.first_error;
}

TEST(LoadClient, MayBeClosedWhileItConnectsAndWhileItRuns) {
  EchoServer server;
  for (int i = 0; i < 20; ++i) {
    Loaded loaded(server.port());
    Schedule schedule = some(0, 8, 4);
    schedule.measure_ns = 10'000'000'000;
    loaded.client().prepare(Loaded::traffic("/t.T/Unary", {"abc"}), schedule);
    if (i % 2 == 0) continue;
    loaded.client().go(now_ns());
    std::this_thread::sleep_for(std::chrono::milliseconds(i));
  }
  EXPECT_TRUE(server.has_connections(0));
}

}  // namespace
}  // namespace serval::load
