// Loading, unloading and what listeners read.
#include <thread>

#include "engine/control/spec/codec.h"
#include "engine/engine_fixture.h"
#include "support/onnxruntime_fixture.h"
#include "support/plan_build.h"

namespace serval::test {
namespace {

constexpr std::string_view kV1Numbers = R"({"instances":[1,2]})";

TEST_F(EngineTest, LoadAnswersTheSignature) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  EXPECT_EQ(handle, 1u);
  EXPECT_EQ(load(null_spec("n", "echo", ExecMode::Inline)), 2u) << "handles are not reused";
  EXPECT_EQ(unload(handle), ErrorCode::Ok);
  EXPECT_EQ(load(null_spec("m", "echo", ExecMode::Inline)), 3u);
}

TEST_F(EngineTest, FailedLoadSaysWhy) {
  ModelSpec spec = null_spec("m", "echo", ExecMode::Inline);
  spec.backend = "nonsense";
  const Result<uint32_t> ticket = lane_->open_control();
  engine_->load(spec, *lane_->slots().find(ticket.value()), lane_->home());
  Request* request = next();
  EXPECT_EQ(request->code, ErrorCode::InvalidArgument);
  EXPECT_NE(text(*request).find("unknown backend 'nonsense'"), std::string::npos);
  lane_->slots().release(*request);
}

TEST_F(EngineTest, TheServerOpensNoOperatorLibrary) {
  for (const char* const backend : {"onnxruntime", "null", "tabular"}) {
    ModelSpec spec = null_spec("m", "echo", ExecMode::Inline);
    spec.backend = backend;
    spec.operator_libraries = {"/tmp/a.so"};
    const Result<uint32_t> ticket = lane_->open_control();
    engine_->load(spec, *lane_->slots().find(ticket.value()), lane_->home());
    Request* const request = next();
    EXPECT_EQ(request->code, ErrorCode::InvalidArgument);
    EXPECT_NE(text(*request).find("expected it in an isolated process"), std::string::npos);
    lane_->slots().release(*request);
  }
}

TEST_F(EngineTest, UnloadOfNothingIsAnError) { EXPECT_EQ(unload(12), ErrorCode::ModelNotFound); }

TEST_F(EngineTest, UnloadWaitsForTheRequestInFlight) {
  ModelSpec spec = null_spec("m", "delay", ExecMode::Queued);
  spec.null_delay_us = 20'000;
  const uint32_t handle = load(spec);
  const Answer answer = lane_->infer(Protocol::V1Predict, handle, bytes_of(kV1Numbers), -1);
  ASSERT_TRUE(answer.pending);
  const Result<uint32_t> ticket = lane_->open_control();
  engine_->unload(handle, *lane_->slots().find(ticket.value()), lane_->home());
  Request* first = next();
  EXPECT_EQ(lane_->slots().ticket_of(*first), answer.ticket);
  EXPECT_EQ(first->code, ErrorCode::Ok);
  lane_->slots().release(*first);
  Request* second = next();
  EXPECT_EQ(lane_->slots().ticket_of(*second), ticket.value());
  EXPECT_EQ(second->code, ErrorCode::Ok);
  lane_->slots().release(*second);
  EXPECT_EQ(lane_->infer(Protocol::V1Predict, handle, bytes_of(kV1Numbers), -1).code,
            ErrorCode::ModelNotReady);
}

// Several listeners and several models, with loads and unloads meanwhile: mainly for the thread
// sanitizer.
TEST_F(EngineTest, ListenersWorkWhileModelsChange) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Queued));
  constexpr int kThreads = 3;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      TestHooks hooks;
      auto lane = std::make_shared<Lane>(engine_, ServeSettings{}, &hooks);
      engine_->add_lane(lane->home());
      for (int round = 0; round < 100; ++round) {
        const Answer answer = lane->infer(Protocol::V1Predict, handle, bytes_of(kV1Numbers), -1);
        if (!answer.pending) ++wrong;
        std::array<Request*, 4> done{};
        size_t count = 0;
        while (answer.pending && (count = lane->take_completed(done)) == 0) {
          if (!hooks.wait()) break;
        }
        for (size_t at = 0; at < count; ++at) {
          if (done[at]->code != ErrorCode::Ok) ++wrong;
          lane->slots().release(*done[at]);
        }
      }
      engine_->remove_lane(*lane->home());
      lane->close();
    });
  }
  for (int round = 0; round < 20; ++round) {
    const uint32_t other = load(null_spec("n", "echo", ExecMode::Inline));
    EXPECT_EQ(unload(other), ErrorCode::Ok);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(EngineTest, MetricsShowOneOfTwoContentsOfAVersion) {
  const auto page = [&] {
    const Result<uint32_t> ticket = lane_->open_control();
    engine_->metrics(MetricsKind::Triton, *lane_->slots().find(ticket.value()), lane_->home());
    Request* request = next();
    const std::string text_now = text(*request);
    lane_->slots().release(*request);
    return text_now;
  };
  const uint32_t before = load(null_spec("m", "echo", ExecMode::Inline));
  const uint32_t after = load(null_spec("m", "echo", ExecMode::Inline));
  const std::string series = R"(nv_inference_request_success{model="m",version="3"} )";
  EXPECT_EQ(lane_->infer(Protocol::V1Predict, before, bytes_of(kV1Numbers), -1).code,
            ErrorCode::Ok);
  for (const auto& [handle, count] : {std::pair(before, "1"), std::pair(after, "0")}) {
    route("m", handle);
    const std::string now = page();
    EXPECT_NE(now.find(series + count), std::string::npos);
    EXPECT_EQ(now.find(series), now.rfind(series)) << "once";
  }
}

TEST_F(EngineTest, AWarmUpIsAnsweredAndNotCounted) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Queued));
  const std::string message = infer_message("m");
  const auto warmed = [&](Protocol protocol) {
    const uint32_t ticket = lane_->open_control().value();
    engine_->warm_up(handle, protocol, {message.begin(), message.end()},
                     *lane_->slots().find(ticket), lane_->home());
    Request* request = next();
    const std::string answer = text(*request);
    EXPECT_EQ(request->code == ErrorCode::Ok, protocol == Protocol::V2Grpc);
    lane_->slots().release(*request);
    return answer;
  };
  const std::string answer = warmed(Protocol::V2Grpc);
  EXPECT_NE(answer.find(raw_of<float>({1.0f, 2.0f})), std::string::npos);
  EXPECT_EQ((*engine_->published()->models.find(handle))->read_stats().inference_count, 0u);
  EXPECT_NE(warmed(Protocol::TfPredict), answer) << "an error has its own text";
}

