// Reports to the engine about a model whose process ends: whether it returns, and whether a request
// that failed with the process had begun to run.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "support.h"

namespace serval::isolated {
namespace {

constexpr uint32_t kAll[] = {0, 1, 2};

template <typename Holds>
void until(const Holds& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Every state that a model had, in order, without repetitions.
class States {
 public:
  void follow(BackendModel& model) {
    model.on_readiness([this, &model] {
      std::lock_guard lock(mutex_);
      const Readiness now = model.readiness();
      if (states_.empty() || states_.back() != now) states_.push_back(now);
    });
  }
  std::vector<Readiness> seen() {
    std::lock_guard lock(mutex_);
    return states_;
  }
  bool has(Readiness one) {
    const std::vector<Readiness> all = seen();
    return std::find(all.begin(), all.end(), one) != all.end();
  }

 private:
  std::mutex mutex_;
  std::vector<Readiness> states_;
};

TEST(IsolatedReadiness, ReturnsAfterADeathAndSaysWhatRan) {
  std::atomic<bool> ends{false};
  const auto process = process_of(
      [&](int socket, int event, int start) {
        std::thread serving([&] { serve_null(socket, event); });
        if (start == 1) {
          until([&] { return ends.load(); });
          shutdown(socket, SHUT_RDWR);
        }
        serving.join();
      },
      nullptr, {300, 300, 60'000});
  const auto slow = load(process, "delay"), quick = load(process, "echo");
  States states;
  states.follow(*quick);
  EXPECT_EQ(quick->readiness(), Readiness::Ready);
  const Inputs inputs(2, 1);
  const auto in_flight = slow->make_scratch(), scratch = quick->make_scratch();
  ASSERT_TRUE(quick->run(0, inputs.views, kAll, *scratch, {}).ok());
  EXPECT_EQ(scratch->loss(), Loss::None);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ends = true;
  });
  const Status died = slow->run(0, inputs.views, kAll, *in_flight, {});
  killer.join();
  ASSERT_FALSE(died.ok());
  // a run in a channel that is being closed may end as cancelled
  if (died.error().code != ErrorCode::Cancelled) {
    EXPECT_EQ(in_flight->loss(), Loss::Died);
  }
  until([&] { return quick->readiness() == Readiness::Returning; });
  EXPECT_GT(quick->returns_ns(), 0u);
  const Status refused = quick->run(0, inputs.views, kAll, *scratch, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(scratch->loss(), Loss::NotRun);
  EXPECT_EQ(quick->outage().message.find("model 'm': its process ended by signal 9"), 0u);
  until([&] { return quick->can_run(); });
  ASSERT_TRUE(quick->run(0, inputs.views, kAll, *scratch, {}).ok());
  EXPECT_EQ(scratch->loss(), Loss::None);
  const std::vector<Readiness> expected = {Readiness::Returning, Readiness::Ready};
  EXPECT_EQ(states.seen(), expected);
  quick->on_readiness({});
}

TEST(IsolatedReadiness, FailsIfTheProcessEndsTwiceBeforeItHasReloadedTheModel) {
  std::atomic<bool> ends{false}, works{true};
  std::atomic<int> starts{0};
  const auto process = process_of([&](int socket, int event, int start) {
    starts = start;
    if (!works) return;  // ends while it loads
    std::thread serving([&] { serve_null(socket, event); });
    until([&] { return start > 1 || ends.load(); });
    if (start == 1) shutdown(socket, SHUT_RDWR);
    serving.join();
  });
  const auto model = load(process, "echo");
  States states;
  states.follow(*model);
  works = false;
  ends = true;
  until([&] { return states.has(Readiness::Failed); });
  EXPECT_GE(starts, 3);
  EXPECT_EQ(states.seen()[0], Readiness::Returning);
  works = true;
  until([&] { return model->can_run(); });
  model->on_readiness({});
}

// The process takes the channel and ends without reading the request.
TEST(IsolatedReadiness, ARequestThatTheProcessNeverBeganDidNotRun) {
  const auto process = process_of([&](int socket, int event, int start) {
    if (start > 1) return serve_null(socket, event);
    for (bool opened = false; !opened;) {
      Received received = receive_packet(socket);
      if (received.what != Received::What::Packet) continue;
      opened = received.packet.kind == PacketKind::Open;
      if (received.packet.kind != PacketKind::Load) continue;
      Writer out;
      BackendModelInfo info;
      info.signatures = {null_spec("echo").null_signature};
      write_info(info, out);
      const Result<Descriptor> blob = blob_of(out.bytes());
      const int fd = blob.value().get();
      send_packet(socket, {PacketKind::Loaded, received.packet.id, 0}, {&fd, 1});
    }
  });
  const auto model = load(process, "echo");
  const auto scratch = model->make_scratch();
  const Inputs inputs(2, 1);
  const Status failed = model->run(0, inputs.views, kAll, *scratch, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(scratch->loss(), Loss::NotRun);
}

}  // namespace
}  // namespace serval::isolated
