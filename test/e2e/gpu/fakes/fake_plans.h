// Costs of runs on a device, for fake_gpu_runtime.cc: a run takes FAKE_ORT_RUN_MS, or
// FAKE_ORT_RUN_US, for which its thread polls, as CUDA's does by default; with FAKE_ORT_BLOCKS it
// sleeps, and is woken late, as with CUDA's blocking synchronization. A run of a model with
// convolutions takes FAKE_ORT_PLAN_MS more whenever the shapes of its inputs differ from those of
// the session's previous run, as cuDNN's plans do. A replayed graph is never planned.
#pragma once

#include <sys/prctl.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/onnxruntime/api.h"

namespace fake_plans {

using Shapes = std::map<std::string, std::vector<int64_t>>;

struct State {
  std::mutex mutex;
  std::set<const OrtSession*> planned;          // sessions of models with convolutions
  std::map<const OrtSession*, Shapes> last;     // of each one's previous run
  std::map<const OrtIoBinding*, Shapes> bound;  // inputs
  uint64_t plans = 0;
};
inline State& state() {
  static auto* one = new State;
  return *one;
}

inline void pause(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(text)));
}

inline void run_short() {
  static const char* const text = std::getenv("FAKE_ORT_RUN_US");
  static const bool blocks = std::getenv("FAKE_ORT_BLOCKS") != nullptr;
  if (text == nullptr) return;
  const auto lasts = std::chrono::microseconds(std::atoi(text));
  if (blocks) {
    prctl(PR_SET_TIMERSLACK, 1);  // otherwise it is woken 50 us too late
    return std::this_thread::sleep_for(lasts);
  }
  const auto end = std::chrono::steady_clock::now() + lasts;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// The names of operators are texts of the file.
inline void add_session(const OrtSession* session, std::string_view model) {
  if (model.find("Conv") == std::string_view::npos) return;
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().planned.insert(session);
}

inline void add_session_of(const OrtSession* session, const char* path) {
  std::ifstream file(path, std::ios::binary);
  add_session(session, std::string(std::istreambuf_iterator<char>(file), {}));
}

inline void drop_session(const OrtSession* session) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().planned.erase(session);
  state().last.erase(session);
}

inline void bind_input(const OrtApi& api, const OrtIoBinding* binding, const char* name,
                       const OrtValue* value) {
  ONNXTensorElementDataType type{};
  const int64_t* dims = nullptr;
  size_t rank = 0;
  OrtStatus* failed = api.GetTensorElementTypeAndShapeDataReference(value, &type, &dims, &rank);
  if (failed != nullptr) return api.ReleaseStatus(failed);
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().bound[binding][name].assign(dims, dims + rank);
}

inline void drop_binding(const OrtIoBinding* binding) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().bound.erase(binding);
}

inline void run(const OrtSession* session, const OrtIoBinding* binding, bool replays) {
  bool plans = false;
  {
    State& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (!replays && all.planned.contains(session)) {
      const Shapes& shapes = all.bound[binding];
      plans = all.last[session] != shapes;
      all.last[session] = shapes;
      all.plans += plans;
    }
  }
  if (plans) pause("FAKE_ORT_PLAN_MS");
  pause("FAKE_ORT_RUN_MS");
  run_short();
}

}  // namespace fake_plans

// For tests: how often a shape was planned.
extern "C" inline __attribute__((used)) uint64_t fake_ort_plans() {
  const std::lock_guard<std::mutex> lock(fake_plans::state().mutex);
  return fake_plans::state().plans;
}
