// Calls that the engine does not answer, through a listener to the far end of the bridge and back:
// messages and statuses, back-pressure, memory, clients that leave, ends, several threads.
#include <gtest/gtest.h>

#include <map>

#include "calls/support/calls_fixture.h"

namespace serval::test {
namespace {

using serval::testing::data_frames;
using serval::testing::grpc_message;
using serval::testing::reset_frame;

using Texts = std::vector<std::string>;

class ForwardTest : public CallsTest {
 protected:
  explicit ForwardTest(EngineOptions options = {}) : CallsTest(std::move(options)) {}
  void begin(TransportSettings settings = {}) {
    start(std::move(settings));
    client_ = std::make_unique<RawClient>(listener_->port());
    client_->begin();
  }
  void say(uint32_t stream, std::string_view text, bool last = false) {
    client_->send(data_frames(stream, grpc_message(text), last));
  }
  // Expects that the next two events are a call's beginning and its message.
  BridgeEvent opened(uint32_t method, std::string_view message) {
    const BridgeEvent event = far_.expect(ListenerEvent::Open);
    EXPECT_EQ(event.value, method);
    if (method == kUnaryAt) EXPECT_EQ(far_.expect(ListenerEvent::Message).payload, message);
    return event;
  }
  // True if no event is left that the test did not read.
  bool is_quiet() {
    far_.take(std::chrono::milliseconds(0));
    return far_.waiting().empty();
  }

