// Requests whose model's process is down: they wait in the queue for its return, within their time
// limits; those that were in flight run once more if the configuration allows it. A stub takes the
// place of the model's session.
#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/engine_fixture.h"
#include "engine/model/model.h"
#include "engine/model/queued.h"
#include "engine/model/refusals.h"

namespace serval::test {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

// A session whose process is up, returns, or has failed, as the test says.
class StubModel final : public BackendModel {
 public:
  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override { return nullptr; }
  Readiness readiness() const override { return readiness_; }
  uint64_t returns_ns() const override { return returns_ns_; }
  void on_readiness(std::function<void()> changed) override {
    std::lock_guard lock(mutex_);
    changed_ = std::move(changed);
  }
  Error outage() override { return make_error(ErrorCode::ModelNotReady, "it is down"); }
  std::timed_mutex* retry_mutex() override { return &retry_; }
  Status run(uint32_t, std::span<const TensorView>, std::span<const uint32_t>, BackendScratch&,
             const RunOptions&) override {
    return {};
  }
  void become(Readiness readiness, uint64_t returns_ns = 0) {
    std::lock_guard lock(mutex_);
    returns_ns_ = returns_ns;
    readiness_ = readiness;
    if (changed_) changed_();
  }
  std::timed_mutex retry_;

 private:
  const BackendModelInfo info_;
  std::mutex mutex_;
  std::function<void()> changed_;
  std::atomic<Readiness> readiness_{Readiness::Ready};
  std::atomic<uint64_t> returns_ns_{0};
};

class ProcessWait : public testing::Test {
 protected:
  Model& model(size_t sessions, bool retry = false, uint64_t wait_ns = 60 * kSecondNs) {
    std::vector<std::shared_ptr<BackendModel>> backends;
    for (size_t i = 0; i < sessions; ++i) {
      stubs_.push_back(std::make_shared<StubModel>());
      backends.push_back(stubs_.back());
    }
    ModelSpec spec;
    spec.name = "m";
    spec.retry = retry;
    ModelServices services;
    services.process_wait_ns = wait_ns;
    model_ = std::make_unique<Model>(1, std::move(spec), std::move(backends), ModelShapes(), 0,
                                     services);
    return *model_;
  }
  bool held() { return model_->queue().held(); }

  std::vector<std::shared_ptr<StubModel>> stubs_;
  std::unique_ptr<Model> model_;
};

TEST_F(ProcessWait, HoldsTheQueueWhileNoSessionCanRunAndOneReturns) {
  model(2);
  EXPECT_FALSE(held());
  stubs_[0]->become(Readiness::Returning);
  EXPECT_FALSE(held()) << "the other session can run";
  stubs_[1]->become(Readiness::Failed);
  EXPECT_TRUE(held());
  stubs_[0]->become(Readiness::Failed);
  EXPECT_FALSE(held()) << "no session is expected to return: requests fail at once";
  stubs_[1]->become(Readiness::Returning);
  EXPECT_TRUE(held());
  stubs_[1]->become(Readiness::Ready);
  EXPECT_FALSE(held());
}

TEST_F(ProcessWait, DoesNotWaitForAPauseThatIsLongerThanTheWait) {
  model(1, false, kSecondNs);
  stubs_[0]->become(Readiness::Returning, now_ns() + 3 * kSecondNs);
  EXPECT_FALSE(held());
  stubs_[0]->become(Readiness::Returning);  // it starts
  EXPECT_TRUE(held());
}

TEST_F(ProcessWait, DoesNotHoldWithoutAWait) {
  model(1, true, 0);
  stubs_[0]->become(Readiness::Returning);
  EXPECT_FALSE(held());
  Request request;
  EXPECT_FALSE(returns_to_queue(*model_, request, Loss::NotRun, nullptr));
  EXPECT_FALSE(returns_to_queue(*model_, request, Loss::Died, nullptr));
}

TEST_F(ProcessWait, ReturnsRequestsThatDidNotRun) {
  model(1);
  Request request;
  EXPECT_FALSE(returns_to_queue(*model_, request, Loss::None, nullptr));
  EXPECT_TRUE(returns_to_queue(*model_, request, Loss::NotRun, nullptr));
  EXPECT_FALSE(returns_to_queue(*model_, request, Loss::Died, nullptr)) << "not allowed";
  CancelFlag cancelled;
  cancelled.cancel(EndCause::Deadline);
  EXPECT_FALSE(returns_to_queue(*model_, request, Loss::NotRun, &cancelled));
  request.wait_until_ns = now_ns();
  EXPECT_FALSE(returns_to_queue(*model_, request, Loss::NotRun, nullptr)) << "waited enough";
  request.wait_until_ns = 0;
  stubs_[0]->become(Readiness::Failed);
  EXPECT_FALSE(returns_to_queue(*model_, request, Loss::NotRun, nullptr));
  EXPECT_EQ(model_->counters().retried.load(), 0u);
}

TEST_F(ProcessWait, RunsARequestThatWasInFlightOnceMore) {
  model(1, true);
  Request request;
  EXPECT_TRUE(returns_to_queue(*model_, request, Loss::Died, nullptr));
  EXPECT_TRUE(request.died);
  EXPECT_TRUE(returns_to_queue(*model_, request, Loss::NotRun, nullptr));
  EXPECT_FALSE(returns_to_queue(*model_, request, Loss::Died, nullptr)) << "the second death";
  EXPECT_EQ(model_->counters().retried.load(), 1u);
}

TEST_F(ProcessWait, RefusesSecondRunsOfAModelWithState) {
  ModelSpec spec;
  spec.name = "counter";
  BackendModelInfo info;
  info.stateful = true;
  EXPECT_TRUE(check_retry(spec, info).ok());
  spec.retry = true;
  const Status refused = check_retry(spec, info);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::ModelInvalid);
  EXPECT_EQ(refused.error().message.find("model 'counter': parameter serval.retry: expected a model"
                                         " without state"),
            0u);
  info.stateful = false;
  EXPECT_TRUE(check_retry(spec, info).ok());
}

