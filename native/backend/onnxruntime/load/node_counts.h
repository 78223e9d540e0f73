// The number of nodes of a model's graph on each provider, from the runtime's own record. Control
// plane; the thread that loads.
#pragma once

#include "backend/backend.h"
#include "backend/onnxruntime/library.h"

namespace serval::ort {

// Makes the session keep that record; call it before the session is made. Does nothing for
// libraries before 1.24.
// Errors: the runtime's.
OrtStatus* record_nodes(const OrtRuntime& runtime, OrtSessionOptions* options);

// By the runtime's names of providers, in its order; adds to `counts`. Nodes are counted after the
// basic optimizations; nodes that a provider compiles together count individually. Does nothing if
// there is no record.
void count_nodes(const OrtRuntime& runtime, const OrtSession& session,
                 std::vector<ProviderNodes>& counts);

// Adds the counts of another graph of the same model.
void add_nodes(const std::vector<ProviderNodes>& more, std::vector<ProviderNodes>& counts);

}  // namespace serval::ort