  std::unique_ptr<RawClient> client_;
};

TEST_F(ForwardTest, AUnaryCallIsAnswered) {
  begin();
  const uint32_t call = client_->call(kUnary, "question");
  const BridgeEvent event = opened(kUnaryAt, "question");
  EXPECT_NE(event.call, 0u);
  double deadline_ms = 0;
  uint32_t caller = 1;
  ASSERT_EQ(event.payload.size(), sizeof deadline_ms + sizeof caller);
  std::memcpy(&deadline_ms, event.payload.data(), sizeof deadline_ms);
  std::memcpy(&caller, event.payload.data() + sizeof deadline_ms, sizeof caller);
  EXPECT_EQ(caller, 0u);
  EXPECT_EQ(deadline_ms, std::numeric_limits<double>::infinity());
  far_.answer(event, "answer");
  EXPECT_EQ(client_->answer(call).status(), 0);
  EXPECT_EQ(client_->answer(call).messages(), Texts{"answer"});
  // The call has ended: nothing happens.
  far_.answer(event, "again");
  EXPECT_TRUE(client_->sync());
  EXPECT_TRUE(is_quiet());
}

TEST_F(ForwardTest, ACallKnowsItsDeadline) {
  begin();
  const auto now_ms = [] {
    return std::chrono::duration<double, std::milli>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const double before_ms = now_ms();
  client_->call(kUnary, "", {{"grpc-timeout", "100S"}});
  const BridgeEvent event = opened(kUnaryAt, "");
  double deadline_ms = 0;
  std::memcpy(&deadline_ms, event.payload.data(), sizeof deadline_ms);
  EXPECT_GE(deadline_ms, before_ms + 99'999);
  EXPECT_LE(deadline_ms, now_ms() + 100'001);
}

TEST_F(ForwardTest, AStatusMayBeAllThatIsSaid) {
  begin();
  const uint32_t call = client_->call(kUnary, "m"), stream = client_->open(kStream);
  EXPECT_TRUE(far_.send(opened(kUnaryAt, "m"), ListenerCommand::Finish, 5, "not \u00e4here"));
  EXPECT_TRUE(far_.send(opened(kStreamAt, ""), ListenerCommand::Finish, 16, "who?"));
  EXPECT_EQ(client_->answer(call).status(), 5);
  EXPECT_EQ(client_->answer(call).message(), "not %C3%A4here");
  EXPECT_EQ(client_->answer(stream).status(), 16);
}

TEST_F(ForwardTest, AStreamSendsMany) {
  begin();
  const uint32_t stream = client_->open(kStream);
  say(stream, "go", true);
  const BridgeEvent event = opened(kStreamAt, "");
  EXPECT_EQ(far_.expect(ListenerEvent::Message).payload, "go");
  EXPECT_EQ(far_.expect(ListenerEvent::HalfClosed).call, event.call);
  Texts sent;
  uint32_t left = 0;
  for (int i = 0; i < 50; ++i) {
    sent.push_back(std::string(1'000, 'a') + std::to_string(i));
    EXPECT_TRUE(far_.send(event, ListenerCommand::Message, 0, sent.back()));
  }
  EXPECT_EQ(client_->messages(stream, 50), sent);
  while (left < 50) left += far_.expect(ListenerEvent::Left).value;
  EXPECT_EQ(left, 50u);
  EXPECT_TRUE(far_.send(event, ListenerCommand::Finish, 0));
  EXPECT_EQ(client_->answer(stream).status(), 0);
}

// A client's next message is delivered after the previous one was accepted.
TEST_F(ForwardTest, AStreamsMessagesWaitToBeTaken) {
  begin();
  const uint32_t stream = client_->open(kStream);
  for (int i = 0; i < 20; ++i) say(stream, std::to_string(i), i == 19);
  ASSERT_TRUE(client_->sync());
  const BridgeEvent event = opened(kStreamAt, "");
  EXPECT_EQ(far_.expect(ListenerEvent::Message).payload, "0");
  size_t together = 1;
  for (int i = 1; i < 20; ++i) {
    if (far_.waiting().empty()) together = 0;
    EXPECT_EQ(far_.expect(ListenerEvent::Message).payload, std::to_string(i));
    EXPECT_LE(++together, 3u) << "few of one call are told at once";
  }
  far_.expect(ListenerEvent::HalfClosed);
  EXPECT_TRUE(far_.send(event, ListenerCommand::Finish, 0));
  EXPECT_EQ(client_->answer(stream).status(), 0);
}

TEST_F(ForwardTest, AStreamMayBePaused) {
  begin();
  const uint32_t stream = client_->open(kStream), other = client_->open(kStream);
  const BridgeEvent event = opened(kStreamAt, ""), beside = opened(kStreamAt, "");
  EXPECT_TRUE(far_.send(event, ListenerCommand::Pause, 1));
  EXPECT_TRUE(far_.send(beside, ListenerCommand::Message, 0, "obeyed"));
  client_->messages(other, 1);  // both commands were applied
  far_.expect(ListenerEvent::Left);
  say(stream, "waits", true);
  say(other, "comes");
  const BridgeEvent message = far_.expect(ListenerEvent::Message);
  EXPECT_EQ(message.payload, "comes");
  EXPECT_EQ(message.call, beside.call);
  ASSERT_TRUE(client_->sync());
  EXPECT_TRUE(is_quiet());
  EXPECT_TRUE(far_.send(event, ListenerCommand::Pause, 0));
  EXPECT_EQ(far_.expect(ListenerEvent::Message).payload, "waits");
  EXPECT_EQ(far_.expect(ListenerEvent::HalfClosed).call, event.call);
}

TEST_F(ForwardTest, WhoGoesIsTold) {
  begin();
  const uint32_t call = client_->call(kUnary, "m"), stream = client_->open(kStream);
  const BridgeEvent unary = opened(kUnaryAt, "m"), streamed = opened(kStreamAt, "");
  client_->call(kUnary, "late", {{"grpc-timeout", "20m"}});
  const BridgeEvent late = opened(kUnaryAt, "late");
  EXPECT_EQ(far_.expect(ListenerEvent::Closed).call, late.call);
  client_->send(reset_frame(call));
  EXPECT_EQ(far_.expect(ListenerEvent::Closed).call, unary.call);
  EXPECT_TRUE(far_.send(streamed, ListenerCommand::Message, 0, "still here"));
  EXPECT_EQ(client_->messages(stream, 1), Texts{"still here"});
  far_.expect(ListenerEvent::Left);
  client_->close();
  EXPECT_EQ(far_.expect(ListenerEvent::Closed).call, streamed.call);
  for (const BridgeEvent& gone : {unary, streamed, late}) {
    far_.answer(gone, "nobody hears it");
    EXPECT_TRUE(far_.send(gone, ListenerCommand::Pause, 1));
  }
  EXPECT_TRUE(has_connections(0));
  EXPECT_TRUE(is_quiet());
}

// A response over the limit ends its call, and the far end is notified.
TEST_F(ForwardTest, ARefusedAnswerIsTold) {
  TransportSettings settings;
  settings.send_bytes_max = 1'000;
  begin(settings);
  const uint32_t call = client_->call(kUnary, "m"), stream = client_->open(kStream);
  const BridgeEvent unary = opened(kUnaryAt, "m"), streamed = opened(kStreamAt, "");
  far_.answer(unary, std::string(1'001, 'x'));
  EXPECT_EQ(far_.expect(ListenerEvent::Closed).call, unary.call);
  EXPECT_EQ(client_->answer(call).status(), 8);
  EXPECT_TRUE(far_.send(streamed, ListenerCommand::Message, 0, std::string(1'000, 'x')));
  EXPECT_EQ(client_->messages(stream, 1).size(), 1u);
  far_.expect(ListenerEvent::Left);
  far_.answer(streamed, std::string(1'001, 'x'));
  EXPECT_EQ(far_.expect(ListenerEvent::Closed).call, streamed.call);
  EXPECT_EQ(client_->answer(stream).status(), 8);
}

// Events are not read: clients are refused when there is no memory for more, and the late reader
// learns which calls are open.
class SmallMemoryTest : public ForwardTest {
 protected:
  static constexpr uint64_t kBytes = 4u << 20;
  static EngineOptions options() {
    EngineOptions options;
    options.memory_limit = kBytes;
    return options;
  }
  SmallMemoryTest() : ForwardTest(options()) {}
};

TEST_F(SmallMemoryTest, NobodyTakesEvents) {
  serve("now", ExecMode::Inline);
  begin();
  std::vector<uint32_t> calls{client_->open(kStream)};
  // Fills memory to the last byte: short data still fits when long data does not.
  for (const size_t bytes : {100'000u, 10'000u, 1'000u, 100u, 4u}) {
    for (bool refused = false; !refused;) {
      calls.push_back(client_->call(kUnary, std::string(bytes, 'x')));
      ASSERT_TRUE(client_->sync());
      refused = client_->streams[calls.back()].ended;
      if (refused) EXPECT_EQ(client_->answer(calls.back()).status(), 8);
      ASSERT_LT(calls.size(), 1'000u);
    }
  }
  EXPECT_LE(engine_->budget()->used(), kBytes + kBytes / 16);
  EXPECT_TRUE(answers("now"));
  say(calls[0], "no room for it");
  EXPECT_EQ(client_->answer(calls[0]).status(), 8);
  for (size_t i = 1; i < 10; ++i) client_->send(reset_frame(calls[i]));
  ASSERT_TRUE(client_->sync());
  // An end is reported for each call that was reported and has ended.
  std::map<uint64_t, BridgeEvent> open;
  size_t alive = 0;
  for (size_t i = 10; i < calls.size(); ++i) alive += !client_->streams[calls[i]].ended;
  EXPECT_GT(alive, 10u);
  do {
    const BridgeEvent event = far_.next();
    ASSERT_FALSE(HasFailure());
    if (event.kind == ListenerEvent::Open) open[event.call] = event;
    if (event.kind == ListenerEvent::Closed) open.erase(event.call);
  } while (!far_.waiting().empty() || open.size() != alive);
  for (const auto& [id, event] : open) far_.answer(event, "answer");
  size_t answered = 0;
  for (size_t i = 10; i < calls.size(); ++i) answered += client_->answer(calls[i]).status() == 0;
  EXPECT_EQ(answered, open.size());
}

TEST_F(ForwardTest, ADrainWaitsForTheFarEnd) {
  begin();
  const uint32_t call = client_->call(kUnary, "m"), stream = client_->open(kStream);
  const BridgeEvent unary = opened(kUnaryAt, "m"), streamed = opened(kStreamAt, "");
  listener_->drain(10'000, [this](uint64_t cut) { bridge_->drained(cut); });
  while (!client_->go_away.has_value()) ASSERT_TRUE(client_->take().has_value());
  far_.answer(unary, "answer");
  far_.answer(streamed, "last words");
  EXPECT_EQ(client_->answer(call).messages(), Texts{"answer"});
  EXPECT_EQ(client_->answer(stream).messages(), Texts{"last words"});
  EXPECT_EQ(client_->ending(), serval::testing::kNoError);
  BridgeEvent event = far_.next();
  if (event.kind == ListenerEvent::Left) event = far_.next();
  EXPECT_EQ(event.kind, ListenerEvent::Drained);
  EXPECT_EQ(event.value, 0u);
}

TEST_F(ForwardTest, ADrainCutsWhatIsNeverAnswered) {
  begin();
  const uint32_t call = client_->call(kUnary, "m"), stream = client_->open(kStream);
  const BridgeEvent unary = opened(kUnaryAt, "m"), streamed = opened(kStreamAt, "");
  listener_->drain(50, [this](uint64_t cut) { bridge_->drained(cut); });
  EXPECT_EQ(client_->answer(call).status(), 14);
  EXPECT_EQ(client_->answer(stream).status(), 14);
  EXPECT_EQ(far_.expect(ListenerEvent::Closed).call + far_.expect(ListenerEvent::Closed).call,
            unary.call + streamed.call);
  EXPECT_EQ(far_.expect(ListenerEvent::Drained).value, 2u);
}

TEST_F(ForwardTest, StopsWithCallsOpen) {
  begin();
  for (int i = 0; i < 20; ++i) {
    client_->call(kUnary, "m");
    say(client_->open(kStream), "m");
  }
  ASSERT_TRUE(client_->sync());
  const BridgeEvent first = far_.expect(ListenerEvent::Open);
  EXPECT_TRUE(far_.send(first, ListenerCommand::Message, 0, "meanwhile"));
  listener_.reset();
  EXPECT_FALSE(far_.send(first, ListenerCommand::Finish, 0));
  size_t closed = 0;
  while (far_.take(std::chrono::milliseconds(0))) continue;
  for (const BridgeEvent& event : far_.waiting()) closed += event.kind == ListenerEvent::Closed;
  EXPECT_EQ(closed, 40u) << "each is told of";
}

// Many clients on several threads; the thread that has a call answers it.
TEST_F(ForwardTest, AnswersOnSeveralThreads) {
  constexpr int kClients = 12, kCalls = 50;
  TransportSettings settings;
  settings.threads = 3;
  serve("later", ExecMode::Queued);
  begin(settings);
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([this, i, &wrong] {
      RawClient client(listener_->port());
      client.begin();
      for (int call = 0; call < kCalls; ++call) {
        const std::string text = std::to_string(i) + " " + std::to_string(call);
        const uint32_t unary = client.call(kUnary, text);
        const uint32_t infer = client.call(kInfer, infer_message("later", "", text));
        if (call % 7 == 0) client.send(reset_frame(client.call(kUnary, "cancelled")));
        if (client.answer(unary).messages() != Texts{text + "!"}) ++wrong;
        const Texts inferred = client.answer(infer).messages();
        if (inferred.size() != 1 || wire_text(inferred[0], 3) != text) ++wrong;
      }
    });
  }
  std::map<std::pair<uint32_t, uint64_t>, BridgeEvent> open;
  int answered = 0;
  std::map<uint32_t, int> of_thread;
  while (answered < kClients * kCalls) {
    const BridgeEvent event = far_.next();
    if (::testing::Test::HasFailure()) break;
    if (event.kind != ListenerEvent::Message) continue;
    ++of_thread[event.thread];
    far_.answer(event, event.payload + "!");
    answered += event.payload != "cancelled";
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace serval::test
