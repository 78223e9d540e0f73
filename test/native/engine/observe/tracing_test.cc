// Traces: which requests have one, what it records, and that kept data is limited; parsing of the
// callers' headers.
#include <set>
#include <thread>

#include "engine/engine_fixture.h"

namespace serval::test {
namespace {

constexpr std::string_view kBody =
    R"({"id":"r1","inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[1,2.5]}]})";
constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr std::string_view kUnsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

std::string id_text(const flatbuffers::Vector<uint8_t>* bytes) {
  std::string text;
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const uint8_t byte : *bytes) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

TEST(TraceParent, TakesWhatTheStandardHas) {
  const auto read = parse_trace_parent(kParent, "a=1,b=2");
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->sampled);
  EXPECT_EQ(read->state, "a=1,b=2");
  EXPECT_EQ(trace_parent_text(read->trace_id, read->span_id), kParent);
  EXPECT_FALSE(parse_trace_parent(kUnsampled, "")->sampled);
  const std::string later = "cc" + std::string(kParent.substr(2)) + "-what-comes-later";
  EXPECT_TRUE(parse_trace_parent(later, "").has_value());
  EXPECT_EQ(parse_trace_parent(kParent, std::string(513, 'a'))->state, "");
  EXPECT_EQ(parse_trace_parent(kParent, std::string(512, 'a'))->state, std::string(512, 'a'));
  EXPECT_EQ(parse_trace_parent(kParent, "a=\n")->state, "");
}

TEST(TraceParent, RefusesTheRest) {
  const std::string parent(kParent);
  std::vector<std::string> bad = {
      "", "00", parent + "-", parent + "x", "ff" + parent.substr(2), "cc" + parent.substr(2) + "x"};
  for (size_t cut = 0; cut < parent.size(); ++cut) bad.push_back(parent.substr(0, cut));
  for (const size_t dash : {2u, 35u, 52u}) bad.push_back(std::string(parent).replace(dash, 1, "0"));
  for (size_t at = 0; at < parent.size(); ++at) {
    bad.push_back(std::string(parent).replace(at, 1, "G"));
  }
  bad.push_back(std::string(parent).replace(3, 1, "A"));  // lower case only
  bad.push_back(std::string(parent).replace(3, 32, std::string(32, '0')));
  bad.push_back(std::string(parent).replace(36, 16, std::string(16, '0')));
  for (const std::string& text : bad) {
    EXPECT_FALSE(parse_trace_parent(text, "").has_value()) << text;
  }
}

TEST(TraceSampler, OneInSoManySoManyStill) {
  TraceSampler sampler;
  sampler.set({true, 3, 2});
  std::string picked;
  for (int i = 0; i < 12; ++i) picked += sampler.sample() ? 'x' : '.';
  EXPECT_EQ(picked, "..x..x......");
  EXPECT_EQ(sampler.get().count, 0);
  sampler.set({true, 0, -1});
  EXPECT_FALSE(sampler.sample()) << "only those whose caller traces them";
}

TEST(TraceSampler, ThreadsShareOneCount) {
  TraceSampler sampler;
  sampler.set({true, 2, 100});
  std::atomic<int> picked{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) picked += sampler.sample() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(picked.load(), 100);
  EXPECT_EQ(sampler.get().count, 0);
}

TEST(TraceIds, Differ) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    TraceId trace{};
    SpanId span{};
    make_trace_id(trace);
    make_span_id(span);
    EXPECT_TRUE(seen.insert(trace_parent_text(trace, span)).second);
  }
}

