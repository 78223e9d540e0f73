// Layers as an ONNX Runtime graph, for large batches where that is faster than row by row. Made at
// load; run() may be called on any thread. docs/decisions/0014 gives the reason and the size limit.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "tabular/dense/layers.h"

namespace serval::tabular {

class Island {
 public:
  // Returns whether the layers are large enough to be worth a graph, yet not too large for one.
  static bool is_worth(std::span<const DenseLayer> layers);
  // `number` is the island's index in its plan. Errors: runtime_unavailable; model_invalid.
  static Result<std::unique_ptr<Island>> load(Backend& runtime, uint32_t number,
                                              std::span<const DenseLayer> layers);
  // Called by load() only.
  Island(std::shared_ptr<BackendModel> model, uint32_t number, std::span<const DenseLayer> layers);

  // Returns whether a run of `rows` rows is worth it.
  bool is_worth(size_t rows) const;
  // Maximum rows per run, which keeps the buffers between layers small.
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
