// A listener whose calls are answered by an engine with null models, and by a test at the far end
// of its bridge. Waits are for notifications of threads, ten seconds at most.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes/wire_reader.h"
#include "calls/engine_calls.h"
#include "calls/support/bridge_end.h"
#include "engine/engine_fixture.h"
#include "transport/listener.h"
#include "transport/support/raw_client.h"

namespace serval::test {

using serval::testing::HeaderList;
using serval::testing::RawClient;
using serval::testing::StreamAnswer;

inline constexpr int64_t kHourUs = 3'600'000'000;

// Returns the first field with that number, "" = none. Fails the test if the bytes are not a
// message.
inline std::string wire_text(std::string_view message, uint32_t number) {
  WireFault fault;
  WireReader reader(bytes_of(message), bytes_of(message).data(), fault);
  WireField field;
  while (reader.next(field)) {
    if (field.tag == wire_tag(number, WireType::Bytes)) {
      return {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
    }
  }
  EXPECT_EQ(fault.reason, nullptr) << "not a message";
  return "";
}

// The error of a ModelStreamInferResponse, and the id of its request.
inline std::string stream_error(std::string_view reply) { return wire_text(reply, 1); }
inline std::string stream_id(std::string_view reply) { return wire_text(wire_text(reply, 2), 3); }

// Returns a ModelInferRequest with `floats` floats.
inline std::string long_infer_message(std::string_view model, size_t floats) {
  WireBuilder message;
  message.bytes(1, model);
  message.message(5, wire_input("x", "FP32", {static_cast<int64_t>(floats)}));
  message.bytes(7, std::string(floats * sizeof(float), '\x3f'));
  return message.str();
}

class CallsTest : public EngineTest {
 protected:
  static constexpr const char* kInfer = "/t.T/Infer";
  static constexpr const char* kStreamInfer = "/t.T/StreamInfer";
  static constexpr const char* kMulti = "/t.T/Multi";
  static constexpr const char* kUnary = "/t.T/Unary";    // forwarded, as is the next one
  static constexpr const char* kStream = "/t.T/Stream";  // both sides stream
  enum Method : uint32_t { kInferAt, kStreamInferAt, kMultiAt, kUnaryAt, kStreamAt };

  explicit CallsTest(EngineOptions options = {}) : EngineTest(std::move(options)) {}
  ~CallsTest() override { listener_.reset(); }

  // gRPC's own number for a deadline that passed, because both the listener and the engine may
  // report it.
  static int status_of(ErrorCode code) {
    return code == ErrorCode::DeadlineExceeded ? 4 : 100 + static_cast<int>(code);
  }

  static MethodTable methods(std::vector<MissingSentence> missing = {}) {
    std::vector<uint8_t> statuses;
    for (int i = 0; i <= static_cast<int>(ErrorCode::MAX); ++i) {
      statuses.push_back(static_cast<uint8_t>(status_of(static_cast<ErrorCode>(i))));
    }
    Result<MethodTable> made =
        MethodTable::make({{kInfer, false, Protocol::V2Grpc, 0},
                           {kStreamInfer, true, Protocol::V2GrpcStream, 0},
                           {kMulti, false, Protocol::TfMultiInference, 0},
                           {kUnary, false, std::nullopt, 0},
                           {kStream, true, std::nullopt, 0}},
                          {{"too much: ", SIZE_MAX, "", std::move(missing)}}, statuses);
    EXPECT_TRUE(made.ok());
    return std::move(made.value());
  }

  // Sentences that the listener writes itself.
  static std::vector<MissingSentence> sentences() {
    return {{fb::MissingPart::Model, false, "no {model}"},
            {fb::MissingPart::Model, true, "no {model} at {version}"},
            {fb::MissingPart::Version, true, "{model} has no {version}{"},
            {fb::MissingPart::Number, true, "'{version}' is no number,{nothing}"}};
  }

  void start(TransportSettings settings = {}) {
    settings.ping_strikes_max = 0;  // clients here sync() with pings
    bridge_ =
        std::make_unique<Bridge>(settings.threads, *engine_->budget(), [this] { far_.notify(); });
    far_.look_at(*bridge_, *engine_->budget());
    auto started = TransportListener::start(
        std::move(settings), engine_->budget(), {}, [this](CallThread& thread) {
          return std::make_unique<EngineCalls>(thread, engine_, serve_, methods_, *bridge_);
        });
    ASSERT_TRUE(started.ok()) << started.error().message;
    listener_ = std::move(started.value());
  }

  // Serves a model that is found by its name. `delay_us`: the duration of a run.
  uint32_t serve(const std::string& name, ExecMode exec, int64_t delay_us = 0,
                 const std::function<void(ModelSpec&)>& change = {}) {
    ModelSpec spec = null_spec(name, delay_us == 0 ? "echo" : "delay", exec);
    spec.null_delay_us = delay_us;
    if (change) change(spec);
    const uint32_t handle = load(std::move(spec));
    route(name, handle);
    return handle;
  }
  std::shared_ptr<Model> model(uint32_t handle) {
    return *engine_->published()->models.find(handle);
  }

  // False: it did not become true in ten seconds.
  static bool becomes(const std::function<bool()>& so) {
    for (int i = 0; i < 10'000; ++i) {
      if (so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  bool waits(uint32_t handle, size_t requests) {
    return becomes([&] { return model(handle)->queue().size() == requests; });
  }
  bool runs(uint32_t handle, int requests) {
    return becomes([&] { return model(handle)->busy().load() == requests; });
  }
  bool has_connections(uint64_t count) {
    return becomes([&] { return listener_->connections() == count; });
  }
  // True if other requests are still answered.
  bool answers(const std::string& name) {
    RawClient client(listener_->port());
    client.begin();
    return client.answer(client.call(kInfer, infer_message(name))).status() == 0;
  }

  ServeSettings serve_;
  MethodTable methods_ = methods();
  BridgeEnd far_;
  std::unique_ptr<Bridge> bridge_;
  std::unique_ptr<TransportListener> listener_;
};

}  // namespace serval::test
