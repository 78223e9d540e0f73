// What all parts of a lane share: the engine, its current table, the memory budget, the home of the
// lane's requests, and their slots. Hot path; the listener's thread.
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
        table_(engine->table()) {}
  LaneState(const LaneState&) = delete;
  LaneState& operator=(const LaneState&) = delete;

  // The engine's table, picked up again when it was replaced.
  const EngineTable& table() {
    if (table_->epoch != engine->epoch()) table_ = engine->table();
    return *table_;
  }
  void drop_table() { table_ = std::make_shared<EngineTable>(); }

  std::shared_ptr<Engine> engine;  // until the lane is closed
  const std::shared_ptr<MemoryBudget> budget;
  const std::shared_ptr<Home> home;
  const ServeSettings& settings;
  CompletionQueue& completions;
  LaneHooks& hooks;
  RequestSlots slots;

 private:
  std::shared_ptr<const EngineTable> table_;
};

}  // namespace serval
