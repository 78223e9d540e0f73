// Between tensors (base/tensor.h: fields and outputs of a tabular model) and columns. Hot path; one
// thread at a time.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/table_schema.h"
#include "base/tensor.h"
#include "tabular/frame.h"

namespace serval::tabular {

// Makes the column of a request's tensor, which has frame.rows rows. Copies.
// Errors: internal, where the tensor is none of a field's.
Status fill_column(Frame& frame, Column& column, const FieldSpec& field, const TensorView& tensor);

// What a run answers: views of the frame's columns where those lie as tensors do, else of memory
// that is kept from run to run.
class OutputTensors {
 public:
  std::span<const TensorView> views() const { return {views_.data(), views_.size()}; }
  void begin(size_t count);
  // The column's tensor. Rows that were refused are missing in it.
  void add(const Frame& frame, Column& column, const FieldSpec& spec);
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
  void add_cells(const Frame& frame, const Column& column, const FieldSpec& spec, Memory& memory,
                 TensorView& out);

  std::vector<TensorView> views_;
  std::vector<Memory> memory_;
};

}  // namespace serval::tabular
