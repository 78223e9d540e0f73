// The interface between the engine and a backend, which loads models and runs batches. A backend
// knows no request, protocol or JavaScript. Thread rules are stated at each function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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

// The properties that a loaded model reports.
struct BackendModelInfo {
  std::vector<Signature> signatures;
  std::vector<RowsProof> rows;  // one for each signature, or none: not analysed
  std::string producer, graph_name, description, domain;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
  int64_t file_bytes = 0;
  std::vector<std::string> providers;
  // set for a tabular model, else null; it has one signature
  std::shared_ptr<const TableSchema> table;
  // parts of the model that are not served, a sentence each
  std::vector<std::string> notes;
  std::vector<ProviderNodes> nodes;  // filled if there are providers besides the CPU's
  // runs wait for a device: on a listener's thread only short ones, if nothing else needs it
  bool on_gpu = false;
  // runs wait for those of other models, so they never run on a listener's thread either
  bool waits = false;
  // runs use this process's cores; false: they use other processes', or sleep
  bool computes = true;
  // inputs and outputs may be in a GPU's memory (TensorView::device)
  bool takes_device_memory = false;
  int64_t device_bytes = 0;  // GPU memory that the load consumed
  DeviceRuns device_runs;    // of a model on a GPU
  bool stateful = false;  // runs change the state that later runs see: one at a time, never batched
};

// Cause of a failed run, for another try. NotRun: the request did not reach its model, whose
// process is down. Died: the process ended while the request ran.
enum class Loss : uint8_t { None, NotRun, Died };

// Reusable per-run state: value handles, name arrays, outputs. One user at a time; it may move
// between threads. Outputs live until release_outputs(), the next run or destruction.
class BackendScratch : public InputPlaces {
 public:
  virtual ~BackendScratch() = default;
  uint8_t* input_place(size_t, size_t) override { return nullptr; }
  // outputs()[i] belongs to output_indices[i] of the latest successful run.
  virtual std::span<const TensorView> outputs() const = 0;
  virtual void release_outputs() = 0;
  // The cause if the latest run failed.
  virtual Loss loss() const { return Loss::None; }
};

// Options of a run, besides its tensors.
struct RunOptions {
  RunOptions(const CancelFlag* flag = nullptr)  // NOLINT: implicit
      : cancel(flag) {}
  const CancelFlag* cancel;       // may be null; once it is set, the run ends as soon as it can
  bool null_for_invalid = false;  // tabular: a row that cannot be computed is returned as missing
  bool takes_turns = false;       // an ensemble: its steps may wait for turns
  // tabular: larger outputs are refused before memory is allocated for them
  uint64_t output_bytes_max = UINT64_MAX;
  // One per output, or empty. For a model that takes device memory: an output that fits is written
  // to its place, and its view says so; one that does not fit, or is text, is on the host.
  std::span<const OutputPlace> places;
};

// Whether a model can run. Returning: not now, its process is being restarted. Failed: not now, and
// the latest attempts to restart it failed.
enum class Readiness : uint8_t { Ready, Returning, Failed };

class BackendModel {
 public:
  virtual ~BackendModel() = default;
  virtual const BackendModelInfo& info() const = 0;
  virtual std::unique_ptr<BackendScratch> make_scratch() = 0;
  // Any thread.
  virtual Readiness readiness() const { return Readiness::Ready; }
  bool can_run() const { return readiness() == Readiness::Ready; }
  // The now_ns() before which a model that is Returning cannot be Ready. Any thread.
  virtual uint64_t returns_ns() const { return 0; }
  // Calls `changed` whenever one of the two changes, on the thread that changes it and under a
  // lock: it may call these two only. Empty: no calls. No call of the former one runs on return.
  virtual void on_readiness(std::function<void()> changed) { static_cast<void>(changed); }
  // The error for a request that waited for a model that did not return. Any thread.
  virtual Error outage() {
    return make_error(ErrorCode::ModelNotReady, "the model cannot run at present");
  }
  // Held during the second run of a request that was in flight when its process ended: the request
  // may be the reason. One lock for all models of a process; null: runs are never repeated.
  virtual std::timed_mutex* retry_mutex() { return nullptr; }
  // The reason why no run of this process can succeed any more; "" = runs may succeed. Called after
  // a run that failed.
  virtual std::string lasting_fault() { return {}; }
  // Runs one batch. inputs[i] belongs to signatures[signature].inputs[i]; shapes and dtypes have
  // been checked; an absent optional input has DType::Invalid. Borrows the inputs' memory until
  // release_outputs(). Thread-safe: several threads, each with its own scratch. A tabular model's
  // inputs belong to table->fields: see base/tensor.h. Errors: invalid_argument if the runtime
  // refuses the input, body_too_large (outputs over options.output_bytes_max), backend_failed,
  // cancelled.
  virtual Status run(uint32_t signature, std::span<const TensorView> inputs,
                     std::span<const uint32_t> output_indices, BackendScratch& scratch,
                     const RunOptions& options) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Loads a model; may take long. Any thread except a listener's.
  // Errors: model_invalid (what, why), runtime_unavailable.
  virtual Result<std::shared_ptr<BackendModel>> load(const ModelSpec& spec) = 0;
  // Whether load() may run on a thread of idle priority, whose children would keep that priority:
  // not if it starts threads, or processes, that later serve requests. Any thread.
  virtual bool loads_quietly(const ModelSpec&) const { return false; }
  // Returns memory to the system that was allocated for runs and that no run uses. Any thread; may
  // take milliseconds for each GB.
  virtual void release_unused() {}
};

// Echo, delay, fail: makes every path testable without a model. Returns inputs as outputs, by
// position; the spec's null_signature defines names and dtypes (an output without an input of its
// position and dtype is an error at load).
std::unique_ptr<Backend> make_null_backend();

// Tabular models (Spark, MLeap, PMML): the spec's path is a plan written by an importer
// (proto/plan.fbs). `runtime` runs ONNX graphs for their large numeric parts, and must outlive the
// backend; null: everything runs without it.
std::unique_ptr<Backend> make_tabular_backend(Backend* runtime = nullptr);

// ONNX Runtime through its C ABI. `library_path` empty: SERVAL_ORT_LIBRARY, or an error. Loads the
// library at the first load() (or warm_up()), once per process. `intra_op_threads`: size of the
// pool shared by all models; 0 = the cores that this process may use.
std::unique_ptr<Backend> make_onnxruntime_backend(std::string library_path, int intra_op_threads);

}  // namespace serval
