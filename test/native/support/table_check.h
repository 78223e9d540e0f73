// Properties of everything that a tabular codec decodes: its views match their declarations, and
// its response as V2 JSON, sent as a request, is decoded to the same fields. For tests and fuzzing.
#pragma once

#include "base/bytes/utf8.h"
#include "codec/table/coerce.h"
#include "support/table_support.h"

namespace serval::test {

inline std::string fault_of_view(const TensorView& view, int64_t rows) {
  const size_t rank = view.shape.rank();
  if (rank < 1 || rank > 2 || view.shape[0] != rows) return "shape " + view.shape.to_string();
  const bool ragged = rank == 2 && view.shape[1] == -1;
  if (ragged != (view.lengths != nullptr)) return "lengths of a tensor that is not ragged";
  uint64_t elements = 0;
  for (int64_t row = 0; ragged && row < rows; ++row) elements += view.lengths[row];
  if (!ragged) elements = view.shape.elements().value();
  const bool is_text = dtype_is_text(view.dtype);
  const uint64_t given = is_text ? view.strings.size() : view.bytes / dtype_bytes(view.dtype);
  if (given != elements) return "elements for " + view.shape.to_string();
  for (size_t i = 0; is_text && view.dtype == DType::String && rank == 1 && i < given; ++i) {
    const bool null = view.states != nullptr && view.states[i] != 0;
    if (!null && !is_valid_utf8(view.strings[i])) return "text that is not UTF-8";
  }
  return {};
}

// True for arrays in a field of any type: V2 reads the shape [rows,n] of their echo as a column for
// each of n fields, and refuses it or returns scalars (Binder::lay_out_two_dims, X6).
inline bool has_no_echo(const TensorView& view, const FieldSpec& field) {
  return view.shape.rank() == 2 && view.dtype != DType::Vector && !table::has_cells(field);
}

// Empty: all is well. `model` has no decimals and no binary fields, because JSON does not preserve
// them.
inline std::string fault_of(const TableModel& model, const DecodedRequest& request) {
  if (request.inputs.size() != model.table.fields.size()) return "fields are missing";
  const int64_t rows = request.inputs[0].shape[0];
  for (const TensorView& view : request.inputs) {
    const std::string fault = fault_of_view(view, rows);
    if (!fault.empty()) return fault;
  }
  if (rows > 1024) return {};
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (has_no_echo(request.inputs[i], model.table.fields[i])) return {};
  }
  TableModel echo(model.table.fields, model.table.fields);
  DecodedRequest asked;
  asked.table.text_is_string = true;
  for (uint32_t i = 0; i < request.inputs.size(); ++i) asked.outputs.push_back({i, false});
  Arena arena;
  ByteBuffer out;
  size_t json_bytes = 0;
  Limits limits;
  limits.response_bytes_max = 1 << 20;
  const Status written = encode_table_v2_json({"m", "1"}, echo.table, echo.signature, asked,
                                              request.inputs, limits, arena, out, json_bytes);
  if (!written.ok()) return {};  // text of another form in a null row; too large
  std::string body(reinterpret_cast<const char*>(out.data()), out.size());
  const std::string before = "\"outputs\":[";
  body.replace(body.find(before), before.size(), "\"inputs\":[");
  const TableDecoded again(fb::Protocol::V2Rest, model, body);
  if (!again.ok()) return "its echo is refused: " + again.error() + " of " + body;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const std::string first = show(request.inputs[i]), second = show(again.request().inputs[i]);
    if (first == second || is_ragged(request.inputs[i])) continue;
    return "echo: " + first + " became " + second;
  }
  return {};
}

}  // namespace serval::test
