// Rules of recurrent layers. See rule.h.
#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

// Throws if input `index` is present and its rows are not `rows` on `axis`.
void need_rows(Call& call, size_t index, size_t axis, const Dim& rows) {
  if (!call.has(index)) return;
  const Value& value = call.in(index);
  const bool fits = value.is_rows() && value.axis == axis && (*value.dims)[axis] == rows;
  if (fits) return;
  if (value.varies()) couples("input " + std::to_string(index) + " has its rows on another axis");
  unproven("input " + std::to_string(index) + " does not have one entry for each row");
}

// X, W, R, B, sequence_lens, initial_h, initial_c, P -> Y, Y_h, Y_c.
void recurrent(Call& call) {
  for (const size_t i : {size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
    call.need_same(i, "the weights");
  }
  const Value& data = call.in(0);
  const bool rows_first = call.integer("layout", 0) != 0;
  const Dims& dims = call.dims(0);
  if (dims.size() != 3) unproven("the rank of the sequence is not 3");
  if (call.all_same()) return;
  const size_t batch = rows_first ? 0 : 1;
  if (!data.varies()) unproven("the sequence is the same for all rows");
  if (data.axis != batch) couples("the rows are the steps of the sequence");
  const Dim rows = dims[batch], steps = dims[1 - batch];
  need_rows(call, 4, 0, rows);
  need_rows(call, 5, rows_first ? 0 : 1, rows);
  need_rows(call, 6, rows_first ? 0 : 1, rows);
  const std::string_view direction = call.text("direction", "forward");
  const Dim directions = direction == "bidirectional" ? 2 : 1;
  const int64_t units = call.integer("hidden_size", 0);
  const Dim hidden = units > 0 ? Dim(units) : call.fresh();
  if (rows_first) {
    call.set(0, Value::rows({rows, steps, directions, hidden}, 0));
    for (size_t i = 1; i < 3; ++i) call.set(i, Value::rows({rows, directions, hidden}, 0));
    return;
  }
  call.set(0, Value::rows({steps, directions, rows, hidden}, 2));
  for (size_t i = 1; i < 3; ++i) call.set(i, Value::rows({directions, rows, hidden}, 1));
}

}  // namespace

std::vector<Rule> recurrent_rules() {
  return {
      {"Recurrent layers",
       "The rows are on the batch axis of `layout`, in the states and lengths too.",
       "",
       {"GRU", "LSTM", "RNN"},
       recurrent},
  };
}

}  // namespace serval::rows
