// Finds out, by running the model at load, whether rows in a batch get the same outputs as each
// alone. Control plane: the loading thread.
#pragma once

#include <cstdint>
#include <string>

#include "backend/backend.h"
#include "engine/model/shapes.h"

namespace serval {

using BatchProof = fb::BatchProof;

// Time limit of all runs of one probe together; a run in progress is cancelled then. Proofs from
// the graph hold without the remaining runs.
inline constexpr uint64_t kProbeNs = 1'000'000'000;

struct BatchFinding {
  BatchProof proof = BatchProof::Untried;
  std::string text;   // why it is not proven: output, shapes and numbers, or the obstacle;
                      // for a proven model: why the check of its proof was cut short
  bool late = false;  // the time was over before anything was found
};

// Runs generated rows alone and together, in several orders and two sizes of free inner dims, and
// compares the outputs. Untried if the result has no effect: a model that is not to be batched,
// cannot be, or keeps state. For BatchMode::Auto, first dims of different symbols decide it without
// a run.
BatchFinding probe_batching(const ModelSpec& spec, const ModelShapes& shapes, BackendModel& backend,
                            uint64_t limit_ns = kProbeNs);

// Returns the mode that BatchPolicy.mode results in: a model is batched if a configuration asks for
// it by name or if it is proven. `tabular`: the first dimension is known to be the rows, whatever
// the other dimensions are.
BatchMode effective_mode(const BatchPolicy& policy, const ModelShapes& shapes, bool stateful,
                         BatchProof proof, bool tabular = false);

}  // namespace serval
