// Instance threads: none before there is work, as many as the work needs, none when idle. No
// request is lost between one that ends and one that starts.
#include <atomic>
#include <functional>
#include <system_error>
#include <thread>

#include "engine/engine_fixture.h"

namespace serval::test {
namespace {

constexpr std::string_view kBody = R"({"instances":[1,2]})";
constexpr std::chrono::nanoseconds kAtOnce(0);

TEST(Consumers, AreAskedForWhereMoreWaitsThanWaitForIt) {
  RequestQueue queue{QueueSettings()};
  queue.set_consumers(2, kAtOnce);
  std::array<Request, 3> requests;
  std::vector<Request*> late;
  EXPECT_FALSE(queue.claim_consumer()) << "nothing waits";
  for (Request& request : requests) ASSERT_EQ(queue.push(&request), RequestQueue::Push::Taken);
  EXPECT_TRUE(queue.claim_consumer());
  EXPECT_TRUE(queue.claim_consumer());
  EXPECT_FALSE(queue.claim_consumer()) << "two at most";
  queue.unclaim();
  EXPECT_TRUE(queue.claim_consumer());
  EXPECT_FALSE(queue.retire()) << "three wait";
  queue.arrive();
  queue.arrive();
  for (Request& request : requests) EXPECT_EQ(queue.pop(late), &request);
  EXPECT_EQ(queue.pop(late), nullptr) << "idle for long enough: one ends";
  EXPECT_EQ(queue.consumers(), 1u);
  ASSERT_EQ(queue.push(&requests[0]), RequestQueue::Push::Taken);
  EXPECT_TRUE(queue.claim_consumer());
  queue.close();
  EXPECT_FALSE(queue.claim_consumer());
}

TEST(Consumers, WhatIsForOneThatStartsDoesNotCountAsWaiting) {
  QueueSettings settings;
  settings.requests_max = 1;
  RequestQueue queue(settings);
  queue.set_consumers(1);
  std::array<Request, 3> requests;
  std::vector<Request*> late;
  ASSERT_EQ(queue.push(&requests[0]), RequestQueue::Push::Taken);
  EXPECT_EQ(queue.push(&requests[1]), RequestQueue::Push::Full);
  ASSERT_TRUE(queue.claim_consumer());
  EXPECT_EQ(queue.push(&requests[1]), RequestQueue::Push::Taken);
  EXPECT_EQ(queue.push(&requests[2]), RequestQueue::Push::Full);
  queue.arrive();
  EXPECT_EQ(queue.pop(late), &requests[0]);
  EXPECT_EQ(queue.push(&requests[2]), RequestQueue::Push::Full) << "one waits";
  EXPECT_EQ(queue.pop(late), &requests[1]);
}

TEST(Consumers, OneThatWaitsIsEnoughForOne) {
  RequestQueue queue{QueueSettings()};
  queue.set_consumers(2);
  std::array<Request, 2> requests;
  queue.push(&requests[0]);
  ASSERT_TRUE(queue.claim_consumer());
  std::thread consumer([&] {
    queue.arrive();
    std::vector<Request*> late;
    while (queue.pop(late) != nullptr) {
    }
  });
  while (queue.waiting() == 0) std::this_thread::yield();
  EXPECT_EQ(queue.size(), 0u);
  queue.push(&requests[1]);
  EXPECT_FALSE(queue.claim_consumer());
  queue.close();
  consumer.join();
}

class InstancesTest : public EngineTest {
 protected:
  uint32_t load_with(ModelSpec spec, std::chrono::nanoseconds idle) {
    const size_t instances = static_cast<size_t>(spec.instances);
    const uint32_t handle = load(std::move(spec));
    queue(handle).set_consumers(instances, idle);
    return handle;
  }
  RequestQueue& queue(uint32_t handle) { return (*engine_->published()->find(handle))->queue(); }
  Answer ask(uint32_t handle) {
    return lane_->infer(Protocol::V1Predict, handle, bytes_of(kBody), -1);
  }
};

TEST_F(InstancesTest, InlineModelsHaveNone) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(handle).code, ErrorCode::Ok);
  EXPECT_EQ(queue(handle).consumers(), 0u);
}

