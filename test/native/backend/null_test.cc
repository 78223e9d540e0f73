// The null backend: its responses, the models that it refuses to load, and delays that can be
// cancelled.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "backend/backend.h"

namespace serval {
namespace {

TensorSpec spec(const std::string& name, DType dtype) { return {name, dtype, {-1, 2}, {}, false}; }

ModelSpec model_spec(const std::string& mode) {
  ModelSpec model;
  model.name = "m";
  model.version = 4;
  model.backend = "null";
  model.null_mode = mode;
  model.null_signature = {"serving_default",
                          {spec("a", DType::Fp32), spec("b", DType::Bytes), spec("c", DType::Int8)},
                          {spec("p", DType::Fp32), spec("q", DType::Bytes)}};
  return model;
}

std::shared_ptr<BackendModel> load(const ModelSpec& model) {
  auto loaded = make_null_backend()->load(model);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded.ok() ? loaded.value() : nullptr;
}

void expect_invalid(const ModelSpec& model, const std::string& message) {
  auto loaded = make_null_backend()->load(model);
  ASSERT_FALSE(loaded.ok()) << message;
  EXPECT_EQ(loaded.error().code, ErrorCode::ModelInvalid);
  EXPECT_EQ(loaded.error().message, "null model 'm': " + message);
}

// Three inputs that match the signature.
struct Inputs {
  float floats[2] = {1.5f, -2.f};
  std::string_view strings[2] = {"x", ""};
  std::vector<TensorView> views;

  Inputs() {
    const int64_t dims[] = {1, 2};
    TensorView a;
    a.dtype = DType::Fp32;
    a.shape = Shape(dims);
    a.data = reinterpret_cast<const uint8_t*>(floats);
    a.bytes = sizeof(floats);
    TensorView b;
    b.dtype = DType::Bytes;
    b.shape = Shape(dims);
    b.strings = strings;
    TensorView c = a;
    c.dtype = DType::Int8;
    c.bytes = 2;
    views = {a, b, c};
  }
};

TEST(NullBackend, InfoTellsTheSignature) {
  const auto model = load(model_spec("echo"));
  ASSERT_EQ(model->info().signatures.size(), 1u);
  EXPECT_EQ(model->info().signatures[0].name, "serving_default");
  EXPECT_EQ(model->info().signatures[0].inputs[1].name, "b");
  EXPECT_EQ(model->info().model_version, 4);
  ModelSpec unnamed = model_spec("echo");
  unnamed.null_signature.name = "";
  EXPECT_EQ(load(unnamed)->info().signatures[0].name, "serving_default");
}

TEST(NullBackend, EchoesByPositionWithoutCopying) {
  const auto model = load(model_spec("echo"));
  const auto scratch = model->make_scratch();
  const Inputs inputs;
  const uint32_t wanted[] = {1, 0};
  ASSERT_TRUE(model->run(0, inputs.views, wanted, *scratch, nullptr).ok());
  ASSERT_EQ(scratch->outputs().size(), 2u);
  EXPECT_EQ(scratch->outputs()[0].strings.data(), inputs.views[1].strings.data());
  EXPECT_EQ(scratch->outputs()[1].data, inputs.views[0].data);
  EXPECT_EQ(scratch->outputs()[1].bytes, 8u);
  EXPECT_TRUE(scratch->outputs()[1].shape == inputs.views[0].shape);

  const uint32_t one[] = {0};
  ASSERT_TRUE(model->run(0, inputs.views, one, *scratch, nullptr).ok());
  EXPECT_EQ(scratch->outputs().size(), 1u);
  scratch->release_outputs();
  EXPECT_EQ(scratch->outputs().size(), 0u);
}

TEST(NullBackend, FailFails) {
  const auto model = load(model_spec("fail"));
  const auto scratch = model->make_scratch();
  const uint32_t wanted[] = {0};
  const Status status = model->run(0, Inputs().views, wanted, *scratch, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::BackendFailed);
  EXPECT_EQ(status.error().message, "null backend: asked to fail");
  EXPECT_TRUE(scratch->outputs().empty());
}

TEST(NullBackend, DelayWaitsThenEchoes) {
  ModelSpec slow = model_spec("delay");
  slow.null_delay_us = 3000;
  const auto model = load(slow);
  const auto scratch = model->make_scratch();
  const Inputs inputs;
  const uint32_t wanted[] = {0};
  for (const bool with_flag : {false, true}) {
    CancelFlag cancel;
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(model->run(0, inputs.views, wanted, *scratch, with_flag ? &cancel : nullptr).ok());
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(3000));
    EXPECT_EQ(scratch->outputs()[0].data, inputs.views[0].data);
  }
}

TEST(NullBackend, DelayCanBeCancelled) {
  ModelSpec slow = model_spec("delay");
  slow.null_delay_us = 3'600'000'000;  // far longer than the test
  const auto model = load(slow);
  const auto scratch = model->make_scratch();
  const Inputs inputs;
  const uint32_t wanted[] = {0};
  CancelFlag cancel;
  auto run = std::async(std::launch::async,
                        [&] { return model->run(0, inputs.views, wanted, *scratch, &cancel); });
  EXPECT_TRUE(cancel.cancel(EndCause::ClientLeft));
  const Status status = run.get();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::Cancelled);
  EXPECT_TRUE(scratch->outputs().empty());
}

