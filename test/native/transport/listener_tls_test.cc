// A listener with TLS: calls over it, and its reports of failed handshakes.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "transport/listener.h"
#include "transport/socket/tls_peer.h"
#include "transport/support/echo_server.h"

namespace serval {
namespace {

using namespace serval::testing;
using std::string;

constexpr uint64_t kSecondNs = 1'000'000'000;

// Advances only when a test sets it.
std::atomic<uint64_t> g_now_ns{0};
uint64_t held_ns() { return g_now_ns; }

// The reports of handshake failures.
class Told {
 public:
  TransportEvents events() {
    TransportEvents out;
    out.handshake_failed = [this](const HandshakeFailures& failures) {
      const std::lock_guard lock(mutex_);
      all_.push_back(failures);
      changed_.notify_all();
    };
    return out;
  }
  // Returns nothing if there were fewer reports within ten seconds.
  std::optional<HandshakeFailures> wait_for(size_t number) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(10), [&] { return all_.size() >= number; })) {
      return std::nullopt;
    }
    return all_[number - 1];
  }
  size_t times() {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<HandshakeFailures> all_;
};

TransportSettings with_tls(const tls_test::Authority& root) {
  const tls_test::Identity own = tls_test::identity("server", root);
  TransportSettings settings;
  settings.tls.enabled = true;
  settings.tls.certificate.text = own.certificate;
  settings.tls.key.text = own.key;
  return settings;
}

struct ClientContext {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  ~ClientContext() { SSL_CTX_free(context); }
};

string name_of(int socket) {
  sockaddr_in address{};
  socklen_t bytes = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

// Sends `words`; returns the client's address once the listener has closed.
string say(uint16_t port, std::string_view words) {
  RawClient client(port);
  string name = name_of(client.fd());
  if (!words.empty()) {
    client.send(words);
    client.ending();
  }
  return name;
}

TEST(TlsListener, AnswersCallsAndDrains) {
  const tls_test::Authority root;
  ClientContext tls;
  Told told;
  EchoServer server(with_tls(root), 1u << 30, told.events());
  {
    RawClient client(tcp_socket(server.port()), tls.context);
    client.begin();
    const string long_text(3'000'000, 'x');
    EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).messages(), std::vector<string>{"m"});
    EXPECT_EQ(client.answer(client.call("/t.T/Unary", long_text)).messages(),
              std::vector<string>{long_text});
    auto cut = std::make_shared<std::atomic<uint64_t>>(UINT64_MAX);
    server.listener->drain(60'000, [cut](uint64_t calls) { *cut = calls; });
    EXPECT_EQ(client.ending(), kNoError);
    ASSERT_TRUE(server.has_connections(0));
    while (*cut == UINT64_MAX) std::this_thread::yield();
    EXPECT_EQ(*cut, 0u);
  }
  EXPECT_EQ(told.times(), 0u);
}

TEST(TlsListener, TellsOfHandshakesThatFailButNotOften) {
  const tls_test::Authority root;
  Told told;
  TransportSettings settings = with_tls(root);
  g_now_ns = now_ns();
  settings.clock = held_ns;
  settings.threads = 2;
  EchoServer server(settings, 1u << 30, told.events());
  const string first = say(server.port(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  const std::optional<HandshakeFailures> one = told.wait_for(1);
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->count, 1u);
  EXPECT_EQ(one->peer, first);
  EXPECT_EQ(one->reason, "wrong version number");
  say(server.port(), "");  // sends nothing, like a check that the port is open
  say(server.port(), string("\x16\x03\x01\xff\xff aaaaaaaaaaaaaaa", 21));
  say(server.port(), "GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(server.has_connections(0));
  g_now_ns += kSecondNs;
  const string last = say(server.port(), "GET / HTTP/1.1\r\n\r\n");
  const std::optional<HandshakeFailures> two = told.wait_for(2);
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->count, 4u);
  EXPECT_EQ(two->peer, last);
  EXPECT_EQ(told.times(), 2u);
}

TEST(TlsListener, TellsWhoseCertificateItDoesNotTake) {
  const tls_test::Authority root;
  Told told;
  TransportSettings settings = with_tls(root);
  settings.tls.roots.text = tls_test::pem(root.cert);
  settings.tls.client_required = true;
  EchoServer server(settings, 1u << 30, told.events());
  ClientContext tls;
  const int socket = tcp_socket(server.port());
  const string name = name_of(socket);
  // the client's part of TLS 1.3 is done before it is refused
  RawClient client(socket, tls.context);
  client.ending();
  const std::optional<HandshakeFailures> one = told.wait_for(1);
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->peer, name);
  EXPECT_EQ(one->reason, "peer did not return a certificate");
}

TEST(TlsListener, TellsOfHandshakesThatDoNotEnd) {
  const tls_test::Authority root;
  Told told;
  TransportSettings settings = with_tls(root);
  settings.handshake_ms_max = 50;
  EchoServer server(settings, 1u << 30, told.events());
  RawClient silent(server.port());
  silent.ending();
  const string name = say(server.port(), "\x16");
  const std::optional<HandshakeFailures> one = told.wait_for(1);
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->count, 1u);
  EXPECT_EQ(one->peer, name);
  EXPECT_EQ(one->reason, "the client did not finish it");
}

}  // namespace
}  // namespace serval
