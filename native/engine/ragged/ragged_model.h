// A model with ragged inputs, without the tensors that clients do not see. Requests of different
// shapes run together: their elements are concatenated, and inputs that the server computes tell
// the model where each begins. Made at load; hot path where it runs, any thread. Source: Triton's
// ragged_batching.md, ONNX Runtime backend.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/memory_budget.h"
#include "batch/gather.h"

namespace serval {

// Whether requests of the model are joined, or its inputs computed, by a RaggedModel.
bool is_ragged(const ModelSpec& spec);

// Wraps each replica in a RaggedModel if the model is ragged. Control plane. Errors: those of
// RaggedModel::make().
Status add_ragged(const ModelSpec& spec, MemoryBudget* budget,
                  std::vector<std::shared_ptr<BackendModel>>& replicas);

class RaggedModel final : public BackendModel {
 public:
  // Binds ragged inputs, batch inputs and batch outputs to the model's tensors by their names.
  // Errors: model_invalid: a tensor that the model does not have, another datatype or shape, a
  // tensor that is bound twice, a model that has no such tensors. Borrows the budget.
  static Result<std::shared_ptr<RaggedModel>> make(const ModelSpec& spec, MemoryBudget* budget,
                                                   std::shared_ptr<BackendModel> inner);

  // Made by make().
  RaggedModel(const ModelSpec& spec, MemoryBudget* budget, std::shared_ptr<BackendModel> inner);

  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override;
  Readiness readiness() const override { return inner_->readiness(); }
  uint64_t returns_ns() const override { return inner_->returns_ns(); }
  void on_readiness(std::function<void()> changed) override {
    inner_->on_readiness(std::move(changed));
  }
  Error outage() override { return inner_->outage(); }
  std::timed_mutex* retry_mutex() override { return inner_->retry_mutex(); }
  std::string lasting_fault() override { return inner_->lasting_fault(); }
  // Runs one request. Errors: also backend_failed (an output that does not fit its source).
  Status run(uint32_t signature, std::span<const TensorView> inputs,
             std::span<const uint32_t> output_indices, BackendScratch& scratch,
             const RunOptions& options) override;

  // Whether two requests can share a batch: as same_batch(), but ragged inputs may have any sizes,
  // with the same ones equal to each other in both.
  bool may_join(std::span<const TensorView> a, std::span<const TensorView> b) const;
  // Hot path. Makes the model's inputs for a batch. Borrows the parts, and memory of the scratch
  // until its outputs are released. Errors: invalid_argument (too many elements), memory_full.
  Status join(std::span<const BatchPart> parts, BackendScratch& scratch,
              std::vector<TensorView>& inputs) const;
  // Runs the model with inputs of join().
  Status run_joined(std::span<const TensorView> inputs, std::span<const uint32_t> output_indices,
                    BackendScratch& scratch, const RunOptions& options);
  // Whether every output of a joined run has the parts' rows, or elements in proportion to those of
  // their sources.
  bool can_split(std::span<const BatchPart> parts, std::span<const uint32_t> output_indices,
                 std::span<const TensorView> outputs) const;
  // Stores the part's outputs in `out`, as views. Call for the parts in order, with the `begins`
  // of the call before; empty for the first.
  void split(const BatchPart& part, std::span<const uint32_t> output_indices,
             std::span<const TensorView> outputs, std::vector<uint32_t>& begins,
             std::vector<TensorView>& out) const;

 private:
  // One input of the model: the clients' input of this number, or one that the server computes.
  struct Input {
    uint32_t visible = 0;
    bool ragged = false;
    const BatchInput* computed = nullptr;  // of batch_inputs_
    uint32_t source = 0;                   // of `computed`: the clients' input
  };
  // One output: with `scattered`, a request's shape is `dims`, free ones as in the source.
  struct Output {
    bool scattered = false;
    uint32_t source = 0;
    std::vector<int64_t> dims;
  };
  Error wrong(const std::string& what) const;
  Status bind_ragged(const ModelSpec& spec);
  Status bind_computed(const BatchInput& from);
  Status bind_scattered(const BatchOutput& from, const ModelSpec& spec);
  Status hide_computed();
  Result<uint32_t> source_of(const std::string& place, const std::string& name) const;
  Shape shape_in(const Output& output, const BatchPart& part) const;
  bool scatters(const Output& output, std::span<const BatchPart> parts, const Shape& whole) const;

  const std::string name_;
  MemoryBudget* const budget_;
  const std::shared_ptr<BackendModel> inner_;
  const std::vector<BatchInput> batch_inputs_;
  BackendModelInfo info_;
  std::vector<Input> inputs_;    // in the model's order
  std::vector<Output> outputs_;  // in the model's order
  std::vector<bool> ragged_;     // of the clients' inputs
};

}  // namespace serval
