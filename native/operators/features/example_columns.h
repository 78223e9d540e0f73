// The columns of a parse of tf.train.Examples: a node's specification, and the errors in
// TensorFlow's words. Control plane (attributes), hot path (checks).
#pragma once

#include "base/bytes/example_wire.h"
#include "operators/kernel_io.h"

namespace serval::operators {

struct FeatureColumn {
  enum class Form : uint8_t { Sparse, Dense, Ragged };
  std::string key;
  Form form = Form::Dense;
  DType dtype = DType::Invalid;  // Fp32, Int64, Bytes
  DType splits = DType::Int64;   // Ragged: dtype of its row splits
  std::vector<int64_t> dims;     // Dense; the first may be -1: variable length
  bool variable = false;
  int64_t row_elements = 1;  // Dense: elements of one row (variable length) or of one example
  bool takes_empty() const { return form != Form::Dense; }
};

// Reads the attributes `<prefix>sparse_keys`, `dense_keys`, `ragged_keys` (netstrings), `*_types`
// (ONNX element types), `dense_shapes` (for each: the rank, then the dims).
// Errors: model_invalid naming the attribute.
Result<std::vector<FeatureColumn>> read_columns(const KernelAttributes& attributes,
                                                const std::string& prefix);

// "[?,2]": as TensorFlow prints a partial shape.
std::string partial_shape_text(std::span<const int64_t> dims);

// A client's bytes for an error text: truncated, and made printable.
std::string shown(std::string_view bytes);

}  // namespace serval::operators
