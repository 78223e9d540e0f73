// Ensembles: a model whose run is a graph of runs of other models. Tensors pass between steps as
// views; a step that is batched with other requests, runs on a device or in another process goes
// through its model's queue. Made by the control plane; runs on any thread.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "engine/model/model.h"

namespace serval {

inline constexpr const char* kEnsembleBackend = "ensemble";  // ModelSpec.backend
// Instances of an ensemble that waits for the queues of its steps: each request needs a thread.
inline constexpr int kEnsembleThreads = 64;

// Binds the steps of `spec.ensemble` to `models`, which it keeps. Control plane. Errors:
// model_invalid naming the step and what is wrong.
Result<std::shared_ptr<BackendModel>> make_ensemble(
    const ModelSpec& spec, const std::vector<std::shared_ptr<Model>>& models, MemoryBudget* budget);

}  // namespace serval
