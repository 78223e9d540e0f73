// Whether rows that come together are answered as each alone, asked of the model itself when it is
// loaded. Control plane: the loading thread.
#pragma once

#include <cstdint>
#include <string>

#include "backend/backend.h"
#include "engine/model/shapes.h"

namespace serval {

using BatchProof = fb::BatchProof;

// All runs of one probe together; a run that is under way then is cancelled. What the graph proves
// holds without the rest of them.
inline constexpr uint64_t kProbeNs = 1'000'000'000;

struct BatchFinding {
  BatchProof proof = BatchProof::Untried;
  std::string text;   // why it is not proven: output, shapes and numbers, or what stood in the way;
                      // of a proven model why the check of its proof was cut short
  bool late = false;  // the time was over before anything was found
};

// Runs made-up rows alone and together, in several orders and two sizes of free inner dims, and
// compares. Untried where nothing hangs on it: a model that is not to be batched, cannot be, or
// keeps state. For BatchMode::Auto, first dims of different symbols settle it without a run.
BatchFinding probe_batching(const ModelSpec& spec, const ModelShapes& shapes, BackendModel& backend,
                            uint64_t limit_ns = kProbeNs);

// The mode that BatchPolicy.mode results in: a model is batched if a configuration asks for it by
// name or if it is proven. `tabular`: the first dimension is known to be the rows, whatever the
// other dimensions are.
BatchMode effective_mode(const BatchPolicy& policy, const ModelShapes& shapes, bool stateful,
                         BatchProof proof, bool tabular = false);

}  // namespace serval
