// Ensembles of null models: the tensors that steps exchange, the two ways in which steps run, and
// the ends of requests: errors, cancellation, deadlines, unloads.
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine_fixture.h"
#include "engine/ensemble/ensemble.h"
#include "engine/turns/held_run.h"

namespace serval::test {
namespace {

constexpr std::string_view kBody = R"({"inputs":{"A":[[1,2]],"B":[[3,4]]}})";

EnsembleStep step_of(uint32_t handle, std::vector<EnsembleLink> inputs,
                     std::vector<EnsembleLink> outputs) {
  return {handle, std::move(inputs), std::move(outputs)};
}

// Two inputs and two outputs, which echo them.
ModelSpec pair_spec(std::string name, std::string mode = "echo") {
  ModelSpec spec = null_spec(std::move(name), std::move(mode), ExecMode::Auto);
  spec.null_signature.inputs = {tensor_spec("a", DType::Fp32, {-1, 2}),
                                tensor_spec("b", DType::Fp32, {-1, 2})};
  spec.null_signature.outputs = {tensor_spec("c", DType::Fp32, {-1, 2}),
                                 tensor_spec("d", DType::Fp32, {-1, 2})};
  return spec;
}

ModelSpec batched(ModelSpec spec) {
  spec.batch.mode = BatchMode::On;
  spec.batch.rows_max = 8;
  spec.batch_dim = true;
  return spec;
}

ModelSpec delayed(ModelSpec spec, int64_t us) {
  spec.null_mode = "delay";
  spec.null_delay_us = us;
  return spec;
}

// Inputs A and B, outputs X and Y.
ModelSpec ensemble_spec(std::vector<EnsembleStep> steps) {
  ModelSpec spec;
  spec.name = "e";
  spec.version = 1;
  spec.backend = kEnsembleBackend;
  spec.ensemble = std::move(steps);
  spec.ensemble_signature.name = "serving_default";
  spec.ensemble_signature.inputs = {tensor_spec("A", DType::Fp32, {-1, 2}),
                                    tensor_spec("B", DType::Fp32, {-1, 2})};
  spec.ensemble_signature.outputs = {tensor_spec("X", DType::Fp32, {-1, 2}),
                                     tensor_spec("Y", DType::Fp32, {-1, 2})};
  return spec;
}

class EnsembleTest : public EngineTest {
 protected:
  // A chain of two models; the second one's links swap what the first one returns.
  ModelSpec swapping(uint32_t first, uint32_t second) {
    return ensemble_spec({step_of(first, {{"a", "A"}, {"b", "B"}}, {{"c", "p"}, {"d", "q"}}),
                          step_of(second, {{"a", "q"}, {"b", "p"}}, {{"c", "X"}, {"d", "Y"}})});
  }
  // Two models side by side.
  ModelSpec beside(uint32_t left, uint32_t right) {
    return ensemble_spec({step_of(left, {{"a", "A"}, {"b", "A"}}, {{"c", "X"}}),
                          step_of(right, {{"a", "B"}, {"b", "B"}}, {{"c", "Y"}})});
  }
  std::pair<ErrorCode, std::string> ask(uint32_t handle, std::string_view body = kBody) {
    const Answer answer = lane_->infer(Protocol::V1Predict, handle, bytes_of(body), -1);
    if (!answer.pending) return {answer.code, inline_text()};
    return finish();
  }
  std::pair<ErrorCode, std::string> finish() {
    Request* done = next();
    if (done == nullptr) return {ErrorCode::Internal, "no completion"};
    const std::pair<ErrorCode, std::string> outcome{done->code, text(*done)};
    lane_->slots().release(*done);
    return outcome;
  }
  // The error of a load that must fail.
  std::string refused(ModelSpec spec) {
    const Result<uint32_t> ticket = lane_->open_control();
    engine_->load(std::move(spec), *lane_->slots().find(ticket.value()), lane_->home());
    const auto [code, why] = finish();
    EXPECT_EQ(code, ErrorCode::ModelInvalid) << why;
    return why;
  }
  ModelCounters& counters(uint32_t handle) {
    return (*engine_->published()->find(handle))->counters();
  }
};

const std::string kSwapped = R"({"outputs":{"X":[[3.0,4.0]],"Y":[[1.0,2.0]]}})";
const std::string kBeside = R"({"outputs":{"X":[[1.0,2.0]],"Y":[[3.0,4.0]]}})";

TEST_F(EnsembleTest, TensorsGoWhereTheLinksSay) {
  const uint32_t first = load(pair_spec("first"));
  const uint32_t second = load(pair_spec("second"));
  const uint32_t handle = load(swapping(first, second));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(handle), std::pair(ErrorCode::Ok, kSwapped));
  EXPECT_EQ(counters(first).requests_inline.load(), 20u);
  EXPECT_EQ(counters(first).requests_queued.load(), 0u);
}

TEST_F(EnsembleTest, StepsThatBatchGoThroughTheirQueues) {
  const uint32_t first = load(batched(pair_spec("first")));
  const uint32_t second = load(pair_spec("second"));
  const uint32_t handle = load(swapping(first, second));
  EXPECT_TRUE((*engine_->published()->find(handle))->info().waits);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(handle), std::pair(ErrorCode::Ok, kSwapped));
  EXPECT_EQ(counters(first).requests_queued.load(), 20u);
}

