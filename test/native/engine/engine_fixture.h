// An engine with null models, and a listener whose hooks a test can wait on. There are no sleeps:
// waits end when the hooks are called.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "base/bytes/views.h"
#include "base/generated/engine_generated.h"
#include "engine/lane/lane.h"
#include "support/wire_builder.h"

namespace serval::test {

class TestHooks : public LaneHooks {
 public:
  void wake() override {
    std::lock_guard lock(mutex_);
    ++wakes_;
    woken_.notify_all();
  }
  void* pin() override {
    if (!pinnable) return nullptr;
    ++pins;
    return this;
  }
  void unpin(void*) override { --pins; }
  // True if a wake-up arrived (or was pending) within ten seconds.
  bool wait() {
    std::unique_lock lock(mutex_);
    const bool woken =
        woken_.wait_for(lock, std::chrono::seconds(10), [this] { return wakes_ > 0; });
    wakes_ = 0;
    return woken;
  }
  int pins = 0;
  bool pinnable = true;

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  int wakes_ = 0;
};

inline TensorSpec tensor_spec(std::string name, DType dtype, std::vector<int64_t> dims) {
  TensorSpec spec{std::move(name), dtype, std::move(dims), {}, false};
  spec.symbols.resize(spec.dims.size());
  return spec;
}

inline ModelSpec null_spec(std::string name, std::string mode, ExecMode exec) {
  ModelSpec spec;
  spec.name = std::move(name);
  spec.version = 3;
  spec.backend = "null";
  spec.exec_mode = exec;
  spec.null_mode = std::move(mode);
  spec.null_signature.name = "serving_default";
  spec.null_signature.inputs.push_back(tensor_spec("x", DType::Fp32, {-1}));
  spec.null_signature.outputs.push_back(tensor_spec("y", DType::Fp32, {-1}));
  return spec;
}

// A ModelInferRequest for null_spec models: x = [1, 2], as raw contents.
inline std::string infer_message(std::string_view model, std::string_view version = {},
                                 std::string_view id = {}) {
  WireBuilder message;
  message.bytes(1, model);
  if (!version.empty()) message.bytes(2, version);
  if (!id.empty()) message.bytes(3, id);
  message.message(5, wire_input("x", "FP32", {2}));
  message.bytes(7, raw_of<float>({1.0f, 2.0f}));
  return message.str();
}

class EngineTest : public ::testing::Test {
 protected:
  explicit EngineTest(EngineOptions options = {})
      : engine_(std::make_shared<Engine>(std::move(options))) {
    lane_ = make_lane({});
  }
  ~EngineTest() override {
    if (lane_ != nullptr) lane_->close();
  }

  std::shared_ptr<Lane> make_lane(ServeSettings settings) {
    auto lane = std::make_shared<Lane>(engine_, settings, &hooks_);
    engine_->add_lane(lane->home());
    return lane;
  }

  // Waits for one completion. The caller must release the request.
  Request* next() {
    std::array<Request*, 1> done{};
    while (lane_->take_completed(done) == 0) {
      if (!hooks_.wait()) return nullptr;
    }
    return done[0];
  }

  // Loads a model and returns its handle; 0 and a test failure if it does not load.
  uint32_t load(ModelSpec spec) {
    const Result<uint32_t> ticket = lane_->open_control();
    engine_->load(std::move(spec), *lane_->slots().find(ticket.value()), lane_->home());
    Request* request = next();
    if (request == nullptr) return 0;
    EXPECT_EQ(request->code, ErrorCode::Ok) << text(*request);
    uint32_t handle = 0;
    if (request->code == ErrorCode::Ok) {
      handle = flatbuffers::GetRoot<fb::ModelInfo>(request->response.data())->handle();
    }
    lane_->slots().release(*request);
    return handle;
  }

  ErrorCode unload(uint32_t handle) {
    const Result<uint32_t> ticket = lane_->open_control();
    engine_->unload(handle, *lane_->slots().find(ticket.value()), lane_->home());
    Request* request = next();
    const ErrorCode code = request->code;
    lane_->slots().release(*request);
    return code;
  }

  void route(const std::string& name, uint32_t handle, bool ready = true,
             const std::string& reason = {}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto why = builder.CreateString(reason);
    const auto version = fb::CreateVersionRoute(builder, 3, handle, ready, why);
    const auto versions = builder.CreateVector(&version, 1);
    const auto name_at = builder.CreateString(name);
    const auto model = fb::CreateModelRoute(builder, name_at, ready ? 0 : -1, versions);
    const auto models = builder.CreateVector(&model, 1);
    builder.Finish(fb::CreateRouteTable(builder, 1, models));
    Result<RouteChange> change =
        RouteChange::parse({builder.GetBufferPointer(), builder.GetSize()});
    ASSERT_TRUE(change.ok());
    engine_->publish_routes(std::move(change.value()));
  }

  // Adds a model that is known but has no version.
  void route_empty(const std::string& name, bool gone = false) {
    flatbuffers::FlatBufferBuilder builder;
    const auto name_at = builder.CreateString(name);
    const auto model = fb::CreateModelRoute(builder, name_at, -1, 0, 0, gone);
    const auto models = builder.CreateVector(&model, 1);
    builder.Finish(fb::CreateRouteTable(builder, 1, models));
    Result<RouteChange> change =
        RouteChange::parse({builder.GetBufferPointer(), builder.GetSize()});
    ASSERT_TRUE(change.ok());
    engine_->publish_routes(std::move(change.value()));
  }

  static std::string text(const Request& request) {
    const std::span<const uint8_t> bytes = request.response.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string inline_text() { return text(*lane_->slots().at(0)); }

  TestHooks hooks_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Lane> lane_;
};

}  // namespace serval::test
