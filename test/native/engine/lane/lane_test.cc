// The listener in every state: inline and queued answers, bodies in pieces, cancelling, limits,
// unloading under a request, closing.
#include "engine/engine_fixture.h"

namespace serval::test {
namespace {

constexpr std::string_view kV2Body =
    R"({"inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[1,2.5]}]})";

TEST_F(EngineTest, AnswersInlineInSlotZero) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  const Answer answer = lane_->infer(Protocol::V2Rest, handle, bytes_of(kV2Body), -1);
  EXPECT_FALSE(answer.pending);
  EXPECT_EQ(answer.code, ErrorCode::Ok) << inline_text();
  EXPECT_NE(inline_text().find(R"("data":[1.0,2.5])"), std::string::npos) << inline_text();
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
}

TEST_F(EngineTest, TellsTheFlowOfTheLatestRequest) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  lane_->set_caller(7);
  lane_->infer(Protocol::V1Predict, handle, bytes_of(R"({"instances":[1]})"), -1);
  EXPECT_EQ(lane_->flow().flow, handle);
  EXPECT_EQ(lane_->flow().part, 7u);
  EXPECT_EQ(lane_->flow().weight, 100u);
  // A request whose model is not there belongs to no flow.
  lane_->set_caller(0);
  lane_->infer(Protocol::V1Predict, handle + 1, bytes_of(R"({"instances":[1]})"), -1);
  EXPECT_EQ(lane_->flow().flow, 0u);
}

TEST_F(EngineTest, AnswersQueuedByCompletion) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Queued));
  const Answer answer = lane_->infer(Protocol::V2Rest, handle, bytes_of(kV2Body), -1);
  ASSERT_TRUE(answer.pending);
  EXPECT_EQ(lane_->slots().tickets_open(), 1u);
  Request* done = next();
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(lane_->slots().ticket_of(*done), answer.ticket);
  EXPECT_EQ(done->code, ErrorCode::Ok);
  EXPECT_NE(text(*done).find(R"("data":[1.0,2.5])"), std::string::npos);
  lane_->slots().release(*done);
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
}

// A slow client: the response's memory is not reused for another request until it is dropped.
TEST_F(EngineTest, KeepsAnAnswerUntilItIsDropped) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Queued));
  const Answer first = lane_->infer(Protocol::V2Rest, handle, bytes_of(kV2Body), -1);
  EXPECT_FALSE(lane_->slots().keep_answer(first.ticket)) << "it is not handed over yet";
  Request* done = next();
  const std::string kept_text = text(*done);
  EXPECT_TRUE(lane_->slots().keep_answer(first.ticket));
  lane_->release_taken(first.ticket);
  EXPECT_EQ(lane_->slots().tickets_open(), 1u);
  for (int i = 0; i < 3; ++i) {
    const Answer other = lane_->infer(Protocol::V2Rest, handle, bytes_of(kV2Body), -1);
    EXPECT_NE(lane_->slots().ticket_of(*next()), first.ticket);
    lane_->release_taken(other.ticket);
  }
  EXPECT_EQ(text(*done), kept_text);
  EXPECT_TRUE(lane_->cancel(first.ticket));
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
  EXPECT_FALSE(lane_->slots().keep_answer(first.ticket)) << "an old ticket means nothing";
}

TEST_F(EngineTest, AutoGoesInlineAfterMeasuring) {
  ModelSpec spec = null_spec("m", "echo", ExecMode::Auto);
  spec.inline_us_max = 10'000'000;  // a slow machine's runs are fast as well
  const uint32_t handle = load(std::move(spec));
  int queued = 0;
  while (queued < 100 && lane_->infer(Protocol::V2Rest, handle, bytes_of(kV2Body), -1).pending) {
    ++queued;
    lane_->slots().release(*next());
  }
  EXPECT_EQ(queued, 8);
}

