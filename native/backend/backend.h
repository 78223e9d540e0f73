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
#include "base/model_spec.h"
#include "base/signature.h"
#include "base/table_schema.h"
#include "gpu/input_places.h"

namespace serval {

// What a loaded model says of itself.
struct BackendModelInfo {
  std::vector<Signature> signatures;
  std::vector<RowsProof> rows;  // one for each signature, or none: nobody looked
  std::string producer, graph_name, description, domain;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
  int64_t file_bytes = 0;
  std::vector<std::string> providers;
  std::shared_ptr<const TableSchema> table;  // of a tabular model, else null; one signature
  std::vector<std::string> notes;            // what of the model is not served, each a sentence
  std::vector<ProviderNodes> nodes;          // where there are providers besides the CPU's
  bool on_gpu = false;                       // runs wait for a device: never on a listener's thread
  bool takes_device_memory = false;  // inputs and outputs may lie on a GPU (TensorView::device)
  int64_t device_bytes = 0;          // of the GPU's memory, what was gone behind the load
  bool stateful = false;  // runs change what later runs see: one at a time, never batched
};

// Per-run state that is worth keeping: value handles, name arrays, outputs. One user at a time; it
// may move between threads. Outputs live until release_outputs(), the next run or destruction.
class BackendScratch : public InputPlaces {
 public:
  virtual ~BackendScratch() = default;
  uint8_t* input_place(size_t, size_t) override { return nullptr; }
  // outputs()[i] belongs to output_indices[i] of the latest successful run.
  virtual std::span<const TensorView> outputs() const = 0;
  virtual void release_outputs() = 0;
};

// What of a request a run is told besides its tensors.
struct RunOptions {
  RunOptions(const CancelFlag* flag = nullptr)  // NOLINT: implicit
      : cancel(flag) {}
  const CancelFlag* cancel;       // may be null; once it is up the run ends as soon as it can
  bool null_for_invalid = false;  // tabular: a row that cannot be answered is answered as missing
  uint64_t output_bytes_max = UINT64_MAX;  // tabular: more is refused before there is room for it
  // By position of the outputs, or empty. Of a model that takes device memory: an output that fits
  // is written to its place, and its view says so; one that does not, or is text, is on the host.
  std::span<const OutputPlace> places;
};

class BackendModel {
 public:
  virtual ~BackendModel() = default;
  virtual const BackendModelInfo& info() const = 0;
  virtual std::unique_ptr<BackendScratch> make_scratch() = 0;
  // False: a run would fail now, and may not later (its process is down). Any thread.
  virtual bool can_run() const { return true; }
  // Why no run of this process can succeed any more; "" = it may. Asked behind a run that failed.
  virtual std::string lasting_fault() { return {}; }
  // Runs one batch. inputs[i] belongs to signatures[signature].inputs[i]; shapes and dtypes were
  // checked; one that may be absent and is has DType::Invalid. Borrows the inputs' memory until
  // release_outputs(). Thread-safe: several threads, each with its own scratch. A tabular model's
  // inputs belong to table->fields: see base/tensor.h. Errors: invalid_argument where the runtime
  // refuses the input, body_too_large (outputs over options.output_bytes_max), backend_failed,
  // cancelled.
  virtual Status run(uint32_t signature, std::span<const TensorView> inputs,
                     std::span<const uint32_t> output_indices, BackendScratch& scratch,
                     const RunOptions& options) = 0;
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

// Tabular models (Spark, MLeap, PMML): the spec's path is a plan, as an importer wrote it
// (proto/plan.fbs). `runtime` runs ONNX graphs, for their large numeric parts, and outlives the
// backend; null: all is answered without.
std::unique_ptr<Backend> make_tabular_backend(Backend* runtime = nullptr);

// ONNX Runtime through its C ABI. `library_path` empty: SERVAL_ORT_LIBRARY, or an error. Loads the
// library at the first load() (or warm_up()), once per process. `intra_op_threads`: size of the
// pool shared by all models; 0 = the cores this process may use.
std::unique_ptr<Backend> make_onnxruntime_backend(std::string library_path, int intra_op_threads);

}  // namespace serval
