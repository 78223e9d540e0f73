// HTTP requests over HTTP/2, frame by frame: their beginning, bodies in pieces and with pauses,
// responses that are not read, clients that leave, and a port that also serves gRPC calls.
#include "transport/http2/request_stream.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "transport/listener.h"
#include "transport/support/echo_handler.h"
#include "transport/support/http_echo.h"
#include "transport/support/raw_client.h"

namespace serval::testing {
namespace {

// Handles calls and requests on one thread.
class Both final : public TurnHandler {
 public:
  Both(CallThread& thread, Journal& calls, HttpJournal& requests)
      : calls_(thread, calls), requests_(thread, requests) {}
  CallHandler* calls() override { return &calls_; }
  HttpHandler* requests() override { return &requests_; }
  void woken() override {
    calls_.woken();
    requests_.woken();
  }

 private:
  EchoHandler calls_;
  HttpEcho requests_;
};

HeaderList head(std::string_view method, std::string_view path, const HeaderList& more = {}) {
  HeaderList out{{":method", std::string(method)},
                 {":scheme", "http"},
                 {":path", std::string(path)},
                 {":authority", "test"}};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

class Requests : public ::testing::Test {
 protected:
  void start(TransportSettings settings = {}) {
    if (settings.serves == Serves::Grpc) settings.serves = Serves::Http;
    auto started =
        TransportListener::start(std::move(settings), budget_, {},
                                 [this](CallThread& thread) -> std::unique_ptr<TurnHandler> {
                                   std::lock_guard lock(mutex_);
                                   threads_.push_back(&thread);
                                   return std::make_unique<Both>(thread, calls_, requests_);
                                 });
    ASSERT_TRUE(started.ok()) << started.error().message;
    listener_ = std::move(started.value());
  }
  void go_on() {
    requests_.go_on = calls_.go_on = true;
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

  Journal calls_;
  HttpJournal requests_;
  std::mutex mutex_;
  std::vector<CallThread*> threads_;
  const std::shared_ptr<MemoryBudget> budget_ = std::make_shared<MemoryBudget>(1u << 28);
  std::unique_ptr<TransportListener> listener_;
};

TEST_F(Requests, AreAnsweredWithAHeadThatHttp2Has) {
  start();
  RawClient client(listener_->port());
  client.begin();
  client.send(headers_frame(1, head("GET", "/echo?a=b"), true));
  const StreamAnswer& got = client.answer(1);
  EXPECT_EQ(got.header(":status"), "200");
  EXPECT_EQ(got.header("x-more"), "1");
  EXPECT_EQ(got.header("content-type"), "text/plain");
  EXPECT_EQ(got.header("content-length"), "4");
  EXPECT_NE(got.header("date"), "");
  EXPECT_EQ(got.data, "GET ");
}

TEST_F(Requests, ComeInFramesOfAnySize) {
  start();
  const std::string body(100'000, 'b');
  for (const size_t frame_bytes : {size_t{1000}, size_t{7}, size_t{16'384}}) {
    RawClient client(listener_->port());
    client.begin();
    client.send(headers_frame(1, head("POST", "/echo")) + data_frames(1, body, true, frame_bytes));
    EXPECT_EQ(client.answer(1).data, "POST " + body) << frame_bytes;
    client.send(headers_frame(3, head("POST", "/echo")) + data_frames(3, "x", false));
    client.send(data_frames(3, "", true));
    EXPECT_EQ(client.answer(3).data, "POST x");
  }
}

TEST_F(Requests, BeginWhereverTheirBytesAreCut) {
  start();
  const std::string bytes = std::string(kPreface) + settings_frame() +
                            headers_frame(1, head("POST", "/echo")) + data_frames(1, "abc", true);
  for (const size_t step : {1, 3, 23, 24, 25}) {
    RawClient client(listener_->port());
    for (size_t at = 0; at < bytes.size(); at += step) {
      client.send(std::string_view(bytes).substr(at, step));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    EXPECT_EQ(client.answer(1).data, "POST abc") << step;
  }
}

TEST_F(Requests, ThatArePausedHoldTheirClient) {
  TransportSettings settings;
  settings.stream_window_bytes = 65'535;
  start(std::move(settings));
  RawClient client(listener_->port());
  client.begin();
  const std::string body(60'000, 'b');
  client.send(headers_frame(1, head("POST", "/slow")) + data_frames(1, body, false));
  ASSERT_TRUE(client.sync());
  // Its window has not grown; another stream has its own window.
  client.send(headers_frame(3, head("POST", "/echo")) + data_frames(3, body, true));
  EXPECT_EQ(client.answer(3).data.size(), body.size() + 5);
  EXPECT_EQ(requests_.begun, 2);
  go_on();
  client.send(data_frames(1, "end", true));
  EXPECT_EQ(client.answer(1).data, "POST " + body + "end");
}

TEST_F(Requests, ThatAreAnsweredEarlyDropTheRest) {
  start();
  RawClient client(listener_->port());
  client.begin();
  client.send(headers_frame(1, head("POST", "/early")) + data_frames(1, "some", false));
  const StreamAnswer& got = client.answer(1);
  EXPECT_EQ(got.header(":status"), "403");
  client.send(data_frames(1, std::string(50'000, 'b'), true));
  client.send(headers_frame(3, head("POST", "/echo")) + data_frames(3, "x", true));
  EXPECT_EQ(client.answer(3).data, "POST x");
}

TEST_F(Requests, AreRefusedWithTheStatusOfWhatIsWrong) {
  TransportSettings settings;
  settings.header_bytes_max = 2000;
  settings.target_bytes_max = 1000;
  start(std::move(settings));
  RawClient client(listener_->port());
  client.begin();
  const std::string long_text(1500, 'x');
  const std::vector<std::pair<HeaderList, std::string>> cases = {
      {head("GET", "/" + long_text), "414"},
      {head("GET", "/echo", {{"a", long_text}, {"b", long_text}}), "431"},
      {head("GET", "/echo", {{"host", "other"}}), "400"},
      {head("GET", "/echo", {{"expect", "cake"}}), "417"},
      {{{":method", "CONNECT"}, {":authority", "a:1"}}, "501"},
  };
  uint32_t stream = 1;
  for (const auto& [headers, status] : cases) {
    client.send(headers_frame(stream, headers, true));
    const StreamAnswer& got = client.answer(stream);
    EXPECT_EQ(got.header(":status"), status) << stream;
    EXPECT_NE(got.data.find("{\"error\":\""), std::string::npos) << got.data;
    stream += 2;
  }
  EXPECT_EQ(requests_.refused, static_cast<int>(cases.size()));
  client.send(headers_frame(stream, head("HEAD", "/echo"), true));
  EXPECT_EQ(client.answer(stream).data, "");
  // nghttp2 refuses invalid requests.
  const HeaderList nobody{{":method", "GET"}, {":scheme", "http"}, {":path", "/echo"}};
  client.send(headers_frame(stream + 2, nobody, true));
  EXPECT_EQ(client.answer(stream + 2).reset, kProtocolError);
}

TEST_F(Requests, TellOfClientsThatLeave) {
  start();
  RawClient client(listener_->port());
  client.begin();
  client.send(headers_frame(1, head("POST", "/hang"), true));
  client.send(headers_frame(3, head("POST", "/echo")) + data_frames(3, "part", false));
  ASSERT_TRUE(client.sync());
  client.send(reset_frame(1) + reset_frame(3));
  EXPECT_TRUE(soon([&] { return requests_.closed == 2; }));
  client.send(headers_frame(5, head("POST", "/hang"), true));
  ASSERT_TRUE(soon([&] { return requests_.begun == 3; }));
  client.close();
  EXPECT_TRUE(soon([&] { return requests_.closed == 3; }));
  EXPECT_TRUE(soon([&] { return listener_->connections() == 0; }));
}

TEST_F(Requests, AreCutWhereNothingMovesForLong) {
  TransportSettings settings;
  settings.idle_ms = 50;
  settings.stalled_ms = 150;
  start(std::move(settings));
  RawClient client(listener_->port());
  client.auto_windows = false;
  client.begin({{kInitialWindow, 10}});
  client.send(headers_frame(1, head("POST", "/echo")) + data_frames(1, "part", false));
  client.send(headers_frame(3, head("GET", "/large?100000"), true));
  // A body that never arrives; a response for which the client opens no window.
  EXPECT_EQ(client.answer(1).header(":status"), "408");
  EXPECT_EQ(client.answer(3).reset, kCancel);
  EXPECT_EQ(requests_.closed, 1);
}

TEST_F(Requests, SendLargeAnswersAsTheClientMakesRoom) {
  start();
  RawClient client(listener_->port());
  client.begin();
  client.send(headers_frame(1, head("GET", "/large?9000000"), true) +
              headers_frame(3, head("GET", "/echo"), true));
  EXPECT_EQ(client.answer(3).data, "GET ");
  EXPECT_EQ(client.answer(1).data, std::string(9'000'000, 'x'));
  EXPECT_TRUE(soon([&] { return budget_->used() < 9'000'000; }));
}

TEST_F(Requests, ShareAPortWithCalls) {
  TransportSettings settings;
  settings.serves = Serves::Both;
  start(std::move(settings));
  RawClient client(listener_->port());
  client.begin();
  for (uint32_t stream = 1; stream < 40; stream += 4) {
    client.send(headers_frame(stream, head("POST", "/echo")) + data_frames(stream, "rest", true));
    client.send(headers_frame(stream + 2, call_headers("/t.T/Unary")) +
                data_frames(stream + 2, grpc_message("call"), true));
  }
  for (uint32_t stream = 1; stream < 40; stream += 4) {
    EXPECT_EQ(client.answer(stream).data, "POST rest");
    const StreamAnswer& call = client.answer(stream + 2);
    EXPECT_EQ(call.status(), 0);
    EXPECT_EQ(call.messages(), std::vector<std::string>{"call"});
  }
  // A call whose content type comes last, and a request that only resembles a call.
  client.send(headers_frame(41, head("POST", "/t.T/Unary",
                                     {{"te", "trailers"}, {"content-type", "application/grpc"}})) +
              data_frames(41, grpc_message("last"), true));
  EXPECT_EQ(client.answer(41).messages(), std::vector<std::string>{"last"});
  client.send(headers_frame(43, head("POST", "/echo", {{"content-type", "application/grpc-web"}})) +
              data_frames(43, "web", true));
  EXPECT_EQ(client.answer(43).data, "POST web");
}

TEST_F(Requests, AreAnsweredInADrain) {
  start();
  RawClient client(listener_->port());
  client.begin();
  client.send(headers_frame(1, head("POST", "/later"), true));
  ASSERT_TRUE(soon([&] { return requests_.begun == 1; }));
  std::atomic<int> cut{-1};
  listener_->drain(10'000, [&](uint64_t count) { cut = static_cast<int>(count); });
  go_on();
  EXPECT_EQ(client.answer(1).data, "later");
  EXPECT_EQ(client.ending(), kNoError);
  EXPECT_TRUE(soon([&] { return cut == 0; }));
}

TEST_F(Requests, AreCutWhenADrainIsOver) {
  start();
  RawClient client(listener_->port());
  client.begin();
  client.send(headers_frame(1, head("POST", "/hang"), true));
  ASSERT_TRUE(soon([&] { return requests_.begun == 1; }));
  std::atomic<int> cut{-1};
  listener_->drain(50, [&](uint64_t count) { cut = static_cast<int>(count); });
  EXPECT_TRUE(soon([&] { return cut == 1; }));
  EXPECT_EQ(requests_.closed, 1);
}

TEST_F(Requests, OfNobodyWhoSaysWhatHeSpeaksAreNotWaitedFor) {
  TransportSettings settings;
  settings.silent_ms = 100;
  start(std::move(settings));
  for (const char* first : {"", "PRI * HTTP/2.0\r\n"}) {
    RawClient client(listener_->port());
    if (*first != '\0') client.send(first);
    EXPECT_FALSE(client.read_frame().has_value());
    EXPECT_TRUE(client.ended()) << first;
  }
  RawClient other(listener_->port());
  other.send("PRI * HTTP/1.1\r\nHost: a\r\n\r\n");
  while (other.read_frame(1000).has_value()) continue;
  EXPECT_TRUE(other.ended());
}

}  // namespace
}  // namespace serval::testing
