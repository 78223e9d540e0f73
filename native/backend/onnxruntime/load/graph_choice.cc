// Decides between CUDA graphs, fixed sizes and plain runs.
#include "backend/onnxruntime/load/graph_choice.h"

#include <algorithm>

#include "backend/onnx/contexts.h"

namespace serval::ort {
namespace {

// Each size costs a copy of the weights in device memory.
constexpr size_t kSizesMax = 6;
constexpr uint32_t kSizeStep = 4;
// Limit on the inputs of graphs that nobody requested: each size has its own device memory.
constexpr uint64_t kGraphInputBytesMax = 64u << 20;

// Why a model of these shapes has no graphs; "" = it may have them.
std::string graph_obstacle(const ModelSpec& spec, bool on_device, const DeviceShapes& shapes) {
  if (!on_device) return "CUDA's runtime library is missing";
  if (!spec.states.empty()) return "it keeps state between requests";
  if (spec.graph_use != GraphUse::Known) return {};
  const bool batches = spec.graph_rows.front() != 0;
  const std::string& open =
      batches || !shapes.open.inner.empty() ? shapes.open.inner : shapes.open.batch;
  return open.empty() ? std::string() : "the shape of input '" + open + "' is not fixed";
}

// The sizes whose inputs are small enough that each may have its memory on the device. A
// configuration that requests graphs gets all of its sizes.
std::vector<uint32_t> worth_recording(const ModelSpec& spec, uint64_t row_bytes) {
  std::vector<uint32_t> sizes = spec.graph_rows;
  if (spec.graph_use == GraphUse::Required) return sizes;
  std::erase_if(sizes, [row_bytes](uint32_t rows) {
    return rows > 1 && row_bytes > kGraphInputBytesMax / rows;
  });
  return sizes;
}

// The batch sizes that are worth a session: those of the configuration, or else the preferred ones
// and a few between 1 and the largest.
std::vector<uint32_t> few_sizes(const BatchPolicy& policy) {
  std::vector<uint32_t> sizes = policy.allowed_rows;
  if (sizes.empty()) {
    sizes = policy.preferred_rows;
    sizes.push_back(policy.rows_max);
    for (uint64_t rows = 1; rows < policy.rows_max; rows *= kSizeStep) {
      sizes.push_back(static_cast<uint32_t>(rows));
    }
    std::ranges::sort(sizes);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  }
  if (sizes.size() > kSizesMax) {
    sizes.erase(sizes.begin() + 1, sizes.end() - static_cast<ptrdiff_t>(kSizesMax - 1));
  }
  return sizes;
}

bool is_on_cuda(const ModelSpec& spec) {
  return !spec.providers.empty() && short_provider(spec.providers.front().name) == "cuda";
}

}  // namespace

void GraphChoice::decide(const ModelSpec& spec, bool on_device, const DeviceShapes& shapes) {
  const bool batches = spec.batch.mode != BatchMode::Off && spec.batch.rows_max > 1;
  if (!spec.graph_rows.empty() && why_.empty()) {
    why_ = graph_obstacle(spec, on_device, shapes);
    if (why_.empty()) graph_rows = worth_recording(spec, shapes.row_bytes);
  }
  if (!why_.empty()) why_ = "no CUDA graphs: " + why_;
  if (!graph_rows.empty()) {
    const bool sizes = graph_rows.front() != 0;
    all_fixed = shapes.open.inner.empty() && (sizes || shapes.open.batch.empty());
    if (!batches || !sizes || spec.batch.any_rows) return;
    // Between graphs, a session may run one size whose operators are planned once.
    fixed_rows_ = shapes.planned_op.empty() ? spec.graph_rows : graph_rows;
    return;
  }
  sized_ = on_device && batches && !spec.batch.any_rows && !shapes.planned_op.empty() &&
           is_on_cuda(spec) && spec.states.empty();
  if (!sized_) return;
  fixed_rows_ = few_sizes(spec.batch);
  why_ += (why_.empty() ? "" : "; ") + shapes.planned_op + " is planned for each shape";
}

std::vector<SizedSession> GraphChoice::make_sizes(
    const OrtApi& api, const std::function<OrtStatus*(SessionHandle&)>& create) {
  std::vector<SizedSession> sizes;
  if (!sized_) return sizes;
  for (size_t i = fixed_rows_.size() - 1; i-- > 0;) {
    SizedSession& one = sizes.emplace_back(SizedSession{fixed_rows_[i], SessionHandle(&api)});
    OrtStatus* const failed = create(one.session);
    if (failed == nullptr) continue;
    drop_status(api, failed);
    sizes.pop_back();
    fixed_rows_.erase(fixed_rows_.begin(), fixed_rows_.begin() + static_cast<ptrdiff_t>(i) + 1);
    why_ += "; no memory for more sizes";
    break;
  }
  return sizes;
}

void GraphChoice::prepare(std::vector<SizedSession> sizes, OrtModel& model) {
  if (!model.info().on_gpu && !model.info().takes_device_memory) return;
  for (SizedSession& one : sizes) model.add_size(one.rows, std::move(one.session));
  DeviceRuns runs;
  runs.fixed_rows = std::move(fixed_rows_);
  runs.why = std::move(why_);
  model.prepare(std::move(runs));
}

void add_device_runs(const DeviceRuns& more, DeviceRuns& runs) {
  if (runs.graph_rows.empty()) runs.graph_rows = more.graph_rows;
  if (runs.fixed_rows.empty()) runs.fixed_rows = more.fixed_rows;
  if (runs.why.empty()) runs.why = more.why;
  runs.graph_bytes += more.graph_bytes;
}

}  // namespace serval::ort
