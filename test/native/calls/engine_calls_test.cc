// Unary calls that the engine answers, through a listener: answered at once or by completion,
// refused, failed, cancelled, late, and cut.
#include "calls/engine_calls.h"

#include <gtest/gtest.h>

#include "calls/support/calls_fixture.h"

namespace serval::test {
namespace {

using serval::testing::data_frames;
using serval::testing::grpc_message;
using serval::testing::reset_frame;

// True if the response contains what infer_message() sends.
bool echoes(const StreamAnswer& answer) {
  return answer.status() == 0 && answer.messages().size() == 1 &&
         answer.messages()[0].find(raw_of<float>({1.0f, 2.0f})) != std::string::npos;
}

TEST_F(CallsTest, AnswersAtOnceAndByCompletion) {
  serve("now", ExecMode::Inline);
  serve("later", ExecMode::Queued);
  start();
  RawClient client(listener_->port());
  client.begin();
  std::vector<uint32_t> calls;
  for (int i = 0; i < 100; ++i) {
    calls.push_back(client.call(kInfer, infer_message(i % 2 == 0 ? "now" : "later")));
  }
  for (const uint32_t call : calls) EXPECT_TRUE(echoes(client.answer(call))) << call;
}

TEST_F(CallsTest, CarriesLongMessagesBothWays) {
  serve("now", ExecMode::Inline);
  serve("later", ExecMode::Queued);
  start();
  RawClient client(listener_->port());
  client.begin();
  for (const std::string name : {"now", "later"}) {
    for (const size_t floats : {1'000u, 5'000u, 20'000u, 500'000u}) {
      const std::string message = long_infer_message(name, floats);
      StreamAnswer& answer = client.answer(client.call(kInfer, message));
      ASSERT_EQ(answer.status(), 0) << answer.message();
      EXPECT_GT(answer.messages()[0].size(), floats * sizeof(float));
      EXPECT_NE(answer.messages()[0].find(std::string(floats * sizeof(float), '\x3f')),
                std::string::npos);
    }
  }
}

TEST_F(CallsTest, SaysWhatFailsAsStatuses) {
  const auto failing = [](ModelSpec& spec) { spec.null_mode = "fail"; };
  serve("now", ExecMode::Inline, 0, failing);
  serve("later", ExecMode::Queued, 0, failing);
  start();
  RawClient client(listener_->port());
  client.begin();
  for (const std::string name : {"now", "later"}) {
    const StreamAnswer& failed = client.answer(client.call(kInfer, infer_message(name)));
    EXPECT_EQ(failed.status(), status_of(ErrorCode::BackendFailed));
    EXPECT_NE(failed.message().find("asked to fail"), std::string::npos) << failed.message();
    EXPECT_EQ(failed.data, "");
  }
  const StreamAnswer& broken = client.answer(client.call(kInfer, "\xff\xff\xff"));
  EXPECT_EQ(broken.status(), status_of(ErrorCode::MalformedBody)) << broken.message();
  const StreamAnswer& empty = client.answer(client.call(kMulti, ""));
  EXPECT_EQ(empty.status(), status_of(ErrorCode::InvalidArgument));
  EXPECT_EQ(empty.message(), "ModelSpec has no name specified.");
  EXPECT_EQ(client.answer(client.call("/t.T/None", "")).status(), 12);
}

// The model's first request runs for an hour; the next one fills its queue.
TEST_F(CallsTest, RefusesWhatTheQueueHasNoRoomFor) {
  const uint32_t handle = serve("slow", ExecMode::Queued, kHourUs,
                                [](ModelSpec& spec) { spec.queue.requests_max = 1; });
  serve("now", ExecMode::Inline);
  start();
  RawClient client(listener_->port());
  client.begin();
  const uint32_t runs = client.call(kInfer, infer_message("slow"));
  ASSERT_TRUE(client.sync() && waits(handle, 0));
  client.call(kInfer, infer_message("slow"));
  const StreamAnswer& refused = client.answer(client.call(kInfer, infer_message("slow")));
  EXPECT_EQ(refused.status(), status_of(ErrorCode::QueueFull));
  EXPECT_EQ(refused.message().rfind("too much: model 'slow': the request queue is full", 0), 0u)
      << refused.message();
  client.send(reset_frame(runs));
  EXPECT_TRUE(waits(handle, 0)) << "the next one runs";
  EXPECT_TRUE(answers("now"));
}

TEST_F(CallsTest, ALateCallLeavesTheQueue) {
  const uint32_t handle = serve("slow", ExecMode::Queued, kHourUs);
  start();
  RawClient client(listener_->port());
  client.begin();
  client.call(kInfer, infer_message("slow"));
  ASSERT_TRUE(client.sync() && waits(handle, 0));
  const uint32_t late = client.call(kInfer, infer_message("slow"), {{"grpc-timeout", "100m"}});
  EXPECT_EQ(client.answer(late).status(), 4);
  EXPECT_TRUE(waits(handle, 0));
}

TEST_F(CallsTest, ALateRunIsEnded) {
  const uint32_t handle = serve("slow", ExecMode::Queued, kHourUs);
  start();
  RawClient client(listener_->port());
  client.begin();
  const uint32_t first = client.call(kInfer, infer_message("slow"), {{"grpc-timeout", "100m"}});
  ASSERT_TRUE(client.sync() && waits(handle, 0));
  client.call(kInfer, infer_message("slow"));
  EXPECT_EQ(client.answer(first).status(), 4);
  EXPECT_TRUE(waits(handle, 0)) << "the next one runs";
}

TEST_F(CallsTest, CancelledCallsLeaveTheQueue) {
  const uint32_t handle = serve("slow", ExecMode::Queued, kHourUs);
  start();
  RawClient client(listener_->port());
  client.begin();
  std::vector<uint32_t> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(client.call(kInfer, infer_message("slow")));
  ASSERT_TRUE(client.sync() && waits(handle, 9));
  for (size_t i = 1; i < 10; i += 2) client.send(reset_frame(calls[i]));
  EXPECT_TRUE(waits(handle, 4));
  client.send(reset_frame(calls[0]));  // a request that runs
  EXPECT_TRUE(waits(handle, 3)) << "the next one runs";
}

TEST_F(CallsTest, ClientsThatGoTakeTheirCallsAlong) {
  const uint32_t handle = serve("slow", ExecMode::Queued, kHourUs);
  serve("now", ExecMode::Inline);
  start();
  RawClient stays(listener_->port());
  stays.begin();
  {
    RawClient goes(listener_->port());
    goes.begin();
    for (int i = 0; i < 10; ++i) goes.call(kInfer, infer_message("slow"));
    ASSERT_TRUE(goes.sync() && waits(handle, 9));
    stays.call(kInfer, infer_message("slow"));
    ASSERT_TRUE(stays.sync() && waits(handle, 10));
  }
  EXPECT_TRUE(has_connections(1));
  EXPECT_TRUE(waits(handle, 0)) << "the one that stays runs";
  EXPECT_TRUE(answers("now"));
}

// A lane's slot may be reused by another request as soon as its call has ended.
TEST_F(CallsTest, AnswersGoToTheirOwnCalls) {
  serve("later", ExecMode::Queued, 200);
  start();
  RawClient client(listener_->port());
  client.begin();
  std::vector<std::pair<uint32_t, std::string>> calls;
  for (int i = 0; i < 200; ++i) {
    const std::string id = "id " + std::to_string(i);
    calls.emplace_back(client.call(kInfer, infer_message("later", "", id)), id);
    if (i % 3 == 1) client.send(reset_frame(calls.back().first));
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i % 3 == 1) continue;
    const StreamAnswer& answer = client.answer(calls[i].first);
    ASSERT_EQ(answer.status(), 0) << answer.message();
    EXPECT_EQ(wire_text(answer.messages()[0], 3), calls[i].second);
  }
}

TEST_F(CallsTest, BatchesWhatComesInOneTurn) {
  const uint32_t handle = serve("batched", ExecMode::Queued, 0, [](ModelSpec& spec) {
    spec.batch_dim = true;
    spec.batch.mode = BatchMode::On;
    spec.batch.rows_max = 64;
  });
  ASSERT_NE(model(handle)->batcher(), nullptr);
  start();
  RawClient client(listener_->port());
  client.begin();
  std::string all;
  for (uint32_t stream = 1; stream < 41; stream += 2) {
    all += serval::testing::headers_frame(stream, serval::testing::call_headers(kInfer)) +
           data_frames(stream, grpc_message(infer_message("batched")), true);
  }
  client.send(all);
  for (uint32_t stream = 1; stream < 41; stream += 2) {
    EXPECT_TRUE(echoes(client.answer(stream))) << client.streams[stream].message();
  }
  EXPECT_LE(model(handle)->read_stats().execution_count, 10u) << "of 20 requests";
}

// --- the far end writes the messages for missing names ---

struct Failure {
  uint32_t code = 0;
  std::string model, version;
};

Failure failure_of(const BridgeEvent& event) {
  Failure out;
  uint32_t missing_bytes = 0;
  constexpr size_t kHeadBytes = 12;  // code, size of the rest, caller
  if (event.payload.size() < kHeadBytes) {
    ADD_FAILURE() << "no failure: " << event.payload.size() << " bytes";
    return out;
  }
  std::memcpy(&out.code, event.payload.data(), sizeof out.code);
  std::memcpy(&missing_bytes, event.payload.data() + 4, sizeof missing_bytes);
  EXPECT_EQ(missing_bytes, event.payload.size() - kHeadBytes);
  const std::vector<uint8_t> bytes(event.payload.begin() + kHeadBytes, event.payload.end());
  const auto* missing = flatbuffers::GetRoot<fb::Missing>(bytes.data());
  out.model = missing->model()->str();
  out.version = missing->version()->str();
  return out;
}

TEST_F(CallsTest, MissingNamesAreWordedAtTheFarEnd) {
  start();
  RawClient client(listener_->port());
  client.begin();
  const uint32_t call = client.call(kInfer, infer_message("nobody", "7"));
  const BridgeEvent event = far_.expect(ListenerEvent::Explain);
  EXPECT_EQ(event.value, kInferAt);
  const Failure failure = failure_of(event);
  EXPECT_EQ(failure.code, static_cast<uint32_t>(ErrorCode::ModelNotFound));
  EXPECT_EQ(failure.model, "nobody");
  EXPECT_EQ(failure.version, "7");
  EXPECT_TRUE(far_.send(event, ListenerCommand::ExplainedStatus, 5, "there is no 'nobody'"));
  EXPECT_EQ(client.answer(call).status(), 5);
  EXPECT_EQ(client.answer(call).message(), "there is no 'nobody'");
  // A command that is too late or for another kind of call has no effect.
  EXPECT_TRUE(far_.send(event, ListenerCommand::ExplainedStatus, 5, "again"));
  EXPECT_TRUE(far_.send(event, ListenerCommand::Finish, 5, "again"));
  EXPECT_TRUE(client.sync());
  EXPECT_EQ(client.answer(call).header_blocks, 1);
}

TEST_F(CallsTest, WordsMissingNamesByItsSentences) {
  methods_ = methods(sentences());
  serve("now", ExecMode::Inline);
  start();
  RawClient client(listener_->port());
  client.begin();
  const auto told = [&](std::string_view model, std::string_view version) {
    const StreamAnswer& answer = client.answer(client.call(kInfer, infer_message(model, version)));
    return std::to_string(answer.status()) + " " + answer.message();
  };
  const std::string missing = std::to_string(status_of(ErrorCode::ModelNotFound)) + " ";
  const std::string invalid = std::to_string(status_of(ErrorCode::InvalidArgument)) + " ";
  EXPECT_EQ(told("nobody", ""), missing + "no nobody");
  EXPECT_EQ(told("{version}", "7"), missing + "no {version} at 7");
  EXPECT_EQ(told("now", "7"), missing + "now has no 7");
  EXPECT_EQ(told("now", "x"), invalid + "'x' is no number,");
  const std::string longest(256, 'n');
  EXPECT_EQ(told(longest, ""), missing + "no " + longest);
  EXPECT_TRUE(answers("now"));
}

TEST_F(CallsTest, LeavesWordsToTheFarEndWhereMoreIsKnownOrNamesAreOdd) {
  methods_ = methods(sentences());
  route("asleep", 0, false, "it sleeps");
  route_empty("empty");
  serve("now", ExecMode::Inline);
  start();
  RawClient client(listener_->port());
  client.begin();
  const std::vector<std::pair<std::string, std::string>> asked = {{"asleep", ""},
                                                                  {"asleep", "3"},
                                                                  {"empty", ""},
                                                                  {"empty", "3"},
                                                                  {"now", "007"},
                                                                  {"now", "99999999999999999999"},
                                                                  {"now", std::string(65, 'x')},
                                                                  {std::string(257, 'n'), ""}};
  for (const auto& [model, version] : asked) {
    const uint32_t call = client.call(kInfer, infer_message(model, version));
    const BridgeEvent event = far_.expect(ListenerEvent::Explain);
    EXPECT_TRUE(far_.send(event, ListenerCommand::ExplainedStatus, 5, "words"));
    EXPECT_EQ(client.answer(call).message(), "words") << model << " " << version;
  }
}

TEST_F(CallsTest, WhoWaitsForWordsMayGo) {
  serve("now", ExecMode::Inline);
  start();
  RawClient client(listener_->port());
  client.begin();
  const uint32_t cancelled = client.call(kInfer, infer_message("nobody"));
  const uint32_t late = client.call(kInfer, infer_message("nobody"), {{"grpc-timeout", "10m"}});
  const BridgeEvent first = far_.expect(ListenerEvent::Explain);
  const BridgeEvent second = far_.expect(ListenerEvent::Explain);
  EXPECT_EQ(client.answer(late).status(), 4);
  client.send(reset_frame(cancelled));
  ASSERT_TRUE(client.sync());
  EXPECT_TRUE(far_.send(first, ListenerCommand::ExplainedStatus, 5, "words"));
  EXPECT_TRUE(far_.send(second, ListenerCommand::ExplainedReply, 0, "words"));
  EXPECT_TRUE(answers("now"));
}

// --- the end ---

TEST_F(CallsTest, ADrainAnswersWhatWasBegun) {
  serve("slow", ExecMode::Queued, 50'000);
  start();
  RawClient client(listener_->port());
  client.begin();
  const uint32_t one = client.call(kInfer, infer_message("slow"));
  const uint32_t two = client.call(kInfer, infer_message("slow"));
  ASSERT_TRUE(client.sync());
  listener_->drain(10'000, [this](uint64_t cut) { bridge_->drained(cut); });
  EXPECT_TRUE(echoes(client.answer(one)));
  EXPECT_TRUE(echoes(client.answer(two)));
  EXPECT_EQ(client.ending(), serval::testing::kNoError);
  const BridgeEvent drained = far_.expect(ListenerEvent::Drained);
  EXPECT_EQ(drained.value, 0u);
  EXPECT_EQ(drained.payload, "");
}

TEST_F(CallsTest, ADrainTellsWhichModelsLeftCallsUnanswered) {
  TransportSettings settings;
  settings.threads = 2;
  const uint32_t handle = serve("slow", ExecMode::Queued, kHourUs);
  serve("b", ExecMode::Queued, kHourUs);
  start(settings);
  RawClient client(listener_->port());
  client.begin();
  std::vector<uint32_t> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(client.call(kInfer, infer_message(i == 0 ? "b" : "slow")));
  }
  ASSERT_TRUE(client.sync() && waits(handle, 3));
  listener_->drain(50, [this](uint64_t cut) { bridge_->drained(cut); });
  const BridgeEvent drained = far_.expect(ListenerEvent::Drained);
  EXPECT_EQ(drained.value, 5u);
  EXPECT_EQ(drained.payload, std::string("1 b\0004 slow\0", 11));
  for (const uint32_t call : calls) EXPECT_EQ(client.answer(call).status(), 14);
}

// Calls that run, that wait, and that were just answered, on several threads.
TEST_F(CallsTest, EndsInTheMiddleOfEverything) {
  TransportSettings settings;
  settings.threads = 3;
  serve("slow", ExecMode::Queued, kHourUs, [](ModelSpec& spec) { spec.instances = 2; });
  serve("later", ExecMode::Queued, 300);
  start(settings);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 9; ++i) {
    clients.push_back(std::make_unique<RawClient>(listener_->port()));
    clients.back()->begin();
    for (int call = 0; call < 30; ++call) {
      clients.back()->call(kInfer, infer_message(call % 2 == 0 ? "slow" : "later"));
    }
  }
  for (const auto& client : clients) EXPECT_TRUE(client->sync());
  listener_.reset();
  EXPECT_FALSE(far_.send({ListenerEvent::Open, 0, 1, 0, ""}, ListenerCommand::Finish, 0))
      << "its threads are gone";
  EXPECT_TRUE(becomes([&] { return engine_->budget()->used() < 1u << 20; }))
      << "and what they held: " << engine_->budget()->used();
}

// Memory of past messages is returned when the engine requests it.
TEST_F(CallsTest, KeptMemoryGoesWhenItIsAskedFor) {
  serve("now", ExecMode::Inline);
  start();
  RawClient client(listener_->port());
  client.begin();
  std::vector<uint32_t> calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(client.call(kInfer, long_infer_message("now", 100'000)));
  }
  for (const uint32_t call : calls) ASSERT_EQ(client.answer(call).status(), 0);
  EXPECT_GT(engine_->budget()->used(), 1'500'000u) << "there is something to give back";
  engine_->trimmer().note();
  // One request's memory for tensors is kept for the next run.
  EXPECT_TRUE(becomes([&] { return engine_->budget()->used() < 600'000; }))
      << engine_->budget()->used();
}

}  // namespace
}  // namespace serval::test
