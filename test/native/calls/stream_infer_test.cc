// ModelStreamInfer through a listener: replies in the order of the requests whatever the engine
// finishes first, errors inside the stream, back-pressure in both directions, and ends of a stream.
#include <gtest/gtest.h>

#include "calls/support/calls_fixture.h"

namespace serval::test {
namespace {

using serval::testing::data_frames;
using serval::testing::grpc_message;
using serval::testing::kInitialWindow;
using serval::testing::reset_frame;
using serval::testing::settings_frame;

std::string id_of(size_t number) { return "request " + std::to_string(number); }

class StreamInferTest : public CallsTest {
 protected:
  void connect(const std::vector<std::pair<uint16_t, uint32_t>>& settings = {}) {
    client_ = std::make_unique<RawClient>(listener_->port());
    client_->begin(settings);
  }
  uint32_t open(const HeaderList& more = {}) { return client_->open(kStreamInfer, more); }
  void ask(uint32_t stream, std::string_view model, size_t number, bool last = false) {
    const std::string message = infer_message(model, "", id_of(number));
    client_->send(data_frames(stream, grpc_message(message), last));
  }
  // Expects the replies of requests 0 to `count` - 1, without errors.
  void expect_in_order(const std::vector<std::string>& replies, size_t count) {
    ASSERT_EQ(replies.size(), count);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(stream_error(replies[i]), "");
      ASSERT_EQ(stream_id(replies[i]), id_of(i));
    }
  }

