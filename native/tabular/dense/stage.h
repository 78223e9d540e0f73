// Stages whose answer is a row of layers: Vector -> Vector. Hot path; any thread.
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
  // Once, while it is made, of layers that fit each other; puts them on the runtime where that is
  // worth it. `width`: of an answer, more than the last one's outputs where finish() adds to them.
  // `has_steps`: finish() does not go on smoothly, so that the last bit of a sum may decide; then
  // it is always answered the one way.
  void use(StageSpec& spec, std::vector<DenseLayer> layers, size_t width, bool has_steps = false);
  // What is wrong with a row of the right length, or nothing.
  virtual std::string fault_of(const VectorRow&) const { return {}; }
  // What is to be done with a row's answer, whose first values are those of the layers.
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
