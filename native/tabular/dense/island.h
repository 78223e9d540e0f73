// Layers as a graph on ONNX Runtime: for many rows at once, where that is faster than row by row.
// Made at load; run() on any thread. Why, and from which size on: docs/decisions/0014.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "tabular/dense/layers.h"

namespace serval::tabular {

class Island {
 public:
  // Whether the layers are large enough to be worth a graph, and not too large for one.
  static bool is_worth(std::span<const DenseLayer> layers);
  // Number `number` of its plan's.
  // Errors: runtime_unavailable; model_invalid.
  static Result<std::unique_ptr<Island>> load(Backend& runtime, uint32_t number,
                                              std::span<const DenseLayer> layers);
  // load() makes it.
  Island(std::shared_ptr<BackendModel> model, uint32_t number, std::span<const DenseLayer> layers);

  // Whether so many rows are worth a run.
  bool is_worth(size_t rows) const;
  // Rows that a run takes at most, so that what is between layers stays small.
  size_t rows_max() const { return rows_max_; }
  // Hot path. values [rows, inputs] -> out [rows, outputs]. `cancel` may be null.
  // Errors: cancelled; backend_failed.
  Status run(Frame& frame, const CancelFlag* cancel, const double* values, size_t rows,
             double* out) const;

 private:
  std::shared_ptr<BackendModel> model_;
  uint32_t number_;
  size_t inputs_, outputs_, products_, rows_max_;
};

}  // namespace serval::tabular
