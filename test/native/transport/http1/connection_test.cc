// HTTP/1 connections over sockets: requests that are split anywhere and pipelined, unwanted bodies,
// clients that stop reading, leave or stay silent, and what a drain waits for.
#include "transport/http1/connection.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "transport/listener.h"
#include "transport/support/http_echo.h"

namespace serval {
namespace {

using testing::HttpEcho;
using testing::HttpJournal;

class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void end() { ::shutdown(socket_, SHUT_WR); }
  // Reads until `count` bodies are complete, the connection closes or nothing arrives for `ms`.
  std::string read(size_t count, int ms = 10'000) {
    char room[65'536];
    while (answers(text_) < count) {
      pollfd one{socket_, POLLIN, 0};
      if (::poll(&one, 1, ms) <= 0) break;
      const ssize_t got = ::recv(socket_, room, sizeof room, 0);
      if (got <= 0) {
        closed_ = true;
        break;
      }
      text_.append(room, static_cast<size_t>(got));
    }
    return std::exchange(text_, {});
  }
  // Reads one response in pieces of at most `bytes` with pauses between them.
  std::string drip(size_t bytes, std::chrono::milliseconds pause) {
    std::string room(bytes, '\0');
    while (answers(text_) < 1) {
      const ssize_t got = ::recv(socket_, room.data(), room.size(), 0);
      if (got <= 0) break;
      text_.append(room.data(), static_cast<size_t>(got));
      std::this_thread::sleep_for(pause);
    }
    return std::exchange(text_, {});
  }
  // Reads everything until the server closes.
  std::string rest() { return read(SIZE_MAX); }
  bool closed() const { return closed_; }

  static size_t answers(std::string_view text) {
    size_t count = 0;
    for (;;) {
      const size_t end = text.find("\r\n\r\n");
      if (end == std::string_view::npos) return count;
      const size_t length = text.substr(0, end).find("Content-Length: ");
      const size_t bytes = length == std::string_view::npos
                               ? 0
                               : std::stoul(std::string(text.substr(length + 16, 20)));
      if (text.size() < end + 4 + bytes) return count;
      text.remove_prefix(end + 4 + bytes);
      count += 1;
    }
  }

 private:
  const int socket_;
  std::string text_;
  bool closed_ = false;
};

class Http1 : public ::testing::Test {
 protected:
  void start(TransportSettings settings = {}) {
    settings.serves = Serves::Http;
    auto started =
        TransportListener::start(std::move(settings), budget_, {},
                                 [this](CallThread& thread) -> std::unique_ptr<TurnHandler> {
                                   std::lock_guard lock(mutex_);
                                   threads_.push_back(&thread);
                                   return std::make_unique<HttpEcho>(thread, journal_);
                                 });
    ASSERT_TRUE(started.ok()) << started.error().message;
    listener_ = std::move(started.value());
  }
  Client open() { return Client(listener_->port()); }
  void go_on() {
    journal_.go_on = true;
    std::lock_guard lock(mutex_);
    for (CallThread* thread : threads_) thread->wake();
  }
  template <typename Says>
  static bool soon(const Says& says) {
    for (int i = 0; i < 10'000 && !says(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return says();
  }

  HttpJournal journal_;
  std::mutex mutex_;
  std::vector<CallThread*> threads_;
  const std::shared_ptr<MemoryBudget> budget_ = std::make_shared<MemoryBudget>(1u << 28);
  std::unique_ptr<TransportListener> listener_;
};

std::string post(std::string_view path, std::string_view body, std::string_view lines = "") {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(lines) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

std::string chunked(std::string_view path, std::string_view body) {
  std::string out =
      "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (; !body.empty(); body.remove_prefix(std::min<size_t>(body.size(), 5))) {
    const std::string_view part = body.substr(0, 5);
    out += std::to_string(part.size()) + "\r\n" + std::string(part) + "\r\n";
  }
  return out + "0\r\nX-Trailer: a\r\n\r\n";
}

// Removes the Date headers.
std::string undated(std::string text) {
  for (size_t at = 0; (at = text.find("Date: ", at)) != std::string::npos;) {
    text.erase(at, text.find("\r\n", at) + 2 - at);
  }
  return text;
}

TEST_F(Http1, AnswersAreTheSameWhereverPipelinedRequestsAreCut) {
  start();
  const std::string stream = post("/echo", "one") + "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n" +
                             chunked("/echo", "in several chunks") + post("/early", "dropped") +
                             "\r\n" + chunked("/early", "dropped") +
                             "HEAD /echo HTTP/1.1\r\nHost: a\r\n\r\n" + post("/echo", "last");
  // A response to HEAD states a length and has no body, so responses are not counted here.
  const auto read_all = [](Client& client) {
    std::string text;
    while (text.find("POST last") == std::string::npos) {
      const std::string more = client.read(1);
      if (more.empty()) break;
      text += more;
    }
    return undated(text);
  };
  Client whole = open();
  whole.write(stream);
  const std::string expected = read_all(whole);
  ASSERT_NE(expected.find("POST last"), std::string::npos) << expected;
  EXPECT_NE(expected.find("POST in several chunks"), std::string::npos);
  std::minstd_rand random(7);
  for (int round = 0; round < 1000; ++round) {
    Client client = open();
    std::string_view rest = stream;
    while (!rest.empty()) {
      const size_t bytes = std::min<size_t>(rest.size(), 1 + random() % 90);
      client.write(rest.substr(0, bytes));
      rest.remove_prefix(bytes);
    }
    ASSERT_EQ(read_all(client), expected) << "round " << round;
  }
}

TEST_F(Http1, KeepsWhatComesWhileARequestWaits) {
  start();
  Client client = open();
  client.write(post("/later", "") + post("/echo", "next"));
  ASSERT_TRUE(soon([&] { return journal_.begun == 1; }));
  EXPECT_EQ(client.read(1, 50), "");
  go_on();
  const std::string text = client.read(2);
  EXPECT_LT(text.find("later"), text.find("POST next")) << text;
  EXPECT_EQ(journal_.begun, 2);
}

TEST_F(Http1, PausesAClientWhoseBodyIsNotWanted) {
  start();
  Client client = open();
  const std::string body(1u << 20, 'b');
  std::thread writer([&] { client.write(post("/slow", body)); });
  ASSERT_TRUE(soon([&] { return journal_.begun == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  go_on();
  writer.join();
  const std::string text = client.read(1);
  EXPECT_EQ(text.size() - text.find("\r\n\r\n") - 4, body.size() + 5);
}

TEST_F(Http1, SendsLargeAnswersToSlowReaders) {
  start();
  Client client = open();
  for (int i = 0; i < 3; ++i) client.write("GET /large?9000000 HTTP/1.1\r\nHost: a\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string text = client.read(3);
  EXPECT_EQ(Client::answers(text), 3u);
  EXPECT_FALSE(client.closed());
  Client leaves = open();
  leaves.write("GET /large?9000000 HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST_F(Http1, TellsOfClientsThatLeave) {
  start();
  for (const char* what : {"body", "wait"}) {
    const bool waits = std::string_view(what) == "wait";
    const int begun = journal_.begun, closed = journal_.closed;
    {
      Client client = open();
      client.write(waits ? post("/hang", "x") : post("/echo", "whole").substr(0, 55));
      ASSERT_TRUE(soon([&] { return journal_.begun == begun + 1; })) << what;
    }
    EXPECT_TRUE(soon([&] { return journal_.closed == closed + 1; })) << what;
  }
  EXPECT_TRUE(soon([&] { return listener_->connections() == 0; }));
}

TEST_F(Http1, IgnoresASocketThatIsClosedHereAndOpenInAnotherProcess) {
  start();
  pid_t other = -1;
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 20; ++i) {
      clients.push_back(std::make_unique<Client>(listener_->port()));
      clients.back()->write(post("/echo", "x"));
      ASSERT_NE(clients.back()->read(1).find("POST x"), std::string::npos);
    }
    // Holds copies of all sockets, as a process that is being spawned does.
    other = ::fork();
    if (other == 0) {
      ::pause();
      ::_exit(0);
    }
    for (const auto& client : clients) client->end();
  }
  ASSERT_GT(other, 0);
  EXPECT_TRUE(soon([&] { return listener_->connections() == 0; }));
  Client after = open();
  after.write(post("/echo", "y"));
  EXPECT_NE(after.read(1).find("POST y"), std::string::npos);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

TEST_F(Http1, AnswersAClientThatHasEndedItsSide) {
  start();
  Client inline_answer = open();
  inline_answer.write(post("/echo", "x"));
  inline_answer.end();
  EXPECT_NE(inline_answer.rest().find("POST x"), std::string::npos);
  Client later = open();
  later.write("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
  later.end();
  ASSERT_TRUE(soon([&] { return journal_.begun == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  go_on();
  EXPECT_NE(later.rest().find("later"), std::string::npos);
}

TEST_F(Http1, ClosesAfterAnErrorAndNotBefore) {
  start();
  for (const char* bytes :
       {"GET / HTTP/1.1\r\nHost: a\n\r\n", "\x16\x03\x01", "GET / HTTP/3.0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    Client client = open();
    client.write(bytes);
    const std::string text = client.rest();
    EXPECT_TRUE(client.closed()) << bytes;
    EXPECT_NE(text.find("Connection: close\r\n"), std::string::npos) << text;
    EXPECT_NE(text.find("{\"error\":\""), std::string::npos) << text;
  }
  EXPECT_EQ(journal_.refused, 4);
  EXPECT_EQ(journal_.closed, 1) << "of the request whose chunks broke";
}

TEST_F(Http1, LimitsHeads) {
  TransportSettings settings;
  settings.header_bytes_max = 2000;
  settings.target_bytes_max = 500;
  start(std::move(settings));
  for (const auto& [bytes, status] :
       {std::pair{"GET /" + std::string(600, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", "414"},
        std::pair{"GET /" + std::string(600, 'a'), "414"},
        std::pair{"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(3000, 'a'), "431"}}) {
    Client client = open();
    client.write(bytes);
    EXPECT_EQ(client.rest().substr(9, 3), status);
  }
}

TEST_F(Http1, GivesUpWhoSaysNothing) {
  TransportSettings settings;
  settings.idle_ms = 80;
  settings.silent_ms = 80;
  settings.stalled_ms = 250;
  start(std::move(settings));
  Client silent = open(), head = open(), body = open(), idle = open();
  head.write("GET / HT");
  body.write(post("/echo", "whole").substr(0, 55));
  idle.write(post("/echo", "x"));
  EXPECT_EQ(silent.rest(), "");
  EXPECT_EQ(head.rest().substr(9, 3), "408");
  EXPECT_EQ(body.rest().substr(9, 3), "408");
  EXPECT_NE(idle.rest().find("POST x"), std::string::npos);
  EXPECT_TRUE(idle.closed());
}

TEST_F(Http1, GivesUpHeadsThatDripAndNotBodiesThatDo) {
  TransportSettings settings;
  settings.idle_ms = 150;
  settings.silent_ms = 150;
  settings.stalled_ms = 150;
  start(std::move(settings));
  Client head = open(), body = open();
  const std::string sent = post("/echo", "a body that comes bit by bit");
  const size_t heads = sent.find("\r\n\r\n") + 4;
  body.write(sent.substr(0, heads));
  for (size_t at = heads; at < sent.size(); ++at) {
    head.write("G");
    body.write(sent.substr(at, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(12));
  }
  EXPECT_EQ(head.rest().substr(9, 3), "408");
  EXPECT_NE(body.read(1).find("POST a body that comes bit by bit"), std::string::npos);
}

TEST_F(Http1, CutsReadersThatTakeNothingAndNotSlowOnes) {
  TransportSettings settings;
  settings.idle_ms = 200;
  settings.stalled_ms = 1000;
  start(std::move(settings));
  Client stopped = open(), slow = open();
  for (Client* one : {&stopped, &slow})
    one->write("GET /large?30000000 HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string text = slow.drip(1u << 17, std::chrono::milliseconds(5));
  EXPECT_EQ(Client::answers(text), 1u) << "it took longer than the limit, and never paused so long";
  EXPECT_TRUE(soon([&] { return listener_->connections() == 0; }));
  EXPECT_LT(stopped.rest().size(), 30'000'000u) << "what was on its way when it was cut";
}

TEST_F(Http1, LimitsEachLineAllLinesAndTheirNumber) {
  TransportSettings settings;
  settings.header_bytes_max = 4000;
  start(std::move(settings));
  const std::string start_line = "GET /echo HTTP/1.1\r\nHost: a\r\n";
  std::string many, long_lines;
  for (int i = 0; i < 101; ++i) many += "X: a\r\n";
  for (int i = 0; i < 10; ++i) long_lines += "X: " + std::string(500, 'a') + "\r\n";
  for (const std::string& lines : {"X: " + std::string(5000, 'a') + "\r\n", long_lines, many,
                                   "X: " + std::string(5000, 'a')}) {
    Client client = open();
    client.write(start_line + lines + "\r\n");
    EXPECT_EQ(client.rest().substr(9, 3), "431") << lines.size();
  }
  Client client = open();
  client.write(start_line + "X: " + std::string(3900, 'a') + "\r\n\r\n");
  EXPECT_EQ(client.read(1).substr(9, 3), "200");
}

TEST_F(Http1, DrainWaitsForWhatWasAsked) {
  start();
  Client idle = open(), waits = open();
  idle.write(post("/echo", "x"));
  ASSERT_NE(idle.read(1), "");
  waits.write(post("/later", ""));
  ASSERT_TRUE(soon([&] { return journal_.begun == 2; }));
  std::atomic<int64_t> cut{-1};
  listener_->drain(10'000, [&](uint64_t count) { cut = static_cast<int64_t>(count); });
  idle.write(post("/echo", "still"));
  EXPECT_NE(idle.read(1).find("POST still"), std::string::npos);
  EXPECT_EQ(idle.rest(), "") << "its last answer said so";
  EXPECT_EQ(cut, -1);
  go_on();
  const std::string text = waits.rest();
  EXPECT_NE(text.find("Connection: close"), std::string::npos) << text;
  EXPECT_TRUE(soon([&] { return cut == 0; }));
}

TEST_F(Http1, DrainCutsWhatTakesTooLong) {
  start();
  Client waits = open();
  waits.write(post("/hang", ""));
  ASSERT_TRUE(soon([&] { return journal_.begun == 1; }));
  std::atomic<int64_t> cut{-1};
  listener_->drain(50, [&](uint64_t count) { cut = static_cast<int64_t>(count); });
  EXPECT_EQ(waits.rest(), "");
  EXPECT_TRUE(soon([&] { return cut == 1; }));
  EXPECT_EQ(journal_.closed, 1);
}

TEST_F(Http1, ServesManyClientsOnSeveralThreads) {
  TransportSettings settings;
  settings.threads = 3;
  start(std::move(settings));
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int i = 0; i < 12; ++i) {
    clients.emplace_back([&, i] {
      Client client = open();
      for (int round = 0; round < 50; ++round) {
        const std::string body = std::to_string(i) + "-" + std::to_string(round);
        client.write(round % 2 == 0 ? post("/echo", body) : chunked("/echo", body));
        right += client.read(1).find("POST " + body) != std::string::npos;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 600);
}

}  // namespace
}  // namespace serval