TEST_F(ProcessWait, SecondRunsTakeTurns) {
  model(1, true);
  CancelFlag cancel;
  {
    const RetryTurn first(*stubs_[0], true, &cancel);
    std::atomic<bool> ran{false};
    std::thread other([&] {
      const RetryTurn second(*stubs_[0], true, &cancel);
      ran = true;
    });
    const RetryTurn fresh(*stubs_[0], false, nullptr);  // a first run does not wait
    EXPECT_FALSE(ran);
    cancel.cancel(EndCause::ClientLeft);
    other.join();
  }
  EXPECT_TRUE(stubs_[0]->retry_.try_lock());
  stubs_[0]->retry_.unlock();
}

class HeldQueue : public testing::Test {
 protected:
  HeldQueue() {
    queue_.set_consumers(2);
    queue_.set_process_wait(60 * kSecondNs);
  }
  size_t take(size_t most = 4) {
    taken_.assign(most, nullptr);
    late_.clear();
    const size_t count = queue_.take(taken_, 0, late_);
    taken_.resize(count);
    return count;
  }

  RequestQueue queue_{QueueSettings()};
  std::array<Request, 4> requests_;
  std::vector<Request*> taken_, late_;
};

TEST_F(HeldQueue, GivesNoRequestUntilItIsReleased) {
  ASSERT_EQ(queue_.push(&requests_[0]), RequestQueue::Push::Taken);
  queue_.hold();
  ASSERT_EQ(queue_.push(&requests_[1]), RequestQueue::Push::Taken);
  EXPECT_EQ(take(), 0u);
  EXPECT_TRUE(late_.empty());
  EXPECT_FALSE(queue_.take_if_alone(&requests_[0]));
  EXPECT_EQ(queue_.size(), 2u);
  EXPECT_EQ(queue_.waited_for_process(), 2u);
  std::thread consumer([&] {
    std::vector<Request*> late;
    EXPECT_EQ(queue_.pop(late), &requests_[0]);
  });
  while (queue_.waiting() == 0) std::this_thread::yield();
  EXPECT_TRUE(queue_.release());
  EXPECT_FALSE(queue_.release());
  consumer.join();
  EXPECT_EQ(take(), 1u);
}

TEST_F(HeldQueue, EndsAWaitThatIsTooLong) {
  queue_.set_process_wait(1);
  queue_.hold();
  uint64_t limit_ns = kNever;
  ASSERT_EQ(queue_.push(&requests_[0], true, limit_ns), RequestQueue::Push::Taken);
  EXPECT_LE(limit_ns, now_ns());
  EXPECT_LE(queue_.next_expiry_ns(), now_ns());
  queue_.expire(late_);
  ASSERT_EQ(late_.size(), 1u);
  EXPECT_EQ(late_[0], &requests_[0]);
  EXPECT_EQ(requests_[0].late, Request::Late::Down);
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(HeldQueue, AConsumerEndsWaitsThatBeganBefore) {
  queue_.set_process_wait(kSecondNs / 50);
  ASSERT_EQ(queue_.push(&requests_[0]), RequestQueue::Push::Taken);
  queue_.hold();
  Request* out = nullptr;
  EXPECT_EQ(queue_.take({&out, 1}, kNever, late_), 0u);
  ASSERT_EQ(late_.size(), 1u);
  EXPECT_EQ(late_[0]->late, Request::Late::Down);
}

TEST_F(HeldQueue, EndsARequestAtItsEarlierDeadline) {
  requests_[0].deadline_ns = now_ns() + kSecondNs / 50;
  ASSERT_EQ(queue_.push(&requests_[0]), RequestQueue::Push::Taken);
  queue_.hold();
  Request* out = nullptr;
  EXPECT_EQ(queue_.take({&out, 1}, kNever, late_), 0u);
  ASSERT_EQ(late_.size(), 1u);
  EXPECT_EQ(late_[0]->late, Request::Late::Deadline);
}

TEST_F(HeldQueue, PutsRequestsBackInFrontInTheirOrder) {
  for (Request& one : requests_) ASSERT_EQ(queue_.push(&one), RequestQueue::Push::Taken);
  ASSERT_EQ(take(2), 2u);
  EXPECT_TRUE(queue_.put_back(taken_));
  ASSERT_EQ(take(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(taken_[i], &requests_[i]);
  EXPECT_GT(requests_[1].wait_until_ns, now_ns());
  EXPECT_EQ(requests_[2].wait_until_ns, 0u);
  const uint64_t until_ns = requests_[0].wait_until_ns;
  EXPECT_TRUE(queue_.put_back({taken_.data(), 1}));
  EXPECT_EQ(requests_[0].wait_until_ns, until_ns) << "a second wait is not longer";
  queue_.close();
  EXPECT_FALSE(queue_.put_back({taken_.data() + 1, 1}));
}

TEST_F(HeldQueue, ARequestThatDiedRunsOnNoListenersThread) {
  requests_[0].died = true;
  ASSERT_EQ(queue_.push(&requests_[0]), RequestQueue::Push::Taken);
  EXPECT_FALSE(queue_.take_if_alone(&requests_[0]));
  EXPECT_TRUE(queue_.remove(&requests_[0]));
}

}  // namespace
}  // namespace serval::test
