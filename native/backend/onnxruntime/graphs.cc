// Runs a model of several graphs, with a session for each.
#include "backend/onnxruntime/graphs.h"

#include <algorithm>

#include "base/cpu/cpu.h"

namespace serval::ort {
namespace {

// One scratch per signature, made when the signature is first run; a single one if all signatures
// share a graph (`only`, else null), into whose memory batches can then be gathered.
class GraphsScratch final : public BackendScratch {
 public:
  GraphsScratch(size_t graphs, OrtModel* only) : only_(only), scratches_(graphs) {}

  std::span<const TensorView> outputs() const override {
    return current_ == nullptr ? std::span<const TensorView>() : current_->outputs();
  }
  void release_outputs() override {
    if (current_ != nullptr) current_->release_outputs();
  }
  uint8_t* input_place(size_t index, size_t bytes) override {
    return only_ == nullptr ? nullptr : choose(0, *only_).input_place(index, bytes);
  }
  BackendScratch& choose(size_t index, OrtModel& graph) {
    std::unique_ptr<BackendScratch>& scratch = scratches_[only_ == nullptr ? index : 0];
    if (scratch == nullptr) scratch = graph.make_scratch();
    current_ = scratch.get();
    return *current_;
  }

 private:
  OrtModel* const only_;
  std::vector<std::unique_ptr<BackendScratch>> scratches_;
  BackendScratch* current_ = nullptr;
};

// While one of these exists, this thread flushes denormal inputs and results to 0, as TensorFlow's
// threads do. Costs about 10 ns. Source: tensorflow/core/platform/denormal.
class FlushDenormals {
 public:
  ~FlushDenormals() { cpu::restore_float_mode(before_); }

 private:
  const uint64_t before_ = cpu::flush_denormals();
};

}  // namespace

std::unique_ptr<BackendScratch> OrtGraphs::make_scratch() {
  const bool same =
      std::ranges::all_of(graphs_, [this](const auto& graph) { return graph == graphs_.front(); });
  return std::make_unique<GraphsScratch>(graphs_.size(), same ? graphs_.front().get() : nullptr);
}

Status OrtGraphs::run(uint32_t signature, std::span<const TensorView> inputs,
                      std::span<const uint32_t> output_indices, BackendScratch& scratch,
                      const RunOptions& options) {
  if (signature >= graphs_.size()) {
    return make_error(ErrorCode::Internal, "no signature of index " + std::to_string(signature));
  }
  OrtModel& graph = *graphs_[signature];
  const FlushDenormals flush;
  BackendScratch& own = static_cast<GraphsScratch&>(scratch).choose(signature, graph);
  return graph.run(0, inputs, output_indices, own, options);
}

}  // namespace serval::ort
