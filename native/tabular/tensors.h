// Conversion between tensors (base/tensor.h: fields and outputs of a tabular model) and columns.
// Hot path; one thread at a time.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/table_schema.h"
#include "base/tensor.h"
#include "tabular/frame.h"

namespace serval::tabular {

// Fills the column from a request's tensor, which has frame.rows rows. Copies. Errors: internal if
// the tensor does not fit a field.
Status fill_column(Frame& frame, Column& column, const FieldSpec& field, const TensorView& tensor);

// Output tensors of a run: views of the frame's columns if their layout allows it, else views of
// memory that is kept from run to run.
class OutputTensors {
 public:
  std::span<const TensorView> views() const { return {views_.data(), views_.size()}; }
  // `bytes_max` limits the total memory that add() allocates.
  void begin(size_t count, uint64_t bytes_max = UINT64_MAX);
  // Adds the column's tensor. Refused rows are missing in it. Errors: body_too_large, before
  // allocation, if the dense form of sparse vectors exceeds the rest of bytes_max.
  Status add(const Frame& frame, Column& column, const FieldSpec& spec);
  void release();

 private:
  struct Memory {
    std::vector<uint8_t> bytes, states;
    Column spread;
    std::vector<uint32_t> lengths;
    std::vector<std::string_view> strings;
    size_t held() const;
  };
  void add_scalars(const Frame& frame, const Column& column, Memory& memory, TensorView& out);
  Status add_cells(const Frame& frame, const Column& column, const FieldSpec& spec, Memory& memory,
                   TensorView& out);

  std::vector<TensorView> views_;
  std::vector<Memory> memory_;
  uint64_t bytes_left_ = UINT64_MAX;
};

}  // namespace serval::tabular