TEST_F(EngineTest, BodyInPiecesIsPlacedForItsFirstTensor) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  const std::string json = R"({"inputs":[{"name":"x","shape":[2],"datatype":"FP32",)"
                           R"("parameters":{"binary_data_size":8}}]})";
  const Result<uint32_t> ticket = lane_->bodies().open(json.size() + 8, json.size());
  ASSERT_TRUE(ticket.ok());
  const std::string body = json + raw_of<float>({3.0f, 4.0f});
  for (const char& byte : body) {
    ASSERT_TRUE(lane_->bodies().append(ticket.value(), bytes_of({&byte, 1})).ok());
  }
  Request* request = lane_->slots().find(ticket.value());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(request->body.data() + json.size()) % 64, 0u);
  const Answer answer = lane_->infer_body(ticket.value(), Protocol::V2Rest, handle,
                                          static_cast<int64_t>(json.size()));
  EXPECT_EQ(answer.code, ErrorCode::Ok) << inline_text();
  EXPECT_NE(inline_text().find("[3.0,4.0]"), std::string::npos) << inline_text();
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
}

TEST_F(EngineTest, RefusesBodiesOverTheLimit) {
  ServeSettings settings;
  settings.body_bytes_max = 10;
  lane_->close();
  lane_ = make_lane(settings);
  EXPECT_EQ(lane_->bodies().open(11, 0).error().code, ErrorCode::BodyTooLarge);
  const Result<uint32_t> ticket = lane_->bodies().open(0, 0);
  EXPECT_TRUE(lane_->bodies().append(ticket.value(), bytes_of("0123456789")).ok());
  const Status over = lane_->bodies().append(ticket.value(), bytes_of("x"));
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().code, ErrorCode::BodyTooLarge);
  EXPECT_TRUE(lane_->cancel(ticket.value()));
  const Answer whole = lane_->infer(Protocol::V1Predict, 0, bytes_of("01234567890"), -1);
  EXPECT_EQ(whole.code, ErrorCode::BodyTooLarge);
}

TEST_F(EngineTest, UnknownModelIsFoundAfterTheBodyInV1) {
  const Answer bad = lane_->infer(Protocol::V1Predict, 0, bytes_of("{"), -1);
  EXPECT_EQ(bad.code, ErrorCode::MalformedBody);
  const Answer good = lane_->infer(Protocol::V1Predict, 0, bytes_of(R"({"instances":[1]})"), -1);
  EXPECT_EQ(good.code, ErrorCode::ModelNotFound);
  const Answer v2 = lane_->infer(Protocol::V2Rest, 0, bytes_of("{"), -1);
  EXPECT_EQ(v2.code, ErrorCode::ModelNotFound);
}

TEST_F(EngineTest, StaleHandleIsNotReady) {
  const Answer answer = lane_->infer(Protocol::V2Rest, 77, bytes_of(kV2Body), -1);
  EXPECT_EQ(answer.code, ErrorCode::ModelNotReady);
}

TEST_F(EngineTest, GrpcMessageIsRoutedByName) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  route("m", handle);
  EXPECT_EQ(lane_->infer_message(Protocol::V2Grpc, bytes_of(infer_message("m")), 0).code,
            ErrorCode::Ok);
  EXPECT_EQ(lane_->infer_message(Protocol::V2Grpc, bytes_of(infer_message("m", "3")), 0).code,
            ErrorCode::Ok);
  EXPECT_EQ(lane_->infer_message(Protocol::V2Grpc, bytes_of(infer_message("m", "4")), 0).code,
            ErrorCode::ModelNotFound);
  EXPECT_EQ(lane_->infer_message(Protocol::V2Grpc, bytes_of(infer_message("m", "x")), 0).code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(lane_->infer_message(Protocol::V2Grpc, bytes_of(infer_message("n")), 0).code,
            ErrorCode::ModelNotFound);
  route("m", 0, false, "still loading");
  EXPECT_EQ(lane_->infer_message(Protocol::V2Grpc, bytes_of(infer_message("m")), 0).code,
            ErrorCode::ModelNotReady);
  EXPECT_NE(inline_text().find("still loading"), std::string::npos);
}

