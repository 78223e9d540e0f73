// Batching: which requests are joined, which response each gets, and in which order. The null
// backend echoes, so each request must find its own rows in its response.
#include "engine/engine_fixture.h"

namespace serval::test {
namespace {

std::string v2_body(const std::vector<float>& values, const std::string& id = "") {
  std::string data;
  for (float value : values) data += (data.empty() ? "" : ",") + std::to_string(value);
  return std::string("{") + (id.empty() ? "" : R"("id":")" + id + R"(",)") +
         R"("inputs":[{"name":"x","shape":[)" + std::to_string(values.size()) +
         R"(],"datatype":"FP32","data":[)" + data + "]}]}";
}

class BatcherTest : public EngineTest {
 protected:
  // `delay_us` 0: echo; otherwise the duration of each run, so that requests queue up during it.
  ModelSpec batching(uint32_t rows_max, int64_t delay_us = 0) {
    ModelSpec spec = null_spec("m", delay_us == 0 ? "echo" : "delay", ExecMode::Queued);
    spec.null_delay_us = delay_us;
    spec.batch.mode = BatchMode::On;
    spec.batch.rows_max = rows_max;
    spec.batch_dim = true;
    return spec;
  }
  Answer send(uint32_t handle, const std::string& body) {
    return lane_->infer(Protocol::V2Rest, handle, bytes_of(body), -1);
  }
  const std::shared_ptr<Model>& model(uint32_t handle) {
    published_ = engine_->published();
    return *published_->find(handle);
  }
  std::shared_ptr<const Published> published_;
};

TEST_F(BatcherTest, EveryRequestFindsItsOwnRows) {
  const uint32_t handle = load(batching(16, 3'000));
  std::map<uint32_t, std::string> expected;
  for (int i = 0; i < 40; ++i) {
    std::vector<float> values(static_cast<size_t>(1 + i % 3), static_cast<float>(i));
    const Answer answer = send(handle, v2_body(values, "r" + std::to_string(i)));
    ASSERT_TRUE(answer.pending);
    std::string data;
    for (float value : values) {
      data += (data.empty() ? "" : ",") + std::to_string(static_cast<int>(value)) + ".0";
    }
    expected[answer.ticket] = R"("data":[)" + data + "]";
  }
  for (int i = 0; i < 40; ++i) {
    Request* done = next();
    ASSERT_NE(done, nullptr);
    EXPECT_EQ(done->code, ErrorCode::Ok) << text(*done);
    EXPECT_NE(text(*done).find(expected[lane_->slots().ticket_of(*done)]), std::string::npos)
        << text(*done);
    lane_->slots().release(*done);
  }
  const StatsReading reading = model(handle)->stats().read();
  EXPECT_EQ(reading.success.count, 40u);
  EXPECT_EQ(reading.inference_count, 79u);
  EXPECT_LT(reading.execution_count, 20u) << "they did run together";
  for (const BatchReading& batch : reading.batches) EXPECT_LE(batch.batch_size, 16u);
}

TEST_F(BatcherTest, OneBadRequestHarmsNobody) {
  const uint32_t handle = load(batching(16, 20'000));
  std::vector<std::string> bodies = {v2_body({1}), v2_body({2}), "{nonsense", v2_body({3}),
                                     R"({"inputs":[{"name":"x","shape":[1,1],"datatype":"FP32",)"
                                     R"("data":[4]}]})"};
  std::map<uint32_t, ErrorCode> expected;
  for (size_t i = 0; i < bodies.size(); ++i) {
    const Answer answer = send(handle, bodies[i]);
    ASSERT_TRUE(answer.pending);
    expected[answer.ticket] = i == 2   ? ErrorCode::MalformedBody
                              : i == 4 ? ErrorCode::InvalidArgument
                                       : ErrorCode::Ok;
  }
  for (size_t i = 0; i < bodies.size(); ++i) {
    Request* done = next();
    EXPECT_EQ(done->code, expected[lane_->slots().ticket_of(*done)]) << text(*done);
    lane_->slots().release(*done);
  }
}

TEST_F(BatcherTest, RefusesMoreRowsThanTheMaximum) {
  ModelSpec spec = batching(4);
  spec.batch.request_rows_max = 4;
  const uint32_t handle = load(spec);
  ASSERT_TRUE(send(handle, v2_body({1, 2, 3, 4, 5})).pending);
  Request* done = next();
  EXPECT_EQ(done->code, ErrorCode::InvalidArgument);
  EXPECT_NE(text(*done).find("batch-size must be <= 4 for 'm'"), std::string::npos) << text(*done);
  lane_->slots().release(*done);
  const std::string v1 = R"({"instances":[1,2,3,4,5]})";
  ASSERT_TRUE(lane_->infer(Protocol::V1Predict, handle, bytes_of(v1), -1).pending);
  done = next();
  EXPECT_EQ(text(*done), "Task size 5 is larger than maximum input batch size 4");
  lane_->slots().release(*done);
}

TEST_F(BatcherTest, SplitsWhatIsLargerThanABatch) {
  ModelSpec spec = batching(4);
  spec.batch.split = true;
  spec.batch.allowed_rows = {2, 4};
  const uint32_t handle = load(spec);
  ASSERT_TRUE(send(handle, v2_body({1, 2, 3, 4, 5, 6, 7, 8, 9})).pending);
  Request* done = next();
  EXPECT_EQ(done->code, ErrorCode::Ok) << text(*done);
  EXPECT_NE(text(*done).find("[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0]"), std::string::npos)
      << text(*done);
  lane_->slots().release(*done);
  const StatsReading reading = model(handle)->stats().read();
  EXPECT_EQ(reading.execution_count, 3u);
  EXPECT_EQ(reading.padding_rows, 1u) << "the last row runs as two";
}

TEST_F(BatcherTest, PadsToAnAllowedSizeAndAnswersWithoutThePadding) {
  ModelSpec spec = batching(8);
  spec.batch.allowed_rows = {4, 8};
  const uint32_t handle = load(spec);
  ASSERT_TRUE(send(handle, v2_body({7, 8, 9})).pending);
  Request* done = next();
  EXPECT_NE(text(*done).find(R"("shape":[3])"), std::string::npos) << text(*done);
  EXPECT_NE(text(*done).find("[7.0,8.0,9.0]"), std::string::npos) << text(*done);
  lane_->slots().release(*done);
  EXPECT_EQ(model(handle)->stats().read().padding_rows, 1u);
}

TEST_F(BatcherTest, AResponseReplacesTheOldContentOfItsSlot) {
  const uint32_t handle = load(batching(8));
  const std::string v1 = R"({"instances":[1,2,3,4]})";
  const std::string shorter = R"({"instances":[5]})";
  for (const std::string& body : {v1, shorter, v1}) {
    ASSERT_TRUE(lane_->infer(Protocol::V1Predict, handle, bytes_of(body), -1).pending);
    Request* done = next();
    EXPECT_EQ(text(*done),
              body == v1 ? R"({"predictions":[1.0,2.0,3.0,4.0]})" : R"({"predictions":[5.0]})");
    lane_->slots().release(*done);
  }
}

TEST_F(BatcherTest, WaitsForCompanyAtMostTheDelay) {
  ModelSpec spec = batching(4);
  spec.batch.delay_us = 30'000;
  const uint32_t handle = load(spec);
  const uint64_t start = now_ns();
  ASSERT_TRUE(send(handle, v2_body({1})).pending);
  lane_->slots().release(*next());
  EXPECT_GE(now_ns() - start, 25'000'000u);
  // A full batch does not wait; otherwise this would last hours.
  spec.name = "n";
  spec.batch.delay_us = 4'000'000'000;
  const uint32_t full = load(spec);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(send(full, v2_body({1})).pending);
  for (int i = 0; i < 4; ++i) lane_->slots().release(*next());
  EXPECT_EQ(model(full)->stats().read().execution_count, 1u);
}

TEST_F(BatcherTest, AWaitingRequestCanBeCancelled) {
  ModelSpec spec = batching(4);
  spec.batch.delay_us = 3'000'000;  // a request that is decoded already leaves after it
  const uint32_t handle = load(spec);
  const Answer answer = send(handle, v2_body({1}));
  if (!lane_->cancel(answer.ticket)) {
    // The request is part of a batch that is being formed. The batch continues without it, or ended
    // before these requests arrived, which then wait for a fourth.
    std::vector<uint32_t> others;
    for (int i = 0; i < 3; ++i) others.push_back(send(handle, v2_body({2})).ticket);
    Request* done = next();
    ASSERT_NE(done, nullptr);
    size_t open = 4;
    for (const uint32_t ticket : others) open -= lane_->cancel(ticket) ? 1 : 0;
    for (; open > 0; --open) {
      ASSERT_NE(done, nullptr);
      if (lane_->slots().ticket_of(*done) == answer.ticket) {
        EXPECT_EQ(done->code, ErrorCode::Cancelled);
      }
      lane_->slots().release(*done);
      if (open > 1) done = next();
    }
  }
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
}

TEST_F(BatcherTest, AnExpiredDeadlineIsAnsweredWhileTheModelIsBusy) {
  const uint32_t handle = load(batching(1, 60'000'000));
  route("m", handle);
  const std::string message = infer_message("m");
  // The first request runs for a minute; the second waits for it until its deadline.
  const Answer running = send(handle, v2_body({1}));
  const Answer waiting = lane_->infer_message(Protocol::V2Grpc, bytes_of(message), 5'000);
  ASSERT_TRUE(running.pending && waiting.pending);
  Request* done = next();
  EXPECT_EQ(lane_->slots().ticket_of(*done), waiting.ticket);
  EXPECT_EQ(done->code, ErrorCode::DeadlineExceeded) << text(*done);
  lane_->slots().release(*done);
  if (!lane_->cancel(running.ticket)) lane_->slots().release(*next());
}

TEST_F(BatcherTest, TimeLimitsHoldWhileARequestWaitsForCompany) {
  ModelSpec spec = batching(4);
  spec.batch.delay_us = 4'000'000'000;
  spec.queue.policy.allow_timeout_override = true;
  const uint32_t handle = load(spec);
  route("m", handle);
  const std::string message = infer_message("m");
  ASSERT_TRUE(lane_->infer_message(Protocol::V2Grpc, bytes_of(message), 5'000).pending);
  Request* done = next();
  EXPECT_EQ(done->code, ErrorCode::DeadlineExceeded) << text(*done);
  lane_->slots().release(*done);
  const std::string impatient =
      R"({"parameters":{"timeout":5000},"inputs":[{"name":"x","shape":[1],"datatype":"FP32",)"
      R"("data":[1]}]})";
  ASSERT_TRUE(send(handle, impatient).pending);
  done = next();
  EXPECT_EQ(done->code, ErrorCode::QueueFull) << text(*done);
  EXPECT_NE(text(*done).find("timeout expired"), std::string::npos) << text(*done);
  lane_->slots().release(*done);
}

TEST_F(BatcherTest, WaitingForCompanyCountsAsQueueing) {
  ModelSpec spec = batching(4);
  spec.batch.delay_us = 30'000;
  const uint32_t handle = load(spec);
  ASSERT_TRUE(send(handle, v2_body({1})).pending);
  lane_->slots().release(*next());
  const StatsReading reading = model(handle)->stats().read();
  EXPECT_GE(reading.queue.ns, 25'000'000u);
  EXPECT_GE(reading.success.ns, reading.queue.ns + reading.input.ns + reading.infer.ns);
}

TEST_F(BatcherTest, OrderIsKeptWhereAsked) {
  ModelSpec spec = batching(1, 1'000);
  spec.batch.preserve_ordering = true;
  spec.instances = 4;
  const uint32_t handle = load(spec);
  std::vector<uint32_t> sent, done;
  for (int i = 0; i < 30; ++i) sent.push_back(send(handle, v2_body({1})).ticket);
  for (int i = 0; i < 30; ++i) {
    Request* request = next();
    done.push_back(lane_->slots().ticket_of(*request));
    lane_->slots().release(*request);
  }
  EXPECT_EQ(done, sent);
}

TEST_F(BatcherTest, UnloadAnswersWhatWaits) {
  ModelSpec spec = batching(4, 50'000);
  const uint32_t handle = load(spec);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(send(handle, v2_body({1, 2})).pending);
  const Result<uint32_t> ticket = lane_->open_control();
  engine_->unload(handle, *lane_->slots().find(ticket.value()), lane_->home());
  for (int i = 0; i < 13; ++i) {
    Request* done = next();
    EXPECT_EQ(done->code, ErrorCode::Ok) << "an unload waits: " << text(*done);
    lane_->slots().release(*done);
  }
}

class TurnHooks final : public TestHooks {
 public:
  bool ends_turns() override { return true; }
};

TEST_F(BatcherTest, RequestsOfOneIterationAreAnnouncedAtItsEnd) {
  ModelSpec spec = batching(8);
  spec.exec_mode = ExecMode::Inline;
  const uint32_t handle = load(spec);
  TurnHooks hooks;
  auto lane = std::make_shared<Lane>(engine_, ServeSettings{}, &hooks);
  engine_->add_lane(lane->home());
  const auto take = [&](size_t count) {
    std::array<Request*, 8> done{};
    size_t taken = 0;
    while (taken < count) {
      const size_t more = lane->take_completed(done);
      for (size_t i = 0; i < more; ++i) {
        EXPECT_EQ(done[i]->code, ErrorCode::Ok) << text(*done[i]);
        lane->slots().release(*done[i]);
      }
      taken += more;
      if (taken < count && more == 0 && !hooks.wait()) break;
    }
    EXPECT_EQ(taken, count);
  };
  const std::string body = v2_body({1});
  ASSERT_TRUE(lane->infer(Protocol::V2Rest, handle, bytes_of(body), -1).pending);
  EXPECT_TRUE(lane->has_unflushed());
  EXPECT_FALSE(lane->has_completed());
  lane->flush();
  EXPECT_TRUE(lane->has_completed()) << "one alone is run by its own thread";
  take(1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(lane->infer(Protocol::V2Rest, handle, bytes_of(body), -1).pending);
  }
  lane->flush();
  take(3);
  EXPECT_EQ(model(handle)->stats().read().execution_count, 2u) << "three of a turn are one batch";
  engine_->remove_lane(*lane->home());
  lane->close();
}

}  // namespace
}  // namespace serval::test
