// MultiInference: its tasks run at once, queued and batched. The first failure, the client's
// leaving or the deadline ends them all, and nothing of them remains. The model's Examples are
// numbers, the largest of which starts an endless run.
#include <deque>
#include <limits>
#include <thread>

#include "base/bytes/wire_reader.h"
#include "engine/engine_fixture.h"
#include "engine/tasks_model.h"

namespace serval::test {
namespace {

class TasksTest : public EngineTest {
 protected:
  TasksTest() : EngineTest(tasks_options()) {}
  void SetUp() override { SKIP_WITHOUT_ONNXRUNTIME(); }

  uint32_t serve(ModelSpec model_spec) {
    const uint32_t handle = load(std::move(model_spec));
    route("m", handle);
    return handle;
  }
  Answer send(const std::string& message, uint64_t timeout_us = 0) {
    sent_.push_back(message);  // a long message is read in place until it is answered
    return lane_->infer_message(Protocol::TfMultiInference, bytes_of(sent_.back()), timeout_us);
  }
  std::deque<std::string> sent_;
  struct Outcome {
    ErrorCode code = ErrorCode::Ok;
    std::string text;     // the response, or the error's text after `missing`
    std::string missing;  // the name of a missing signature
  };
  Outcome outcome_of(const Request& request) {
    Outcome outcome{request.code, text(request).substr(request.json_bytes_out), ""};
    if (request.json_bytes_out == 0) return outcome;
    const auto* missing = flatbuffers::GetRoot<fb::Missing>(request.response.data());
    outcome.missing = missing->signature()->str() + missing->model()->str();
    return outcome;
  }
  // Waits for the response if it is not there yet. Afterwards nothing may be left.
  Outcome finish(const Answer& answer) {
    if (!answer.pending) {
      EXPECT_EQ(answer.code, lane_->slots().at(0)->code) << inline_text();
      EXPECT_EQ(lane_->slots().tickets_open(), 0u);
      return outcome_of(*lane_->slots().at(0));
    }
    Request* done = next();
    if (done == nullptr) return {ErrorCode::Internal, "no completion", ""};
    EXPECT_EQ(lane_->slots().ticket_of(*done), answer.ticket);
    const Outcome outcome = outcome_of(*done);
    lane_->slots().release(*done);
    EXPECT_EQ(lane_->slots().tickets_open(), 0u);
    EXPECT_EQ(hooks_.pins, 0);
    return outcome;
  }
  // Returns the response to a task that was sent alone.
  std::string alone(const std::string& signature, const std::vector<std::string>& examples) {
    const bool classify = verb_of(signature) == "classify";
    const std::string message = spec_of("m", signature).message(2, input_of(examples)).str();
    const Answer answer = lane_->infer_message(
        classify ? Protocol::TfClassify : Protocol::TfRegress, bytes_of(message), 0);
    const Outcome outcome = finish(answer);
    EXPECT_EQ(outcome.code, ErrorCode::Ok) << outcome.text;
    return outcome.text;
  }
  // Builds the expected response from the responses to the tasks alone.
  std::string expected(const std::vector<std::string>& signatures,
                       const std::vector<std::string>& examples) {
    WireBuilder response;
    for (const std::string& signature : signatures) {
      const std::string one = alone(signature, examples);
      WireFault fault;
      WireReader reader(bytes_of(one), bytes_of(one).data(), fault);
      WireField field;
      std::string parts[3];
      while (reader.next(field))
        parts[field.number()].assign(field.bytes.begin(), field.bytes.end());
      response.message(1, WireBuilder()
                              .bytes(1, parts[2])
                              .bytes(verb_of(signature) == "classify" ? 2 : 3, parts[1]));
    }
    return response.str();
  }
  void expect_answers(const std::vector<std::string>& signatures,
                      const std::vector<std::string>& examples) {
    const std::string wanted = expected(signatures, examples);
    const Outcome outcome = finish(send(multi(signatures, examples)));
    EXPECT_EQ(outcome.code, ErrorCode::Ok) << outcome.text;
    EXPECT_EQ(to_hex(outcome.text), to_hex(wanted));
  }
  Model& model(uint32_t handle) { return **engine_->published()->find(handle); }
  void wait_until_taken(uint32_t handle, size_t left) {
    while (model(handle).queue().size() != left) std::this_thread::yield();
  }
};

TEST_F(TasksTest, AnswersAsTheTasksAloneInTheirOrder) {
  for (ExecMode mode : {ExecMode::Inline, ExecMode::Queued}) {
    for (int instances : {1, 3}) {
      serve(tasks_spec(mode, instances));
      expect_answers({"r"}, {"3"});
      expect_answers({"r", "c", "s"}, {"3", "4"});
      expect_answers({"s", "c"}, {"12345", "0", "-1"});
    }
  }
}

TEST_F(TasksTest, RunsInBatchesWithOthers) {
  ModelSpec batching = tasks_spec(ExecMode::Queued);
  batching.batch.mode = BatchMode::On;
  batching.batch.rows_max = 16;
  const uint32_t handle = serve(std::move(batching));
  expect_answers({"r", "c"}, {"3", "4"});
  const Answer endless = send(multi({"s"}, {kForever}));
  wait_until_taken(handle, 0);
  // They wait for the endless one, and then run together.
  std::vector<std::string> wanted(8);
  std::vector<uint32_t> tickets;
  for (int i = 0; i < 8; ++i)
    tickets.push_back(send(multi({"c", "r"}, {std::to_string(i)})).ticket);
  lane_->cancel(endless.ticket);
  size_t results = 0;
  for (int i = 0; i < 9; ++i) {
    Request* done = next();
    ASSERT_NE(done, nullptr);
    if (lane_->slots().ticket_of(*done) == endless.ticket)
      EXPECT_EQ(done->code, ErrorCode::Cancelled);
    else EXPECT_EQ(done->code, ErrorCode::Ok) << text(*done);
    results += done->code == ErrorCode::Ok;
    lane_->slots().release(*done);
  }
  EXPECT_EQ(results, 8u);
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
  bool together = false;
  for (const BatchReading& batch : model(handle).stats().read().batches)
    together |= batch.batch_size > 1;
  EXPECT_TRUE(together);
}

TEST_F(TasksTest, EachTaskIsCountedAsARequestOfItsOwn) {
  for (ExecMode mode : {ExecMode::Inline, ExecMode::Queued}) {
    const uint32_t handle = serve(tasks_spec(mode));
    EXPECT_EQ(finish(send(multi({"c", "r", "s"}, {"1"}))).code, ErrorCode::Ok);
    const StatsReading reading = model(handle).stats().read();
    EXPECT_EQ(reading.success.count, 3u);
    const auto count = [&](Protocol protocol) {
      return reading.outcomes_by_entry[static_cast<size_t>(protocol)][0];
    };
    EXPECT_EQ(count(Protocol::TfClassify), 1u);
    EXPECT_EQ(count(Protocol::TfRegress), 2u);
    EXPECT_EQ(count(Protocol::TfMultiInference), 0u);
  }
}

TEST_F(TasksTest, TheFirstFailureEndsTheOthers) {
  const uint32_t handle = serve(tasks_spec(ExecMode::Queued, 2));
  const std::string wrong = "No regression inputs found in SignatureDef";
  Outcome outcome = finish(send(multi({"c", "p"}, {kForever})));
  EXPECT_EQ(outcome.code, ErrorCode::InvalidArgument);
  EXPECT_EQ(outcome.text.substr(0, wrong.size()), wrong);
  outcome = finish(send(multi({"p", "c", "r", "s"}, {kForever})));
  EXPECT_EQ(outcome.text.substr(0, wrong.size()), wrong);
  EXPECT_EQ(model(handle).queue().size(), 0u);
  expect_answers({"c", "r"}, {"1"});
  serve(tasks_spec(ExecMode::Inline));
  outcome = finish(send(multi({"c", "p", "r"}, {"1"})));
  EXPECT_EQ(outcome.text.substr(0, wrong.size()), wrong);
}

TEST_F(TasksTest, ACancelReachesAllThatRunAndWait) {
  const uint32_t handle = serve(tasks_spec(ExecMode::Queued, 2));
  const Answer answer = send(multi({"c", "r", "s"}, {kForever}));
  ASSERT_TRUE(answer.pending);
  wait_until_taken(handle, 1);
  EXPECT_FALSE(lane_->cancel(answer.ticket));
  EXPECT_EQ(model(handle).queue().size(), 0u);
  EXPECT_FALSE(lane_->cancel(answer.ticket)) << "once more changes nothing";
  const Outcome outcome = finish(answer);
  EXPECT_EQ(outcome.code, ErrorCode::Cancelled);
  EXPECT_EQ(outcome.text, "the client went away");
  EXPECT_TRUE(lane_->cancel(answer.ticket));
}

TEST_F(TasksTest, ACancelTakesBackWhatWaitsAtOnce) {
  const uint32_t handle = serve(tasks_spec(ExecMode::Queued));
  const Answer endless = send(multi({"s"}, {kForever}));
  wait_until_taken(handle, 0);
  const Answer answer = send(multi({"c", "r"}, {std::string(20'000, '1')}));
  ASSERT_TRUE(answer.pending);
  EXPECT_EQ(hooks_.pins, 1) << "its tasks use the one message";
  EXPECT_TRUE(lane_->cancel(answer.ticket));
  EXPECT_EQ(hooks_.pins, 0);
  EXPECT_EQ(lane_->slots().tickets_open(), 2u);
  EXPECT_FALSE(lane_->cancel(endless.ticket));
  EXPECT_EQ(finish(endless).code, ErrorCode::Cancelled);
}

TEST_F(TasksTest, TheDeadlineReachesAll) {
  serve(tasks_spec(ExecMode::Queued));
  EXPECT_EQ(finish(send(multi({"c", "r", "s"}, {kForever}), 30'000)).code,
            ErrorCode::DeadlineExceeded);
  serve(tasks_spec(ExecMode::Inline));
  EXPECT_EQ(finish(send(multi({"c", "r"}, {kForever}), 30'000)).code, ErrorCode::DeadlineExceeded);
}

TEST_F(TasksTest, AFullQueueOrLaneEndsAll) {
  ModelSpec full = tasks_spec(ExecMode::Queued);
  full.queue.requests_max = 1;
  const uint32_t handle = serve(std::move(full));
  const Outcome outcome = finish(send(multi({"c", "r", "s"}, {kForever})));
  EXPECT_EQ(outcome.code, ErrorCode::QueueFull);
  EXPECT_EQ(outcome.text, "model 'm': the request queue is full (limit 1 requests)");
  EXPECT_EQ(model(handle).queue().size(), 0u);
  serve(tasks_spec(ExecMode::Queued));
  lane_->close();
  ServeSettings settings;
  settings.in_flight_max = 3;
  lane_ = make_lane(settings);
  EXPECT_EQ(finish(send(multi({"c", "r"}, {"1"}))).code, ErrorCode::Ok);
  EXPECT_EQ(finish(send(multi({"c", "r", "s"}, {kForever}))).text, "too many requests in flight");
}

TEST_F(TasksTest, ALongMessageIsUsedWhereItLies) {
  serve(tasks_spec(ExecMode::Queued));
  const std::string number = std::string(100'000, '0') + "7";
  const std::string wanted = expected({"r", "c"}, {number});
  ByteBuffer owned;
  owned.charge_to(engine_->budget().get());
  ASSERT_TRUE(owned.append(multi({"r", "c"}, {number})));
  const uint8_t* const bytes = owned.data();
  const Answer answer = lane_->infer_message(Protocol::TfMultiInference, owned.bytes(), 0, &owned);
  ASSERT_TRUE(answer.pending);
  EXPECT_NE(owned.data(), bytes);
  EXPECT_EQ(hooks_.pins, 0);
  const Outcome outcome = finish(answer);
  EXPECT_EQ(outcome.code, ErrorCode::Ok) << outcome.text;
  EXPECT_EQ(outcome.text, wanted);
  hooks_.pinnable = false;
  EXPECT_EQ(finish(send(multi({"r", "c"}, {number}))).text, wanted);
}

TEST_F(TasksTest, TheAnswerHasTheLimitOfOneResponse) {
  ServeSettings settings;
  for (ExecMode mode : {ExecMode::Inline, ExecMode::Queued}) {
    serve(tasks_spec(mode));
    settings.response_bytes_max = 1'000'000;
    lane_->close();
    lane_ = make_lane(settings);
    const size_t size = expected({"r", "c"}, {"1"}).size();
    settings.response_bytes_max = size;
    lane_->close();
    lane_ = make_lane(settings);
    EXPECT_EQ(finish(send(multi({"r", "c"}, {"1"}))).code, ErrorCode::Ok);
    settings.response_bytes_max = size - 1;
    lane_->close();
    lane_ = make_lane(settings);
    const Outcome outcome = finish(send(multi({"r", "c"}, {"1"})));
    EXPECT_EQ(outcome.code, ErrorCode::BodyTooLarge);
    EXPECT_EQ(outcome.text, "the MultiInferenceResponse would be over the limit of " +
                                std::to_string(size - 1) + " bytes");
  }
}

TEST_F(TasksTest, NamesThatAreMissingGoAsData) {
  serve(tasks_spec(ExecMode::Queued));
  Outcome outcome = finish(send(multi({"c", "q"}, {"1"})));
  EXPECT_EQ(outcome.code, ErrorCode::InvalidArgument);
  EXPECT_EQ(outcome.text, "Requested signature not found in model graph: q");
  EXPECT_EQ(outcome.missing, "qm");
  const std::string other =
      WireBuilder().message(1, task("c", "classify", "n")).message(2, input_of({"1"})).str();
  outcome = finish(send(other));
  EXPECT_EQ(outcome.code, ErrorCode::ModelNotFound);
  EXPECT_EQ(outcome.missing, "n");
  outcome = finish(send(""));
  EXPECT_EQ(outcome.text, "ModelSpec has no name specified.");
  outcome = finish(send(multi({"c", "c"}, {"1"})));
  EXPECT_EQ(outcome.text, "Duplicate evaluation of signature: c");
  outcome = finish(send(WireBuilder().message(1, task("c", "classify")).str()));
  EXPECT_EQ(outcome.text, "Input is empty.");
}

TEST_F(TasksTest, WaitForAModelThatIsNotLoaded) {
  const ModelSpec spec = tasks_spec(ExecMode::Queued);
  const uint32_t place = engine_->reserve(spec);
  route("m", place);
  const Answer answer = send(multi({"r", "c"}, {"1"}), 10'000'000);
  const Answer wrong = send(multi({"c", "q"}, {"1"}));
  const uint32_t handle = load(spec);
  ASSERT_TRUE(engine_->put(handle, place).ok());
  for (int i = 0; i < 2; ++i) {
    Request* done = next();
    ASSERT_NE(done, nullptr);
    const bool is_wrong = lane_->slots().ticket_of(*done) == wrong.ticket;
    EXPECT_EQ(done->code, is_wrong ? ErrorCode::InvalidArgument : ErrorCode::Ok) << text(*done);
    if (!is_wrong) {
      EXPECT_EQ(lane_->slots().ticket_of(*done), answer.ticket);
    }
    lane_->slots().release(*done);
  }
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
  const uint32_t gone = engine_->reserve(spec);
  route("m", gone);
  const Answer patient = send(multi({"r", "c"}, {"1"}));
  const uint32_t short_lived = load(spec), stays = load(spec);
  ASSERT_TRUE(engine_->put(short_lived, gone).ok());
  const uint32_t evicting = lane_->open_control().value();
  engine_->evict(gone, *lane_->slots().find(evicting), lane_->home());
  const auto is_absent = [&] {
    const std::shared_ptr<const Published> now = engine_->published();
    return (*now->find(gone))->is_absent();
  };
  while (!is_absent()) std::this_thread::yield();
  Request* evicted = next();  // the request waits again, at the absent model
  ASSERT_NE(evicted, nullptr);
  EXPECT_EQ(lane_->slots().ticket_of(*evicted), evicting);
  lane_->slots().release(*evicted);
  ASSERT_TRUE(engine_->put(stays, gone).ok());
  EXPECT_EQ(finish(patient).code, ErrorCode::Ok);
  const uint32_t empty = engine_->reserve(spec);
  route("m", empty);
  EXPECT_EQ(finish(send(multi({"r", "c"}, {"1"}), 30'000)).code, ErrorCode::DeadlineExceeded);
}

TEST_F(TasksTest, UnloadingAndClosingEndThem) {
  const uint32_t handle = serve(tasks_spec(ExecMode::Queued, 2));
  const Answer answer = send(multi({"c", "r", "s"}, {kForever}));
  wait_until_taken(handle, 1);
  const uint32_t ticket = lane_->open_control().value();
  engine_->unload(handle, *lane_->slots().find(ticket), lane_->home());
  Request* done = next();
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(lane_->slots().ticket_of(*done), answer.ticket);
  EXPECT_EQ(done->code, ErrorCode::ModelNotReady) << text(*done);
  lane_->slots().release(*done);
  lane_->slots().release(*next());
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
  const uint32_t again = serve(tasks_spec(ExecMode::Queued, 2));
  ASSERT_TRUE(send(multi({"c", "r", "s"}, {std::string(20'000, '0') + kForever})).pending);
  wait_until_taken(again, 1);
  EXPECT_EQ(hooks_.pins, 1);
  lane_->close();
  EXPECT_EQ(hooks_.pins, 0);
  lane_ = nullptr;
}

}  // namespace
}  // namespace serval::test
