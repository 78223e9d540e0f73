// Variables that runs assign: the state of one loaded version, shared by its signatures. Runs that
// use it take turns. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/library.h"

namespace serval::ort {

// The current values. Owns them.
struct StateSet {
  std::timed_mutex mutex;
  std::vector<ValueHandle> values;  // guarded by mutex; never null
};

// Inputs and outputs of a run, apart from state.
struct RunArguments {
  const OrtRunOptions* options;
  const CancelFlag* cancel;  // or null
  std::span<const char* const> input_names;
  std::span<const OrtValue* const> inputs;
  std::span<const char* const> output_names;
  std::span<OrtValue*> outputs;
};

// One graph's use of a StateSet.
class StateUses {
 public:
  StateUses(std::shared_ptr<StateSet> set, std::vector<GraphState> uses)
      : set_(std::move(set)), uses_(std::move(uses)) {}

  // Runs with the state's values as further inputs; the values that the graph assigns replace them
  // if the run succeeds, and are discarded if it fails. Waits while another run of the set runs,
  // unless this one is cancelled.
  OrtStatus* run(const OrtRuntime& runtime, OrtSession* session, const RunArguments& run);

 private:
  const std::shared_ptr<StateSet> set_;
  const std::vector<GraphState> uses_;
};

}  // namespace serval::ort
