// A listener that adds threads while it is busy: its connections continue on other threads, and
// every request is answered.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <set>
#include <thread>

#include "base/bytes/views.h"
#include "transport/http.h"
#include "transport/listener.h"
#include "transport/socket/tls_peer.h"
#include "transport/support/raw_client.h"

namespace serval {
namespace {

using namespace serval::testing;
using std::string;

// The calls in progress must end within kHoldNs, also in builds that are many times slower.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr size_t kLargeBytes = 100'000;
#else
constexpr size_t kLargeBytes = 700'000;
#endif
constexpr uint64_t kPatienceNs = 20'000 * kNsPerMs;

// A thread that sleeps serves nobody: to the listener it is busy, but the cores stay free.
void be_busy(std::string_view ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(string(ms).c_str())));
}

// Answers with the number of its thread and the length of the message: unary calls of "MS..." after
// MS milliseconds; streams at once.
class Worker final : public CallHandler {
 public:
  explicit Worker(CallThread& thread) : thread_(thread) {}

  std::optional<MethodKind> find(std::string_view path) override {
    if (path == "/t.T/Busy") return MethodKind{0, false, false, "/t.T/Busy"};
    if (path == "/t.T/Stream") return MethodKind{1, true, true, "/t.T/Stream"};
    return std::nullopt;
  }
  void message(Call& call, Received message) override {
    const std::string_view text = text_of(message.bytes);
    if (call.method() == 0) be_busy(text.substr(0, 4));
    const string out = std::to_string(thread_.index()) + " " + std::to_string(text.size());
    if (call.send(bytes_of(out)) && call.method() == 0) call.finish({});
  }
  void half_closed(Call& call) override { call.finish({}); }

 private:
  CallThread& thread_;
};

class HttpWorker final : public HttpHandler {
 public:
  explicit HttpWorker(CallThread& thread) : thread_(thread) {}

  void begin(HttpRequest& request) override { request.word = 0; }
  void data(HttpRequest& request, std::span<const uint8_t> bytes, bool last) override {
    request.word += bytes.size();
    if (!last) return;
    be_busy(request.query());
    const string out = std::to_string(thread_.index()) + " " + std::to_string(request.word);
    request.send({200, "text/plain", {}, bytes_of(out), nullptr});
  }
  void closed(HttpRequest&) override {}

 private:
  CallThread& thread_;
};

TransportSettings growing(uint32_t threads_max) {
  TransportSettings settings;
  settings.threads_max = threads_max;
  settings.cores = 1'000;  // however busy this machine is
  return settings;
}

class Server {
 public:
  explicit Server(TransportSettings settings) {
    TransportEvents events;
    events.thread_added = [this](const ThreadAdded& added) { threads_added = added.threads; };
    events.threads_changed = [this](int64_t change) { threads_counted += change; };
    auto started = TransportListener::start(
        settings, budget, std::move(events),
        [serves = settings.serves](CallThread& thread) -> std::unique_ptr<TurnHandler> {
          if (serves == Serves::Grpc) return std::make_unique<Worker>(thread);
          return std::make_unique<HttpWorker>(thread);
        });
    EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().message);
    if (started.ok()) listener = std::move(started.value());
  }
  std::atomic<int64_t> threads_counted{0};
  std::atomic<uint32_t> threads_added{0};
  const std::shared_ptr<MemoryBudget> budget = std::make_shared<MemoryBudget>(1u << 30);
  std::unique_ptr<TransportListener> listener;
};

// The threads that served each client, in the order of their responses.
class Seen {
 public:
  explicit Seen(size_t clients) : threads_(clients) {}
  void add(size_t client, const string& answer) {
    std::lock_guard lock(mutex_);
    const uint32_t thread = static_cast<uint32_t>(std::atoi(answer.c_str()));
    std::vector<uint32_t>& all = threads_[client];
    if (all.empty() || all.back() != thread) all.push_back(thread);
    std::set<uint32_t> now;
    for (const auto& one : threads_) {
      if (!one.empty()) now.insert(one.back());
    }
    most_ = std::max(most_, now.size());
  }
  // The most threads that served at a time.
  size_t most() {
    std::lock_guard lock(mutex_);
    return most_;
  }
  size_t moves() {
    std::lock_guard lock(mutex_);
    size_t moves = 0;
    for (const auto& one : threads_) moves += one.size() - std::min<size_t>(one.size(), 1);
    return moves;
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<uint32_t>> threads_;
  size_t most_ = 0;
};

// Runs a client per thread until `enough`, at most 20 s; `ask` makes requests and reports the
// thread's response.
void with_clients(size_t clients, const std::function<bool()>& enough,
                  const std::function<void(size_t, const std::function<bool()>&)>& ask) {
  const uint64_t until = now_ns() + kPatienceNs;
  const auto goes_on = [&] { return !enough() && now_ns() < until; };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < clients; ++i) threads.emplace_back([&, i] { ask(i, goes_on); });
  for (std::thread& one : threads) one.join();
  EXPECT_TRUE(enough()) << "not reached in 20 s";
}