TEST_F(EnsembleTest, AnEnsembleIsAStepToo) {
  const uint32_t pair = load(batched(pair_spec("pair")));
  const uint32_t inner = load(swapping(pair, pair));
  ModelSpec outer =
      ensemble_spec({step_of(inner, {{"A", "A"}, {"B", "B"}}, {{"X", "p"}, {"Y", "q"}}),
                     step_of(inner, {{"A", "p"}, {"B", "q"}}, {{"X", "X"}, {"Y", "Y"}})});
  EXPECT_EQ(ask(load(outer)), std::pair(ErrorCode::Ok, kBeside)) << "swapped twice";
}

TEST_F(EnsembleTest, RequestsOfManyClientsShareBatches) {
  const uint32_t first = load(delayed(batched(pair_spec("first")), 2000));
  const uint32_t second = load(batched(pair_spec("second")));
  const uint32_t handle = load(swapping(first, second));
  constexpr int kRequests = 48;
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_TRUE(lane_->infer(Protocol::V1Predict, handle, bytes_of(kBody), -1).pending);
  }
  for (int i = 0; i < kRequests; ++i) EXPECT_EQ(finish(), std::pair(ErrorCode::Ok, kSwapped));
  const uint64_t runs = (*engine_->published()->find(first))->read_stats().execution_count;
  EXPECT_LT(runs, uint64_t{kRequests} / 2) << "batched across requests";
}

