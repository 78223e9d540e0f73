// Registers our operators (operators/operator.h) with ONNX Runtime as custom operators of the
// domain "serval", version 1. Control plane, except the kernels' runs; any thread.
//
// The runtime sees every operator with one variadic list of inputs and one of outputs, of any type,
// because its own rules allow only one input of free type and tie every free output to it. The
// actual operands are checked here when a kernel is made (counts, and types if they are known) and
// at each run. An output's type therefore comes from the graph alone: every output of one of our
// nodes must be a graph output or have a value_info with its element type; its shape may be
// omitted. Otherwise the load fails. (The guards' operators are the exception: their inputs are
// required, and their output has the type of the last one.) An optional input is omitted by a
// shorter list of inputs: the runtime refuses the name "" there (an output may have it).
#pragma once

#include <cstdint>
#include <mutex>

#include "backend/onnxruntime/api.h"
#include "backend/onnxruntime/library.h"
#include "base/error.h"

namespace serval::ort {

// Adds the domain to a session's options; a session without our operators does not need it. The
// domain is made once and lives as long as the process. Errors: runtime_unavailable, if the runtime
// refuses the domain.
Status add_custom_ops(const OrtRuntime& runtime, OrtSessionOptions* options);

// Serializes the creation of sessions with our domain. At the first one, the runtime enters the
// domain into a list of the whole process, and checks before it adds without a lock: two first
// sessions at once would fail one of them. After the first one this costs nothing.
class SessionTurn {
 public:
  // `needed`: false for a session without our domain.
  explicit SessionTurn(bool needed = true);
  // Reports that the session was made.
  void made();

 private:
  std::unique_lock<std::mutex> turn_;
};

}  // namespace serval::ort
