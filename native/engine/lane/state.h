// The state that all parts of a lane share: the engine, what it published last, the memory budget,
// the home of the lane's requests, and their slots. Hot path; the listener's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/control/engine.h"
#include "engine/lane/slots.h"
#include "engine/request/home.h"

namespace serval {

struct LaneState {
  // Borrows the hooks until the home's completions are closed.
  LaneState(std::shared_ptr<Engine> of, const ServeSettings& by, LaneHooks& hooks_of)
      : engine(std::move(of)),
        budget(engine->budget()),
        home(std::make_shared<Home>(by, hooks_of)),
        settings(home->settings()),
        completions(home->completions()),
        hooks(hooks_of),
        slots(*engine, settings.in_flight_max, hooks_of),
        published_(engine->published()) {}
  LaneState(const LaneState&) = delete;
  LaneState& operator=(const LaneState&) = delete;

  // The latest Published of the engine, picked up again when it was replaced.
  const Published& published() {
    if (published_->epoch != engine->epoch()) published_ = engine->published();
    return *published_;
  }
  void drop_published() { published_ = std::make_shared<Published>(); }

  // Sets the caller of the request that follows: its number in the CallerTable, 0 = none, or the
  // only key's. Call it before each request of a listener.
  void set_caller(uint32_t number) {
    caller_ = number;
    flow_.flow = 0;
  }
  // Admits a request of that caller unless a limit refuses it. Errors: limit_reached.
  Status admit(const Model& model, Admission& admission) {
    if (&model != flow_model_) [[unlikely]] {
      flow_model_ = &model;
      flow_requests_ = 0;
    }
    ++flow_requests_;
    flow_ = {model.handle(), model.spec().turn_weight, caller_};
    if (caller_ == 0 && model.limits() == nullptr) [[likely]]
      return {};
    return admit_limited(model, admission);
  }
  // The flow of the latest request: its model by handle, and the caller as its part. None if the
  // request has no model.
  const FlowShare& flow() const { return flow_; }
  // The latest requests that were all of one model, that of flow().
  uint64_t flow_requests() const { return flow_requests_; }
  // The routes that the caller sees when it names this model: none for a model that is not open to
  // its key, which then is as unknown as one that does not exist.
  const RouteTable& routes_to(std::string_view model) {
    const Published& now = published();
    return caller_ == 0 || may_use(now, model) ? *now.routes : no_routes_;
  }

  std::shared_ptr<Engine> engine;  // until the lane is closed
  const std::shared_ptr<MemoryBudget> budget;
  const std::shared_ptr<Home> home;
  const ServeSettings& settings;
  CompletionQueue& completions;
  LaneHooks& hooks;
  RequestSlots slots;

 private:
  Status admit_limited(const Model& model, Admission& admission);
  bool may_use(const Published& now, std::string_view model) const;

  std::shared_ptr<const Published> published_;
  const RouteTable no_routes_;
  uint32_t caller_ = 0;
  FlowShare flow_;
  const void* flow_model_ = nullptr;  // to compare only: it may be gone
  uint64_t flow_requests_ = 0;
};

}  // namespace serval