// Calls that are in progress at a time on one connection.
void call_busy(RawClient& client, size_t calls, const string& message,
               const std::function<void(const string&)>& seen) {
  std::vector<uint32_t> streams;
  for (size_t i = 0; i < calls; ++i) streams.push_back(client.call("/t.T/Busy", message));
  for (const uint32_t stream : streams) {
    const StreamAnswer& got = client.answer(stream);
    ASSERT_EQ(got.status(), 0) << got.message();
    ASSERT_EQ(got.messages().size(), 1u);
    const string answer = got.messages()[0];
    ASSERT_EQ(answer.substr(answer.find(' ') + 1), std::to_string(message.size()));
    seen(answer);
    client.streams.erase(stream);
  }
}

struct ThreadClientContext {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  ~ThreadClientContext() { SSL_CTX_free(context); }
};

void set_tls(TransportSettings& settings) {
  const tls_test::Authority root;
  const tls_test::Identity own = tls_test::identity("server", root);
  settings.tls.enabled = true;
  settings.tls.certificate.text = own.certificate;
  settings.tls.key.text = own.key;
}

TEST(ListenerThreads, AddsThreadsAndMovesOpenGrpcConnections) {
  Server server(growing(3));
  Seen seen(6);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.listener->port()));
    clients.back()->begin();
  }
  EXPECT_EQ(server.listener->threads(), 1u);
  with_clients(
      6, [&] { return seen.most() == 3; },
      [&](size_t i, const std::function<bool()>& goes_on) {
        while (goes_on()) {
          call_busy(*clients[i], 1, "3   ", [&](const string& one) { seen.add(i, one); });
        }
      });
  EXPECT_EQ(server.listener->threads(), 3u);
  EXPECT_EQ(server.threads_added, 3u);
  EXPECT_EQ(server.threads_counted, 3);
  EXPECT_EQ(server.listener->connections(), 6u);
  server.listener.reset();
  EXPECT_EQ(server.threads_counted, 0);
}

// There is always a call on each connection whose message is still arriving.
TEST(ListenerThreads, MovesConnectionsWithManyLargeCallsInProgress) {
  Server server(growing(2));
  Seen seen(3);
  string message = "2   " + string(kLargeBytes, 'x');
  with_clients(
      3, [&] { return seen.most() == 2; },
      [&](size_t i, const std::function<bool()>& goes_on) {
        RawClient client(server.listener->port());
        client.begin();
        while (goes_on()) {
          call_busy(client, 6, message, [&](const string& one) { seen.add(i, one); });
        }
      });
}

