// Draining a listener while clients connect: they are refused at once, and the port is free for the
// next server while calls still finish.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "transport/listener.h"

namespace serval {
namespace {

// A handler without methods.
class NoMethods final : public CallHandler {
 public:
  std::optional<MethodKind> find(std::string_view) override { return std::nullopt; }
  void message(Call&, Received) override {}
};

Result<std::unique_ptr<TransportListener>> listen(uint16_t port) {
  TransportSettings settings;
  settings.port = port;
  settings.threads = 2;
  return TransportListener::start(settings, std::make_shared<MemoryBudget>(UINT64_MAX), {},
                                  [](CallThread&) { return std::make_unique<NoMethods>(); });
}

// Connects to `port`; returns 0 or an errno.
int try_port(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // Connects from another address, because a connection to a port without a listener could meet
  // itself.
  sockaddr_in own = address;
  own.sin_port = 0;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  EXPECT_EQ(::bind(made, reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
  const bool connected =
      ::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  const int error = connected ? 0 : errno;
  ::close(made);
  return error;
}

TEST(GrpcDrain, RefusesClientsThatComeMeanwhile) {
  for (int turn = 0; turn < 50; turn += 1) {
    Result<std::unique_ptr<TransportListener>> started = listen(0);
    ASSERT_TRUE(started.ok()) << started.error().message;
    const uint16_t port = started.value()->port();
    std::atomic<bool> over = false;
    std::atomic<int> connected = 0;
    std::thread clients([&] {
      while (!over.load()) {
        if (try_port(port) == 0) connected += 1;
      }
    });
    while (connected.load() < 10) std::this_thread::yield();
    std::atomic<bool> drained = false;
    started.value()->drain(10'000, [&](uint64_t) { drained = true; });
    EXPECT_EQ(try_port(port), ECONNREFUSED);
    while (!drained.load()) std::this_thread::yield();
    over = true;
    clients.join();
    Result<std::unique_ptr<TransportListener>> next = listen(port);
    EXPECT_TRUE(next.ok()) << next.error().message;
  }
}

}  // namespace
}  // namespace serval
