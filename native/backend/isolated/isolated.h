// Models whose sessions run in a separate process (`isolation: process`): the interface for the
// engine, the addon and the metrics. A death there fails the requests that were in flight; the
// process restarts after a growing pause. Control plane, any thread. See docs/decisions/0019.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/memory_budget.h"
#include "gpu/pinned_pool.h"

namespace serval {

inline constexpr const char* kIsolatedBackend = "isolated";

// The isolation settings of a model.
struct Isolation {
  std::string group;  // models of one group (and device) share a process; "" = its own process
  std::vector<std::string> command;  // command line of the process, which calls serve_isolated()
};

// Makes `spec`, which was read from `bytes`, a spec of the isolated backend: the engine keeps the
// parts that it uses itself (batches, queues, shapes), and the process receives the bytes.
void isolate(ModelSpec& spec, const Isolation& isolation, std::span<const uint8_t> bytes);

// Loads models that were passed to isolate(). `budget` counts the memory of channels and outlives
// everything; may be null.
std::unique_ptr<Backend> make_isolated_backend(MemoryBudget* budget);

// Kills every process of models, with those that they have started: call it only when this process
// is about to end without unloading them. Any thread.
void kill_isolated();

// The state of a process. Over all engines of this process.
struct IsolatedReading {
  std::string models;  // model names, separated by commas
  std::string device;  // the device of all of them; "" = as each model reports, or none
  bool up = false;     // models can be run
  int64_t pid = 0;     // 0 = not running
  uint64_t resident_bytes = 0;
  gpu::PinnedReading pinned;
};
std::vector<IsolatedReading> isolated_readings();
// Fallbacks of the pinned memory pools of processes that have ended: the counter must never
// decrease.
uint64_t isolated_fallbacks();
// By model and signal name ("exit" if it ended by itself), since the server started.
std::map<std::pair<std::string, std::string>, uint64_t> isolated_deaths();

// The reason why a loaded model cannot be run now, because its process is down; "" if it can, or is
// not isolated. Any thread.
std::string isolated_outage(const std::string& model, int64_t version);

// A death that is not logged yet, or a model that could not be reloaded after one.
struct IsolatedDeath {
  std::string models, reason;
  int64_t pid = 0;
  uint64_t pause_ms = 0;  // until the process starts again, or the model is reloaded
  bool ended = true;      // false: its process is still running
};
std::vector<IsolatedDeath> take_isolated_deaths();

// Requests of a model that waited for its process, for the log.
struct IsolatedWait {
  std::string model;
  int64_t version = 0;
  uint64_t waited = 0, retried = 0;  // requests; those in flight when the process ended
  uint64_t ms = 0;                   // since the process ended
  bool returned = true;              // false: the process failed to restart
};
void note_isolated_wait(IsolatedWait wait);
std::vector<IsolatedWait> take_isolated_waits();

}  // namespace serval
