// OrtModel's runs on a GPU: copies inputs to the device, runs the session on its binding, copies
// outputs back. Hot path; any thread, each with its own scratch. The plain way is in session.cc.
#include <algorithm>
#include <utility>

#include "backend/onnxruntime/session.h"

namespace serval::ort {

namespace {

constexpr ErrorCode kRunFailed = ErrorCode::BackendFailed;

}  // namespace

// A device cannot read text, an omitted input has no value to bind, and an output is bound once.
bool OrtModel::fits_gpu(std::span<const TensorView> inputs,
                        std::span<const uint32_t> outputs) const {
  if (inputs.size() != input_names_.size()) return false;
  for (size_t i = 1; i < outputs.size(); ++i) {
    const auto others = outputs.first(i);
    if (std::find(others.begin(), others.end(), outputs[i]) != others.end()) return false;
  }
  return std::all_of(inputs.begin(), inputs.end(), [](const TensorView& input) {
    return input.dtype != DType::Invalid && input.dtype != DType::Bytes;
  });
}

Status OrtModel::send_inputs(std::span<const TensorView> inputs, OrtScratch& scratch) const {
  GpuIo& io = *scratch.io_;
  Status status = io.begin();
  for (size_t i = 0; status.ok() && i < inputs.size(); ++i) {
    status = io.send(i, inputs[i], info_.signatures.front().inputs[i].name);
  }
  if (status.ok()) status = io.bind_inputs(input_names_);
  if (!status.ok()) io.settle();
  return status;
}

// Copies device tensors to the host, for a run that device memory is not bound to. The copies live
// as long as the scratch, or until the next such run.
Status OrtModel::land(std::span<const TensorView>& inputs, OrtScratch& scratch) {
  scratch.landed_.assign(inputs.begin(), inputs.end());
  scratch.landed_bytes_.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorView& view = scratch.landed_[i];
    if (view.device == nullptr) continue;
    const gpu::SharedMemory& memory = *std::exchange(view.device, nullptr);
    ByteBuffer& bytes = scratch.landed_bytes_[i];
    bytes.clear();
    uint8_t* const to = bytes.grow(view.bytes);
    if (to == nullptr) return make_error(ErrorCode::MemoryFull, "no memory for an input");
    const auto offset = static_cast<uint64_t>(view.data - memory.data());
    if (Status read = memory.read(to, offset, view.bytes); !read.ok()) return read;
    view.data = to;
  }
  inputs = scratch.landed_;
  return ok_status();
}

// The place requested for output `position`; text is always on the host.
const OutputPlace& OrtModel::place_of(const OrtScratch& scratch, size_t position) const {
  static constexpr OutputPlace kHost;
  const TensorSpec& spec = info_.signatures.front().outputs[scratch.output_indices_[position]];
  return position < scratch.places_.size() && spec.dtype != DType::Bytes ? scratch.places_[position]
                                                                         : kHost;
}

// `own`: outputs whose shapes follow from the inputs' stay on the device, in kept memory or in a
// client's.
Status OrtModel::bind_outputs(OrtScratch& scratch, bool own) const {
  for (size_t i = 0; i < scratch.output_indices_.size(); ++i) {
    const bool kept = own && fixed_by_inputs_[scratch.output_indices_[i]];
    Status bound = scratch.io_->bind_output(
        i, scratch.output_names_[i], kept ? &scratch.views_[i] : nullptr, place_of(scratch, i));
    if (!bound.ok()) return bound;
  }
  return ok_status();
}

Status OrtModel::run_bound(std::span<const TensorView> inputs, OrtScratch& scratch,
                           const CancelFlag* cancel) {
  if (cancel != nullptr) cancel->begin_run(scratch);
  OrtStatus* failed = nullptr;
  {
    const std::unique_lock<std::mutex> turn = graph_turn();
    failed = scratch.io_->run(scratch.session_, scratch.options_);
  }
  if (cancel != nullptr) {
    cancel->leave_run(scratch);
    if (cancel->cancelled()) {
      scratch.forget_end();
      if (failed != nullptr) {
        drop_status(api_, failed);
        return make_error(ErrorCode::Cancelled, "the model's run was ended");
      }
    }
  }
  if (failed == nullptr) return ok_status();
  std::vector<FedInput> fed;
  const std::vector<TensorSpec>& specs = info_.signatures.front().inputs;
  for (size_t i = 0; i < specs.size(); ++i) fed.push_back({specs[i], inputs[i].shape});
  return run_error(api_, failed, fed);
}