TEST_F(EnsembleTest, QueuedStepsRunSideBySide) {
  const uint32_t left = load(delayed(batched(pair_spec("left")), 200'000));
  const uint32_t right = load(delayed(batched(pair_spec("right")), 200'000));
  const uint32_t handle = load(beside(left, right));
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(handle), std::pair(ErrorCode::Ok, kBeside));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(390));
}

TEST_F(EnsembleTest, AStepOnTheEnsemblesThreadWaitsForATurn) {
  const uint32_t first = load(pair_spec("first"));
  const uint32_t second = load(pair_spec("second"));
  ModelSpec spec = swapping(first, second);
  spec.exec_mode = ExecMode::Queued;
  const uint32_t handle = load(std::move(spec));
  Model& flooded = **engine_->published()->find(first);
  RunFlow& other = (*engine_->published()->find(second))->turns();
  flooded.turns().instance_began();
  other.instance_began();
  RunTurns& turns = *flooded.services().turns;
  std::vector<std::unique_ptr<HeldRun>> runs;
  for (uint32_t i = 0; i < usable_cores(); ++i) {
    runs.push_back(std::make_unique<HeldRun>(flooded.turns()));
    runs.back()->begun();
  }
  ASSERT_TRUE(lane_->infer(Protocol::V1Predict, handle, bytes_of(kBody), -1).pending);
  until_true([&] { return turns.waiting() == 1; });
  EXPECT_EQ((*engine_->published()->find(handle))->read_stats().success.count, 0u);
  runs.clear();
  EXPECT_EQ(finish(), std::pair(ErrorCode::Ok, kSwapped));
  EXPECT_EQ(turns.running(), 0u);
  flooded.turns().instance_ended();
  other.instance_ended();
}

TEST_F(EnsembleTest, AnErrorNamesItsStepAndEndsTheOthers) {
  const uint32_t slow = load(delayed(batched(pair_spec("slow")), 60'000'000));
  const uint32_t bad = load(batched(pair_spec("bad", "fail")));
  const uint32_t handle = load(beside(slow, bad));
  const auto started = std::chrono::steady_clock::now();
  const auto [code, why] = ask(handle);
  EXPECT_EQ(code, ErrorCode::BackendFailed);
  EXPECT_NE(why.find("step 2 (model 'bad', version 3): null backend: asked to fail"),
            std::string::npos)
      << why;
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
}

TEST_F(EnsembleTest, OnlyStepsThatTheOutputsNeedRun) {
  const uint32_t good = load(pair_spec("good"));
  const uint32_t bad = load(pair_spec("bad", "fail"));
  const uint32_t handle = load(beside(good, bad));
  EXPECT_EQ(ask(handle).first, ErrorCode::BackendFailed);
  WireBuilder message;
  message.bytes(1, "e");
  message.message(5, wire_input("A", "FP32", {1, 2}));
  message.message(5, wire_input("B", "FP32", {1, 2}));
  message.message(6, WireBuilder().bytes(1, "X"));
  message.bytes(7, raw_of<float>({1.0f, 2.0f}));
  message.bytes(7, raw_of<float>({3.0f, 4.0f}));
  route("e", handle);
  const Answer answer = lane_->infer_message(Protocol::V2Grpc, bytes_of(message.str()), 0);
  EXPECT_EQ(answer.pending ? finish().first : answer.code, ErrorCode::Ok);
}

TEST_F(EnsembleTest, ARequestThatIsCancelledEndsItsSteps) {
  const uint32_t slow = load(delayed(batched(pair_spec("slow")), 60'000'000));
  const uint32_t handle = load(swapping(slow, slow));
  const Answer answer = lane_->infer(Protocol::V1Predict, handle, bytes_of(kBody), -1);
  ASSERT_TRUE(answer.pending);
  while ((*engine_->published()->find(slow))->busy().load() == 0) std::this_thread::yield();
  lane_->cancel(answer.ticket);
  EXPECT_EQ(finish().first, ErrorCode::Cancelled);
  EXPECT_EQ(unload(handle), ErrorCode::Ok);
  EXPECT_EQ(unload(slow), ErrorCode::Ok);
}

TEST_F(EnsembleTest, ADeadlineEndsTheSteps) {
  const uint32_t slow = load(delayed(batched(pair_spec("slow")), 60'000'000));
  route("e", load(swapping(slow, slow)));
  WireBuilder message;
  message.bytes(1, "e");
  message.message(5, wire_input("A", "FP32", {1, 2}));
  message.message(5, wire_input("B", "FP32", {1, 2}));
  message.bytes(7, raw_of<float>({1.0f, 2.0f}));
  message.bytes(7, raw_of<float>({3.0f, 4.0f}));
  const Answer answer = lane_->infer_message(Protocol::V2Grpc, bytes_of(message.str()), 50'000);
  ASSERT_TRUE(answer.pending);
  EXPECT_EQ(finish().first, ErrorCode::DeadlineExceeded);
}

TEST_F(EnsembleTest, AFullQueueOfAStepIsTold) {
  ModelSpec slow_spec = delayed(batched(pair_spec("slow")), 60'000'000);
  slow_spec.batch.rows_max = 1;
  slow_spec.queue.requests_max = 1;
  const uint32_t slow = load(slow_spec);
  const uint32_t handle = load(swapping(slow, slow));
  std::vector<uint32_t> tickets;
  for (int i = 0; i < 16; ++i) {
    tickets.push_back(lane_->infer(Protocol::V1Predict, handle, bytes_of(kBody), -1).ticket);
  }
  const auto [code, why] = finish();
  EXPECT_EQ(code, ErrorCode::QueueFull);
  EXPECT_NE(why.find("step 1 (model 'slow', version 3)"), std::string::npos) << why;
  for (const uint32_t ticket : tickets) lane_->cancel(ticket);
}

TEST_F(EnsembleTest, AStepIsUnloadedAfterItsEnsemble) {
  const uint32_t pair = load(pair_spec("pair"));
  const uint32_t handle = load(swapping(pair, pair));
  const Result<uint32_t> ticket = lane_->open_control();
  engine_->unload(pair, *lane_->slots().find(ticket.value()), lane_->home());
  EXPECT_EQ(ask(handle), std::pair(ErrorCode::Ok, kSwapped)) << "still bound";
  EXPECT_EQ(unload(handle), ErrorCode::Ok);
  EXPECT_EQ(finish().first, ErrorCode::Ok) << "the unload of the step";
}

TEST_F(EnsembleTest, ALoadNamesTheStepThatIsWrong) {
  const uint32_t pair = load(pair_spec("pair"));
  ModelSpec other = null_spec("other", "echo", ExecMode::Auto);
  other.null_signature.inputs = {tensor_spec("a", DType::Int64, {-1, 2})};
  other.null_signature.outputs = {tensor_spec("c", DType::Int64, {-1, 2})};
  const uint32_t integers = load(other);
  other.null_signature.inputs = {tensor_spec("a", DType::Fp32, {-1, 3})};
  other.null_signature.outputs = {tensor_spec("c", DType::Fp32, {-1, 3})};
  const uint32_t threes = load(other);
  const auto one = [&](EnsembleStep step) { return refused(ensemble_spec({std::move(step)})); };

  EXPECT_EQ(refused(ensemble_spec({})), "the ensemble has no steps");
  EXPECT_EQ(one(step_of(99, {}, {})), "step 1 is not loaded: no model has handle 99");
  EXPECT_EQ(one(step_of(pair, {{"z", "A"}}, {})),
            "step 1 (model 'pair', version 3): the model has no input 'z', it has 'a', 'b'");
  EXPECT_EQ(one(step_of(pair, {{"a", "A"}, {"b", "B"}}, {{"z", "X"}})),
            "step 1 (model 'pair', version 3): the model has no output 'z', it has 'c', 'd'");
  EXPECT_EQ(one(step_of(pair, {{"a", "A"}}, {{"c", "X"}})),
            "step 1 (model 'pair', version 3): the model's input 'b' is not connected");
  EXPECT_EQ(one(step_of(pair, {{"a", "A"}, {"b", "C"}}, {{"c", "X"}})),
            "step 1 (model 'pair', version 3): tensor 'C' is no input of the ensemble, and no step "
            "makes it");
  EXPECT_EQ(one(step_of(pair, {{"a", "A"}, {"b", "B"}}, {{"c", "X"}})),
            "output 'Y' is made by no step");
  EXPECT_EQ(one(step_of(pair, {{"a", "A"}, {"b", "B"}}, {{"c", "X"}, {"d", "X"}})),
            "step 1 (model 'pair', version 3): tensor 'X' is also made by step 1 (model 'pair', "
            "version 3)");
  EXPECT_EQ(one(step_of(integers, {{"a", "A"}}, {{"c", "X"}})),
            "step 1 (model 'other', version 3): 'a' is INT64, but tensor 'A' of the ensemble's "
            "input is FP32");
  EXPECT_EQ(one(step_of(threes, {{"a", "A"}}, {{"c", "X"}})),
            "step 1 (model 'other', version 3): 'a' is shape [-1,3], but tensor 'A' of the "
            "ensemble's input is shape [-1,2]");
}

TEST_F(EnsembleTest, StepsThatWaitForEachOtherAreRefused) {
  const uint32_t pair = load(pair_spec("pair"));
  EXPECT_EQ(refused(ensemble_spec({step_of(pair, {{"a", "A"}, {"b", "q"}}, {{"c", "X"}}),
                                   step_of(pair, {{"a", "X"}, {"b", "B"}}, {{"c", "q"}}),
                                   step_of(pair, {{"a", "A"}, {"b", "B"}}, {{"c", "Y"}})})),
            "these steps wait for each other: step 1 (model 'pair', version 3), step 2 (model "
            "'pair', version 3)");
}

}  // namespace
}  // namespace serval::test
