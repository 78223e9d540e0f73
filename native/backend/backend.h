// What a backend is to the engine: it loads models and runs batches. It knows no request, protocol
// or JavaScript. Thread rules stand at each function.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.h"
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
  bool batch_dim = false;                // the first dim is the batch
  std::vector<TensorOverride> inputs;    // what a configuration says of them
  std::vector<TensorOverride> outputs;
  std::vector<int> devices;              // one session each; empty = one session
  std::vector<std::pair<std::string, std::string>> session_config;
  ExecMode exec_mode = ExecMode::Auto;
  int inline_us_max = 100;
  std::vector<GraphSpec> graphs;  // instead of the file at `path`: one session each
  std::vector<WeightSpec> weights;
  std::vector<std::string> weight_files;
  std::vector<uint32_t> states;   // indices of the weights that are the states' first values
  std::string null_mode;
  int64_t null_delay_us = 0;
  Signature null_signature;
};

// What a loaded model says of itself.
struct BackendModelInfo {
  std::vector<Signature> signatures;
  std::string producer, graph_name, description, domain;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
  int64_t file_bytes = 0;
  std::vector<std::string> providers;
  bool stateful = false;  // runs change what later runs see: one at a time, never joined
};

// Per-run state that is worth keeping: value handles, name arrays, outputs. One user at a time; it
// may move between threads. Outputs live until release_outputs(), the next run or destruction.
class BackendScratch {
 public:
  virtual ~BackendScratch() = default;
  // outputs()[i] belongs to output_indices[i] of the latest successful run.
  virtual std::span<const TensorView> outputs() const = 0;
  virtual void release_outputs() = 0;
};

class BackendModel {
 public:
  virtual ~BackendModel() = default;
  virtual const BackendModelInfo& info() const = 0;
  virtual std::unique_ptr<BackendScratch> make_scratch() = 0;
  // Runs one batch. inputs[i] belongs to signatures[signature].inputs[i]; shapes and dtypes were
  // checked. Borrows the inputs' memory until release_outputs(). Thread-safe: several threads, each
  // with its own scratch. `cancel` may be null; once it is up the run ends as soon as it can.
  // Errors: invalid_argument where the runtime refuses the input, backend_failed, cancelled.
  virtual Status run(uint32_t signature, std::span<const TensorView> inputs,
                     std::span<const uint32_t> output_indices, BackendScratch& scratch,
                     const CancelFlag* cancel) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Loads a model; may take long. Any thread but a listener's.
  // Errors: model_invalid (what, why), runtime_unavailable.
  virtual Result<std::shared_ptr<BackendModel>> load(const ModelSpec& spec) = 0;
};

// Echo, delay, fail: every path testable with no model. Inputs are answered as outputs, by
// position; the spec's null_signature gives names and dtypes (an output without an input of its
// position and dtype is an error at load).
std::unique_ptr<Backend> make_null_backend();

// ONNX Runtime through its C ABI. `library_path` empty: SERVAL_ORT_LIBRARY, or an error. Loads the
// library at the first load() (or warm_up()), once per process. `intra_op_threads`: size of the
// pool shared by all models; 0 = the cores this process may use.
std::unique_ptr<Backend> make_onnxruntime_backend(std::string library_path, int intra_op_threads);

}  // namespace serval
