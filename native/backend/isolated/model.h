// The engine's view of a model whose sessions are in another process. Hot path; any thread.
#pragma once

#include <memory>
#include <utility>

#include "backend/backend.h"
#include "backend/isolated/process.h"
#include "base/memory_budget.h"

namespace serval::isolated {

// Loads a model in `process`. Errors: those of ModelProcess::add().
Result<std::shared_ptr<BackendModel>> load_isolated(std::shared_ptr<ModelProcess> process,
                                                    ModelSource source, MemoryBudget* budget);

}  // namespace serval::isolated
