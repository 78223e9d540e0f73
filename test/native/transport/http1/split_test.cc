// Pipelined requests in random pieces: 10,000 cuts, and each stream is answered byte for byte as if
// it came in one piece. The client waits until the listener has read a piece before it sends the
// next. SERVAL_SPLIT_SEED repeats the streams of a failure.
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/bytes/views.h"
#include "transport/http.h"
#include "transport/listener.h"

namespace serval {
namespace {

constexpr int kStreams = 250;
constexpr int kCuts = 40;  // of each stream

// Answers with what was read: method, path, query and body. /early answers at once, /later in
// another iteration of the event loop.
class Echo final : public HttpHandler {
 public:
  explicit Echo(CallThread& thread) : thread_(thread) {}

  void begin(HttpRequest& request) override {
    std::string& text = asked_[request.id()];
    text = std::string(request.method()) + " " + std::string(request.path()) + "?" +
           std::string(request.query()) + " ";
    if (request.path() == "/early") {
      answer(request, 403);
      return;
    }
    request.want_body();
  }
  void data(HttpRequest& request, std::span<const uint8_t> bytes, bool last) override {
    std::string& text = asked_[request.id()];
    text += text_of(bytes);
    if (!last) return;
    if (text.find(" /later?") == std::string::npos) {
      answer(request, 200);
    } else {
      later_.push_back(request.id());
      thread_.wake();
    }
  }
  void closed(HttpRequest& request) override { asked_.erase(request.id()); }
  void woken() override {
    for (const uint64_t id : std::exchange(later_, {})) {
      if (HttpRequest* request = thread_.find_request(id)) answer(*request, 200);
    }
  }

 private:
  void answer(HttpRequest& request, int status) {
    const std::string text = asked_[request.id()];
    asked_.erase(request.id());
    request.send({status, "text/plain", {}, bytes_of(text), nullptr});
  }

  CallThread& thread_;
  std::unordered_map<uint64_t, std::string> asked_;
  std::vector<uint64_t> later_;
};

class Streams {
 public:
  explicit Streams(uint32_t seed) : random_(seed) {}

  size_t below(size_t count) { return random_() % count; }

