// Runs that nobody waits for: a model that never ends is ended when its client leaves, a deadline
// passes, its version is unloaded or the listener's thread is held up; it answers again afterwards.
#include <ctime>

#include "engine/engine_fixture.h"
#include "support/onnxruntime_fixture.h"

namespace serval::test {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

EngineOptions options() {
  EngineOptions options;
  options.onnxruntime_library = onnxruntime_library();
  options.unload_ms_max = 50;
  return options;
}

class EndlessTest : public EngineTest {
 protected:
  EndlessTest() : EngineTest(options()) {}
  void SetUp() override { SKIP_WITHOUT_ONNXRUNTIME(); }

  ModelSpec spec(ExecMode exec) {
    ModelSpec spec;
    spec.name = "m";
    spec.version = 3;
    spec.backend = "onnxruntime";
    spec.path = directory_.write("model.onnx", onnx::endless_loop().to_bytes());
    spec.exec_mode = exec;
    return spec;
  }
  uint32_t serve(ModelSpec model_spec) {
    const uint32_t handle = load(std::move(model_spec));
    route("m", handle);
    return handle;
  }
  static std::string message(int64_t trips) {
    WireBuilder message;
    message.bytes(1, "m").message(5, wire_input("trips", "INT64", {1}));
    message.bytes(7, raw_of<int64_t>({trips}));
    return message.str();
  }
  Answer send(int64_t trips, uint64_t timeout_us = 0) {
    return listener_->infer_message(Protocol::V2Grpc, bytes_of(message(trips)), timeout_us);
  }
  Model& model(uint32_t handle) { return **engine_->table()->find(handle); }
  // Waits until the queue is empty and 30 ms of CPU were used: the run is in the model then.
  void wait_until_running(uint32_t handle) {
    while (model(handle).queue().size() != 0) std::this_thread::yield();
    const std::clock_t until = std::clock() + CLOCKS_PER_SEC * 3 / 100;
    while (std::clock() < until) std::this_thread::yield();
  }
  // The code of the next completion.
  ErrorCode next_code(std::string* text_out = nullptr) {
    Request* done = next();
    if (done == nullptr) return ErrorCode::Internal;
    const ErrorCode code = done->code;
    if (text_out != nullptr) *text_out = text(*done);
    listener_->release(*done);
    return code;
  }
  void expect_answers() {
    const Answer answer = send(3);
    EXPECT_EQ(answer.pending ? next_code() : answer.code, ErrorCode::Ok);
  }

