// Large bodies share a listener's thread with short requests: in one event-loop iteration, a
// bounded number of their bytes is read, however many clients send.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

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
// A megabyte for all, and as much for one connection that had begun.
constexpr size_t kTurnBytesMax = (2u << 20) + 256 * 1024;

struct Counts {
  std::atomic<size_t> most{0};          // bytes of bodies in an iteration
  std::atomic<size_t> before_short{0};  // ... read before the short request, after the pause
  std::atomic<bool> has_short{false};
};

// When all clients have sent some of their bodies, sleeps once, until the kernel's buffers are
// full and a short request waits. Counts from then on.
class Counter final : public HttpHandler {
 public:
  explicit Counter(Counts& counts) : counts_(counts) {}

  void begin(HttpRequest& request) override {
    request.word = 0;
    if (request.path() != "/short" || !paused_ || counts_.has_short) return;
    counts_.before_short = since_pause_ + turn_;
    counts_.has_short = true;
  }
  void data(HttpRequest& request, std::span<const uint8_t> bytes, bool last) override {
    if (request.path() != "/short") {
      if (request.word < kSomeBytes && request.word + bytes.size() >= kSomeBytes) ++begun_;
      request.word += bytes.size();
      turn_ += bytes.size();
    }
    if (!last) return;
    const string text = std::to_string(request.word);
    request.send({200, "text/plain", {}, bytes_of(text), nullptr});
  }
  void closed(HttpRequest&) override {}
  void turn_ended() override {
    if (paused_) {
      since_pause_ += turn_;
      counts_.most = std::max(counts_.most.load(), turn_);
    } else if (begun_ == kClients) {
      paused_ = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
    }
    turn_ = 0;
  }

 private:
  static constexpr size_t kSomeBytes = 128 * 1024;

  Counts& counts_;
  size_t begun_ = 0, turn_ = 0, since_pause_ = 0;
  bool paused_ = false;
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
  while (!counts.has_short) {
    // Repeated: one of them waits during the pause.
    ASSERT_TRUE(short_client.send("GET /short HTTP/1.1\r\nHost: t\r\n\r\n"));
    EXPECT_EQ(answer_of(short_client.fd()), "0");
  }
  for (const auto& client : clients) {
    EXPECT_EQ(answer_of(client->fd()), std::to_string(kBodyBytes));
  }
  sender.join();
  EXPECT_GT(counts.most, 0u);
  EXPECT_LE(counts.most, kTurnBytesMax);
  EXPECT_LE(counts.before_short, kTurnBytesMax);
}

}  // namespace
}  // namespace serval
