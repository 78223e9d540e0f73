// One loaded ONNX model: runs batches on its session. Hot path; any thread, each with its own
// scratch. Must not log, load or access files.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/gpu_graph.h"
#include "backend/onnxruntime/gpu_io.h"
#include "backend/onnxruntime/library.h"
#include "backend/onnxruntime/state.h"
#include "base/buffer.h"

namespace serval::ort {

// A scratch keeps no memory between runs for larger outputs and for strings.
inline constexpr size_t kKeptValueBytes = 64 * 1024;

// A copy of a string output: the runtime's strings are objects of the C++ library that it was built
// with, so views of them would depend on its ABI. One call copies them all.
struct StringOutput {
  ByteBuffer bytes;
  std::vector<size_t> offsets;
  std::vector<std::string_view> views;
};

// Type and shape of an output value; `dims` may point into the value.
struct OutputShape {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  const int64_t* dims = nullptr;
  size_t rank = 0;
  int64_t copied[kRankMax];  // only used for libraries before 1.24
};

// Our memory for one small output, and the runtime's value over it.
struct OwnOutput {
  OrtValue* value = nullptr;
  ByteBuffer memory;
  Shape shape;
  bool given = false;  // to the current run
};

// The names of a signature's tensors in the graph, in the signature's order.
struct GraphNames {
  std::vector<std::string> inputs, outputs;
};

// The session that runs batches of one size, for a model whose operators are planned by shape: no
// other shape reaches it.
struct SizedSession {
  uint32_t rows = 0;
  SessionHandle session;
};

// One scratch's memory for such a session.
struct SizedRuns {
  SizedRuns(const OrtRuntime& runtime, const GpuDevice& device, const SizedSession& of,
            size_t inputs)
      : session(of.session.get()), io(runtime, device, of.session.get(), inputs) {}

  OrtSession* const session;
  GpuIo io;
  std::vector<uint32_t> outputs;  // indices, in the order of the latest request
  std::vector<TensorView> like;   // types, shapes and sizes of these
};

// See BackendScratch. Keeps the runtime's input values (a view over the same address and shape
// reuses its value), memory for small outputs (see OrtModel::run), and the options of its run,
// through which the run can be ended; the default options would cost Run 25 ns more.
class OrtScratch final : public BackendScratch, private RunEnder {
 public:
  // `gpu`: for a model on a GPU, else null.
  OrtScratch(const OrtApi& api, size_t input_count, std::unique_ptr<GpuIo> gpu = nullptr);
  ~OrtScratch() override;
  OrtScratch(const OrtScratch&) = delete;
  OrtScratch& operator=(const OrtScratch&) = delete;

  std::span<const TensorView> outputs() const override {
    return has_outputs_ ? std::span<const TensorView>(views_) : std::span<const TensorView>();
  }
  void release_outputs() override;
  uint8_t* input_place(size_t index, size_t bytes) override {
    return gpu_ == nullptr ? nullptr : gpu_->input_place(index, bytes);
  }

 private:
  friend class OrtModel;

  struct Input {
    OrtValue* value = nullptr;
    Shape shape;
    const uint8_t* data = nullptr;
    size_t string_bytes = 0;
  };

  OrtStatus* bind_fixed(const OrtRuntime& runtime, const TensorView& view, size_t index);
  OrtStatus* bind_strings(const OrtRuntime& runtime, const TensorView& view, size_t index);
  void select_outputs(std::span<const uint32_t> indices, const GraphNames& names);
  void give_own_output(const OrtRuntime& runtime, size_t position);
  bool gave_own_outputs() const;
  bool own_outputs_were_written() const;
  void leave_out(size_t index);
  void drop_input(Input& input);
  void drop_outputs();
  void end_run() override;  // Implements RunEnder.
  // Selects what the next run uses: a graph's memory, a size's session, or the scratch's own.
  void use(GpuIo& io, OrtRunOptions* options) {
    io_ = &io;
    options_ = options;
  }
  void use(SizedRuns& sized) {
    io_ = &sized.io;
    session_ = sized.session;
  }
  void use_own() {
    io_ = gpu_.get();
    options_ = run_options_.get();
    session_ = own_session_;
  }
  void forget_end();

