// Runs that continue after they were cancelled. Nobody waits for them, and a process that has too
// many of them at one time is ended. A process that ends each of them late is kept, however many
// there were.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "support.h"

namespace serval::isolated {
namespace {

// Runs until the gate opens and ignores cancellation.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;  // guarded by mutex, as are all members here
  size_t runs = 0, ended = 0;

  void set(bool to) {
    std::lock_guard lock(mutex);
    open = to;
    changed.notify_all();
  }
  void run() {
    std::unique_lock lock(mutex);
    ++runs;
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
    ++ended;
    changed.notify_all();
  }
  size_t runs_so_far() {
    std::lock_guard lock(mutex);
    return runs;
  }
  void wait_for_runs(size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return runs >= count; });
  }
  void wait_for_ends(size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ended >= count; });
  }
};

class StubbornScratch final : public BackendScratch {
 public:
  std::span<const TensorView> outputs() const override { return {}; }
  void release_outputs() override {}
};

class StubbornModel final : public BackendModel {
 public:
  explicit StubbornModel(Gate& gate) : gate_(gate) { info_.signatures.emplace_back(); }
  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override {
    return std::make_unique<StubbornScratch>();
  }
  Status run(uint32_t, std::span<const TensorView>, std::span<const uint32_t>, BackendScratch&,
             const RunOptions&) override {
    gate_.run();
    return {};
  }

 private:
  Gate& gate_;
  BackendModelInfo info_;
};

class StubbornBackend final : public Backend {
 public:
  explicit StubbornBackend(Gate& gate) : gate_(gate) {}
  Result<std::shared_ptr<BackendModel>> load(const ModelSpec&) override {
    return std::shared_ptr<BackendModel>(std::make_shared<StubbornModel>(gate_));
  }

 private:
  Gate& gate_;
};

// A process of such models; kill() ends its threads.
struct StubbornProcess {
  Gate gate;
  std::atomic<int> kills{0};
  std::mutex mutex;
  int socket = -1;  // guarded by mutex
  MemoryBudget budget{1u << 30};
  std::shared_ptr<ModelProcess> process;

  StubbornProcess() {
    auto launcher = std::make_unique<ThreadLauncher>([this](int its_socket, int event, int) {
      StubbornBackend backend(gate);
      set_socket(its_socket);
      serve_backend(backend, its_socket, event);
      set_socket(-1);
    });
    launcher->on_kill([this] {
      kills.fetch_add(1);
      gate.set(true);
      std::lock_guard lock(mutex);
      if (socket >= 0) shutdown(socket, SHUT_RDWR);
    });
    process = std::make_shared<ModelProcess>(std::move(launcher), &budget, Pauses{1, 4, 60'000});
  }
  void set_socket(int to) {
    std::lock_guard lock(mutex);
    socket = to;
  }
};

// One run that is cancelled once `runs` have been started in that process.
Status cancelled_run(BackendModel& model, BackendScratch& scratch, Gate& gate, size_t runs) {
  CancelFlag flag;
  std::thread canceller([&] {
    gate.wait_for_runs(runs);
    flag.cancel(EndCause::ClientLeft);
  });
  Status ended = model.run(0, {}, {}, scratch, {&flag});
  canceller.join();
  return ended;
}

// Starts `count` runs at once and gives each of them up.
void give_up_runs(BackendModel& model, Gate& gate, size_t count) {
  const size_t runs = gate.runs_so_far() + count;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      const auto scratch = model.make_scratch();
      const Status ended = cancelled_run(model, *scratch, gate, runs);
      ASSERT_FALSE(ended.ok());
      EXPECT_EQ(ended.error().code, ErrorCode::Cancelled);
    });
  }
  for (std::thread& one : threads) one.join();
}

TEST(IsolatedGivenUp, NobodyWaitsForARunThatIgnoresItsEnd) {
  StubbornProcess stubborn;
  const auto model = load(stubborn.process, "", &stubborn.budget);
  const auto scratch = model->make_scratch();
  const uint64_t began = now_ns();
  const Status ended = cancelled_run(*model, *scratch, stubborn.gate, 1);
  EXPECT_GE(now_ns() - began, 250'000'000u);  // the others had the same time to end
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, ErrorCode::Cancelled);
  {
    std::lock_guard lock(stubborn.gate.mutex);
    EXPECT_EQ(stubborn.gate.ended, 0u);  // the run continues
  }
  const uint64_t held = stubborn.budget.used();
  EXPECT_GT(held, 0u);  // its memory is still held
  stubborn.gate.set(true);
  stubborn.gate.wait_for_ends(1);
  while (stubborn.budget.used() >= held) std::this_thread::yield();
  ASSERT_TRUE(model->run(0, {}, {}, *scratch, {}).ok());  // served by another channel
  EXPECT_EQ(stubborn.kills.load(), 0);
}

TEST(IsolatedGivenUp, ThoseThatEndLateCountNoLonger) {
  StubbornProcess stubborn;
  const auto model = load(stubborn.process, "", &stubborn.budget);
  for (int round = 0; round < 3; ++round) {
    stubborn.gate.set(false);
    give_up_runs(*model, stubborn.gate, kGivenUpMax - 1);
    EXPECT_GT(stubborn.budget.used(), 0u);
    stubborn.gate.set(true);
    while (stubborn.budget.used() > 0) std::this_thread::yield();  // all were seen to end
  }
  EXPECT_EQ(stubborn.kills.load(), 0);
  const auto scratch = model->make_scratch();
  ASSERT_TRUE(model->run(0, {}, {}, *scratch, {}).ok());
}

TEST(IsolatedGivenUp, TooManyAtOneTimeEndTheProcess) {
  StubbornProcess stubborn;
  const auto model = load(stubborn.process, "");
  give_up_runs(*model, stubborn.gate, kGivenUpMax);
  while (stubborn.kills.load() == 0) std::this_thread::yield();
  // The process restarts.
  const auto scratch = model->make_scratch();
  while (!model->run(0, {}, {}, *scratch, {}).ok()) std::this_thread::yield();
}

}  // namespace
}  // namespace serval::isolated
