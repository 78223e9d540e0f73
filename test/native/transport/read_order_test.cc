// Requests of several models and API keys share a listener's thread: connections of a model or a
// key that uses little are read before those of a flooded one, and a turn ends after a short time.
// With one model and one key, all ready connections are read in one turn.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes/views.h"
#include "transport/http.h"
#include "transport/listener.h"
#include "transport/loop/reading_order.h"
#include "transport/support/raw_client.h"

namespace serval {
namespace {

using namespace serval::testing;
using std::string;

constexpr size_t kFlooders = 8;
// Two of them fill a turn.
constexpr uint64_t kRunNs = 30'000;

std::atomic<uint64_t> clock_ns{1'000'000'000};

struct ReadCalls {
  std::atomic<bool> waits{false}, goes_on{false};  // of the gate
  std::mutex mutex;
  std::vector<string> turns;  // guarded by mutex: the requests of each turn, a letter each
};

// "/hot" takes kRunNs; "/quiet" is for another model, "/key" for the same one with a key, "/other"
// for none, and they take nothing; "/gate" keeps the thread until it may go on.
class Models final : public HttpHandler {
 public:
  Models(CallThread& thread, ReadCalls& seen) : thread_(thread), seen_(seen) {}

  void begin(HttpRequest& request) override {
    const std::string_view path = request.path();
    if (path == "/hot") {
      thread_.note_flow({.flow = 1});
      clock_ns += kRunNs;
    } else if (path == "/quiet") {
      thread_.note_flow({.flow = 2});
    } else if (path == "/key") {
      thread_.note_flow({.flow = 1, .part = 7});
    } else if (path == "/other") {
      thread_.note_flow({});
    } else {
      seen_.waits = true;
      while (!seen_.goes_on) std::this_thread::yield();
      seen_.goes_on = false;
    }
    turn_ += path[1];
  }
  void data(HttpRequest& request, std::span<const uint8_t>, bool last) override {
    if (last) request.send({200, "text/plain", {}, bytes_of(std::string_view("done")), nullptr});
  }
  void closed(HttpRequest&) override {}
  void turn_ended() override {
    if (turn_.empty()) return;
    std::lock_guard lock(seen_.mutex);
    seen_.turns.push_back(std::exchange(turn_, ""));
  }

 private:
  CallThread& thread_;
  ReadCalls& seen_;
  string turn_;
};

class Client {
 public:
  explicit Client(uint16_t port) : client_(port) {}
  void send(const string& path) {
    ASSERT_TRUE(client_.send("GET " + path + " HTTP/1.1\r\nHost: t\r\n\r\n"));
  }
  void wait() {
    string got;
    std::array<char, 4096> part;
    while (!got.ends_with("done")) {
      const ssize_t count = ::recv(client_.fd(), part.data(), part.size(), 0);
      ASSERT_GT(count, 0);
      got.append(part.data(), static_cast<size_t>(count));
    }
  }
  void call(const string& path) {
    send(path);
    wait();
  }

 private:
  RawClient client_;
};

class ReadOrder : public ::testing::Test {
 protected:
  void SetUp() override {
    TransportSettings settings;
    settings.serves = Serves::Http;
    settings.silent_ms = settings.idle_ms = 1'000'000;
    settings.clock = [] { return clock_ns.load(); };
    auto started = TransportListener::start(
        settings, std::make_shared<MemoryBudget>(1u << 30), {},
        [&](CallThread& thread) { return std::make_unique<Models>(thread, seen_); });
    ASSERT_TRUE(started.ok()) << started.error().message;
    listener_ = std::move(started.value());
    const uint16_t port = listener_->port();
    gate_ = std::make_unique<Client>(port);
    quiet_ = std::make_unique<Client>(port);
    for (size_t i = 0; i < kFlooders; ++i) hot_.push_back(std::make_unique<Client>(port));
  }

  // Sends a request on each hot connection, and then one for `quiet` on the quiet one, unless it is
  // empty, while the thread is kept: it finds all of them at once. Returns the turns that answered
  // them.
  std::vector<string> flood(const string& quiet = "") {
    gate_->send("/gate");
    while (!seen_.waits) std::this_thread::yield();
    seen_.waits = false;
    const size_t before = turns().size();
    for (const auto& client : hot_) client->send("/hot");
    if (!quiet.empty()) quiet_->send(quiet);
    seen_.goes_on = true;
    gate_->wait();
    for (const auto& client : hot_) client->wait();
    if (!quiet.empty()) quiet_->wait();
    // A turn is recorded before its responses are written.
    const std::vector<string> all = turns();
    return {all.begin() + static_cast<ptrdiff_t>(before) + 1, all.end()};
  }
  std::vector<string> turns() {
    std::lock_guard lock(seen_.mutex);
    return seen_.turns;
  }

  ReadCalls seen_;
  std::unique_ptr<TransportListener> listener_;
  std::unique_ptr<Client> gate_, quiet_;
  std::vector<std::unique_ptr<Client>> hot_;
};

TEST_F(ReadOrder, ReadsAllConnectionsOfTheOnlyModelInOneTurn) {
  for (const auto& client : hot_) client->call("/hot");
  EXPECT_EQ(flood(), std::vector<string>{string(kFlooders, 'h')});
}

TEST_F(ReadOrder, ReadsAQuietModelsConnectionFirstAndEndsTurnsEarly) {
  for (const auto& client : hot_) client->call("/hot");
  quiet_->call("/quiet");
  hot_[0]->call("/hot");
  const std::vector<string> expected{"q", "hh", "hh", "hh", "hh"};
  EXPECT_EQ(flood("/quiet"), expected);
  EXPECT_EQ(flood("/quiet"), expected);
}

TEST_F(ReadOrder, ReadsAQuietKeysConnectionBeforeThoseOfAnotherKeyOfTheModel) {
  for (const auto& client : hot_) client->call("/hot");
  quiet_->call("/key");
  hot_[0]->call("/hot");
  const std::vector<string> expected{"k", "hh", "hh", "hh", "hh"};
  EXPECT_EQ(flood("/key"), expected);
  EXPECT_EQ(flood("/key"), expected);
}

TEST_F(ReadOrder, ReadsAConnectionAsNoModelsOnceItsRequestNamesNone) {
  for (const auto& client : hot_) client->call("/hot");
  quiet_->call("/quiet");
  quiet_->call("/hot");
  quiet_->call("/other");
  const std::vector<string> expected{"o", "hh", "hh", "hh", "hh"};
  EXPECT_EQ(flood("/other"), expected);
}

TEST_F(ReadOrder, KeepsTheKernelsOrderWhileRequestsNameOneModelOrNone) {
  for (const auto& client : hot_) client->call("/hot");
  quiet_->call("/other");
  hot_[0]->call("/hot");
  EXPECT_EQ(flood("/other"), std::vector<string>{string(kFlooders, 'h') + "o"});
}

TEST(ReadingOrder, SharesAModelsTimeByTheWeightsOfItsKeys) {
  ReadingOrder order;
  order.note({.flow = 1, .part = 1, .part_weight = 300}, 1);
  order.note({.flow = 1, .part = 2}, 1);
  order.note({.flow = 2}, 1);
  EXPECT_TRUE(order.is_shared(2));
  const std::array<ReadFlow, 3> flows{{{1, 1}, {1, 2}, {2, 0}}};
  std::array<int, 3> counts{};
  for (int turn = 0; turn < 800; ++turn) {
    size_t next = 0;
    for (size_t i = 1; i < flows.size(); ++i) {
      if (order.start_of(flows[i]) < order.start_of(flows[next])) next = i;
    }
    order.charge(flows[next], 100);
    ++counts[next];
  }
  EXPECT_NEAR(counts[0], 300, 2);
  EXPECT_NEAR(counts[1], 100, 2);
  EXPECT_NEAR(counts[2], 400, 2);
}

TEST(ReadingOrder, RemembersABoundedNumberOfKeysOfAllModels) {
  ReadingOrder order;
  constexpr uint32_t kFlows = 200, kParts = 200;
  for (uint32_t flow = 1; flow <= kFlows; ++flow) {
    for (uint32_t part = 0; part < kParts; ++part) {
      order.note({.flow = flow, .part = part}, 1);
      order.begin_reading();
    }
  }
  EXPECT_LE(order.parts(), ReadingOrder::kPartsMax);
}

TEST(ReadingOrder, KeepsWeightsOfConnectionsWhenItForgetsTheirKeys) {
  ReadingOrder order;
  order.note({.flow = 1, .part = 1, .part_weight = 300}, 1);
  const ReadFlow heavy = order.noted();
  order.note({.flow = 1, .part = 2}, 1);
  const ReadFlow light = order.noted();
  for (uint32_t part = 3; part <= ReadingOrder::kPartsMax + 3; ++part) {
    order.note({.flow = 2, .part = part}, 1);
  }
  int counts = 0;
  for (int turn = 0; turn < 400; ++turn) {
    const bool is_heavy = order.start_of(heavy) < order.start_of(light);
    order.charge(is_heavy ? heavy : light, 100);
    counts += is_heavy ? 1 : 0;
  }
  EXPECT_NEAR(counts, 300, 2);
}

TEST_F(ReadOrder, ReturnsToTheKernelsOrderWhenTheOtherModelIsNotUsedAnyMore) {
  for (const auto& client : hot_) client->call("/hot");
  quiet_->call("/quiet");
  hot_[0]->call("/hot");
  clock_ns += ReadingOrder::kSharedNs;
  EXPECT_EQ(flood(), std::vector<string>{string(kFlooders, 'h')});
}

}  // namespace
}  // namespace serval