class TracingTest : public EngineTest {
 protected:
  void trace(TraceRate rate, bool parents = true, const std::string& model = "", bool own = true) {
    engine_->set_traces({{{model, own, rate}}, parents});
  }
  Answer ask(uint32_t handle, std::string_view parent = {}, std::string_view state = {}) {
    if (!parent.empty()) lane_->traces().set_parent(parent, state);
    return lane_->infer(Protocol::V2Rest, handle, bytes_of(kBody), -1);
  }
  // The traceparent of the last request's response; "" = it is not traced.
  std::string traced() {
    TraceId trace_id;
    SpanId span_id;
    return lane_->traces().take(trace_id, span_id) ? trace_parent_text(trace_id, span_id) : "";
  }
  const fb::TraceTake& take() {
    taken_.clear();
    EXPECT_TRUE(engine_->tracer().take(taken_));
    flatbuffers::Verifier verifier(taken_.data(), taken_.size());
    EXPECT_TRUE(verifier.VerifyBuffer<fb::TraceTake>(nullptr));
    return *flatbuffers::GetRoot<fb::TraceTake>(taken_.data());
  }
  void finish(size_t requests) {
    for (size_t i = 0; i < requests; ++i) {
      Request* done = next();
      ASSERT_NE(done, nullptr);
      lane_->slots().release(*done);
    }
  }
  static void expect_whole(const fb::TraceRecord& record) {
    const uint64_t parts =
        record.queue_ns() + record.input_ns() + record.infer_ns() + record.output_ns();
    EXPECT_GT(record.total_ns(), 0u);
    EXPECT_LE(parts, record.total_ns());
    EXPECT_GT(record.start_s(), 1'600'000'000u);
    EXPECT_LT(record.start_ns(), 1'000'000'000u);
  }
  ByteBuffer taken_;
};

TEST_F(TracingTest, OffNothingIsTraced) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  ask(handle);
  EXPECT_EQ(traced(), "");
  EXPECT_FALSE(engine_->tracer().on());
  EXPECT_EQ(take().records()->size(), 0u);
}

TEST_F(TracingTest, SaysWhatARequestWentThrough) {
  trace({true, 1, -1});
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  ask(handle);
  const std::string parent = traced();
  const fb::TraceTake& taken = take();
  ASSERT_EQ(taken.records()->size(), 1u);
  const fb::TraceRecord& record = *taken.records()->Get(0);
  EXPECT_EQ(parent, "00-" + id_text(record.trace_id()) + "-" + id_text(record.span_id()) + "-01");
  EXPECT_EQ(record.parent_id()->size(), 0u);
  EXPECT_EQ(record.model()->str(), "m");
  EXPECT_EQ(record.version()->str(), "3");
  EXPECT_EQ(record.request_id()->str(), "r1");
  EXPECT_EQ(record.protocol(), static_cast<uint8_t>(Protocol::V2Rest));
  EXPECT_EQ(record.code(), static_cast<uint8_t>(ErrorCode::Ok));
  EXPECT_EQ(record.request_bytes(), kBody.size());
  EXPECT_EQ(record.queue_ns(), 0u);
  EXPECT_GT(record.input_ns(), 0u);
  EXPECT_EQ(record.batch_requests(), 0u);
  expect_whole(record);
  EXPECT_EQ(take().records()->size(), 0u) << "taken once";
}

TEST_F(TracingTest, TheAccessLogNamesTheTrace) {
  engine_->access_log().set_one_in(1);
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  ask(handle);
  EXPECT_EQ(engine_->access_log().take().find("\"trace\""), std::string::npos);
  trace({true, 1, -1});
  ask(handle);
  const std::string line = engine_->access_log().take();
  EXPECT_NE(line.find("\"trace\":\"" + traced().substr(3, 32) + "\""), std::string::npos) << line;
}

TEST_F(TracingTest, AQueuedRequestAndOneThatFailed) {
  trace({true, 1, -1});
  const uint32_t handle = load(null_spec("m", "fail", ExecMode::Queued));
  ASSERT_TRUE(ask(handle).pending);
  EXPECT_NE(traced(), "") << "known before it is answered";
  finish(1);
  const fb::TraceTake& taken = take();
  ASSERT_EQ(taken.records()->size(), 1u);
  const fb::TraceRecord& record = *taken.records()->Get(0);
  EXPECT_EQ(record.code(), static_cast<uint8_t>(ErrorCode::BackendFailed));
  EXPECT_GT(record.queue_ns(), 0u);
  expect_whole(record);
}

TEST_F(TracingTest, AContextCountsForItsRequestOnly) {
  trace({true, 0, -1});
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  // Switched off between the headers and the request, and on again later.
  lane_->traces().set_parent(kParent, "");
  trace({});
  ask(handle);
  trace({true, 0, -1});
  ask(handle);
  EXPECT_EQ(traced(), "") << "another request's context";
  ask(handle, kParent);
  EXPECT_EQ(traced().substr(0, 35), kParent.substr(0, 35));
  // Changed, and switched on all the while.
  lane_->traces().set_parent(kParent, "");
  trace({true, 1000, -1});
  ask(handle);
  EXPECT_EQ(traced().substr(0, 35), kParent.substr(0, 35));
}

TEST_F(TracingTest, ACallersDecisionCountsBeforeTheRate) {
  trace({true, 0, 0});
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  ask(handle);
  EXPECT_EQ(traced(), "");
  ask(handle, kParent, "a=1");
  EXPECT_EQ(traced().substr(0, 35), kParent.substr(0, 35));
  trace({true, 1, -1});
  ask(handle, kUnsampled);
  EXPECT_EQ(traced(), "") << "nor is one that its caller does not trace";
  ask(handle);
  EXPECT_NE(traced(), "") << "a context is one request's";
  const fb::TraceTake& taken = take();
  ASSERT_EQ(taken.records()->size(), 2u);
  EXPECT_EQ(id_text(taken.records()->Get(0)->parent_id()), "b7ad6b7169203331");
  EXPECT_EQ(taken.records()->Get(0)->trace_state()->str(), "a=1");
  EXPECT_EQ(taken.records()->Get(1)->parent_id()->size(), 0u);
}

TEST_F(TracingTest, ContextsAreNotReadInTheOtherMode) {
  trace({true, 1, -1}, false);
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  ask(handle, kUnsampled);
  EXPECT_NE(traced(), "");
  EXPECT_EQ(take().records()->Get(0)->parent_id()->size(), 0u);
}

// When a request fails before it has a model, no other request uses its context.
TEST_F(TracingTest, AContextGoesWithItsRequest) {
  trace({true, 1, -1});
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  EXPECT_NE(ask(4711, kParent).code, ErrorCode::Ok);
  EXPECT_EQ(traced(), "");
  lane_->traces().set_parent(kParent, "");
  EXPECT_NE(lane_->infer_message(Protocol::V2Grpc, bytes_of(infer_message("none")), 0).code,
            ErrorCode::Ok);
  ask(handle);
  EXPECT_NE(traced().substr(0, 35), kParent.substr(0, 35));
}

TEST_F(TracingTest, AModelsOwnRuleAndItsEnd) {
  const uint32_t early = load(null_spec("early", "echo", ExecMode::Inline));
  trace({true, 1, 5}, true, "early");
  trace({true, 1, -1}, true, "late");
  const uint32_t late = load(null_spec("late", "echo", ExecMode::Inline));
  const uint32_t other = load(null_spec("other", "echo", ExecMode::Inline));
  for (const uint32_t handle : {early, late, other}) ask(handle);
  const fb::TraceTake& taken = take();
  ASSERT_EQ(taken.records()->size(), 2u);
  EXPECT_EQ(taken.records()->Get(1)->model()->str(), "late");
  ASSERT_EQ(taken.left()->size(), 3u);
  EXPECT_EQ(taken.left()->Get(1)->model()->str(), "early");
  EXPECT_EQ(taken.left()->Get(1)->count(), 4);
  trace({}, true, "early", false);
  ask(early);
  EXPECT_EQ(traced(), "") << "it goes by the rule of all again, which is off";
  trace({}, true, "late", false);
  EXPECT_FALSE(engine_->tracer().on());
}

TEST_F(TracingTest, RequestsOfOneBatchSayWhichItWas) {
  trace({true, 2, -1});
  ModelSpec spec = null_spec("m", "delay", ExecMode::Queued);
  spec.null_delay_us = 20'000;
  spec.batch.mode = BatchMode::On;
  spec.batch.rows_max = 16;
  spec.batch_dim = true;
  const uint32_t handle = load(spec);
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(ask(handle).pending);
  finish(9);
  std::map<std::string, std::set<uint32_t>> batches;
  uint32_t batched = 0;
  const fb::TraceTake& taken = take();
  EXPECT_EQ(taken.records()->size(), 4u);
  for (const fb::TraceRecord* record : *taken.records()) {
    expect_whole(*record);
    if (record->batch_requests() == 0) continue;
    ++batched;
    EXPECT_EQ(record->batch_trace_id()->size(), 16u);
    EXPECT_GE(record->batch_rows(), 2 * record->batch_requests());
    batches[id_text(record->batch_span_id())].insert(record->batch_requests());
  }
  EXPECT_GT(batched, 1u);
  for (const auto& [id, sizes] : batches) EXPECT_EQ(sizes.size(), 1u) << id;
}

TEST_F(TracingTest, WhatNobodyTakesIsDroppedAndCounted) {
  trace({true, 1, -1}, false);
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  for (size_t i = 0; i < kTraceRecordsMax + 10; ++i) ask(handle);
  EXPECT_EQ(engine_->tracer().dropped(), 10u);
  EXPECT_EQ(engine_->tracer().recorded(), kTraceRecordsMax + 10);
  EXPECT_EQ(take().records()->size(), kTraceRecordsMax);
  engine_->tracer().count_lost(7);
  EXPECT_EQ(engine_->tracer().dropped(), 17u);
}

// Rules change while requests run on other threads.
TEST_F(TracingTest, RulesChangeUnderRequests) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  TestHooks hooks;
  auto lane = std::make_shared<Lane>(engine_, ServeSettings(), &hooks);
  engine_->add_lane(lane->home());
  std::atomic<bool> ends{false};
  std::thread asking([&] {
    while (!ends) lane->infer(Protocol::V2Rest, handle, bytes_of(kBody), -1);
  });
  for (uint32_t i = 0; i < 200; ++i) {
    trace({i % 3 != 0, 1 + i % 2, -1}, i % 2 == 0, i % 5 == 0 ? "m" : "", i % 10 != 0);
    take();
  }
  ends = true;
  asking.join();
  engine_->remove_lane(*lane->home());
  lane->close();
}

TEST(TraceRules, WrongBytesAreRefused) {
  EXPECT_FALSE(TraceRules::parse(bytes_of("what")).ok());
  EXPECT_FALSE(TraceRules::parse({}).ok());
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("m");
  const auto rule = fb::CreateTraceRule(builder, name, true, true, 1, -2);
  const auto rules = builder.CreateVector(&rule, 1);
  builder.Finish(fb::CreateTraceRules(builder, rules, true));
  EXPECT_FALSE(TraceRules::parse({builder.GetBufferPointer(), builder.GetSize()}).ok());
}

}  // namespace
}  // namespace serval::test