  std::unique_ptr<RawClient> client_;
};

TEST_F(StreamInferTest, RepliesInTheOrderOfTheRequests) {
  serve("now", ExecMode::Inline);
  serve("slow", ExecMode::Queued, 3'000);
  serve("many", ExecMode::Queued, 1'000, [](ModelSpec& spec) { spec.instances = 3; });
  start();
  connect();
  const std::vector<std::string> names{"slow", "now", "many", "many", "now", "many"};
  const uint32_t one = open(), two = open();
  for (size_t i = 0; i < 60; ++i) {
    ask(one, names[i % names.size()], i, i == 59);
    ask(two, names[(i + 1) % names.size()], i, i == 59);
  }
  for (const uint32_t stream : {one, two}) {
    StreamAnswer& answer = client_->answer(stream);
    EXPECT_EQ(answer.status(), 0) << answer.message();
    expect_in_order(answer.messages(), 60);
  }
}

TEST_F(StreamInferTest, RepliesLeaveWhileTheClientStillSends) {
  serve("now", ExecMode::Inline);
  serve("later", ExecMode::Queued);
  start();
  connect();
  const uint32_t stream = open();
  for (size_t i = 0; i < 10; ++i) {
    ask(stream, i % 2 == 0 ? "now" : "later", i);
    expect_in_order(client_->messages(stream, i + 1), i + 1);
  }
  client_->send(data_frames(stream, "", true));
  EXPECT_EQ(client_->answer(stream).status(), 0);
}

TEST_F(StreamInferTest, AStreamOfNothingEndsWell) {
  start();
  connect();
  const uint32_t stream = open();
  client_->send(data_frames(stream, "", true));
  EXPECT_EQ(client_->answer(stream).status(), 0);
  EXPECT_TRUE(client_->answer(stream).messages().empty());
}

TEST_F(StreamInferTest, ErrorsOfARequestAreReplies) {
  const auto failing = [](ModelSpec& spec) { spec.null_mode = "fail"; };
  serve("now", ExecMode::Inline, 0, failing);
  serve("later", ExecMode::Queued, 0, failing);
  serve("good", ExecMode::Inline);
  start();
  connect();
  const uint32_t stream = open();
  ask(stream, "later", 0);
  ask(stream, "now", 1);
  client_->send(data_frames(stream, grpc_message("\xff\xff\xff"), false));
  ask(stream, "good", 3, true);
  const StreamAnswer& answer = client_->answer(stream);
  EXPECT_EQ(answer.status(), 0) << answer.message();
  const std::vector<std::string> replies = answer.messages();
  ASSERT_EQ(replies.size(), 4u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NE(stream_error(replies[i]).find("asked to fail"), std::string::npos);
    EXPECT_EQ(stream_id(replies[i]), id_of(i));
  }
  EXPECT_NE(stream_error(replies[2]), "");
  EXPECT_EQ(stream_error(replies[3]), "");
}

// The reply keeps its place; later responses wait for it.
TEST_F(StreamInferTest, WordsOfTheFarEndComeInTheirOrder) {
  serve("now", ExecMode::Inline);
  start();
  connect();
  const uint32_t stream = open();
  ask(stream, "now", 0);
  ask(stream, "nobody", 1);
  ask(stream, "now", 2);
  ask(stream, "nobody", 3);
  ask(stream, "now", 4, true);
  const BridgeEvent first = far_.expect(ListenerEvent::Explain);
  const BridgeEvent second = far_.expect(ListenerEvent::Explain);
  EXPECT_EQ(first.call, second.call);
  EXPECT_EQ(first.value, kStreamInferAt);
  ASSERT_TRUE(client_->sync());
  EXPECT_EQ(client_->streams[stream].messages().size(), 1u);
  EXPECT_TRUE(far_.send(first, ListenerCommand::ExplainedReply, 0, "first"));
  EXPECT_EQ(client_->messages(stream, 3)[1], "first");
  EXPECT_TRUE(far_.send(second, ListenerCommand::ExplainedReply, 0, "second"));
  const StreamAnswer& answer = client_->answer(stream);
  EXPECT_EQ(answer.status(), 0);
  ASSERT_EQ(answer.messages().size(), 5u);
  EXPECT_EQ(answer.messages()[3], "second");
  EXPECT_EQ(stream_id(answer.messages()[4]), id_of(4));
}

TEST_F(StreamInferTest, WordsMissingNamesInTheirOrder) {
  methods_ = methods(sentences());
  route("asleep", 0, false, "it sleeps");
  serve("slow", ExecMode::Queued, 3'000);
  start();
  connect();
  const uint32_t stream = open();
  ask(stream, "slow", 0);
  ask(stream, "asleep", 1);
  ask(stream, "nobody", 2);
  ask(stream, "slow", 3, true);
  const BridgeEvent event = far_.expect(ListenerEvent::Explain);
  EXPECT_TRUE(far_.send(event, ListenerCommand::ExplainedReply, 0, "woken"));
  const StreamAnswer& answer = client_->answer(stream);
  EXPECT_EQ(answer.status(), 0) << answer.message();
  const std::vector<std::string> replies = answer.messages();
  ASSERT_EQ(replies.size(), 4u);
  EXPECT_EQ(replies[1], "woken");
  EXPECT_EQ(stream_error(replies[2]), "no nobody");
  EXPECT_EQ(stream_id(replies[2]), id_of(2));
  EXPECT_EQ(stream_id(replies[3]), id_of(3));
}

TEST_F(StreamInferTest, TheFarEndMayEndIt) {
  const uint32_t handle = serve("slow", ExecMode::Queued, kHourUs);
  start();
  connect();
  const uint32_t stream = open();
  for (size_t i = 0; i < 4; ++i) ask(stream, i == 3 ? "nobody" : "slow", i);
  const BridgeEvent event = far_.expect(ListenerEvent::Explain);
  ASSERT_TRUE(waits(handle, 2));
  EXPECT_TRUE(far_.send(event, ListenerCommand::ExplainedStatus, 14, "no more"));
  EXPECT_EQ(client_->answer(stream).status(), 14);
  EXPECT_EQ(client_->answer(stream).message(), "no more");
  EXPECT_TRUE(waits(handle, 0)) << "what it asked for is not wanted";
  // A text for a call that no longer exists.
  EXPECT_TRUE(far_.send(event, ListenerCommand::ExplainedReply, 0, "late"));
  EXPECT_TRUE(client_->sync());
}

// Requests that wait in the engine delay their own client, not the others.
TEST_F(StreamInferTest, ASlowModelHoldsItsClientBack) {
  constexpr size_t kRequests = 400;
  const uint32_t handle = serve("slow", ExecMode::Queued, 500);
  serve("now", ExecMode::Inline);
  start();
  connect();
  const uint32_t stream = open();
  size_t most = 0;
  for (size_t i = 0; i < kRequests; ++i) {
    ask(stream, "slow", i, i + 1 == kRequests);
    most = std::max(most, model(handle)->queue().size());
  }
  EXPECT_TRUE(answers("now"));
  StreamAnswer& answer = client_->streams[stream];
  while (!answer.ended && client_->take().has_value()) {
    most = std::max(most, model(handle)->queue().size());
  }
  EXPECT_EQ(answer.status(), 0) << answer.message();
  expect_in_order(answer.messages(), kRequests);
  EXPECT_LE(most, 64u);
}

// Sends as much as fits the server's window of one stream.
class Sender {
 public:
  Sender(RawClient& client, uint32_t stream) : client_(client), stream_(stream) {}
  // False: the window is full, and the server has read all that was sent.
  bool send(const std::string& data_frame) {
    const auto bytes = static_cast<int64_t>(data_frame.size()) - 9;
    for (int tries = 0; bytes > room_; ++tries) {
      if (tries > 0 || !settle()) return false;
    }
    room_ -= bytes;
    return client_.send(data_frame);
  }

 private:
  bool settle() {
    client_.send(serval::testing::ping_frame("settled!"));
    for (;;) {
      const std::optional<serval::testing::Frame> got = client_.take();
      if (!got.has_value()) return false;
      if (got->type == serval::testing::kWindowUpdate && got->stream == stream_) {
        room_ += serval::testing::read_u32(got->payload);
      }
      if (got->type == serval::testing::kPing && got->payload == "settled!") return true;
    }
  }

  RawClient& client_;
  const uint32_t stream_;
  int64_t room_ = TransportSettings().stream_window_bytes;
};

// Nothing is read from a client that does not read, and little memory is held for it.
TEST_F(StreamInferTest, AClientThatDoesNotReadIsNotReadFrom) {
  constexpr size_t kRequests = 300, kFloats = 25'000;  // 100 KB in each direction
  serve("now", ExecMode::Inline);
  start();
  connect({{kInitialWindow, 0}});
  client_->auto_windows = false;
  const uint32_t stream = open();
  const std::string message = grpc_message(long_infer_message("now", kFloats));
  std::vector<std::string> frames;
  for (size_t i = 0; i < kRequests; ++i) {
    for (size_t at = 0; at < message.size(); at += 16'000) {
      const bool ends = i + 1 == kRequests && at + 16'000 >= message.size();
      frames.push_back(data_frames(stream, message.substr(at, 16'000), ends));
    }
  }
  Sender sender(*client_, stream);
  size_t sent = 0;
  while (sent < frames.size() && sender.send(frames[sent])) ++sent;
  EXPECT_LT(sent, frames.size() / 3);
  EXPECT_LE(engine_->budget()->used(), 12u << 20);
  EXPECT_TRUE(answers("now"));
  // The client reads again.
  client_->auto_windows = true;
  client_->send(settings_frame({{kInitialWindow, 1u << 30}}));
  for (; sent < frames.size(); sent += sender.send(frames[sent])) ASSERT_FALSE(client_->ended());
  EXPECT_EQ(client_->answer(stream).status(), 0);
  EXPECT_EQ(client_->answer(stream).messages().size(), kRequests);
}

TEST_F(StreamInferTest, ACancelledStreamTakesItsRequestsAlong) {
  const uint32_t handle = serve("slow", ExecMode::Queued, kHourUs);
  start();
  connect();
  const uint32_t cancelled = open(), late = open({{"grpc-timeout", "300m"}}), stays = open();
  for (size_t i = 0; i < 5; ++i) ask(cancelled, "slow", i, i == 4);
  for (size_t i = 0; i < 5; ++i) ask(late, "slow", i);
  for (size_t i = 0; i < 5; ++i) ask(stays, "slow", i);
  ASSERT_TRUE(client_->sync());
  client_->send(reset_frame(cancelled));
  // Replies that the engine's own timer produced, and that were not sent, are dropped with a reset.
  const StreamAnswer& ended = client_->answer(late);
  EXPECT_TRUE(ended.status() == 4 || ended.reset == serval::testing::kCancel) << ended.status();
  EXPECT_TRUE(waits(handle, 4)) << "one of the last runs";
  client_->close();
  EXPECT_TRUE(waits(handle, 0));
  EXPECT_TRUE(has_connections(0));
}

TEST_F(StreamInferTest, ADrainAnswersWhatCameBefore) {
  const uint32_t handle = serve("slow", ExecMode::Queued, 20'000);
  start();
  connect();
  const uint32_t begun = open(), done = open(), idle = open();
  for (size_t i = 0; i < 3; ++i) ask(begun, "slow", i);
  for (size_t i = 0; i < 3; ++i) ask(done, "slow", i, i == 2);
  ASSERT_TRUE(client_->sync());
  listener_->drain(10'000, [this](uint64_t cut) { bridge_->drained(cut); });
  EXPECT_EQ(client_->answer(idle).status(), 14);
  ask(begun, "slow", 99);  // not run, as the status says
  EXPECT_EQ(client_->answer(begun).status(), 14);
  expect_in_order(client_->answer(begun).messages(), 3);
  EXPECT_EQ(client_->answer(done).status(), 0) << "nothing of it is missing";
  expect_in_order(client_->answer(done).messages(), 3);
  EXPECT_EQ(client_->ending(), serval::testing::kNoError);
  EXPECT_EQ(far_.expect(ListenerEvent::Drained).value, 0u);
  EXPECT_EQ(model(handle)->read_stats().inference_count, 6u);
}

TEST_F(StreamInferTest, ADrainCutsWhatTakesTooLong) {
  serve("slow", ExecMode::Queued, kHourUs);
  start();
  connect();
  const uint32_t stream = open();
  for (size_t i = 0; i < 3; ++i) ask(stream, "slow", i);
  ASSERT_TRUE(client_->sync());
  listener_->drain(50, [this](uint64_t cut) { bridge_->drained(cut); });
  EXPECT_EQ(client_->answer(stream).status(), 14);
  const BridgeEvent drained = far_.expect(ListenerEvent::Drained);
  EXPECT_EQ(drained.value, 1u);
  EXPECT_EQ(drained.payload, std::string("3 slow\0", 7));
}

}  // namespace
}  // namespace serval::test
