// A model of several graphs: one session per signature over shared weights and state. Hot path
// (run), any thread, each with its own scratch.
#pragma once

#include <memory>
#include <vector>

#include "backend/onnxruntime/session.h"
#include "backend/onnxruntime/weights.h"

namespace serval::ort {

class OrtGraphs final : public BackendModel {
 public:
  // Takes the graphs, one per signature of `info`, in its order; signatures with the same content
  // share one. The sessions read `weights`.
  OrtGraphs(BackendModelInfo info, std::unique_ptr<SharedWeights> weights,
            std::vector<std::shared_ptr<OrtModel>> graphs)
      : info_(std::move(info)), weights_(std::move(weights)), graphs_(std::move(graphs)) {}

  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override;
  Status run(uint32_t signature, std::span<const TensorView> inputs,
             std::span<const uint32_t> output_indices, BackendScratch& scratch,
             const RunOptions& options) override;
  // All sessions are on one device.
  std::string lasting_fault() override { return graphs_.front()->lasting_fault(); }

 private:
  const BackendModelInfo info_;
  // declared before graphs_, so destroyed after them
  const std::unique_ptr<SharedWeights> weights_;
  const std::vector<std::shared_ptr<OrtModel>> graphs_;
};

}  // namespace serval::ort
