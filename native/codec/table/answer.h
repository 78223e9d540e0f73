// Converts the outputs of a tabular model to tensors of the protocols: dates as text, decimals as
// doubles, missing values, companions of ragged tensors, groups. Hot path; pure, any thread.
// Source: tabular.md 2.4.
#pragma once

#include <array>

#include "base/buffer.h"
#include "base/table_schema.h"
#include "codec/request.h"
#include "codec/v2/wire_answer.h"

namespace serval::table {

// Borrows the run's outputs and the arena.
struct AnswerTensor {
  std::string_view name;
  std::string_view datatype;
  bool binary = false;
  // The elements in the datatype's carrier; shape [R], [R,F], [R,D] or, ragged, [R,-1] (V1) or
  // [R,1,-1] (V2), where view.states is not used.
  TensorView view;
  // For each row (for a group: for each element), 1 if it is missing and the form has a null for
  // it; null = none. In a tensor [R,D] this covers all elements of the row.
  const uint8_t* nulls = nullptr;
  bool is_group = false;
  std::array<AnswerParameter, 4> parameters{};
  size_t parameter_count = 0;

  void add(std::string_view key, std::string_view text) {
    parameters[parameter_count++] = {key, text};
  }
  // The number of elements of a null.
  size_t width() const {
    return view.shape.rank() == 2 && !is_group ? static_cast<size_t>(view.shape[1]) : 1;
  }
};

// Wire: all raw. V2Json: outputs that are not requested as binary have nulls. V1: one tensor for
// each output, ragged ones with their lengths.
enum class AnswerForm : uint8_t { Wire, V2Json, V1 };

// Errors: backend_failed (a value that cannot be represented, such as a day outside of the
// calendar; an output whose size does not match its shape), memory_full.
Status make_answer(const TableSchema& table, const Signature& signature,
                   const DecodedRequest& request, std::span<const TensorView> outputs,
                   AnswerForm form, Arena& arena, std::span<AnswerTensor>& out);

}  // namespace serval::table
