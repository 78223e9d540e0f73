// Implements the variables of a loaded model.
#include "backend/onnxruntime/state.h"

#include <algorithm>
#include <chrono>

namespace serval::ort {

namespace {

// How long a cancelled run may continue to wait for its turn.
constexpr std::chrono::milliseconds kCancelCheckInterval(5);

bool lock_soon(std::unique_lock<std::timed_mutex>& lock) {
#ifdef __SANITIZE_THREAD__
  // GCC 12's TSan does not support pthread_mutex_clocklock, which try_lock_for calls.
  return lock.try_lock_until(std::chrono::system_clock::now() + kCancelCheckInterval);
#else
  return lock.try_lock_for(kCancelCheckInterval);
#endif
}

}  // namespace

OrtStatus* StateUses::run(const OrtRuntime& runtime, OrtSession* session, const RunArguments& run) {
  std::vector<const char*> input_names(run.input_names.begin(), run.input_names.end());
  std::vector<const OrtValue*> inputs(run.inputs.begin(), run.inputs.end());
  std::vector<const char*> output_names(run.output_names.begin(), run.output_names.end());
  std::vector<OrtValue*> outputs(run.outputs.begin(), run.outputs.end());
  std::unique_lock lock(set_->mutex, std::defer_lock);
  while (!lock_soon(lock)) {
    if (run.cancel == nullptr || !run.cancel->cancelled()) continue;
    return runtime.api->CreateStatus(ORT_FAIL, "cancelled while another run used the variables");
  }
  for (const GraphState& use : uses_) {
    input_names.push_back(use.input.c_str());
    inputs.push_back(set_->values[use.state].get());
    if (use.output.empty()) continue;
    output_names.push_back(use.output.c_str());
    outputs.push_back(nullptr);
  }
  OrtStatus* failed =
      runtime.api->Run(session, run.options, input_names.data(), inputs.data(), inputs.size(),
                       output_names.data(), output_names.size(), outputs.data());
  if (failed != nullptr) return failed;
  std::copy_n(outputs.begin(), run.outputs.size(), run.outputs.begin());
  size_t next = run.outputs.size();
  for (const GraphState& use : uses_) {
    if (!use.output.empty()) *set_->values[use.state].out() = outputs[next++];
  }
  return nullptr;
}

}  // namespace serval::ort
