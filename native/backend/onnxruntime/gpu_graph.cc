// CUDA graphs of a session, and OrtModel's runs on them. Hot path; any thread, each with its own
// scratch.
#include "backend/onnxruntime/gpu_graph.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/onnxruntime/session.h"

namespace serval::ort {

OrtStatus* set_graph(const OrtApi& api, OrtRunOptions* options, int id) {
  return api.AddRunConfigEntry(options, "gpu_graph_id", std::to_string(id).c_str());
}

bool GraphRules::wants(std::span<const TensorView> inputs) const {
  if (off.load(std::memory_order_relaxed) || inputs.empty()) return false;
  if (rows.front() == 0) return true;
  if (inputs[0].shape.rank() == 0) return false;
  return std::ranges::any_of(rows, [&](uint32_t one) { return inputs[0].shape[0] == one; });
}

GpuGraph* GpuGraphs::find(std::span<const TensorView> inputs,
                          std::span<const uint32_t> outputs) const {
  const auto found = std::ranges::find_if(graphs_, [&](const auto& graph) {
    return std::ranges::equal(graph->outputs, outputs) &&
           std::ranges::equal(
               graph->shapes, inputs,
               [](const Shape& shape, const TensorView& input) { return shape == input.shape; });
  });
  return found == graphs_.end() ? nullptr : found->get();
}

void GpuGraphs::drop(const GpuGraph* graph) {
  std::erase_if(graphs_, [graph](const auto& one) { return one.get() == graph; });
}

std::vector<uint32_t> GpuGraphs::rows() const {
  std::vector<uint32_t> rows;
  for (const auto& graph : graphs_) {
    if (!graph->recorded) continue;
    const Shape& shape = graph->shapes.front();
    rows.push_back(shape.rank() == 0 ? 0 : static_cast<uint32_t>(shape[0]));
  }
  std::ranges::sort(rows);
  return rows;
}

// Called after a run with these shapes whose outputs have the shapes that the model declares. If
// there is no memory for it, no graph is made.
void OrtModel::prepare_graph(std::span<const TensorView> inputs, OrtScratch& scratch) {
  if (!scratch.graphs_.has_room()) return;
  auto graph = std::make_unique<GpuGraph>(runtime_, *gpu_, session_.get(), input_names_.size());
  for (const TensorView& input : inputs) graph->shapes.push_back(input.shape);
  graph->outputs = scratch.output_indices_;
  graph->like = scratch.views_;
  OrtStatus* failed = api_.CreateRunOptions(graph->options.out());
  const int id = graphs_->next_id.fetch_add(1, std::memory_order_relaxed);
  if (failed == nullptr) failed = set_graph(api_, graph->options.get(), id);
  if (failed != nullptr) return drop_status(api_, failed);
  scratch.graphs_.add(std::move(graph));
}

// Hot path: run (CUDA graph). The first one records, all others replay.
Status OrtModel::run_graph(GpuGraph& graph, std::span<const TensorView> inputs, OrtScratch& scratch,
                           const CancelFlag* cancel, bool& broken) {
  scratch.use(graph.io, graph.options.get());
  scratch.views_ = graph.like;
  Status status = send_inputs(inputs, scratch);
  for (size_t i = 0; status.ok() && i < graph.like.size(); ++i) {
    status =
        graph.io.bind_output(i, scratch.output_names_[i], &graph.like[i], place_of(scratch, i));
  }
  if (status.ok()) status = run_bound(inputs, scratch, cancel);
  if (status.ok()) status = fetch_outputs(scratch, broken);
  scratch.use_own();
  scratch.has_outputs_ = graph.recorded = status.ok() && !broken;
  scratch.shapes_known_ = false;  // they are those of the last run on the scratch's own memory
  if (!scratch.has_outputs_) scratch.drop_outputs();
  return status;
}

// Outputs without fixed shapes, and text, cannot be in a graph.
bool OrtModel::are_fixed(const OrtScratch& scratch) const {
  return std::ranges::all_of(scratch.output_indices_, [this](uint32_t index) {
    const TensorSpec& output = info_.signatures.front().outputs[index];
    return fixed_by_inputs_[index] != 0 && output.dtype != DType::Bytes;
  });
}

// If all input dims but the batch are known, runs zeros twice: one run sizes the outputs, the next
// is recorded if the size has a graph. A failure here is no error: the graph is just not made.
void OrtModel::warm_rows(uint32_t rows, OrtScratch& scratch) {
  const Signature& signature = info_.signatures.front();
  std::vector<TensorView> inputs;
  for (const TensorSpec& spec : signature.inputs) {
    std::vector<int64_t> dims = spec.dims;
    if (rows > 0 && !dims.empty() && dims[0] < 0) dims[0] = rows;
    const bool open = std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; });
    if (open || spec.unknown_rank || dims.size() > kRankMax || spec.dtype == DType::Bytes) return;
    TensorView& view = inputs.emplace_back();
    view.dtype = spec.dtype;
    view.shape = Shape(dims);
    view.bytes = view.shape.elements().value_or(0) * dtype_bytes(spec.dtype);
  }
  if (graphs_ != nullptr && !graphs_->wants(inputs)) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint8_t* const place = scratch.input_place(i, inputs[i].bytes);
    if (place == nullptr) return;
    std::memset(place, 0, inputs[i].bytes);
    inputs[i].data = place;
  }
  std::vector<uint32_t> outputs(signature.outputs.size());
  std::iota(outputs.begin(), outputs.end(), 0u);
  for (int i = 0; i < 2; ++i) {
    if (!run(0, inputs, outputs, scratch, {}).ok()) return;
    scratch.release_outputs();
  }
}