TEST_F(InstancesTest, StartWithTheRequestsAndEndWhenIdle) {
  ModelSpec spec = null_spec("m", "delay", ExecMode::Queued);
  spec.null_delay_us = 20'000;
  spec.instances = 3;
  const uint32_t handle = load_with(spec, kAtOnce);
  EXPECT_EQ(queue(handle).consumers(), 0u);
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(ask(handle).pending);
  EXPECT_EQ(queue(handle).consumers(), 3u);
  for (int i = 0; i < 9; ++i) lane_->slots().release(*next());
  while (queue(handle).consumers() != 0) std::this_thread::yield();
  ASSERT_TRUE(ask(handle).pending);
  lane_->slots().release(*next());
  EXPECT_EQ(unload(handle), ErrorCode::Ok);
}

TEST_F(InstancesTest, NothingIsLostBetweenOneThatEndsAndOneThatStarts) {
  for (const BatchMode mode : {BatchMode::Off, BatchMode::On}) {
    ModelSpec spec = null_spec("m", "echo", ExecMode::Queued);
    spec.instances = 2;
    spec.batch_dim = mode == BatchMode::On;
    spec.batch.mode = mode;
    spec.batch.rows_max = 4;
    const uint32_t handle = load_with(spec, kAtOnce);
    for (int round = 0; round < 300; ++round) {
      const int count = 1 + round % 3;
      for (int i = 0; i < count; ++i) ASSERT_TRUE(ask(handle).pending);
      for (int i = 0; i < count; ++i) {
        Request* done = next();
        ASSERT_NE(done, nullptr);
        EXPECT_EQ(done->code, ErrorCode::Ok) << text(*done);
        lane_->slots().release(*done);
      }
    }
    EXPECT_EQ(unload(handle), ErrorCode::Ok);
  }
}

std::atomic<bool> no_threads{false};

std::thread start_thread_or_fail(std::function<void()> run) {
  if (no_threads) {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  return std::thread(std::move(run));
}

EngineOptions failing_options() {
  EngineOptions options;
  options.start_thread = start_thread_or_fail;
  return options;
}

class NoThreadsTest : public EngineTest {
 protected:
  NoThreadsTest() : EngineTest(failing_options()) {}
  void TearDown() override { no_threads = false; }
};

TEST_F(NoThreadsTest, WhatNobodyCouldRunIsAnsweredAtOnce) {
  for (const BatchMode mode : {BatchMode::Off, BatchMode::On}) {
    ModelSpec spec = null_spec("m", "echo", ExecMode::Queued);
    spec.batch_dim = mode == BatchMode::On;
    spec.batch.mode = mode;
    const uint32_t handle = load(std::move(spec));
    Model& model = **engine_->published()->find(handle);
    model.queue().set_consumers(1, kAtOnce);
    const auto ask = [&] { return lane_->infer(Protocol::V1Predict, handle, bytes_of(kBody), -1); };
    no_threads = true;
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(ask().pending);
      Request* done = next();
      ASSERT_NE(done, nullptr);
      EXPECT_EQ(done->code, ErrorCode::QueueFull);
      EXPECT_EQ(text(*done),
                "model 'm': no thread could be started to run it: "
                "Resource temporarily unavailable");
      lane_->slots().release(*done);
    }
    EXPECT_EQ(model.queue().consumers(), 0u);
    no_threads = false;
    ASSERT_TRUE(ask().pending);
    Request* done = next();
    ASSERT_NE(done, nullptr);
    EXPECT_EQ(done->code, ErrorCode::Ok);
    lane_->slots().release(*done);
    EXPECT_EQ(unload(handle), ErrorCode::Ok);
  }
}

}  // namespace
}  // namespace serval::test