TEST(NullBackend, OneModelManyThreads) {
  const auto model = load(model_spec("echo"));
  const Inputs inputs;
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto scratch = model->make_scratch();
      const uint32_t wanted[] = {0, 1};
      for (int round = 0; round < 200; ++round) {
        good += model->run(0, inputs.views, wanted, *scratch, nullptr).ok() &&
                scratch->outputs()[1].strings.size() == 2;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 800);
}

TEST(NullBackend, WrongCallsAreInternalErrors) {
  const auto model = load(model_spec("echo"));
  const auto scratch = model->make_scratch();
  const Inputs inputs;
  const uint32_t wanted[] = {0};
  const uint32_t beyond[] = {2};
  const std::span<const TensorView> two(inputs.views.data(), 2);
  for (const Status& status : {model->run(1, inputs.views, wanted, *scratch, nullptr),
                               model->run(0, two, wanted, *scratch, nullptr),
                               model->run(0, inputs.views, beyond, *scratch, nullptr)}) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::Internal);
  }
}

TEST(NullBackend, RefusesWrongModes) {
  expect_invalid(model_spec("ehco"), "expected null_mode echo, delay or fail, got 'ehco'");
  expect_invalid(model_spec(""), "expected null_mode echo, delay or fail, got ''");
  ModelSpec model = model_spec("delay");
  model.null_delay_us = -1;
  expect_invalid(model, "expected null_delay_us of 0 to 3600000000, got -1");
  model.null_delay_us = INT64_MAX;
  expect_invalid(model, "expected null_delay_us of 0 to 3600000000, got 9223372036854775807");
}

TEST(NullBackend, RefusesWrongSignatures) {
  const auto with = [](auto change) {
    ModelSpec model = model_spec("echo");
    change(model.null_signature);
    return model;
  };
  expect_invalid(with([](Signature& s) { s.outputs.clear(); }), "null_signature has no outputs");
  expect_invalid(with([](Signature& s) { s.outputs[1].dtype = DType::Int8; }),
                 "output 1 ('q'): expected BYTES, the datatype of the input it echoes, got INT8");
  expect_invalid(with([](Signature& s) { s.inputs.resize(1); }),
                 "output 1 ('q') has no input at its position to echo: the signature has 1 inputs");
  expect_invalid(with([](Signature& s) { s.inputs[0].name = ""; }), "input 0 ('') has no name");
  expect_invalid(with([](Signature& s) { s.inputs[2].name = "a"; }), "input 2 ('a') occurs twice");
  expect_invalid(with([](Signature& s) { s.outputs[0].dtype = DType::Invalid; }),
                 "output 0 ('p') has no datatype");
  expect_invalid(with([](Signature& s) { s.inputs[0].dims = {-2}; }),
                 "input 0 ('a'): expected dimensions of -1 or more, got -2");
  expect_invalid(with([](Signature& s) { s.inputs[0].dims.assign(33, 1); }),
                 "input 0 ('a') has 33 dimensions; the limit is 32");
  expect_invalid(with([](Signature& s) { s.inputs[0].symbols = {"n"}; }),
                 "input 0 ('a') has 1 symbols for 2 dimensions");
}

}  // namespace
}  // namespace serval
