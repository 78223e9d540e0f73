// Models that are served but not loaded: requests wait at their place until the loaded model takes
// it, the load fails, or the place goes.
#include <atomic>
#include <cstring>
#include <thread>

#include "engine/engine_fixture.h"

namespace serval::test {
namespace {

constexpr std::string_view kV1Body = R"({"instances":[1,2]})";
constexpr std::string_view kV1Answer = R"({"predictions":[1.0,2.0]})";

class AbsentModelsTest : public EngineTest {
 protected:
  uint32_t reserve(ModelSpec spec = null_spec("m", "echo", ExecMode::Queued)) {
    const uint32_t place = engine_->reserve(spec);
    route("m", place);
    return place;
  }
  Answer send(uint32_t place) {
    return lane_->infer(Protocol::V1Predict, place, bytes_of(kV1Body), -1);
  }
  // Ends with `ticket`'s completion; returns its code and text.
  std::pair<ErrorCode, std::string> finish(uint32_t ticket) {
    Request* done = next();
    if (done == nullptr) return {ErrorCode::Internal, "no completion"};
    EXPECT_EQ(lane_->slots().ticket_of(*done), ticket);
    const std::pair<ErrorCode, std::string> outcome{done->code, text(*done)};
    lane_->slots().release(*done);
    return outcome;
  }
  // The ticket of a control request that takes the places that requests wait at.
  uint32_t take() {
    const Result<uint32_t> ticket = lane_->open_control();
    engine_->take_asked(*lane_->slots().find(ticket.value()), lane_->home());
    return ticket.value();
  }
  std::vector<uint32_t> asked(uint32_t ticket) {
    const auto [code, bytes] = finish(ticket);
    EXPECT_EQ(code, ErrorCode::Ok);
    std::vector<uint32_t> handles(bytes.size() / sizeof(uint32_t));
    if (!handles.empty()) std::memcpy(handles.data(), bytes.data(), bytes.size());
    return handles;
  }
  ErrorCode evict(uint32_t place) {
    const Result<uint32_t> ticket = lane_->open_control();
    engine_->evict(place, *lane_->slots().find(ticket.value()), lane_->home());
    return finish(ticket.value()).first;
  }
  void put(uint32_t place) {
    const Status put = engine_->put(load(null_spec("m", "echo", ExecMode::Queued)), place);
    EXPECT_TRUE(put.ok());
  }
};

TEST_F(AbsentModelsTest, RequestsWaitForTheLoadedModelInTheirOrder) {
  const uint32_t place = reserve();
  const Answer rest = send(place);
  const std::string message = infer_message("m");
  const Answer grpc = lane_->infer_message(Protocol::V2Grpc, bytes_of(message), 0);
  ASSERT_TRUE(rest.pending);
  ASSERT_TRUE(grpc.pending);
  EXPECT_EQ(asked(take()), std::vector<uint32_t>{place}) << "once for both";
  put(place);
  EXPECT_EQ(finish(rest.ticket), std::pair(ErrorCode::Ok, std::string(kV1Answer)));
  EXPECT_EQ(finish(grpc.ticket).first, ErrorCode::Ok);
  const Answer later = send(place);
  EXPECT_EQ(finish(later.ticket).first, ErrorCode::Ok);
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
}

TEST_F(AbsentModelsTest, RequestsAreTracedBeforeTheLoadAndAfterTheModelLeft) {
  engine_->set_traces({{{"", true, {true, 1}}}, false});
  const uint32_t place = reserve();
  for (int loads = 0; loads < 2; ++loads) {
    const Answer answer = send(place);
    TraceId trace_id;
    SpanId span_id;
    EXPECT_TRUE(lane_->traces().take(trace_id, span_id));
    EXPECT_EQ(asked(take()), std::vector<uint32_t>{place});
    put(place);
    EXPECT_EQ(finish(answer.ticket).first, ErrorCode::Ok);
    EXPECT_EQ(evict(place), ErrorCode::Ok);
  }
}

TEST_F(AbsentModelsTest, ThatWhichTakesIsToldLater) {
  const uint32_t place = reserve();
  const uint32_t taking = take();
  const Answer answer = send(place);
  EXPECT_EQ(asked(taking), std::vector<uint32_t>{place});
  const uint32_t first = take();
  const uint32_t second = take();
  EXPECT_EQ(asked(first), std::vector<uint32_t>{}) << "one at a time";
  lane_->cancel(second);
  EXPECT_EQ(asked(second), std::vector<uint32_t>{});
  put(place);
  EXPECT_EQ(finish(answer.ticket).first, ErrorCode::Ok);
}

TEST_F(AbsentModelsTest, AFailedLoadAnswersThoseThatWait) {
  const uint32_t place = reserve();
  for (int i = 0; i < 2; ++i) {
    const Answer answer = send(place);
    EXPECT_EQ(asked(take()), std::vector<uint32_t>{place});
    EXPECT_TRUE(
        engine_->refuse_waiting(place, make_error(ErrorCode::ModelInvalid, "no file")).ok());
    EXPECT_EQ(finish(answer.ticket), std::pair(ErrorCode::ModelInvalid, std::string("no file")));
  }
}

TEST_F(AbsentModelsTest, LimitsCountWhileTheyWait) {
  ModelSpec spec = null_spec("m", "echo", ExecMode::Queued);
  spec.queue.requests_max = 1;
  const uint32_t place = reserve(spec);
  const std::string message = infer_message("m");
  const Answer timed = lane_->infer_message(Protocol::V2Grpc, bytes_of(message), 20'000);
  const Answer full = send(place);
  EXPECT_FALSE(full.pending);
  EXPECT_EQ(full.code, ErrorCode::QueueFull);
  EXPECT_EQ(finish(timed.ticket).first, ErrorCode::DeadlineExceeded);
  const Answer left = send(place);
  EXPECT_TRUE(lane_->cancel(left.ticket)) << "it only waited";
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
}

TEST_F(AbsentModelsTest, APlaceThatGoesAnswersThoseThatWait) {
  const uint32_t place = reserve();
  const Answer answer = send(place);
  const Result<uint32_t> ticket = lane_->open_control();
  engine_->unload(place, *lane_->slots().find(ticket.value()), lane_->home());
  const auto [code, text] = finish(answer.ticket);
  EXPECT_EQ(code, ErrorCode::ModelNotReady) << text;
  EXPECT_EQ(finish(ticket.value()).first, ErrorCode::Ok);
  const uint32_t loaded = load(null_spec("m", "echo", ExecMode::Queued));
  EXPECT_EQ(engine_->put(loaded, place).error().code, ErrorCode::ModelNotFound);
  EXPECT_EQ(engine_->put(loaded, loaded).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(engine_->refuse_waiting(loaded, no_slot()).error().code, ErrorCode::ModelNotFound);
}

TEST_F(AbsentModelsTest, AnEvictedModelKeepsItsPlace) {
  const uint32_t place = reserve();
  put(place);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(evict(place), ErrorCode::Ok);
    EXPECT_EQ(evict(place), ErrorCode::ModelNotFound) << "nothing is loaded";
    const Answer answer = send(place);
    EXPECT_EQ(asked(take()), std::vector<uint32_t>{place});
    put(place);
    EXPECT_EQ(finish(answer.ticket).first, ErrorCode::Ok);
  }
}

TEST_F(AbsentModelsTest, ALaneClosesWhileRequestsWait) {
  const uint32_t place = reserve();
  const Answer answer = send(place);
  ASSERT_TRUE(answer.pending);
  take();  // answers at once
  take();
  lane_->close();
  lane_.reset();
}

// Listeners send while the model comes and goes: each request is answered. Mainly for the thread
// sanitizer.
TEST_F(AbsentModelsTest, NoRequestIsLostWhileItComesAndGoes) {
  const uint32_t place = reserve();
  constexpr int kThreads = 3, kRounds = 200;
  std::atomic<int> wrong{0}, running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      TestHooks hooks;
      auto lane = std::make_shared<Lane>(engine_, ServeSettings{}, &hooks);
      engine_->add_lane(lane->home());
      for (int round = 0; round < kRounds; ++round) {
        const Answer answer = lane->infer(Protocol::V1Predict, place, bytes_of(kV1Body), -1);
        std::array<Request*, 4> done{};
        size_t count = 0;
        if (!answer.pending) ++wrong;
        while (answer.pending && (count = lane->take_completed(done)) == 0) {
          if (!hooks.wait()) break;
        }
        if (count != 1) ++wrong;
        for (size_t at = 0; at < count; ++at) {
          if (done[at]->code != ErrorCode::Ok || text(*done[at]) != kV1Answer) ++wrong;
          lane->slots().release(*done[at]);
        }
      }
      engine_->remove_lane(*lane->home());
      lane->close();
      --running;
    });
  }
  while (running.load() > 0) {
    put(place);
    EXPECT_EQ(evict(place), ErrorCode::Ok);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace serval::test
