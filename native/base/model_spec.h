// What a model is loaded from: engine.fbs ModelSpec as plain structs. Immutable after load; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/policies.h"
#include "base/signature.h"

namespace serval {

using ExecMode = fb::ExecMode;

struct ProviderSpec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;
};

// A constant that a model's graphs share. `file`: index into ModelSpec.weight_files.
struct WeightSpec {
  std::string name;
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  uint32_t file = 0;
  uint64_t offset = 0, bytes = 0;
  bool has_crc32c = false;
  uint32_t masked_crc32c = 0;
};

// A variable that a graph reads and, where `output` is not empty, assigns.
struct GraphState {
  uint32_t state = 0;  // index into ModelSpec.states
  std::string input, output;
};

// One signature's graph: an ONNX ModelProto whose initializers are partly ModelSpec.weights.
struct GraphSpec {
  Signature signature;  // as clients name its tensors
  std::vector<uint8_t> model;
  std::vector<std::string> input_names, output_names;  // in the graph, in the signature's order
  std::vector<uint32_t> weights;
  std::vector<GraphState> states;
};

// engine.fbs ModelSpec as a plain struct.
struct ModelSpec {
  std::string name;
  int64_t version = 0;
  std::string backend;
  std::string path;
  int intra_op_threads = 0;
  int inter_op_threads = 0;
  int graph_optimization = 99;
  std::vector<ProviderSpec> providers;
  int instances = 1;
  QueueSettings queue;
  BatchPolicy batch;
  bool batch_dim = false;              // the first dim is the batch
  std::vector<TensorOverride> inputs;  // what a configuration says of them
  std::vector<TensorOverride> outputs;
  std::vector<int> devices;  // one session each; empty = one session
  std::vector<std::pair<std::string, std::string>> session_config;
  ExecMode exec_mode = ExecMode::Auto;
  int inline_us_max = 100;
  std::vector<GraphSpec> graphs;  // instead of the file at `path`: one session each
  std::vector<WeightSpec> weights;
  std::vector<std::string> weight_files;
  std::vector<uint32_t> states;  // indices of the weights that are the states' first values
  std::string null_mode;
  int64_t null_delay_us = 0;
  Signature null_signature;
};

}  // namespace serval
