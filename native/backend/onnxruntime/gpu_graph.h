// CUDA graphs: a run with one set of shapes is recorded once and then replayed, which saves the
// launch of each kernel. A replay uses the recorded addresses, so each graph has its own device
// memory. Hot path; any thread, each with its own scratch.
// Source: ONNX Runtime's CUDA provider, "Using CUDA Graphs"; its run option gpu_graph_id.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/gpu_io.h"

namespace serval::ort {

// Limit on the graphs of one scratch: runs with further shapes are plain.
inline constexpr size_t kGraphsMax = 32;
// The number of failed graphs after which a model makes no more: each failure costs a run.
inline constexpr int kGraphFailuresMax = 8;
// The run option's value for a run that neither records nor replays.
inline constexpr int kNoGraph = -1;

// Sets the run option. Errors: the runtime's.
OrtStatus* set_graph(const OrtApi& api, OrtRunOptions* options, int id);

// The rules of one model. Any thread.
struct GraphRules {
  // The batch sizes for which graphs are made; {0}: any shapes, for a model without a batch.
  const std::vector<uint32_t> rows;
  // Sessions that record run one at a time: locked around each run.
  std::mutex turn;
  // Numbers one graph of one scratch, so that nothing else replays it.
  std::atomic<int> next_id{1};
  std::atomic<int> failures{0};
  // A run contradicted the model's declared outputs, or too many graphs failed.
  std::atomic<bool> off{false};

  explicit GraphRules(std::vector<uint32_t> of) : rows(std::move(of)) {}
  // Whether a run with these shapes should have a graph.
  bool wants(std::span<const TensorView> inputs) const;
};

// One set of shapes with its memory. One thread at a time.
struct GpuGraph {
  GpuGraph(const OrtRuntime& runtime, const GpuDevice& device, OrtSession* session, size_t inputs)
      : io(runtime, device, session, inputs, true), options(runtime.api) {}

  std::vector<Shape> shapes;      // of the inputs
  std::vector<uint32_t> outputs;  // indices, in the order of the request
  std::vector<TensorView> like;   // types, shapes and sizes of these
  GpuIo io;
  RunOptionsHandle options;
  bool recorded = false;
};

// The graphs of one scratch. One thread at a time.
class GpuGraphs {
 public:
  // Null: there is none for these shapes and outputs.
  GpuGraph* find(std::span<const TensorView> inputs, std::span<const uint32_t> outputs) const;
  bool has_room() const { return graphs_.size() < kGraphsMax; }
  void add(std::unique_ptr<GpuGraph> graph) { graphs_.push_back(std::move(graph)); }
  void drop(const GpuGraph* graph);
  // The first dim of each recorded graph's first input, ascending; 0 for a scalar.
  std::vector<uint32_t> rows() const;

 private:
  std::vector<std::unique_ptr<GpuGraph>> graphs_;
};

}  // namespace serval::ort
