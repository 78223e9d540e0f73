// The state that all parts of a lane share: the engine, what it published last, the memory budget,
// the home of the lane's requests, and their slots. Hot path; the listener's thread.
#pragma once

#include <memory>
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

  std::shared_ptr<Engine> engine;  // until the lane is closed
  const std::shared_ptr<MemoryBudget> budget;
  const std::shared_ptr<Home> home;
  const ServeSettings& settings;
  CompletionQueue& completions;
  LaneHooks& hooks;
  RequestSlots slots;

 private:
  std::shared_ptr<const Published> published_;
};

}  // namespace serval
