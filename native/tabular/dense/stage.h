// Stages whose result is one row of layer outputs: Vector -> Vector. Hot path; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tabular/dense/island.h"

namespace serval::tabular {

class DenseStage : public VectorStage {
 public:
  Status run(Run& run, Rows rows) const final;

 protected:
  explicit DenseStage(StageSpec& spec) : VectorStage(spec, false) {}
  // Call once, while the stage is made, with layers that fit each other; loads them into the
  // runtime if that is worth it. `width` is the length of a result row, larger than the last
  // layer's outputs if finish() adds values. `has_steps` means that finish() is not continuous, so
  // the last bit of a sum may decide; all rows are then computed the same way.
  void use(StageSpec& spec, std::vector<DenseLayer> layers, size_t width, bool has_steps = false);
  // Returns what is wrong with a row of the right length; empty if it is valid.
  virtual std::string fault_of(const VectorRow&) const { return {}; }
  // Post-processes a result row, whose first values are the layers' outputs.
  virtual void finish(std::span<double>) const {}

 private:
  std::string check(const VectorRow& in) const;
  std::string answer(const VectorRow& in, Column& out, size_t& size) const final;
  Status run_island(Run& run, Rows rows) const;

  std::vector<DenseLayer> layers_;
  size_t width_ = 0;
  std::unique_ptr<Island> island_;  // null: row by row
};

}  // namespace serval::tabular
