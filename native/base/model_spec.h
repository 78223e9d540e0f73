// The description from which a model is loaded: the engine's form of engine.fbs ModelSpec. Data,
// immutable after load; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/policies.h"
#include "base/signature.h"

namespace serval {

using ExecMode = fb::ExecMode;
using GraphUse = fb::GraphUse;

// One signature's graph: an ONNX ModelProto, some of whose initializers are in ModelSpec.weights.
struct GraphSpec {
  Signature signature;  // by the names that clients use
  std::vector<uint8_t> model;
  // names in the graph, in the signature's order
  std::vector<std::string> input_names, output_names;
  std::vector<uint32_t> weights;
  std::vector<GraphState> states;
};

struct ModelSpec {
  std::string name;
  int64_t version = 0;
  std::string backend;
  std::string path;
  int intra_op_threads = 0;
  int inter_op_threads = 0;
  int graph_optimization = 99;
  std::vector<Provider> providers;
  int instances = 1;
  QueueSettings queue;
  BatchPolicy batch;
  bool batch_dim = false;              // the first dim is the batch
  bool extended_v2 = false;            // for a tensor model: enables V2's extension too
  bool response_cache = false;         // responses are cached, if the engine has a cache
  bool decoupled = false;              // ModelInfer refuses it; streams serve it
  bool retry = false;                  // requests in flight when its process ends are run once more
  std::vector<TensorOverride> inputs;  // settings from a configuration
  std::vector<TensorOverride> outputs;
  std::vector<int> devices;  // one session each; empty = a single session
  // The device of each session: 0 on the CPU, as in Triton.
  std::vector<int> devices_or_host() const {
    return devices.empty() ? std::vector<int>{0} : devices;
  }
  std::vector<uint32_t> graph_rows;  // batch sizes for CUDA graphs; 0: a model without a batch
  GraphUse graph_use = GraphUse::Required;
  std::vector<std::pair<std::string, std::string>> session_config;
  ExecMode exec_mode = ExecMode::Auto;
  int inline_us_max = 100;
  std::vector<GraphSpec> graphs;  // instead of the file at `path`: one session each
  std::vector<Weight> weights;
  std::vector<std::string> weight_files;
  std::vector<uint32_t> states;  // indices of the weights with the states' initial values
  std::string null_mode;
  int64_t null_delay_us = 0;
  Signature null_signature;
  std::vector<EnsembleStep> ensemble;  // the steps of an ensemble
  Signature ensemble_signature;
  std::optional<SequenceSpec> sequence;  // its requests are parts of sequences
  LimitSpec limits;                      // of its requests, over all versions
  std::vector<BatchInput> batch_inputs;  // inputs that the server computes for each batch
  std::vector<BatchOutput> batch_outputs;
  uint32_t turn_weight = 100;                // its share of the cores, relative to other models
  std::vector<RateResource> rate_resources;  // a run needs them while the rate limiter is on
  uint32_t rate_priority = 1;                // 1 = the most runs
  // Absolute paths of libraries with custom operators; only a model's own process opens them.
  std::vector<std::string> operator_libraries;
};

}  // namespace serval