  const OrtApi& api_;
  const std::unique_ptr<GpuIo> gpu_;
  RunOptionsHandle run_options_;  // holds null if memory was out: such a run cannot be ended
  OrtSession* own_session_ = nullptr;
  GpuGraphs graphs_;
  std::vector<std::unique_ptr<SizedRuns>> sized_;  // null: not used yet
  bool says_no_graph_ = false;        // set in its own run options: see OrtModel::make_scratch()
  GpuIo* io_ = nullptr;               // of the current run; null: not on a GPU
  OrtRunOptions* options_ = nullptr;  // of the current run
  OrtSession* session_ = nullptr;     // of the current run
  std::vector<Input> inputs_;
  std::vector<const OrtValue*> input_values_;  // null: omitted
  std::vector<const char*> fed_names_;         // names of the present inputs, if some are absent
  std::vector<const OrtValue*> fed_values_;
  bool all_fed_ = true;
  bool same_shapes_ = false;   // this run's inputs have the same shapes as in the previous run
  bool shapes_known_ = false;  // views_ holds the shapes of a successful run of these outputs
  std::vector<uint32_t> output_indices_;
  std::vector<const char*> output_names_;
  std::vector<OrtValue*> output_values_;  // null: the runtime allocates
  std::vector<OwnOutput> own_outputs_;
  std::vector<TensorView> views_;
  std::vector<StringOutput> strings_;
  std::span<const OutputPlace> places_;  // of this run
  std::vector<TensorView> landed_;       // see OrtModel::land()
  std::vector<ByteBuffer> landed_bytes_;
  bool has_outputs_ = false;
};

class OrtModel final : public BackendModel {
 public:
  // Takes the session. `info` holds one signature. `cpu_only`: there is no provider but the CPU's.
  // `names` empty: those of the signature. `states`: further values that runs read and assign, or
  // null. `gpu`: the device that it runs on, if known. `graph_rows`: see GraphRules; empty = no
  // graphs.
  OrtModel(const OrtRuntime& runtime, SessionHandle session, BackendModelInfo info, bool cpu_only,
           GraphNames names = {}, std::unique_ptr<StateUses> states = nullptr,
           std::unique_ptr<GpuDevice> gpu = nullptr, std::vector<uint32_t> graph_rows = {});

  // Adds a session for batches of that size. Before the first run.
  void add_size(uint32_t rows, SessionHandle session);
  // Makes the first instance's scratch, which records graphs and makes every session plan its
  // shapes; completes info().device. The loading thread, before the first run.
  void prepare(DeviceRuns device);

  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override;
  Status run(uint32_t signature, std::span<const TensorView> inputs,
             std::span<const uint32_t> output_indices, BackendScratch& scratch,
             const RunOptions& options) override;
  std::string lasting_fault() override {
    return gpu_ == nullptr ? std::string() : gpu::lasting_fault(*gpu_->calls, gpu_->device);
  }

 private:
  Status bind_inputs(std::span<const TensorView> inputs, OrtScratch& scratch) const;
  void give_own_outputs(OrtScratch& scratch) const;
  void warm_graphs(OrtScratch& scratch);
  void warm_rows(uint32_t rows, OrtScratch& scratch);
  bool are_fixed(const OrtScratch& scratch) const;
  bool fits_gpu(std::span<const TensorView> inputs, std::span<const uint32_t> outputs) const;
  Status run_on_gpu(std::span<const TensorView> inputs, OrtScratch& scratch,
                    const CancelFlag* cancel);
  Status run_plainly(std::span<const TensorView> inputs, OrtScratch& scratch,
                     const CancelFlag* cancel);
  SizedRuns* sized_runs(std::span<const TensorView> inputs, OrtScratch& scratch) const;
  Status run_sized(SizedRuns& sized, std::span<const TensorView> inputs, OrtScratch& scratch,
                   const CancelFlag* cancel);
  std::unique_lock<std::mutex> graph_turn() const;
  Status run_with_graphs(std::span<const TensorView> inputs, OrtScratch& scratch,
                         const CancelFlag* cancel);
  void prepare_graph(std::span<const TensorView> inputs, OrtScratch& scratch);
  Status run_graph(GpuGraph& graph, std::span<const TensorView> inputs, OrtScratch& scratch,
                   const CancelFlag* cancel, bool& broken);
  Status send_inputs(std::span<const TensorView> inputs, OrtScratch& scratch) const;
  Status bind_outputs(OrtScratch& scratch, bool own) const;
  Status run_bound(std::span<const TensorView> inputs, OrtScratch& scratch,
                   const CancelFlag* cancel);
  Status fetch_outputs(OrtScratch& scratch, bool& broken) const;
  void select_fed(OrtScratch& scratch) const;
  Status run_until_ended(OrtScratch& scratch, const CancelFlag& cancel);
  Status call_session(OrtScratch& scratch, const CancelFlag* cancel);
  OrtStatus* run_session(OrtScratch& scratch, const CancelFlag* cancel);
  static Status land(std::span<const TensorView>& inputs, OrtScratch& scratch);
  const OutputPlace& place_of(const OrtScratch& scratch, size_t position) const;
  Status view_shape(OrtScratch& scratch, size_t position) const;
  Status view_output(OrtScratch& scratch, size_t position) const;
  OrtStatus* read_type_and_shape(const OrtValue* value, OutputShape& shape) const;
  Status read_strings(const OrtValue* value, size_t count, StringOutput& strings) const;

  const OrtRuntime& runtime_;
  const OrtApi& api_;
  SessionHandle session_;
  BackendModelInfo info_;  // constant after construction
  const GraphNames names_;
  std::vector<const char*> input_names_;
  const std::unique_ptr<StateUses> states_;
  std::vector<char> fixed_by_inputs_;  // per output: its declared dims follow from the inputs'
  // set to false when the model contradicts that declaration
  std::atomic<bool> reuse_outputs_{true};
  const std::unique_ptr<GpuDevice> gpu_;          // null: the runtime copies, if necessary
  std::atomic<bool> reuse_device_outputs_{true};  // like reuse_outputs_
  std::unique_ptr<GraphRules> graphs_;            // null: no CUDA graphs
  std::vector<SizedSession> sizes_;               // empty: one session runs all
  std::mutex first_mutex_;
  std::unique_ptr<BackendScratch> first_;  // made by prepare(), for the first make_scratch()
};

}  // namespace serval::ort
