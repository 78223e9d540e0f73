// Requests of models with a response cache: hits on every way that a request can run, equal
// requests at once, and the ends of those that wait: errors, cancellation, deadlines, unloads.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine_fixture.h"
#include "engine/ensemble/ensemble.h"

namespace serval::test {
namespace {

EngineOptions with_cache() {
  EngineOptions options;
  options.response_cache_bytes = 1 << 20;
  return options;
}

ModelSpec cached_spec(std::string mode, ExecMode exec, int64_t delay_us = 0, int instances = 1) {
  ModelSpec spec = null_spec("m", std::move(mode), exec);
  spec.null_delay_us = delay_us;
  spec.response_cache = true;
  spec.instances = instances;
  return spec;
}

std::string v2_body(float value) {
  return R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[)" +
         std::to_string(value) + "]}]}";
}

class CachedRequestsTest : public EngineTest {
 protected:
  CachedRequestsTest() : EngineTest(with_cache()) {}
  // Requests that still run may read their bodies again.
  ~CachedRequestsTest() override {
    lane_->close();
    lane_.reset();
  }

  Answer send(uint32_t handle, float value) {
    bodies_.push_back(v2_body(value));
    return lane_->infer(Protocol::V2Rest, handle, bytes_of(bodies_.back()), -1);
  }
  // Sends one request, waits for it and returns its response.
  std::string ask(uint32_t handle, float value) {
    if (!send(handle, value).pending) return inline_text();
    return take();
  }
  std::string take(ErrorCode code = ErrorCode::Ok) {
    Request* done = next();
    if (done == nullptr) return "nothing";
    EXPECT_EQ(done->code, code) << text(*done);
    std::string answer = text(*done);
    lane_->slots().release(*done);
    return answer;
  }
  StatsReading stats(uint32_t handle) {
    return (*engine_->published()->find(handle))->read_stats();
  }

