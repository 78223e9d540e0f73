// Reads the runtime's record of nodes per provider. Source: ONNX Runtime's C API,
// Session_GetEpGraphAssignmentInfo (1.24).
#include "backend/onnxruntime/load/node_counts.h"

#include <algorithm>
#include <span>

#include "backend/onnxruntime/error.h"

namespace serval::ort {

OrtStatus* record_nodes(const OrtRuntime& runtime, OrtSessionOptions* options) {
  if (!runtime.has_shape_calls) return nullptr;
  return runtime.api->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info",
                                            "1");
}

void count_nodes(const OrtRuntime& runtime, const OrtSession& session,
                 std::vector<ProviderNodes>& counts) {
  if (!runtime.has_shape_calls) return;
  const OrtApi& api = *runtime.api;
  const OrtEpAssignedSubgraph* const* parts = nullptr;
  size_t count = 0;
  OrtStatus* failed = api.Session_GetEpGraphAssignmentInfo(&session, &parts, &count);
  if (failed != nullptr) return drop_status(api, failed);
  for (const OrtEpAssignedSubgraph* part : std::span(parts, count)) {
    const char* name = nullptr;
    const OrtEpAssignedNode* const* nodes = nullptr;
    size_t node_count = 0;
    failed = api.EpAssignedSubgraph_GetEpName(part, &name);
    if (failed == nullptr) failed = api.EpAssignedSubgraph_GetNodes(part, &nodes, &node_count);
    if (failed != nullptr || name == nullptr) return drop_status(api, failed);
    add_nodes({{name, static_cast<uint32_t>(node_count)}}, counts);
  }
}

void add_nodes(const std::vector<ProviderNodes>& more, std::vector<ProviderNodes>& counts) {
  for (const ProviderNodes& one : more) {
    const auto known = std::ranges::find(counts, one.provider, &ProviderNodes::provider);
    if (known != counts.end()) known->nodes += one.nodes;
    else counts.push_back(one);
  }
}

}  // namespace serval::ort
