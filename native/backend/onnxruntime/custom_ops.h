// Gives ONNX Runtime our operators (operators/operator.h) as custom operators of the domain
// "serval", version 1. Control plane, except the kernels' runs; any thread.
//
// To the runtime every operator takes and gives one variadic list of tensors of any type, because
// its own rules allow one input of free type only and tie every free output to it. What an operator
// really takes is checked here when its kernel is made (counts, and types where they are known) and
// at each run. An output's type therefore comes from the graph alone: every output of a node of
// ours must be a graph output or have a value_info with its element type; its shape may be left
// out. Without it the load fails. (The guards' operators are the exception: their inputs are
// required, and their output has the type of the last one.) An optional input is left out by a
// shorter list of inputs: the runtime refuses the name "" there (an output may be called so).
#pragma once

#include <cstdint>
#include <mutex>

#include "backend/onnxruntime/api.h"
#include "backend/onnxruntime/library.h"
#include "base/error.h"

namespace serval::ort {

// Adds the domain to a session's options; one without operators of ours needs nothing of it. It is
// made once and lives as long as the process. Errors: runtime_unavailable, where the runtime
// refuses the domain.
Status add_custom_ops(const OrtRuntime& runtime, OrtSessionOptions* options);

// Held while a session with our domain is made. The runtime enters the domain into a list of the
// whole process at the first one, checking before it adds without a lock: two first sessions at
// once would fail one of them. Once one was made, turns cost nothing.
class SessionTurn {
 public:
  // `needed`: false for a session without our domain.
  explicit SessionTurn(bool needed = true);
  // Says that the session was made.
  void made();

 private:
  std::unique_lock<std::mutex> turn_;
};

}  // namespace serval::ort