  onnx::TemporaryDirectory directory_;
};

TEST_F(EndlessTest, AClientThatLeavesEndsItsRun) {
  const uint32_t handle = serve(spec(ExecMode::Queued));
  const Answer answer = send(kForever);
  ASSERT_TRUE(answer.pending);
  wait_until_running(handle);
  EXPECT_FALSE(listener_->cancel(answer.ticket));
  EXPECT_EQ(next_code(), ErrorCode::Cancelled);
  EXPECT_EQ(model(handle).counters().cancelled.load(), 1u);
  EXPECT_EQ(model(handle).counters().failures.load(), 0u);
  expect_answers();
}

TEST_F(EndlessTest, ADeadlineThatPassesEndsTheRun) {
  serve(spec(ExecMode::Queued));
  ASSERT_TRUE(send(kForever, 30'000).pending);
  std::string text;
  EXPECT_EQ(next_code(&text), ErrorCode::DeadlineExceeded);
  EXPECT_EQ(text, "model 'm': the request's deadline passed while the model ran");
  expect_answers();
}

TEST_F(EndlessTest, TheLimitOfRestRequestsEndsTheRun) {
  Limits limits;
  limits.rest_timeout_us = 30'000;
  listener_->close();
  listener_ = make_listener(limits);
  const uint32_t handle = serve(spec(ExecMode::Queued));
  const std::string body = R"({"instances":[9223372036854775807]})";
  ASSERT_TRUE(listener_->infer(Protocol::V1Predict, handle, bytes_of(body), -1).pending);
  EXPECT_EQ(next_code(), ErrorCode::DeadlineExceeded);
  expect_answers();
}

TEST_F(EndlessTest, AnUnloadEndsWhatRunsTooLongAndWhatWaitsBehindIt) {
  const uint32_t handle = serve(spec(ExecMode::Queued));
  ASSERT_TRUE(send(kForever).pending);
  wait_until_running(handle);
  ASSERT_TRUE(send(kForever).pending);
  const Result<uint32_t> ticket = listener_->open_control();
  engine_->unload(handle, *listener_->control_request(ticket.value()), listener_);
  // Requests and unload come in this order: the unload waits until the requests are released.
  EXPECT_EQ(next_code(), ErrorCode::ModelNotReady);
  EXPECT_EQ(next_code(), ErrorCode::ModelNotReady);
  EXPECT_EQ(next_code(), ErrorCode::Ok);
}

TEST_F(EndlessTest, ABatchEndsWhenNobodyOfItIsThereAnyMore) {
  ModelSpec joined = spec(ExecMode::Queued);
  joined.batch.mode = BatchMode::On;
  joined.batch.rows_max = 2;
  joined.batch.delay_us = 60'000'000;
  joined.batch_dim = true;
  const uint32_t handle = serve(std::move(joined));
  const Answer first = send(kForever);
  const Answer second = send(1, 2'000'000);
  ASSERT_TRUE(first.pending && second.pending);
  wait_until_running(handle);
  EXPECT_FALSE(listener_->cancel(first.ticket));
  // The second still waits for the batch; its deadline ends it.
  std::array<ErrorCode, 2> codes = {next_code(), next_code()};
  std::sort(codes.begin(), codes.end());
  EXPECT_EQ(codes[0], std::min(ErrorCode::Cancelled, ErrorCode::DeadlineExceeded));
  EXPECT_EQ(codes[1], std::max(ErrorCode::Cancelled, ErrorCode::DeadlineExceeded));
}

TEST_F(EndlessTest, ARunThatHoldsTheListenersThreadIsQueuedInstead) {
  ModelSpec fast = spec(ExecMode::Auto);
  fast.inline_us_max = 1'000'000;
  serve(std::move(fast));
  bool inlined = false;
  for (int i = 0; i < 100 && !inlined; ++i) {
    const Answer answer = send(3);
    inlined = !answer.pending;
    if (answer.pending) EXPECT_EQ(next_code(), ErrorCode::Ok);
  }
  ASSERT_TRUE(inlined);
  const Answer answer = send(kForever);  // would not come back
  ASSERT_TRUE(answer.pending);
  listener_->cancel(answer.ticket);
  if (listener_->tickets_open() != 0) EXPECT_EQ(next_code(), ErrorCode::Cancelled);
  expect_answers();
}

TEST_F(EndlessTest, ADeadlineHoldsOnTheListenersThread) {
  ModelSpec by_hand = spec(ExecMode::Inline);
  serve(std::move(by_hand));
  EXPECT_FALSE(send(3).pending);
  ASSERT_TRUE(send(kForever, 30'000).pending);
  EXPECT_EQ(next_code(), ErrorCode::DeadlineExceeded);
}

TEST_F(EndlessTest, AWarmUpEndsWhenItIsCancelledAndWhenItsModelIsUnloaded) {
  const uint32_t handle = serve(spec(ExecMode::Queued));
  const std::string endless = message(kForever);
  const auto begin = [&] {
    const uint32_t ticket = listener_->open_control().value();
    engine_->warm_up(handle, Protocol::V2Grpc, {endless.begin(), endless.end()},
                     *listener_->control_request(ticket), listener_);
    return ticket;
  };
  const uint32_t ticket = begin();
  wait_until_running(handle);
  EXPECT_FALSE(listener_->cancel(ticket));
  EXPECT_EQ(next_code(), ErrorCode::Cancelled);
  begin();
  wait_until_running(handle);
  const uint32_t unload_ticket = listener_->open_control().value();
  engine_->unload(handle, *listener_->control_request(unload_ticket), listener_);
  EXPECT_EQ(next_code(), ErrorCode::ModelNotReady);
  EXPECT_EQ(next_code(), ErrorCode::Ok);
}

TEST_F(EndlessTest, ClosingAListenerEndsWhatRunsForIt) {
  const uint32_t handle = serve(spec(ExecMode::Queued));
  ASSERT_TRUE(send(kForever).pending);
  wait_until_running(handle);
  listener_->close();
  listener_ = nullptr;
}

}  // namespace
}  // namespace serval::test
