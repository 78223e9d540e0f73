// Large bodies share a listener's thread with short requests: in one event-loop iteration, a
// bounded number of their bytes is read, however many clients send.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

#include "base/bytes/views.h"
#include "transport/http.h"
#include "transport/listener.h"
#include "transport/support/raw_client.h"

namespace serval {
namespace {

using namespace serval::testing;
using std::string;

constexpr size_t kClients = 64;
constexpr size_t kBodyBytes = 4u << 20;
// A megabyte for all, as much for the connection that passed it, and a little for each other one.
constexpr size_t kTurnBytesMax = (2u << 20) + 256 * 1024 + kClients * 16 * 1024;

struct Counts {
  std::atomic<size_t> most{0};  // bytes of bodies in an iteration
  std::atomic<size_t> read{0};  // bytes of bodies in all iterations
  std::atomic<bool> begun{false}, ended{false};
  std::vector<size_t> waited;  // bytes read between the sending of a short request and its start
};

// When all clients have sent some of their bodies, sleeps once, until the kernel's buffers are
// full. Counts from then on.
class Counter final : public HttpHandler {
 public:
  explicit Counter(Counts& counts) : counts_(counts) {}

  // A short request's path ends in the number of bytes that had been read when it was sent.
  void begin(HttpRequest& request) override {
    request.word = 0;
    if (!is_short(request) || !counts_.begun || counts_.ended) return;
    const size_t sent_at = std::stoull(string(request.path().substr(kShort.size())));
    counts_.waited.push_back(counts_.read - sent_at);
  }
  void data(HttpRequest& request, std::span<const uint8_t> bytes, bool last) override {
    if (!is_short(request)) {
      if (request.word < kSomeBytes && request.word + bytes.size() >= kSomeBytes) ++has_some_;
      request.word += bytes.size();
      turn_ += bytes.size();
      counts_.read += bytes.size();
      if (last) counts_.ended = true;
    }
    if (!last) return;
    const string text = std::to_string(request.word);
    request.send({200, "text/plain", {}, bytes_of(text), nullptr});
  }
  void closed(HttpRequest&) override {}
  void turn_ended() override {
    if (counts_.begun) {
      counts_.most = std::max(counts_.most.load(), turn_);
    } else if (has_some_ == kClients) {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      counts_.begun = true;
    }
    turn_ = 0;
  }

  static constexpr std::string_view kShort = "/short/";

 private:
  static bool is_short(const HttpRequest& request) { return request.path().starts_with(kShort); }

  static constexpr size_t kSomeBytes = 128 * 1024;

  Counts& counts_;
  size_t has_some_ = 0, turn_ = 0;
};

// Sends all bodies at once.
void send_all(const std::vector<std::unique_ptr<RawClient>>& clients) {
  const string piece(256 * 1024, 'x');
  std::vector<size_t> left(clients.size(), kBodyBytes);
  std::vector<pollfd> waits;
  for (const auto& client : clients) waits.push_back({client->fd(), POLLOUT, 0});
  const uint64_t until = now_ns() + 60'000 * kNsPerMs;
  for (size_t all = clients.size(); all > 0 && now_ns() < until;) {
    ::poll(waits.data(), waits.size(), 100);
    for (size_t i = 0; i < clients.size(); ++i) {
      if (left[i] == 0 || (waits[i].revents & POLLOUT) == 0) continue;
      left[i] -= clients[i]->send_some(std::string_view(piece).substr(0, left[i]));
      if (left[i] > 0) continue;
      waits[i].fd = -1;
      --all;
    }
  }
}

string answer_of(int socket) {
  string got;
  std::array<char, 4096> part;
  for (;;) {
    const size_t head = got.find("\r\n\r\n");
    if (head != string::npos && got.size() > head + 4) return got.substr(head + 4);
    const ssize_t count = ::recv(socket, part.data(), part.size(), 0);
    if (count <= 0) return "closed";
    got.append(part.data(), static_cast<size_t>(count));
  }
}

TEST(ReadTurns, LetsAShortRequestPassManyLargeBodies) {
  Counts counts;
  TransportSettings settings;
  settings.serves = Serves::Http;
  auto started = TransportListener::start(settings, std::make_shared<MemoryBudget>(1u << 30), {},
                                          [&](CallThread&) -> std::unique_ptr<TurnHandler> {
                                            return std::make_unique<Counter>(counts);
                                          });
  ASSERT_TRUE(started.ok()) << started.error().message;
  const uint16_t port = started.value()->port();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<RawClient>(port));
    ASSERT_TRUE(clients.back()->send("POST /long HTTP/1.1\r\nHost: t\r\nContent-Length: " +
                                     std::to_string(kBodyBytes) + "\r\n\r\n"));
  }
  std::thread sender([&] { send_all(clients); });
  RawClient short_client(port);
  while (!counts.ended) {
    const string path = string(Counter::kShort) + std::to_string(counts.read);
    ASSERT_TRUE(short_client.send("GET " + path + " HTTP/1.1\r\nHost: t\r\n\r\n"));
    EXPECT_EQ(answer_of(short_client.fd()), "0");
  }
  for (const auto& client : clients) {
    EXPECT_EQ(answer_of(client->fd()), std::to_string(kBodyBytes));
  }
  sender.join();
  EXPECT_GT(counts.most, 0u);
  EXPECT_LE(counts.most, kTurnBytesMax);
  // The rest of an iteration and a whole one; half of them, because a client's thread may have
  // stopped between the count and the sending.
  ASSERT_GE(counts.waited.size(), 5u);
  std::ranges::sort(counts.waited);
  EXPECT_LE(counts.waited[counts.waited.size() / 2], 2 * kTurnBytesMax);
}

}  // namespace
}  // namespace serval