TEST_F(EngineTest, WhatIsMissingIsToldAsData) {
  route("m", 7, false, "still loading");
  const auto missing = [&](Protocol protocol, const std::string& message) {
    lane_->infer_message(protocol, bytes_of(message), 0);
    const Request& slot0 = *lane_->slots().at(0);
    EXPECT_EQ(slot0.json_bytes_out, slot0.response.size());
    flatbuffers::Verifier verifier(slot0.response.data(), slot0.response.size());
    EXPECT_TRUE(verifier.VerifyBuffer<fb::Missing>(nullptr));
    return flatbuffers::GetRoot<fb::Missing>(slot0.response.data());
  };
  for (const Protocol protocol : {Protocol::V2Grpc, Protocol::V2GrpcStream}) {
    const fb::Missing* one = missing(protocol, infer_message("n", "12", "r7"));
    EXPECT_EQ(one->part(), fb::MissingPart::Model);
    EXPECT_EQ(one->model()->str(), "n");
    EXPECT_EQ(one->version()->str(), "12");
    EXPECT_EQ(one->request_id()->str(), "r7");
    one = missing(protocol, infer_message("m"));
    EXPECT_EQ(one->part(), fb::MissingPart::Ready);
    EXPECT_EQ(one->version()->str(), "");
    EXPECT_EQ(one->found_version(), 3);
    EXPECT_EQ(one->reason()->str(), "still loading");
  }
  using Part = fb::MissingPart;
  for (const auto& [version, part] :
       {std::pair("4", Part::Version), std::pair("x", Part::Number), std::pair("-1", Part::Number),
        std::pair("9223372036854775808", Part::Int64)}) {
    EXPECT_EQ(missing(Protocol::V2Grpc, infer_message("m", version))->part(), part) << version;
  }
}

TEST_F(EngineTest, AShortGrpcMessageIsCopiedAndNotPinned) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Queued));
  route("m", handle);
  std::string message = infer_message("m");
  ASSERT_TRUE(lane_->infer_message(Protocol::V2Grpc, bytes_of(message), 0).pending);
  EXPECT_EQ(hooks_.pins, 0);
  message.assign(message.size(), '\xff');
  Request* done = next();
  EXPECT_EQ(done->code, ErrorCode::Ok) << text(*done);
  lane_->slots().release(*done);
}