TEST(ListenerThreads, MovesOpenHttp1Connections) {
  TransportSettings settings = growing(2);
  settings.serves = Serves::Http;
  Server server(settings);
  Seen seen(4);
  with_clients(
      4, [&] { return seen.most() == 2; },
      [&](size_t i, const std::function<bool()>& goes_on) {
        RawClient client(server.listener->port());
        const string body(1'000 * (i * 90 + 1), 'b');
        const string request =
            "POST /x?4 HTTP/1.1\r\nHost: t\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\n\r\n" + body;
        while (goes_on()) {
          ASSERT_TRUE(client.send(request));
          string got;
          char part[4096];
          const string wanted = " " + std::to_string(body.size());
          while (!got.ends_with(wanted)) {
            const ssize_t count = ::recv(client.fd(), part, sizeof part, 0);
            ASSERT_GT(count, 0) << got;
            got.append(part, static_cast<size_t>(count));
          }
          seen.add(i, got.substr(got.find("\r\n\r\n") + 4));
        }
      });
}

TEST(ListenerThreads, MovesEncryptedConnections) {
  TransportSettings settings = growing(2);
  set_tls(settings);
  Server server(settings);
  Seen seen(4);
  const ThreadClientContext context;
  with_clients(
      4, [&] { return seen.most() == 2; },
      [&](size_t i, const std::function<bool()>& goes_on) {
        RawClient client(tcp_socket(server.listener->port()), context.context);
        client.begin();
        const string message = "3   " + string(20'000 * i, 'x');
        while (goes_on()) {
          call_busy(client, 2, message, [&](const string& one) { seen.add(i, one); });
        }
      });
}

TEST(ListenerThreads, KeepsTheDeadlineOfACallThatMoved) {
  Server server(growing(2));
  Seen seen(2);
  std::array<std::unique_ptr<RawClient>, 2> clients;
  std::array<uint32_t, 2> unfinished{};
  for (size_t i = 0; i < 2; ++i) {
    clients[i] = std::make_unique<RawClient>(server.listener->port());
    clients[i]->begin();
    unfinished[i] = clients[i]->open("/t.T/Busy", {{"grpc-timeout", "4S"}});
    clients[i]->send(data_frames(unfinished[i], grpc_message("1   half").substr(0, 8), false));
  }
  const uint64_t began = now_ns();
  with_clients(
      2, [&] { return seen.most() == 2; },
      [&](size_t i, const std::function<bool()>& goes_on) {
        while (goes_on()) {
          call_busy(*clients[i], 1, "3   ", [&](const string& one) { seen.add(i, one); });
        }
      });
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(clients[i]->answer(unfinished[i]).status(), 4);
  EXPECT_GE(now_ns() - began, 3'900 * kNsPerMs);
}

TEST(ListenerThreads, LeavesConnectionsWithAnOpenStreamWhereTheyAre) {
  Server server(growing(2));
  Seen seen(3);
  RawClient streaming(server.listener->port());
  streaming.begin();
  const uint32_t stream = streaming.open("/t.T/Stream");
  std::atomic<size_t> asked{0};
  with_clients(
      3, [&] { return seen.most() == 2 && asked > 100; },
      [&](size_t i, const std::function<bool()>& goes_on) {
        if (i == 2) {
          for (; goes_on(); ++asked) {
            streaming.send(data_frames(stream, grpc_message("x"), false));
            streaming.messages(stream, asked + 1);
          }
          return;
        }
        RawClient client(server.listener->port());
        client.begin();
        while (goes_on()) {
          call_busy(client, 1, "3   ", [&](const string& one) { seen.add(i, one); });
        }
      });
  for (const string& one : streaming.messages(stream, asked)) EXPECT_EQ(one, "0 1");
  streaming.send(data_frames(stream, "", true));
  EXPECT_EQ(streaming.answer(stream).status(), 0);
}

TEST(ListenerThreads, GivesNewConnectionsToThreadsWithFewer) {
  Server server(growing(2));
  Seen seen(2);
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 10; ++i) {
    idle.push_back(std::make_unique<RawClient>(server.listener->port()));
    idle.back()->begin();
  }
  with_clients(
      2, [&] { return seen.most() == 2; },
      [&](size_t i, const std::function<bool()>& goes_on) {
        RawClient client(server.listener->port());
        client.begin();
        while (goes_on()) {
          call_busy(client, 1, "3   ", [&](const string& one) { seen.add(i, one); });
        }
      });
  for (int i = 0; i < 5; ++i) {
    RawClient client(server.listener->port());
    client.begin();
    call_busy(client, 1, "0   ", [&](const string& one) { EXPECT_EQ(one, "1 4"); });
  }
}

// Two equal connections: one moves, then nothing changes any more.
TEST(ListenerThreads, DoesNotMoveConnectionsBackAndForth) {
  Server server(growing(4));
  Seen seen(2);
  const uint64_t until = now_ns() + 4'000 * kNsPerMs;
  with_clients(
      2, [&] { return now_ns() >= until; },
      [&](size_t i, const std::function<bool()>& goes_on) {
        RawClient client(server.listener->port());
        client.begin();
        while (goes_on()) {
          call_busy(client, 1, "3   ", [&](const string& one) { seen.add(i, one); });
        }
      });
  EXPECT_EQ(seen.moves(), 1u);
  EXPECT_EQ(server.listener->threads(), 2u);
}

TEST(ListenerThreads, StaysWithTheFirstThreadIfNoMoreAreAllowed) {
  TransportSettings settings = growing(0);
  Server server(settings);
  const uint64_t until = now_ns() + 1'000 * kNsPerMs;
  RawClient client(server.listener->port());
  client.begin();
  while (now_ns() < until) call_busy(client, 4, "3   ", [](const string&) {});
  EXPECT_EQ(server.listener->threads(), 1u);
}

// Drains at any moment of the growth: every call that was accepted is answered.
TEST(ListenerThreads, AnswersEveryCallOfADrainDuringGrowth) {
  for (int round = 0; round < 12; ++round) {
    Server server(growing(4));
    std::atomic<int> asked{0}, answered{0}, refused{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 5; ++i) {
      clients.emplace_back([&] {
        RawClient client(server.listener->port());
        client.begin();
        for (;;) {
          if (client.go_away.has_value()) return;
          ++asked;
          const StreamAnswer& got = client.answer(client.call("/t.T/Busy", "2   "));
          if (got.status() == 0) ++answered;
          // Streams above the last one of a GOAWAY may be repeated elsewhere.
          else if (client.go_away.has_value()) ++refused;
          if (got.status() != 0) return;
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + 50 * round));
    std::promise<uint64_t> cut;
    server.listener->drain(10'000, [&](uint64_t calls) { cut.set_value(calls); });
    EXPECT_EQ(cut.get_future().get(), 0u);
    for (std::thread& one : clients) one.join();
    EXPECT_EQ(answered + refused, asked);
    server.listener.reset();
  }
}

}  // namespace
}  // namespace serval
