// A model of sequences without the tensors that clients do not see: its controls, which the server
// fills, and its states. Made at load; hot path where it runs, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/buffer.h"
#include "engine/sequence/scheduler.h"

namespace serval {

// The values of one row's controls. No id: 0 or "".
struct RowSignals {
  bool ready = false, start = false, end = false;
  const SequenceId* id = nullptr;
};

// The hidden inputs of one row, with the memory of the controls. Reused.
struct HiddenRow {
  std::vector<uint64_t> cells;          // one per control: its element
  std::vector<std::string_view> texts;  // the same for text
  std::vector<TensorView> views;        // the controls, then the states
};

class SequenceModel final : public BackendModel {
 public:
  // Binds the controls and states of `spec.sequence` to the model's tensors by their names. Errors:
  // model_invalid: a tensor that the model does not have, another datatype or shape, a tensor that
  // is bound twice, a tabular model.
  static Result<std::shared_ptr<SequenceModel>> make(const ModelSpec& spec,
                                                     std::shared_ptr<BackendModel> inner);

  // Made by make().
  SequenceModel(const ModelSpec& spec, std::shared_ptr<BackendModel> inner);

  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override;
  Readiness readiness() const override { return inner_->readiness(); }
  uint64_t returns_ns() const override { return inner_->returns_ns(); }
  void on_readiness(std::function<void()> changed) override {
    inner_->on_readiness(std::move(changed));
  }
  Error outage() override { return inner_->outage(); }
  std::string lasting_fault() override { return inner_->lasting_fault(); }
  // Runs the inputs as sequences of one request each.
  Status run(uint32_t signature, std::span<const TensorView> inputs,
             std::span<const uint32_t> output_indices, BackendScratch& scratch,
             const RunOptions& options) override;

  // Whether the control of the id can hold this one. Errors: invalid_argument.
  Status check_id(const SequenceId& id) const;
  // Writes the controls of a row. Borrows the id's text until the row's next use.
  void set_controls(const RowSignals& signals, HiddenRow& row) const;
  // Writes the states of a row; empty: the initial ones. Call after set_controls().
  void set_states(std::span<const TensorView> states, HiddenRow& row) const;
  std::span<const TensorView> initial_states() const { return initial_; }
  // Puts the visible inputs (trailing absent ones may be left out) and the hidden ones in the order
  // of the model.
  void arrange(std::span<const TensorView> visible, std::span<const TensorView> hidden,
               std::vector<TensorView>& inputs) const;

  // The model's own outputs: of a visible one, and of the states.
  uint32_t output_of(uint32_t visible) const { return outputs_[visible]; }
  std::span<const uint32_t> state_outputs() const { return state_outputs_; }
  // The model's own output that is true after the last step of a request; kNoOutput: a request has
  // one step.
  static constexpr uint32_t kNoOutput = UINT32_MAX;
  uint32_t done_output() const { return done_output_; }
  // Whether `done`, one row of that output, is true. Errors: backend_failed: not one element.
  Result<bool> is_done(const TensorView& done) const;
  // The error of a run that read these states. If one of them does not fit its input, the model
  // that has made it is at fault, not the request: backend_failed.
  Status blame_states(std::span<const TensorView> states, Status failed) const;
  bool has_rows() const { return has_rows_; }  // whether the first dim of all tensors is the batch
  // Runs the model with all its inputs. outputs()[i] of the scratch belongs to output_indices[i].
  Status run_whole(std::span<const TensorView> inputs, std::span<const uint32_t> output_indices,
                   BackendScratch& scratch, const RunOptions& options);

 private:
  struct Control {
    fb::SequenceSignal signal;
    DType dtype;
    Shape shape;
    uint64_t off = 0, on = 0;  // the element's bytes
  };
  Error wrong(std::string_view what) const;
  Result<uint32_t> hide_input(const std::string& name, DType dtype, const std::string& kind);
  Status bind_control(const SequenceControl& from);
  Status bind_state(const SequenceState& from);
  Status read_initial(const SequenceState& from, const TensorSpec& input);
  Status bind_done(const std::string& name);
  Status hide_outputs(const ModelSpec& spec);

  const std::string name_;
  const std::shared_ptr<BackendModel> inner_;
  const bool has_rows_;
  BackendModelInfo info_;
  std::vector<Control> controls_;
  std::vector<TensorView> initial_;       // of each state, one row
  std::vector<uint32_t> state_outputs_;   // of each state
  std::vector<TensorSpec> state_inputs_;  // likewise
  uint32_t done_output_ = kNoOutput;
  std::vector<uint32_t> outputs_;  // of each visible output
  // Per input of the model: the number of a hidden one (controls, then states), or kVisible.
  static constexpr uint32_t kVisible = UINT32_MAX;
  std::vector<uint32_t> hidden_;
  Arena arena_;  // of the initial states
};

}  // namespace serval