class RuntimeTest : public EngineTest {
 protected:
  RuntimeTest() : EngineTest(options()) {}
  static EngineOptions options() {
    EngineOptions made;
    made.onnxruntime_library = onnxruntime_library();
    return made;
  }
};

// Large numeric parts of a tabular model run on the engine's ONNX Runtime.
TEST_F(RuntimeTest, TabularModelsGetTheRuntime) {
  SKIP_WITHOUT_ONNXRUNTIME();
  tabular::PlanMaker maker;
  const uint32_t in = maker.field("in", plan::Type::Vector);
  maker.only("perceptron", {in}, plan::Type::Vector,
             {{"layers", std::vector<int32_t>{40, 30, 2}},
              {"weights", std::vector<double>(41 * 30 + 31 * 2, 0.5)}});
  const onnx::TemporaryDirectory directory;
  const std::vector<uint8_t>& bytes = maker.bytes();
  ModelSpec spec;
  spec.name = "layers";
  spec.version = 1;
  spec.backend = "tabular";
  spec.path = directory.write("plan", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const Result<uint32_t> ticket = lane_->open_control();
  engine_->load(std::move(spec), *lane_->slots().find(ticket.value()), lane_->home());
  Request* request = next();
  ASSERT_NE(request, nullptr);
  ASSERT_EQ(request->code, ErrorCode::Ok) << text(*request);
  const auto* info = flatbuffers::GetRoot<fb::ModelInfo>(request->response.data());
  std::string islands;
  for (const fb::KeyValue* entry : *info->metadata()) {
    if (entry->key()->string_view() == "islands") islands = entry->value()->str();
  }
  EXPECT_EQ(islands, "1");
  lane_->slots().release(*request);
}

TEST(SpecCodec, RefusesBytesThatAreNoTable) {
  EXPECT_FALSE(parse_model_spec({}).ok());
  const std::array<uint8_t, 5> junk = {255, 255, 255, 255, 255};
  EXPECT_FALSE(parse_model_spec(junk).ok());
  EXPECT_FALSE(RouteChange::parse(junk).ok());
}

TEST(InlinePolicy, EntersBelowAndLeavesAboveTheLimit) {
  InlinePolicy policy(ExecMode::Auto, 100);
  for (int i = 0; i < 7; ++i) {
    policy.record(Protocol::V2Rest, 50, 10'000);
    EXPECT_FALSE(policy.run_inline(Protocol::V2Rest, 50));
  }
  policy.record(Protocol::V2Rest, 50, 10'000);
  EXPECT_TRUE(policy.run_inline(Protocol::V2Rest, 50));
  EXPECT_TRUE(policy.run_inline(Protocol::V2Rest, 63)) << "same power of two";
  EXPECT_FALSE(policy.run_inline(Protocol::V2Rest, 64)) << "another size is measured anew";
  EXPECT_FALSE(policy.run_inline(Protocol::V2Grpc, 50)) << "another protocol too";
  // Nothing changes between 75 and 100 us: hysteresis.
  for (int i = 0; i < 100; ++i) policy.record(Protocol::V2Rest, 50, 90'000);
  EXPECT_TRUE(policy.run_inline(Protocol::V2Rest, 50));
  for (int i = 0; i < 100; ++i) policy.record(Protocol::V2Rest, 50, 120'000);
  EXPECT_FALSE(policy.run_inline(Protocol::V2Rest, 50));
  for (int i = 0; i < 100; ++i) policy.record(Protocol::V2Rest, 50, 90'000);
  EXPECT_FALSE(policy.run_inline(Protocol::V2Rest, 50)) << "not back before 75 us";
}

TEST(InlinePolicy, SettingsOverrideTheMeasure) {
  InlinePolicy always(ExecMode::Inline, 1);
  InlinePolicy never(ExecMode::Queued, 1'000'000);
  EXPECT_TRUE(always.run_inline(Protocol::V1Predict, 1u << 30));
  EXPECT_FALSE(never.run_inline(Protocol::V1Predict, 1));
}

TEST(RequestQueue, IsBoundedAndCloses) {
  QueueSettings settings;
  settings.requests_max = 1;
  RequestQueue queue(settings);
  Request first, second;
  EXPECT_EQ(queue.push(&first), RequestQueue::Push::Taken);
  EXPECT_EQ(queue.push(&second), RequestQueue::Push::Full);
  EXPECT_TRUE(queue.remove(&first));
  EXPECT_FALSE(queue.remove(&first));
  EXPECT_EQ(queue.push(&second), RequestQueue::Push::Taken);
  EXPECT_EQ(queue.close().size(), 1u);
  EXPECT_EQ(queue.push(&first), RequestQueue::Push::Closed);
  std::vector<Request*> late;
  EXPECT_EQ(queue.pop(late), nullptr);
}

}  // namespace
}  // namespace serval::test