  // A stream with requests of every kind; the last one ends the connection.
  std::string stream() {
    std::string out;
    for (size_t left = 3 + below(6); left > 0; --left) out += request();
    return out + "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  }

 private:
  std::string word() {
    static constexpr std::string_view kLetters = "abcXYZ019 \r\n;=\"{}GET / HTTP/1.1";
    std::string out;
    for (size_t left = below(40); left > 0; --left) out += kLetters[below(kLetters.size())];
    return out;
  }
  std::string token() { return std::string(1 + below(9), static_cast<char>('a' + below(26))); }
  std::string extension() {
    switch (below(4)) {
      case 0: return ";" + token();
      case 1: return ";" + token() + "=" + token() + ";" + token();
      case 2: return ";" + token() + "=\"a;\\\" b\"";
      default: return "";
    }
  }
  std::string chunked() {
    std::string out;
    for (size_t left = below(5); left > 0; --left) {
      const std::string data = "x" + word();
      char size[24];
      std::snprintf(size, sizeof size, below(2) == 0 ? "%zx" : "%05zX", data.size());
      out += size + extension() + "\r\n" + data + "\r\n";
    }
    out += "0" + extension() + "\r\n";
    for (size_t left = below(3); left > 0; --left) out += "X-" + token() + ": " + token() + "\r\n";
    return out + "\r\n";
  }
  std::string target() {
    static constexpr const char* kPaths[] = {"/echo", "/echo", "/later", "/early", "/"};
    std::string out = kPaths[below(5)];
    if (below(3) == 0) out += "?" + token() + "=" + token();
    return below(6) == 0 ? "http://b:1" + out : out;
  }
  std::string request() {
    const size_t kind = below(9);
    std::string lines = "Host: a\r\n";
    for (size_t left = below(3); left > 0; --left)
      lines += "X-" + token() + ":  " + token() + "\t\r\n";
    const std::string body = word();
    const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    const std::string coded = "Transfer-Encoding: chunked\r\n\r\n" + chunked();
    switch (kind) {
      case 0: return "GET " + target() + " HTTP/1.1\r\n" + lines + "\r\n";
      case 1: return "HEAD " + target() + " HTTP/1.1\r\n" + lines + "\r\n";
      case 2: return "OPTIONS * HTTP/1.1\r\n" + lines + length;
      case 3:
        return "POST " + target() + " HTTP/1.0\r\nConnection: keep-alive\r\n" + lines + length;
      case 4: return "POST /echo HTTP/1.1\r\nExpect: 100-continue\r\n" + lines + length;
      case 5: return "PUT /later HTTP/1.1\r\nExpect: 100-Continue\r\n" + lines + coded;
      case 6: return "\r\nPOST " + target() + " HTTP/1.1\r\n" + lines + length;
      default: return "POST " + target() + " HTTP/1.1\r\n" + lines + coded;
    }
  }

  std::minstd_rand random_;
};

class SplitClient {
 public:
  explicit SplitClient(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~SplitClient() { ::close(socket_); }
  SplitClient(const SplitClient&) = delete;
  SplitClient& operator=(const SplitClient&) = delete;

  // Returns when the listener has read the bytes; it may postpone that.
  void write(std::string_view text) {
    ASSERT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    int unread = 1;
    for (int i = 0; i < 2000; ++i) {
      if (::ioctl(socket_, SIOCOUTQ, &unread) != 0 || unread == 0) return;
      std::this_thread::yield();
    }
  }
  // Returns all responses, without their Date headers, until the listener closes.
  std::string rest() {
    timeval limit{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string text;
    char room[65'536];
    for (ssize_t got; (got = ::recv(socket_, room, sizeof room, 0)) > 0;) {
      text.append(room, static_cast<size_t>(got));
    }
    for (size_t at = 0; (at = text.find("Date: ", at)) != std::string::npos;) {
      text.erase(at, text.find("\r\n", at) + 2 - at);
    }
    return text;
  }

 private:
  const int socket_;
};

TEST(Http1Splits, AnswerTheSameWhereverRequestsAreCut) {
  const char* given = std::getenv("SERVAL_SPLIT_SEED");
  const uint32_t seed =
      given == nullptr ? std::random_device{}() : static_cast<uint32_t>(std::stoul(given));
  SCOPED_TRACE("SERVAL_SPLIT_SEED=" + std::to_string(seed));
  TransportSettings settings;
  settings.serves = Serves::Http;
  settings.host = "";
  settings.unix_path = ::testing::TempDir() + "split-" + std::to_string(::getpid()) + ".sock";
  const std::string path = settings.unix_path;
  auto started =
      TransportListener::start(std::move(settings), std::make_shared<MemoryBudget>(1u << 28), {},
                               [](CallThread& thread) -> std::unique_ptr<TurnHandler> {
                                 return std::make_unique<Echo>(thread);
                               });
  ASSERT_TRUE(started.ok()) << started.error().message;
  Streams streams(seed);
  for (int round = 0; round < kStreams; ++round) {
    const std::string stream = streams.stream();
    SplitClient whole(path);
    whole.write(stream);
    const std::string expected = whole.rest();
    ASSERT_NE(expected.find("GET /last? "), std::string::npos) << stream << "\n\n" << expected;
    std::vector<size_t> cuts{0, stream.size()};
    while (cuts.size() < kCuts + 2) cuts.push_back(1 + streams.below(stream.size() - 1));
    std::sort(cuts.begin(), cuts.end());
    SplitClient pieces(path);
    for (size_t i = 1; i < cuts.size(); ++i) {
      if (cuts[i] > cuts[i - 1]) pieces.write(stream.substr(cuts[i - 1], cuts[i] - cuts[i - 1]));
    }
    ASSERT_EQ(pieces.rest(), expected) << "stream " << round << ":\n" << stream;
  }
}

}  // namespace
}  // namespace serval