TEST_F(EngineTest, ALongGrpcMessageIsPinnedUntilReleased) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Queued));
  route("m", handle);
  const std::string message = infer_message("m", "", std::string(20'000, 'i'));
  ASSERT_TRUE(lane_->infer_message(Protocol::V2Grpc, bytes_of(message), 0).pending);
  EXPECT_EQ(hooks_.pins, 1);
  Request* done = next();
  EXPECT_EQ(done->code, ErrorCode::Ok);
  lane_->slots().release(*done);
  EXPECT_EQ(hooks_.pins, 0);
}

// The native gRPC listener's messages are in buffers, whose ownership moves to the engine.
TEST_F(EngineTest, ALongMessageInABufferIsTakenWithIt) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Queued));
  route("m", handle);
  ByteBuffer owned;
  owned.charge_to(engine_->budget().get());
  ASSERT_TRUE(owned.append(infer_message("m", "", std::string(20'000, 'i'))));
  const uint8_t* const bytes = owned.data();
  const Answer answer = lane_->infer_message(Protocol::V2Grpc, owned.bytes(), 0, &owned);
  ASSERT_TRUE(answer.pending);
  EXPECT_NE(owned.data(), bytes);
  EXPECT_EQ(hooks_.pins, 0);
  owned.clear();
  ASSERT_TRUE(owned.append("other bytes"));
  Request* done = next();
  EXPECT_EQ(done->body.data(), bytes);
  EXPECT_EQ(done->code, ErrorCode::Ok) << text(*done);
  lane_->slots().release(*done);
}

TEST_F(EngineTest, ABufferStaysWhereItsMessageIsAnsweredAtOnceOrShort) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  route("m", handle);
  const uint32_t queued = load(null_spec("q", "echo", ExecMode::Queued));
  route("q", queued);
  ByteBuffer owned;
  ASSERT_TRUE(owned.append(infer_message("m", "", std::string(200'000, 'i'))));
  const uint8_t* const bytes = owned.data();
  EXPECT_FALSE(lane_->infer_message(Protocol::V2Grpc, owned.bytes(), 0, &owned).pending);
  EXPECT_EQ(owned.data(), bytes);
  // A large buffer with a short message: the listener keeps it.
  owned.clear();
  ASSERT_TRUE(owned.append(infer_message("q")));
  EXPECT_TRUE(lane_->infer_message(Protocol::V2Grpc, owned.bytes(), 0, &owned).pending);
  EXPECT_EQ(owned.data(), bytes);
  Request* done = next();
  EXPECT_EQ(done->code, ErrorCode::Ok) << text(*done);
  lane_->slots().release(*done);
}

// A listener that cannot keep a message in place.
TEST_F(EngineTest, ALongMessageThatCannotBePinnedIsCopied) {
  hooks_.pinnable = false;
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Queued));
  route("m", handle);
  std::string message = infer_message("m", "", std::string(20'000, 'i'));
  ASSERT_TRUE(lane_->infer_message(Protocol::V2Grpc, bytes_of(message), 0).pending);
  message.assign(message.size(), '\xff');
  Request* done = next();
  EXPECT_EQ(done->code, ErrorCode::Ok) << text(*done);
  lane_->slots().release(*done);
  EXPECT_EQ(hooks_.pins, 0);
}

TEST_F(EngineTest, FullQueueAnswersAtOnce) {
  ModelSpec spec = null_spec("m", "delay", ExecMode::Queued);
  spec.null_delay_us = 60'000'000;
  spec.queue.requests_max = 1;
  const uint32_t handle = load(spec);
  // One runs and one waits, so at most two are accepted. Which of the three is refused depends on
  // when the instance takes the first.
  std::vector<uint32_t> tickets;
  int full = 0;
  for (int i = 0; i < 3; ++i) {
    const Answer answer = lane_->infer(Protocol::V2Rest, handle, bytes_of(kV2Body), -1);
    if (answer.pending) {
      tickets.push_back(answer.ticket);
      continue;
    }
    ++full;
    EXPECT_EQ(answer.code, ErrorCode::QueueFull);
    EXPECT_NE(inline_text().find("limit 1 requests"), std::string::npos) << inline_text();
  }
  EXPECT_GE(full, 1);
  EXPECT_LE(tickets.size(), 2u);
  for (uint32_t ticket : tickets) lane_->cancel(ticket);
}

TEST_F(EngineTest, CancelTakesOutWhatHasNotBegun) {
  ModelSpec spec = null_spec("m", "delay", ExecMode::Queued);
  spec.null_delay_us = 60'000'000;
  const uint32_t handle = load(spec);
  const Answer running = lane_->infer(Protocol::V2Rest, handle, bytes_of(kV2Body), -1);
  const Answer waiting = lane_->infer(Protocol::V2Rest, handle, bytes_of(kV2Body), -1);
  ASSERT_TRUE(running.pending && waiting.pending);
  EXPECT_TRUE(lane_->cancel(waiting.ticket));
  EXPECT_TRUE(lane_->cancel(waiting.ticket)) << "a closed ticket is no work";
  // The first may or may not have been started yet; either way it ends as cancelled.
  if (!lane_->cancel(running.ticket)) {
    Request* done = next();
    EXPECT_EQ(done->code, ErrorCode::Cancelled);
    lane_->slots().release(*done);
  }
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
}

TEST_F(EngineTest, BackendFailureIsTheRequestsOwn) {
  const uint32_t handle = load(null_spec("m", "fail", ExecMode::Inline));
  const Answer answer = lane_->infer(Protocol::V2Rest, handle, bytes_of(kV2Body), -1);
  EXPECT_EQ(answer.code, ErrorCode::BackendFailed);
}

TEST_F(EngineTest, ShapeIsCheckedForEveryProtocol) {
  ModelSpec spec = null_spec("m", "echo", ExecMode::Inline);
  spec.null_signature.inputs[0].dims = {3};
  const uint32_t handle = load(spec);
  route("m", handle);
  EXPECT_EQ(lane_->infer(Protocol::V2Rest, handle, bytes_of(kV2Body), -1).code,
            ErrorCode::InvalidArgument);
  EXPECT_NE(inline_text().find("expected [3], got [2]"), std::string::npos) << inline_text();
  const Answer v1 =
      lane_->infer(Protocol::V1Predict, handle, bytes_of(R"({"instances":[1,2]})"), -1);
  EXPECT_EQ(v1.code, ErrorCode::InvalidArgument);
  EXPECT_EQ(lane_->infer_message(Protocol::V2Grpc, bytes_of(infer_message("m")), 0).code,
            ErrorCode::InvalidArgument);
}

TEST_F(EngineTest, TicketsRunOut) {
  ServeSettings settings;
  settings.in_flight_max = 2;
  lane_->close();
  lane_ = make_lane(settings);
  const Result<uint32_t> first = lane_->bodies().open(0, 0);
  const Result<uint32_t> second = lane_->bodies().open(0, 0);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(lane_->bodies().open(0, 0).error().code, ErrorCode::QueueFull);
  lane_->cancel(first.value());
  EXPECT_TRUE(lane_->bodies().open(0, 0).ok());
}

class SmallBudgetTest : public EngineTest {
 protected:
  static constexpr uint64_t kLimit = 8u << 20;
  SmallBudgetTest() : EngineTest(options()) {}
  static EngineOptions options() {
    EngineOptions options;
    options.memory_limit = kLimit;
    return options;
  }
};

TEST_F(SmallBudgetTest, FreeSlotsKeepNoMoreThanTheirPart) {
  const uint64_t before = engine_->budget()->used();
  std::vector<uint32_t> tickets;
  for (int i = 0; i < 500; ++i) tickets.push_back(lane_->bodies().open(100, 0).value());
  EXPECT_GT(engine_->budget()->used(), kLimit / 16);
  for (uint32_t ticket : tickets) lane_->cancel(ticket);
  EXPECT_LE(engine_->budget()->used(), kLimit / 16);
  EXPECT_GT(engine_->budget()->used(), before) << "some are kept for the next requests";
  lane_->home()->poke(true);
  std::array<Request*, 1> none{};
  lane_->take_completed(none);
  EXPECT_LE(engine_->budget()->used(), before);
}

TEST_F(SmallBudgetTest, AMessageWithoutRoomOrPinIsRefused) {
  hooks_.pinnable = false;
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Queued));
  route("m", handle);
  const std::string message = infer_message("m", "", std::string(kIdBytesMax, 'i'));
  uint64_t taken = 0;
  while (engine_->budget()->take(16 * 1024)) taken += 16 * 1024;
  const Answer answer = lane_->infer_message(Protocol::V2Grpc, bytes_of(message), 0);
  EXPECT_EQ(answer.code, ErrorCode::MemoryFull) << inline_text();
  EXPECT_EQ(lane_->slots().tickets_open(), 0u);
  engine_->budget()->give(taken);
}

TEST_F(EngineTest, OldTicketsMeanNothing) {
  const uint32_t handle = load(null_spec("m", "echo", ExecMode::Inline));
  const Result<uint32_t> ticket = lane_->bodies().open(0, 0);
  lane_->cancel(ticket.value());
  const Result<uint32_t> other = lane_->bodies().open(0, 0);
  EXPECT_NE(ticket.value(), other.value());
  EXPECT_FALSE(lane_->bodies().append(ticket.value(), bytes_of("x")).ok());
  EXPECT_EQ(lane_->infer_body(ticket.value(), Protocol::V2Rest, handle, -1).code,
            ErrorCode::Internal);
}

TEST_F(EngineTest, CloseCancelsAndWaits) {
  ModelSpec spec = null_spec("m", "delay", ExecMode::Queued);
  spec.null_delay_us = 60'000'000;
  const uint32_t handle = load(spec);
  route("m", handle);
  const std::string message = infer_message("m", "", std::string(20'000, 'i'));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(lane_->infer_message(Protocol::V2Grpc, bytes_of(message), 0).pending);
  }
  EXPECT_EQ(hooks_.pins, 4);
  lane_->close();
  EXPECT_EQ(hooks_.pins, 0);
  lane_.reset();
}

}  // namespace
}  // namespace serval::test
