// Models with sequences in the engine: null models that echo their inputs, so that an output shows
// what the server wrote into a hidden input. The state is the input of the request before.
#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine_fixture.h"
#include "engine/sequence/scheduler.h"

namespace serval::test {
namespace {

template <typename T>
std::vector<uint8_t> element(T value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// Clients send x and get: y (x again), last (x of the request before), and the controls.
ModelSpec sequence_spec(SequenceStrategy strategy, bool has_rows = true) {
  ModelSpec spec = null_spec("seq", "echo", ExecMode::Auto);
  const std::vector<int64_t> dims =
      has_rows ? std::vector<int64_t>{-1, 1} : std::vector<int64_t>{1};
  const auto tensors = [&](const std::vector<std::string>& names) {
    return std::vector<TensorSpec>{
        tensor_spec(names[0], DType::Fp32, dims),  tensor_spec(names[1], DType::Fp32, dims),
        tensor_spec(names[2], DType::Int32, dims), tensor_spec(names[3], DType::Fp32, dims),
        tensor_spec(names[4], DType::Bool, dims),  tensor_spec(names[5], DType::Uint64, dims)};
  };
  spec.null_signature.inputs = tensors({"x", "before", "START", "END", "READY", "ID"});
  spec.null_signature.outputs = tensors({"y", "last", "start", "end", "ready", "id"});
  spec.batch_dim = has_rows;
  spec.batch.rows_max = has_rows ? 4 : 0;
  spec.outputs = {{"y", {}, {}, {}, false}};
  spec.instances = 2;
  SequenceSpec& sequence = spec.sequence.emplace();
  sequence.strategy = strategy;
  sequence.idle_us = 60'000'000;
  sequence.slots = 3;
  sequence.controls = {
      {"START", fb::SequenceSignal::Start, DType::Int32, element(int32_t{7}), element(int32_t{8})},
      {"END", fb::SequenceSignal::End, DType::Fp32, element(0.5f), element(1.5f)},
      {"READY", fb::SequenceSignal::Ready, DType::Bool, {0}, {1}},
      {"ID", fb::SequenceSignal::Id, DType::Uint64, {}, {}}};
  sequence.states = {{"before", "y", DType::Fp32, {1}, element(-1.0f)}};
  return spec;
}

struct Step {
  std::string id;  // the JSON value of sequence_id
  bool start = false, end = false;
  int x = 0;
};

std::string body_of(const Step& step, std::string_view shape = "[1,1]",
                    std::string_view request = "r") {
  std::string parameters = step.id.empty() ? "" : R"("sequence_id":)" + step.id;
  if (step.start) parameters += R"(,"sequence_start":true)";
  if (step.end) parameters += R"(,"sequence_end":true)";
  return R"({"id":")" + std::string(request) + R"(","parameters":{)" + parameters +
         R"(},"inputs":[{"name":"x","datatype":"FP32","shape":)" + std::string(shape) +
         R"(,"data":[)" + std::to_string(step.x) + "]}]}";
}

// The text of the output's only element.
std::string element_of(const std::string& response, const std::string& output) {
  const size_t at = response.find("{\"name\":\"" + output + "\"");
  if (at == std::string::npos) return "no output " + output + " in " + response;
  const size_t begin = response.find("\"data\":[", at) + 8;
  return response.substr(begin, response.find(']', begin) - begin);
}

class SequencesTest : public EngineTest {
 protected:
  using Outcome = std::pair<ErrorCode, std::string>;

  explicit SequencesTest(EngineOptions options = {}) : EngineTest(std::move(options)) {}
  void send(uint32_t handle, const std::string& body, Protocol protocol = Protocol::V2Rest) {
    ASSERT_TRUE(lane_->infer(protocol, handle, bytes_of(body), -1).pending);
  }
  Outcome finish() {
    Request* done = next();
    if (done == nullptr) return {ErrorCode::Internal, "no completion"};
    Outcome outcome{done->code, text(*done)};
    lane_->slots().release(*done);
    return outcome;
  }
  Outcome ask(uint32_t handle, const Step& step, std::string_view shape = "[1,1]") {
    send(handle, body_of(step, shape));
    return finish();
  }
  std::string refused(ModelSpec spec) {
    const Result<uint32_t> ticket = lane_->open_control();
    engine_->load(std::move(spec), *lane_->slots().find(ticket.value()), lane_->home());
    const auto [code, why] = finish();
    EXPECT_EQ(code, ErrorCode::ModelInvalid) << why;
    return why;
  }
  Model& model(uint32_t handle) { return **engine_->published()->find(handle); }
  // A response is handed back before its sequence ends.
  void wait_until_none(uint32_t handle) {
    while (model(handle).loop()->active() != 0) std::this_thread::yield();
  }
};

TEST_F(SequencesTest, HiddenTensorsAreNotInTheMetadata) {
  const uint32_t handle = load(sequence_spec(SequenceStrategy::Oldest));
  const Signature& signature = model(handle).signatures()[0];
  ASSERT_EQ(signature.inputs.size(), 1u);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT_EQ(signature.outputs.size(), 6u) << "y is listed as an output";
  ModelSpec hidden = sequence_spec(SequenceStrategy::Oldest);
  hidden.outputs.clear();
  EXPECT_EQ(model(load(std::move(hidden))).signatures()[0].outputs[0].name, "last");
}

TEST_F(SequencesTest, ControlsAndStatesAreThoseOfTheSequence) {
  for (const bool has_rows : {true, false}) {
    for (const auto strategy : {SequenceStrategy::Direct, SequenceStrategy::Oldest}) {
      const uint32_t handle = load(sequence_spec(strategy, has_rows));
      const std::string_view shape = has_rows ? "[1,1]" : "[1]";
      const auto check = [&](const Step& step, const std::string& last) {
        const auto [code, body] = ask(handle, step, shape);
        ASSERT_EQ(code, ErrorCode::Ok) << body;
        EXPECT_EQ(element_of(body, "y"), std::to_string(step.x) + ".0");
        EXPECT_EQ(element_of(body, "last"), last);
        EXPECT_EQ(element_of(body, "start"), step.start ? "8" : "7");
        EXPECT_EQ(element_of(body, "end"), step.end ? "1.5" : "0.5");
        EXPECT_EQ(element_of(body, "ready"), "true");
        EXPECT_EQ(element_of(body, "id"), step.id);
      };
      check({"5", true, false, 10}, "-1.0");
      check({"6", true, false, 20}, "-1.0");
      check({"5", false, false, 11}, "10.0");
      check({"6", false, true, 21}, "20.0");
      check({"5", true, false, 12}, "-1.0");
      check({"5", false, true, 13}, "12.0");
      wait_until_none(handle);
    }
  }
}

TEST_F(SequencesTest, InterleavedSequencesAnswerAsAlone) {
  for (const auto strategy : {SequenceStrategy::Direct, SequenceStrategy::Oldest}) {
    const uint32_t handle = load(sequence_spec(strategy));
    std::mt19937 random(7);
    std::vector<std::vector<Step>> sequences(12);
    size_t total = 0;
    for (size_t id = 0; id < sequences.size(); ++id) {
      const size_t length = 1 + random() % 12;
      for (size_t i = 0; i < length; ++i) {
        sequences[id].push_back(
            {std::to_string(id + 1), i == 0, i + 1 == length, static_cast<int>(random() % 1000)});
      }
      total += length;
    }
    std::map<std::string, std::string> expected;  // request -> last
    std::vector<size_t> at(sequences.size());
    for (size_t sent = 0; sent < total;) {
      const size_t id = random() % sequences.size();
      if (at[id] == sequences[id].size()) continue;
      const size_t i = at[id]++;
      const std::string request = std::to_string(id) + "-" + std::to_string(i);
      expected[request] = i == 0 ? "-1.0" : std::to_string(sequences[id][i - 1].x) + ".0";
      send(handle, body_of(sequences[id][i], "[1,1]", request));
      ++sent;
    }
    for (size_t i = 0; i < total; ++i) {
      const auto [code, body] = finish();
      ASSERT_EQ(code, ErrorCode::Ok) << body;
      const size_t from = body.find("\"id\":\"") + 6;
      const std::string request = body.substr(from, body.find('"', from) - from);
      EXPECT_EQ(element_of(body, "last"), expected[request]) << request;
    }
    wait_until_none(handle);
    EXPECT_LT(model(handle).read_stats().execution_count, total) << "batches";
  }
}

TEST_F(SequencesTest, WrongRequestsAreRefusedWithTheReason) {
  const uint32_t handle = load(sequence_spec(SequenceStrategy::Oldest));
  const auto check = [&](const Outcome& outcome, std::string_view part) {
    EXPECT_NE(outcome.first, ErrorCode::Ok);
    EXPECT_NE(outcome.second.find(part), std::string::npos) << outcome.second;
  };
  check(ask(handle, {"1", false, false, 1}), "must specify the START flag");
  check(ask(handle, {"", false, false, 1}), "must specify a non-zero or non-empty correlation ID");
  check(ask(handle, {"0", true, false, 1}), "must specify a non-zero or non-empty correlation ID");
  check(ask(handle, {"-1", true, false, 1}), "expected an integer of 0 or more, or a string");
  check(ask(handle, {"true", true, false, 1}), "expected an integer of 0 or more, or a string");
  check(ask(handle, {"\"a\"", true, false, 1}),
        "expected an integer, which the model takes as UINT64");
  check(ask(handle, {"1,\"sequence_start\":1", false, false, 1}),
        "'sequence_start': expected true");
  check(ask(handle, {"1", true, false, 1}, "[2,1]"), "");
  send(handle, R"({"instances":[[1]]})", Protocol::V1Predict);
  check(finish(), "need the parameter sequence_id of the V2");
  EXPECT_EQ(ask(handle, {"1", true, true, 1}).first, ErrorCode::Ok);
  check(ask(handle, {"1", false, false, 1}), "must specify the START flag");
}

TEST_F(SequencesTest, OtherModelsIgnoreTheParameters) {
  const uint32_t handle = load(null_spec("plain", "echo", ExecMode::Queued));
  for (const std::string id : {"1", "-1", "\"a\"", "true"}) {
    EXPECT_EQ(ask(handle, {id, false, true, 1}, "[1]").first, ErrorCode::Ok) << id;
  }
}

TEST_F(SequencesTest, AnIdleSequenceEnds) {
  ModelSpec spec = sequence_spec(SequenceStrategy::Oldest);
  spec.sequence->idle_us = 20'000;
  spec.sequence->slots = 1;
  spec.instances = 1;
  const uint32_t handle = load(std::move(spec));
  EXPECT_EQ(ask(handle, {"1", true, false, 1}).first, ErrorCode::Ok);
  EXPECT_EQ(ask(handle, {"2", true, true, 1}).first, ErrorCode::Ok) << "waits for the only slot";
  EXPECT_NE(ask(handle, {"1", false, false, 1}).first, ErrorCode::Ok);
}

// A ModelInferRequest with the parameters of a sequence.
std::string message_of(const WireBuilder& id, bool start) {
  const auto parameter = [](std::string_view key, const WireBuilder& value) {
    WireBuilder entry;
    entry.bytes(1, key);
    entry.message(2, value);
    return entry;
  };
  WireBuilder message;
  message.bytes(1, "seq");
  message.message(4, parameter("sequence_id", id));
  if (start) message.message(4, parameter("sequence_start", WireBuilder().varint(1, 1)));
  message.message(5, wire_input("x", "FP32", {1, 1}));
  message.bytes(7, raw_of<float>({3.0f}));
  return message.str();
}

TEST_F(SequencesTest, ACancelledRunFreesItsSlot) {
  ModelSpec spec = sequence_spec(SequenceStrategy::Direct);
  spec.batch.rows_max = 1;
  spec.instances = 1;
  spec.null_mode = "delay";
  spec.null_delay_us = 60'000'000;
  const uint32_t handle = load(std::move(spec));
  route("seq", handle);
  const std::string body = message_of(WireBuilder().varint(2, 1), true);
  const Answer running = lane_->infer_message(Protocol::V2Grpc, bytes_of(body), 0);
  ASSERT_TRUE(running.pending);
  while (model(handle).busy().load() == 0) std::this_thread::yield();
  lane_->cancel(running.ticket);
  EXPECT_EQ(finish().first, ErrorCode::Cancelled);
  wait_until_none(handle);
  EXPECT_EQ(unload(handle), ErrorCode::Ok);
}

// A later request would continue the sequence without the one that was answered in the queue.
TEST_F(SequencesTest, ACancelledOrLateRequestInTheQueueEndsItsSequence) {
  for (const bool late : {false, true}) {
    SCOPED_TRACE(late ? "late" : "cancelled");
    ModelSpec spec = sequence_spec(SequenceStrategy::Direct);
    spec.instances = 1;
    spec.null_mode = "delay";
    spec.null_delay_us = 150'000;
    const uint32_t handle = load(std::move(spec));
    route("seq", handle);
    EXPECT_EQ(ask(handle, {"1", true, false, 1}).first, ErrorCode::Ok);
    while (model(handle).busy().load() != 0) std::this_thread::yield();
    send(handle, body_of({"2", true, true, 1}, "[1,1]", "other"));
    while (model(handle).busy().load() == 0) std::this_thread::yield();
    const std::string step = message_of(WireBuilder().varint(5, 1), false);
    const Answer skipped =
        lane_->infer_message(Protocol::V2Grpc, bytes_of(step), late ? 20'000 : 0);
    ASSERT_TRUE(skipped.pending);
    if (!late) EXPECT_FALSE(lane_->cancel(skipped.ticket)) << "its completion follows";
    send(handle, body_of({"1", false, false, 1}, "[1,1]", "next"));
    std::map<ErrorCode, std::string> outcomes;
    for (int i = 0; i < 3; ++i) outcomes.insert(finish());
    EXPECT_NE(outcomes[ErrorCode::Ok].find("other"), std::string::npos);
    EXPECT_TRUE(outcomes.contains(late ? ErrorCode::DeadlineExceeded : ErrorCode::Cancelled));
    EXPECT_NE(outcomes[ErrorCode::InvalidArgument].find("must specify the START flag"),
              std::string::npos);
    EXPECT_EQ(unload(handle), ErrorCode::Ok);
  }
}

// More than the loop keeps members for: the late one ends the others of its sequence.
TEST_F(SequencesTest, ManyRequestsThatWaitEndWithTheFirstOne) {
  ModelSpec spec = sequence_spec(SequenceStrategy::Oldest);
  spec.sequence->slots = 1;
  const uint32_t handle = load(std::move(spec));
  route("seq", handle);
  for (const std::string id : {"1", "2"}) {
    EXPECT_EQ(ask(handle, {id, true, false, 1}).first, ErrorCode::Ok) << "no slot is left";
  }
  constexpr int kWaiting = 60;
  const std::string start = message_of(WireBuilder().varint(5, 3), true);
  ASSERT_TRUE(lane_->infer_message(Protocol::V2Grpc, bytes_of(start), 300'000).pending);
  for (int i = 1; i < kWaiting; ++i) send(handle, body_of({"3", false, false, i}, "[1,1]", "x"));
  std::map<ErrorCode, int> outcomes;
  for (int i = 0; i < kWaiting; ++i) ++outcomes[finish().first];
  EXPECT_EQ(outcomes[ErrorCode::DeadlineExceeded], 1);
  EXPECT_EQ(outcomes[ErrorCode::InvalidArgument], kWaiting - 1);
  EXPECT_EQ(ask(handle, {"1", false, true, 1}).first, ErrorCode::Ok);
}

TEST_F(SequencesTest, AnUnloadWaitsForNoIdleSequence) {
  ModelSpec spec = sequence_spec(SequenceStrategy::Oldest);
  spec.sequence->slots = 1;
  spec.sequence->idle_us = 60'000'000;
  spec.instances = 1;
  const uint32_t handle = load(std::move(spec));
  EXPECT_EQ(ask(handle, {"1", true, false, 1}).first, ErrorCode::Ok);
  send(handle, body_of({"2", true, true, 1}, "[1,1]", "waits"));
  while (model(handle).loop()->waiting() == 0) std::this_thread::yield();
  EXPECT_EQ(model(handle).read_stats().pending, 1u);
  const uint64_t begun_ns = now_ns();
  const Result<uint32_t> ticket = lane_->open_control();
  engine_->unload(handle, *lane_->slots().find(ticket.value()), lane_->home());
  EXPECT_EQ(finish().first, ErrorCode::Ok) << "the sequence that waited runs";
  EXPECT_EQ(finish().first, ErrorCode::Ok) << "the unload";
  EXPECT_LT(now_ns() - begun_ns, 20'000'000'000u);
}

TEST_F(SequencesTest, RequestsThatWaitForASlotCanBeCancelledAndLate) {
  ModelSpec spec = sequence_spec(SequenceStrategy::Oldest);
  spec.sequence->slots = 1;
  const uint32_t handle = load(std::move(spec));
  route("seq", handle);
  for (const std::string id : {"1", "2"}) {
    EXPECT_EQ(ask(handle, {id, true, false, 1}).first, ErrorCode::Ok);
  }
  const std::string third = message_of(WireBuilder().varint(5, 3), true);
  const Answer late = lane_->infer_message(Protocol::V2Grpc, bytes_of(third), 20'000);
  ASSERT_TRUE(late.pending);
  EXPECT_EQ(finish().first, ErrorCode::DeadlineExceeded);
  const Answer left = lane_->infer_message(Protocol::V2Grpc, bytes_of(third), 0);
  ASSERT_TRUE(left.pending);
  while (model(handle).loop()->waiting() == 0) std::this_thread::yield();
  lane_->cancel(left.ticket);
  EXPECT_EQ(finish().first, ErrorCode::Cancelled);
  EXPECT_EQ(ask(handle, {"1", false, true, 1}).first, ErrorCode::Ok);
  EXPECT_EQ(ask(handle, {"3", true, true, 1}).first, ErrorCode::Ok);
}

TEST_F(SequencesTest, GrpcHasTheSameParameters) {
  const uint32_t handle = load(sequence_spec(SequenceStrategy::Direct));
  route("seq", handle);
  const auto ask_wire = [&](const WireBuilder& id, bool start) {
    const Answer answer =
        lane_->infer_message(Protocol::V2Grpc, bytes_of(message_of(id, start)), 0);
    EXPECT_TRUE(answer.pending);
    return finish();
  };
  EXPECT_EQ(ask_wire(WireBuilder().varint(2, 9), true).first, ErrorCode::Ok);
  EXPECT_EQ(ask_wire(WireBuilder().varint(5, 9), false).first, ErrorCode::Ok);
  EXPECT_EQ(ask_wire(WireBuilder().varint(2, 8), false).first, ErrorCode::InvalidArgument);
  EXPECT_EQ(ask_wire(WireBuilder().bytes(3, "a"), true).first, ErrorCode::InvalidArgument);
  EXPECT_EQ(ask_wire(WireBuilder().varint(1, 1), true).first, ErrorCode::InvalidArgument);
  EXPECT_EQ(ask_wire(WireBuilder().varint(2, static_cast<uint64_t>(-1)), true).first,
            ErrorCode::InvalidArgument);
}

// A bit goes through four states, one per step, and ends the request after the fourth: a request is
// a sequence. `bit` = 0: the request never ends. Clients send x and get: y (x again), start, id.
ModelSpec iterative_spec(SequenceStrategy strategy, uint32_t steps_max = 10, int32_t bit = 1,
                         bool has_rows = true) {
  const std::vector<int64_t> dims =
      has_rows ? std::vector<int64_t>{-1, 1} : std::vector<int64_t>{1};
  ModelSpec spec = null_spec("seq", "echo", ExecMode::Auto);
  std::vector<TensorSpec>& inputs = spec.null_signature.inputs;
  std::vector<TensorSpec>& outputs = spec.null_signature.outputs;
  inputs = {tensor_spec("x", DType::Fp32, dims)};
  outputs = {tensor_spec("y", DType::Fp32, dims)};
  SequenceSpec& sequence = spec.sequence.emplace();
  for (int i = 0; i < 4; ++i) {
    const std::string at = std::to_string(i), before = std::to_string((i + 3) % 4);
    inputs.push_back(tensor_spec("s" + at, DType::Int32, dims));
    outputs.push_back(tensor_spec("o" + at, DType::Int32, dims));
    sequence.states.push_back(
        {"s" + at, "o" + before, DType::Int32, {1}, element(i == 0 ? bit : 0)});
  }
  inputs.push_back(tensor_spec("START", DType::Bool, dims));
  outputs.push_back(tensor_spec("start", DType::Bool, dims));
  inputs.push_back(tensor_spec("ID", DType::Uint64, dims));
  outputs.push_back(tensor_spec("id", DType::Uint64, dims));
  sequence.controls = {{"START", fb::SequenceSignal::Start, DType::Bool, {0}, {1}},
                       {"ID", fb::SequenceSignal::Id, DType::Uint64, {}, {}}};
  sequence.strategy = strategy;
  sequence.slots = 3;
  sequence.done_output = "o3";
  sequence.steps_max = steps_max;
  spec.batch_dim = has_rows;
  spec.batch.rows_max = has_rows ? 4 : 0;
  spec.outputs = {{"y", {}, {}, {}, false}};
  return spec;
}

TEST_F(SequencesTest, AnIterativeRequestRunsUntilItIsDone) {
  for (const bool has_rows : {true, false}) {
    const uint32_t handle = load(iterative_spec(
        has_rows ? SequenceStrategy::Oldest : SequenceStrategy::Direct, 10, 1, has_rows));
    EXPECT_EQ(model(handle).signatures()[0].outputs.size(), 3u) << "done and states are hidden";
    for (const std::string id : {"1", "2"}) {
      const auto [code, body] = ask(handle, {"", false, false, 7}, has_rows ? "[1,1]" : "[1]");
      ASSERT_EQ(code, ErrorCode::Ok) << body;
      EXPECT_EQ(element_of(body, "y"), "7.0");
      EXPECT_EQ(element_of(body, "start"), "false") << "the last step is not the first one";
      EXPECT_EQ(element_of(body, "id"), id) << "the server numbers the requests";
      wait_until_none(handle);
    }
    EXPECT_EQ(model(handle).read_stats().execution_count, 8u);
    EXPECT_EQ(model(handle).read_stats().inference_count, 2u);
    EXPECT_EQ(unload(handle), ErrorCode::Ok);
  }
}

TEST_F(SequencesTest, IterativeRequestsJoinAndLeaveBetweenSteps) {
  for (const auto strategy : {SequenceStrategy::Direct, SequenceStrategy::Oldest}) {
    ModelSpec spec = iterative_spec(strategy);
    spec.instances = 2;
    spec.null_mode = "delay";
    spec.null_delay_us = 2'000;
    const uint32_t handle = load(std::move(spec));
    constexpr int kRequests = 30;
    for (int i = 0; i < kRequests; ++i) send(handle, body_of({"", false, false, i}));
    std::vector<std::string> got;
    for (int i = 0; i < kRequests; ++i) {
      const auto [code, body] = finish();
      EXPECT_EQ(code, ErrorCode::Ok) << body;
      got.push_back(element_of(body, "y"));
    }
    std::ranges::sort(got);
    EXPECT_EQ(std::ranges::adjacent_find(got), got.end()) << "each has its own response";
    wait_until_none(handle);
    EXPECT_LT(model(handle).read_stats().execution_count, 4u * kRequests);
    EXPECT_EQ(model(handle).read_stats().inference_count, uint64_t{kRequests});
    EXPECT_EQ(unload(handle), ErrorCode::Ok);
  }
}

TEST_F(SequencesTest, AnIterativeRequestEndsAfterTheMostStepsAndWhenItCannotBeServed) {
  const uint32_t handle = load(iterative_spec(SequenceStrategy::Direct, 3));
  const auto [code, why] = ask(handle, {"", false, false, 1});
  EXPECT_EQ(code, ErrorCode::BackendFailed);
  EXPECT_NE(
      why.find("not done after 3 steps, the most that serval.steps_max allows: 'o3' is false"),
      std::string::npos)
      << why;
  EXPECT_EQ(ask(handle, {"", false, false, 1}, "[2,1]").first, ErrorCode::InvalidArgument);
  send(handle, R"({"instances":[[1]]})", Protocol::V1Predict);
  EXPECT_NE(finish().second.find("its requests need the V2 protocol"), std::string::npos);
  wait_until_none(handle);
  EXPECT_EQ(model(handle).loop()->requests(), 0u);
}

class ShortUnloadTest : public SequencesTest {
 protected:
  static EngineOptions options() {
    EngineOptions short_unload;
    short_unload.unload_ms_max = 50;
    return short_unload;
  }
  ShortUnloadTest() : SequencesTest(options()) {}
};

TEST_F(ShortUnloadTest, AnIterativeRequestEndsWhenItsClientLeavesAtItsDeadlineAndWithItsModel) {
  for (const uint32_t rows : {1u, 4u}) {
    ModelSpec spec = iterative_spec(SequenceStrategy::Direct, 1'000'000'000, 0);
    spec.batch.rows_max = rows;
    spec.null_mode = "delay";
    spec.null_delay_us = 500;
    spec.queue.requests_max = 2;
    const uint32_t handle = load(std::move(spec));
    route("seq", handle);
    WireBuilder message;
    message.bytes(1, "seq");
    message.message(5, wire_input("x", "FP32", {1, 1}));
    message.bytes(7, raw_of<float>({3.0f}));
    const std::string body = message.str();
    const Answer left = lane_->infer_message(Protocol::V2Grpc, bytes_of(body), 0);
    ASSERT_TRUE(left.pending);
    while (model(handle).read_stats().execution_count < 5) std::this_thread::yield();
    lane_->cancel(left.ticket);
    EXPECT_EQ(finish().first, ErrorCode::Cancelled);
    wait_until_none(handle);
    ASSERT_TRUE(lane_->infer_message(Protocol::V2Grpc, bytes_of(body), 30'000).pending);
    const auto [code, late] = finish();
    EXPECT_EQ(code, ErrorCode::DeadlineExceeded);
    EXPECT_NE(late.find("deadline passed while the model ran"), std::string::npos) << late;
    wait_until_none(handle);
    const RequestLoop& loop = *model(handle).loop();
    for (uint32_t sent = 1; sent <= rows + 3; ++sent) {  // `rows` run, two wait, one is refused
      ASSERT_TRUE(lane_->infer_message(Protocol::V2Grpc, bytes_of(body), 0).pending);
      const uint32_t queued = sent > rows ? std::min(sent - rows, 2u) : 0;
      while (loop.active() < std::min(sent, rows) || loop.requests() != queued) {
        std::this_thread::yield();
      }
    }
    EXPECT_EQ(finish().first, ErrorCode::QueueFull);
    const Result<uint32_t> ticket = lane_->open_control();
    engine_->unload(handle, *lane_->slots().find(ticket.value()), lane_->home());
    std::map<ErrorCode, int> outcomes;
    for (uint32_t i = 0; i < rows + 3; ++i) ++outcomes[finish().first];
    EXPECT_EQ(outcomes[ErrorCode::Ok], 1) << "the unload";
    EXPECT_EQ(outcomes.size(), 2u);
  }
}

TEST_F(SequencesTest, ModelsThatDoNotFitDoNotLoad) {
  const auto wrong = [&](const auto& change) {
    ModelSpec spec = sequence_spec(SequenceStrategy::Oldest);
    change(spec, *spec.sequence);
    return refused(std::move(spec));
  };
  const auto has = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(wrong([](ModelSpec&, SequenceSpec& one) { one.controls[0].input = "none"; }),
      "control_input: the model has no input 'none'");
  has(wrong([](ModelSpec&, SequenceSpec& one) { one.controls[1].input = "START"; }),
      "input 'START' is named twice");
  has(wrong([](ModelSpec&, SequenceSpec& one) { one.controls[0].datatype = DType::Fp32; }),
      "input 'START' has the datatype INT32 in the model, got FP32");
  has(wrong([](ModelSpec& spec, SequenceSpec&) {
        spec.null_signature.inputs[2].dims = {-1, 3};
      }),
      "'START': expected shape [-1,1], the model has [-1,3]");
  has(wrong([](ModelSpec&, SequenceSpec& one) { one.states[0].output = "none"; }),
      "state: the model has no output 'none'");
  has(wrong([](ModelSpec&, SequenceSpec& one) { one.states[0].dims = {2}; }),
      "the initial value has shape [1,2], the model expects [-1,1]");
  has(wrong([](ModelSpec&, SequenceSpec& one) { one.states[0].initial.pop_back(); }),
      "expected 4 bytes for FP32 of shape [1,1], got 3");
  has(wrong([](ModelSpec&, SequenceSpec& one) {
        one.controls.push_back({"x", fb::SequenceSignal::Id, DType::Fp32, {}, {}});
      }),
      "expected an input that clients send, got none");
  has(wrong([](ModelSpec&, SequenceSpec& one) { one.done_output = "none"; }),
      "serval.done_output: the model has no output 'none'");
  has(wrong([](ModelSpec&, SequenceSpec& one) { one.done_output = "y"; }),
      "serval.done_output: expected an output of BOOL, INT32 or INT64, 'y' has FP32");
}

}  // namespace
}  // namespace serval::test