  std::vector<std::string> bodies_;
};

TEST_F(CachedRequestsTest, AHitIsAnsweredWithoutARunInline) {
  const uint32_t handle = load(cached_spec("echo", ExecMode::Inline));
  const std::string first = ask(handle, 5);
  EXPECT_NE(first.find("[5.0]"), std::string::npos) << first;
  EXPECT_EQ(ask(handle, 5), first);
  EXPECT_NE(ask(handle, 6).find("[6.0]"), std::string::npos);
  const StatsReading reading = stats(handle);
  EXPECT_EQ(reading.success.count, 3u);
  EXPECT_EQ(reading.cache_hit.count, 1u);
  EXPECT_EQ(reading.cache_miss.count, 2u);
  EXPECT_EQ(reading.execution_count, 2u);
  EXPECT_EQ(reading.inference_count, 2u);
  EXPECT_EQ(reading.infer.count, 2u);
  EXPECT_EQ(reading.infer_us.count, 2u);
}

TEST_F(CachedRequestsTest, AHitDoesNotWaitInTheQueue) {
  const uint32_t handle = load(cached_spec("delay", ExecMode::Queued, 200'000));
  ASSERT_TRUE(send(handle, 1).pending);
  take();
  ASSERT_TRUE(send(handle, 2).pending);  // occupies the instance
  EXPECT_FALSE(send(handle, 1).pending);
  EXPECT_NE(inline_text().find("[1.0]"), std::string::npos);
  take();
}

TEST_F(CachedRequestsTest, AHitCrossesProtocols) {
  const uint32_t handle = load(cached_spec("echo", ExecMode::Inline));
  ask(handle, 5);
  const std::string body = R"({"instances":[5.0]})";
  EXPECT_FALSE(lane_->infer(Protocol::V1Predict, handle, bytes_of(body), -1).pending);
  EXPECT_NE(inline_text().find(R"("predictions")"), std::string::npos) << inline_text();
  EXPECT_EQ(stats(handle).cache_hit.count, 1u);
}

TEST_F(CachedRequestsTest, EqualRequestsAtOnceRunOnce) {
  for (const bool batches : {false, true}) {
    ModelSpec spec = cached_spec("delay", ExecMode::Queued, 50'000, 4);
    if (batches) {
      spec.batch.mode = BatchMode::On;
      spec.batch.rows_max = 4;
      spec.batch_dim = true;
    }
    const uint32_t handle = load(spec);
    bodies_.reserve(64);
    for (int i = 0; i < 16; ++i) ASSERT_TRUE(send(handle, 3).pending);
    for (int i = 0; i < 16; ++i) EXPECT_NE(take().find("[3.0]"), std::string::npos);
    const StatsReading reading = stats(handle);
    EXPECT_EQ(reading.execution_count, 1u) << batches;
    EXPECT_EQ(reading.success.count, 16u);
    EXPECT_EQ(reading.cache_hit.count, 15u);
    EXPECT_EQ(unload(handle), ErrorCode::Ok);
  }
}

TEST_F(CachedRequestsTest, WhenARunFailsTheOthersRunThemselves) {
  const uint32_t handle = load(cached_spec("fail", ExecMode::Queued, 0, 2));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(send(handle, 3).pending);
  for (int i = 0; i < 8; ++i) take(ErrorCode::BackendFailed);
  EXPECT_EQ(stats(handle).fail.count, 8u);
  EXPECT_EQ(stats(handle).cache_hit.count, 0u);
}

// Which of two equal requests waits for the other is decided by their instances.
TEST_F(CachedRequestsTest, AWaitingRequestEndsWhenItsClientLeaves) {
  const uint32_t handle = load(cached_spec("delay", ExecMode::Queued, 300'000, 2));
  const std::shared_ptr<Model> model = *engine_->published()->find(handle);
  uint64_t cancelled = 0;
  bool waited = false;
  for (int attempt = 0; attempt < 20 && !waited; ++attempt) {
    const float value = 10.0f + static_cast<float>(attempt);
    const Answer first = send(handle, value);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Answer second = send(handle, value);
    ASSERT_TRUE(first.pending && second.pending);
    // Until the second request has left the queue for the instance.
    while (model->queue().size() != 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    waited = lane_->cancel(second.ticket);
    if (!waited) take(ErrorCode::Cancelled);  // it ran, and the first one waited
    EXPECT_EQ(stats(handle).outcomes[static_cast<size_t>(Outcome::Cancelled)], ++cancelled);
    EXPECT_NE(take().find('[' + std::to_string(10 + attempt) + ".0]"), std::string::npos);
  }
  EXPECT_TRUE(waited);
}

TEST_F(CachedRequestsTest, AWaitingRequestEndsWithItsDeadline) {
  ServeSettings settings;
  settings.rest_timeout_us = 60'000;
  const std::shared_ptr<Lane> hurried = make_lane(settings);
  const uint32_t handle = load(cached_spec("delay", ExecMode::Queued, 300'000, 2));
  ASSERT_TRUE(send(handle, 3).pending);
  const std::string body = v2_body(3);
  ASSERT_TRUE(hurried->infer(Protocol::V2Rest, handle, bytes_of(body), -1).pending);
  std::array<Request*, 1> done{};
  while (hurried->take_completed(done) == 0) ASSERT_TRUE(hooks_.wait());
  EXPECT_EQ(done[0]->code, ErrorCode::DeadlineExceeded) << text(*done[0]);
  hurried->slots().release(*done[0]);
  EXPECT_NE(take().find("[3.0]"), std::string::npos);
  hurried->close();
}

TEST_F(CachedRequestsTest, AnUnloadAnswersWaitingRequests) {
  const uint32_t handle = load(cached_spec("delay", ExecMode::Queued, 100'000, 2));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send(handle, 3).pending);
  std::shared_ptr<Model> model = *engine_->published()->find(handle);
  while (model->queue().size() != 0) std::this_thread::yield();
  model.reset();  // an unload waits for the last holder
  const Result<uint32_t> ticket = lane_->open_control();
  engine_->unload(handle, *lane_->slots().find(ticket.value()), lane_->home());
  for (int i = 0; i < 4; ++i) {
    Request* done = next();
    ASSERT_NE(done, nullptr);
    lane_->slots().release(*done);
  }
}

TEST_F(CachedRequestsTest, AReloadForgetsTheResponses) {
  const uint32_t first = load(cached_spec("echo", ExecMode::Inline));
  ask(first, 5);
  EXPECT_EQ(unload(first), ErrorCode::Ok);
  const uint32_t second = load(cached_spec("echo", ExecMode::Inline));
  ask(second, 5);
  EXPECT_EQ(stats(second).cache_hit.count, 0u);
  EXPECT_EQ(stats(second).execution_count, 1u);
}

TEST_F(CachedRequestsTest, ModelsThatDoNotAskForItAreNotCached) {
  ModelSpec spec = cached_spec("echo", ExecMode::Inline);
  spec.response_cache = false;
  const uint32_t handle = load(spec);
  ask(handle, 5);
  ask(handle, 5);
  EXPECT_EQ(stats(handle).execution_count, 2u);
  EXPECT_EQ(stats(handle).cache_hit.count + stats(handle).cache_miss.count, 0u);
}

TEST_F(CachedRequestsTest, AHitOfOneModelDoesNotCountInAnother) {
  const uint32_t cached = load(cached_spec("echo", ExecMode::Inline));
  ModelSpec spec = cached_spec("echo", ExecMode::Inline);
  spec.name = "plain";
  spec.response_cache = false;
  const uint32_t plain = load(spec);
  ask(cached, 5);
  ask(cached, 5);
  ask(plain, 5);
  ask(cached, 5);
  ask(plain, 5);
  EXPECT_EQ(stats(plain).inference_count, 2u);
  EXPECT_EQ(stats(plain).infer.count, 2u);
  EXPECT_EQ(stats(plain).cache_hit.count, 0u);
  EXPECT_EQ(stats(cached).cache_hit.count, 2u);
}

TEST_F(CachedRequestsTest, PreservedOrderAndTheCacheExcludeEachOther) {
  ModelSpec spec = cached_spec("echo", ExecMode::Queued);
  spec.batch.mode = BatchMode::On;
  spec.batch.rows_max = 4;
  spec.batch_dim = true;
  spec.batch.preserve_ordering = true;
  const uint32_t handle = load(spec);
  const std::shared_ptr<Model> model = *engine_->published()->find(handle);
  EXPECT_EQ(model->cache(), nullptr);
  EXPECT_NE(model->why_not_cached().find("preserve_ordering"), std::string::npos);
}

TEST_F(CachedRequestsTest, StepsOfAnEnsembleAreCachedOnBothWays) {
  for (const bool queued : {false, true}) {
    ModelSpec step = cached_spec("echo", ExecMode::Auto);
    if (queued) {
      step.batch.mode = BatchMode::On;
      step.batch.rows_max = 4;
      step.batch_dim = true;
    }
    const uint32_t inner = load(step);
    ModelSpec spec;
    spec.name = "e";
    spec.version = 1;
    spec.backend = kEnsembleBackend;
    spec.ensemble = {{inner, {{"x", "A"}}, {{"y", "B"}}}, {inner, {{"x", "B"}}, {{"y", "C"}}}};
    spec.ensemble_signature.name = "serving_default";
    spec.ensemble_signature.inputs = {tensor_spec("A", DType::Fp32, {-1})};
    spec.ensemble_signature.outputs = {tensor_spec("C", DType::Fp32, {-1})};
    const uint32_t handle = load(spec);
    bodies_.reserve(64);
    for (int i = 0; i < 3; ++i) {
      const std::string body =
          R"({"inputs":[{"name":"A","shape":[2],"datatype":"FP32","data":[1,2]}]})";
      const Answer answer = lane_->infer(Protocol::V2Rest, handle, bytes_of(body), -1);
      const std::string got = answer.pending ? take() : inline_text();
      EXPECT_NE(got.find("[1.0,2.0]"), std::string::npos) << got;
    }
    EXPECT_EQ(stats(inner).execution_count, 1u) << queued << ": the second step has equal inputs";
    EXPECT_EQ(stats(inner).cache_hit.count, 5u);
    EXPECT_EQ(unload(handle), ErrorCode::Ok);
    EXPECT_EQ(unload(inner), ErrorCode::Ok);
  }
}

}  // namespace
}  // namespace serval::test