// Called before its first request. Without the number the runtime would record whatever runs first.
void OrtModel::warm_graphs(OrtScratch& scratch) {
  OrtRunOptions* const options = scratch.run_options_.get();
  if (options == nullptr) return;
  OrtStatus* failed = set_graph(api_, options, kNoGraph);
  if (failed != nullptr) return drop_status(api_, failed);
  scratch.says_no_graph_ = true;
  for (const uint32_t rows : graphs_->rows) warm_rows(rows, scratch);
}

void OrtModel::prepare(DeviceRuns device) {
  const DeviceMemory memory(gpu_.get());
  std::unique_ptr<BackendScratch> made = make_scratch();
  OrtScratch& scratch = static_cast<OrtScratch&>(*made);
  device.graph_rows = scratch.graphs_.rows();
  if (!device.graph_rows.empty()) device.graph_bytes = memory.taken();
  if (!sizes_.empty()) {
    for (const uint32_t rows : device.fixed_rows) warm_rows(rows, scratch);
  }
  info_.device_bytes += memory.taken();
  first_ = std::move(made);
  info_.device_runs = std::move(device);
}

// A run that a graph can serve: uses its graph if there is one; otherwise runs plainly and then
// makes one. A graph that fails is dropped and the run is plain; after several failures no more are
// made.
Status OrtModel::run_with_graphs(std::span<const TensorView> inputs, OrtScratch& scratch,
                                 const CancelFlag* cancel) {
  const bool wanted = graphs_->wants(inputs) && are_fixed(scratch);
  if (GpuGraph* graph = wanted ? scratch.graphs_.find(inputs, scratch.output_indices_) : nullptr) {
    bool broken = false;
    Status status = run_graph(*graph, inputs, scratch, cancel, broken);
    if (status.ok() && !broken) return status;
    scratch.graphs_.drop(graph);
    if (cancel != nullptr && cancel->cancelled()) return status;
    if (broken || graphs_->failures.fetch_add(1, std::memory_order_relaxed) >= kGraphFailuresMax) {
      graphs_->off.store(true, std::memory_order_relaxed);
    }
  }
  Status status = run_plainly(inputs, scratch, cancel);
  if (status.ok() && wanted && graphs_->wants(inputs)) prepare_graph(inputs, scratch);
  return status;
}

}  // namespace serval::ort
