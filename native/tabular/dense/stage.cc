// Running a stage's layers, row by row or as a graph. Hot path.
#include "tabular/dense/stage.h"

#include <utility>

namespace serval::tabular {

void DenseStage::use(StageSpec& spec, std::vector<DenseLayer> layers, size_t width,
                     bool has_steps) {
  layers_ = std::move(layers);
  width_ = width;
  if (width_ == layers_.back().outputs && !has_steps) island_ = spec.island(layers_);
}

std::string DenseStage::check(const VectorRow& in) const {
  std::string fault = wrong_size(layers_.front().inputs, in);
  if (!fault.empty()) return fault;
  fault = fault_of(in);
  return fault.empty() ? fault : "column '" + names_[0] + "': " + fault;
}

std::string DenseStage::answer(const VectorRow& in, Column& out, size_t& size) const {
  std::string fault = check(in);
  if (!fault.empty()) return fault;
  size = width_;
  double* answers = append_dense(out, size);
  run_layers(layers_, in, answers);
  finish({answers, size});
  return {};
}

Status DenseStage::run(Run& run, Rows rows) const {
  const Column& in = run.in(inputs_[0]);
  // Sparse rows need few multiplications.
  const bool many = island_ != nullptr && !in.sparse && island_->is_worth(rows.count);
  return many && Vectors::reads(in) ? run_island(run, rows) : VectorStage::run(run, rows);
}

// Gathers the rows that can be computed; their results are consecutive too.
Status DenseStage::run_island(Run& run, Rows rows) const {
  const size_t width = layers_.front().inputs, size = width_;
  const Column& in = run.in(inputs_[0]);
  Vectors vectors(in);
  Column& out = run.out(outputs_[0], Type::Vector, rows);
  std::vector<double>& gathered = run.frame.scratch;
  for (uint32_t i = 0; i < rows.count;) {
    gathered.clear();
    const size_t begin = out.reals.size();
    if (begin > run.options.column_values_max) return run.too_many(begin, place_);
    for (; i < rows.count && gathered.size() < island_->rows_max() * width; ++i) {
      const uint32_t row = rows[i];
      const VectorRow vector = in.valid(row) ? vectors[row] : VectorRow();
      std::string fault = in.valid(row) ? check(vector) : missing(0);
      if (!fault.empty()) {
        if (Status refused = refuse(run, row, std::move(fault)); !refused.ok()) return refused;
        continue;
      }
      gathered.insert(gathered.end(), vector.values, vector.values + width);
      out.start_row(row);
      append_dense(out, size);
      out.end_row();
    }
    double* answers = out.reals.data() + begin;
    const size_t count = gathered.size() / width;
    if (count == 0) continue;
    Status done = island_->run(run.frame, run.cancel, gathered.data(), count, answers);
    if (!done.ok()) return done;
    for (size_t k = 0; k < count; ++k) finish({answers + k * size, size});
  }
  return {};
}

}  // namespace serval::tabular
