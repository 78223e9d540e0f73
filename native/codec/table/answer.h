// What a tabular model answered, as tensors of the protocols: dates as text, decimals as doubles,
// missing values, companions of ragged tensors, groups. Hot path; pure, any thread.
// Source: tabular.md 2.4.
#pragma once

#include <array>

#include "base/buffer.h"
#include "base/table_schema.h"
#include "codec/request.h"
#include "codec/v2/wire_answer.h"

namespace serval::table {

// Views of the run's outputs and the arena.
struct AnswerTensor {
  std::string_view name;
  std::string_view datatype;
  bool binary = false;
  // The elements, as the datatype's carrier has them; shape [R], [R,F], [R,D] or, ragged, [R,-1]
  // (V1) or [R,1,-1] (V2), where view.states is not used.
  TensorView view;
  // Of each row (of a group: of each element), 1 where it is missing and the form has a null for
  // it; null = none. Of a tensor [R,D] all elements of such a row are.
  const uint8_t* nulls = nullptr;
  bool is_group = false;
  std::array<AnswerParameter, 4> parameters{};
  size_t parameter_count = 0;

  void add(std::string_view key, std::string_view text) {
    parameters[parameter_count++] = {key, text};
  }
  // Elements of a null.
  size_t width() const {
    return view.shape.rank() == 2 && !is_group ? static_cast<size_t>(view.shape[1]) : 1;
  }
};

// Wire: all is raw. V2Json: what is not asked for as binary has nulls. V1: one tensor for each
// output, ragged ones with their lengths.
enum class AnswerForm : uint8_t { Wire, V2Json, V1 };

// Errors: backend_failed (a value without a form: a day out of the calendar; an output whose size
// is not what its shape says), memory_full.
Status make_answer(const TableSchema& table, const Signature& signature,
                   const DecodedRequest& request, std::span<const TensorView> outputs,
                   AnswerForm form, Arena& arena, std::span<AnswerTensor>& out);

}  // namespace serval::table