// `broken`: an output on the device does not have the shape that the model declares.
Status OrtModel::fetch_outputs(OrtScratch& scratch, bool& broken) const {
  GpuIo& io = *scratch.io_;
  Status status = io.take_outputs(scratch.output_values_);
  for (size_t i = 0; status.ok() && i < scratch.output_values_.size(); ++i) {
    const OutputSide side = io.side(i);
    if (side == OutputSide::Host) {
      status = view_output(scratch, i);
      continue;
    }
    TensorView& view = scratch.views_[i];
    const Shape expected = view.shape;
    status = view_shape(scratch, i);
    broken = side != OutputSide::Runtimes && !(status.ok() && view.shape == expected);
    if (broken) return ok_status();
    if (status.ok()) status = io.fetch(i, scratch.output_values_[i], place_of(scratch, i), view);
  }
  if (status.ok()) status = io.finish();
  else io.settle();
  return status;
}

// Locks out other runs if the session records graphs; otherwise runs are parallel.
std::unique_lock<std::mutex> OrtModel::graph_turn() const {
  return graphs_ == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(graphs_->turn);
}

// Retries a run that met the recording of another model's graph: the device is healthy.
Status OrtModel::run_on_gpu(std::span<const TensorView> inputs, OrtScratch& scratch,
                            const CancelFlag* cancel) {
  SizedRuns* const sized = sized_runs(inputs, scratch);
  const auto run = [&] {
    if (sized != nullptr) return run_sized(*sized, inputs, scratch, cancel);
    return graphs_ == nullptr ? run_plainly(inputs, scratch, cancel)
                              : run_with_graphs(inputs, scratch, cancel);
  };
  Status status = run();
  if (status.ok() || !gpu::met_recording(status.error().message)) return status;
  if (cancel != nullptr && cancel->cancelled()) return status;
  return run();
}

// Hot path: run. A model that breaks its declared shapes is run again without memory of ours for
// outputs, and never given any again.
Status OrtModel::run_plainly(std::span<const TensorView> inputs, OrtScratch& scratch,
                             const CancelFlag* cancel) {
  Status status = send_inputs(inputs, scratch);
  bool own = status.ok() && scratch.shapes_known_ && scratch.io_->same_shapes() &&
             reuse_device_outputs_.load(std::memory_order_relaxed);
  bool broken = false;
  if (status.ok()) status = bind_outputs(scratch, own);
  if (status.ok()) status = run_bound(inputs, scratch, cancel);
  if (status.ok()) status = fetch_outputs(scratch, broken);
  const bool ended = cancel != nullptr && cancel->cancelled();
  if (own && (broken || !status.ok()) && !ended) {
    broken = false;
    scratch.drop_outputs();
    Status again = bind_outputs(scratch, false);
    if (again.ok()) again = run_bound(inputs, scratch, cancel);
    if (again.ok()) again = fetch_outputs(scratch, broken);
    if (again.ok()) reuse_device_outputs_.store(false, std::memory_order_relaxed);
    status = std::move(again);
  }
  scratch.has_outputs_ = scratch.shapes_known_ = status.ok();
  if (!status.ok()) scratch.drop_outputs();
  return status;
}

// The session for the batch's size; nullptr: the model's first session runs it.
SizedRuns* OrtModel::sized_runs(std::span<const TensorView> inputs, OrtScratch& scratch) const {
  if (sizes_.empty() || inputs.empty() || inputs[0].shape.rank() == 0) return nullptr;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (inputs[0].shape[0] != sizes_[i].rows) continue;
    std::unique_ptr<SizedRuns>& sized = scratch.sized_[i];
    if (sized == nullptr) {
      sized = std::make_unique<SizedRuns>(runtime_, *gpu_, sizes_[i], input_names_.size());
    }
    return sized.get();
  }
  return nullptr;
}

// Hot path: run (a size's session). Each size keeps the shapes of its latest outputs.
Status OrtModel::run_sized(SizedRuns& sized, std::span<const TensorView> inputs,
                           OrtScratch& scratch, const CancelFlag* cancel) {
  scratch.use(sized);
  scratch.shapes_known_ = sized.outputs == scratch.output_indices_ && !sized.like.empty();
  if (scratch.shapes_known_) scratch.views_ = sized.like;
  else sized.io.clear_outputs();
  Status status = run_plainly(inputs, scratch, cancel);
  sized.like.clear();
  if (status.ok()) {
    sized.outputs = scratch.output_indices_;
    sized.like = scratch.views_;
  }
  scratch.use_own();
  scratch.shapes_known_ = false;  // views_ are of this size
  return status;
}

}  // namespace serval::ort
