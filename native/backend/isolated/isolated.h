// Models whose sessions live in a process of their own (`isolation: process`): what the engine, the
// addon and the metrics name of it. A death there costs the requests that were in flight; the
// process comes back after a growing pause. Control plane, any thread.
// See docs/decisions/0019.
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

// How a model is isolated.
struct Isolation {
  std::string group;  // models of one group (and device) share a process; "" = one of its own
  std::vector<std::string> command;  // of the process; what runs serve_isolated()
};

// Makes `spec`, which was read from `bytes`, one of the isolated backend: of all that it says the
// engine keeps its own part (batches, queues, shapes), and the process is sent the bytes.
void isolate(ModelSpec& spec, const Isolation& isolation, std::span<const uint8_t> bytes);

// Loads models that were isolate()d. `budget`: counts what slots hold, outlives all; may be null.
std::unique_ptr<Backend> make_isolated_backend(MemoryBudget* budget);

// A process, and how those of its models ended before it. Of all engines of this process.
struct IsolatedReading {
  std::string models;  // their names, with commas
  std::string device;  // of them all; "" = as each says, or none
  bool up = false;     // models can be run
  int64_t pid = 0;     // 0 = there is none
  uint64_t resident_bytes = 0;
  gpu::PinnedReading pinned;
};
std::vector<IsolatedReading> isolated_readings();
// Of the pools of pinned memory of processes that have ended: a counter never goes back.
uint64_t isolated_fallbacks();
// By model and signal's name ("exit" where it ended by itself), since the server started.
std::map<std::pair<std::string, std::string>, uint64_t> isolated_deaths();

// Why a loaded model cannot be run now, as its process is down; "" where it can, or is none of
// ours. Any thread.
std::string isolated_outage(const std::string& model, int64_t version);

// A death that is not logged yet; or a model that could not be loaded again after one.
struct IsolatedDeath {
  std::string models, reason;
  int64_t pid = 0;
  uint64_t pause_ms = 0;  // until it starts again, or the model is loaded again
  bool ended = true;      // false: its process goes on
};
std::vector<IsolatedDeath> take_isolated_deaths();

}  // namespace serval
