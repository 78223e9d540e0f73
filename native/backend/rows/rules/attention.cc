// Rules of attention and related operators. See rule.h.
#include <algorithm>

#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

struct Place {
  size_t input;
  size_t axis;         // the axis of the rows
  bool may_be_shared;  // it may be the same for all rows, with 1 or no entry for the rows
  size_t rank = 0;     // the rank to which the axis refers; 0 = any
};

// Requires that every listed input has its rows, the same as those of input 0, on the given axis,
// and that all other inputs are the same for all rows.
Dim rows_on(Call& call, std::initializer_list<Place> places) {
  const Dim rows = call.in(0).is_rows() ? call.dims(0)[call.in(0).axis] : Dim();
  if (!call.in(0).is_rows()) unproven("the first input is the same for all rows");
  for (size_t i = 0; i < call.count(); ++i) {
    if (!call.has(i)) continue;
    const Value& value = call.in(i);
    const auto* place = std::find_if(places.begin(), places.end(),
                                     [i](const Place& one) { return one.input == i; });
    if (place == places.end()) {
      call.need_same(i, "a parameter");
      continue;
    }
    const size_t rank = call.rank(i);
    const bool right_rank = place->rank == 0 || rank == place->rank;
    if (value.varies()) {
      const bool fits = value.is_rows() && right_rank && value.axis == place->axis &&
                        (*value.dims)[value.axis] == rows;
      if (!fits) couples("input " + std::to_string(i) + " has its rows on another axis");
      continue;
    }
    const bool short_of_rows = place->rank != 0 && rank < place->rank;
    const bool shared = short_of_rows || (right_rank && call.dims(i)[place->axis].is(1));
    if (!place->may_be_shared || !shared) {
      unproven("input " + std::to_string(i) + " does not have one entry for each row");
    }
  }
  return rows;
}

Dims with_rows(Call& call, size_t rank, size_t axis, const Dim& rows) {
  Dims out = call.fresh_dims(rank);
  out[axis] = rows;
  return out;
}

// Sets outputs of `ranks`, with rows on the first axis.
void answer(Call& call, const Dim& rows, std::initializer_list<size_t> ranks) {
  size_t at = 0;
  for (const size_t rank : ranks) {
    call.set(at++, Value::rows(with_rows(call, rank, 0, rows), 0));
  }
}

// com.microsoft: input, weights, bias, mask_index, past, attention_bias, past_sequence_length.
void packed_attention(Call& call) {
  const Dim rows =
      rows_on(call, {{0, 0, false, 3}, {3, 0, true}, {4, 1, false, 5}, {5, 0, true, 4}});
  if (call.has(3) && !call.in(3).varies())
    unproven("the mask does not have one entry for each row");
  answer(call, rows, {3});
  call.set(1, Value::rows(with_rows(call, 5, 1, rows), 1));
}

// com.microsoft: query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value.
void many_heads(Call& call) {
  const Dim rows = rows_on(call, {{0, 0, false},
                                  {1, 0, false},
                                  {2, 0, false},
                                  {4, 0, false},
                                  {5, 0, true, 4},
                                  {6, 0, false},
                                  {7, 0, false}});
  answer(call, rows, {3, 4, 4});
}

// com.microsoft: query, key, value, past_key, past_value, seqlens_k, total_sequence_length,
// cos_cache, sin_cache, position_ids, attention_bias.
void grouped(Call& call) {
  const Dim rows = rows_on(call, {{0, 0, false},
                                  {1, 0, false},
                                  {2, 0, false},
                                  {3, 0, false},
                                  {4, 0, false},
                                  {5, 0, false},
                                  {9, 0, false},
                                  {10, 0, true, 4}});
  answer(call, rows, {3, 4, 4});
}

// ONNX: Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen.
void attention(Call& call) {
  const Dim rows = rows_on(call, {{0, 0, false},
                                  {1, 0, false},
                                  {2, 0, false},
                                  {3, 0, true, 4},
                                  {4, 0, false},
                                  {5, 0, false},
                                  {6, 0, false}});
  const size_t rank = call.rank(0);
  answer(call, rows, {rank, 4, 4, 4});
}

// com.microsoft: input, position_ids, cos_cache, sin_cache. ONNX: X, cos, sin, position_ids.
void rotary(Call& call) {
  const bool own = call.node().is_onnx();
  const Value& data = call.in(0);
  if (call.all_same()) {
    return call.set(0, data.dims ? Value::same(*data.dims) : Value::same());
  }
  if (own) {
    if (!call.has(3) && (call.in(1).varies() || call.in(2).varies())) {
      (void)rows_on(call, {{0, 0, false}, {1, 0, false, 3}, {2, 0, false, 3}});
    } else {
      (void)rows_on(call, {{0, 0, false}, {3, 0, false}});
    }
    if (!call.has(3) && !call.in(1).varies()) unproven("it has angles, but no positions");
  } else {
    const bool one = !call.in(1).varies() && call.rank(1) <= 1;
    if (one) {
      for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
      if (!data.is_rows() || data.axis != 0) couples("the rows are on another axis");
    } else {
      (void)rows_on(call, {{0, 0, false}, {1, 0, false, 2}});
    }
  }
  call.set(0, Value::rows(call.dims(0), 0));
}

// input_ids, segment_ids, tables, ..., mask, position_ids -> output, mask_index, sum.
void embedded(Call& call) {
  const Dim rows =
      rows_on(call, {{0, 0, false, 2}, {1, 0, false, 2}, {7, 0, false, 2}, {8, 0, true, 2}});
  call.set(0, Value::rows(with_rows(call, 3, 0, rows), 0));
  call.set(1, Value::rows({rows}, 0));
  call.set(2, Value::rows(with_rows(call, 3, 0, rows), 0));
}

}  // namespace

std::vector<Rule> attention_rules() {
  const char* const family = "Attention";
  const char* const says =
      "The rows are on the first axis of query, key, value and mask (of `past`: the second); a "
      "bias "
      "may be the same for all rows.";
  return {
      {family, says, "", {"Attention"}, attention},
      {family, says, "com.microsoft", {"Attention"}, packed_attention},
      {family, says, "com.microsoft", {"MultiHeadAttention"}, many_heads},
      {family,
       "The same as for the others; `total_sequence_length` is the same for all rows.",
       "com.microsoft",
       {"GroupQueryAttention"},
       grouped},
      {family,
       "Each row has its own positions, or one start position applies to all.",
       "",
       {"RotaryEmbedding"},
       rotary},
      {family,
       "Each row has its own positions, or one start position applies to all.",
       "com.microsoft",
       {"RotaryEmbedding"},
       rotary},
      {family,
       "Each row has its own ids, segments, mask and positions.",
       "com.microsoft",
       {"EmbedLayerNormalization"},
       embedded},
  };
}

}  // namespace serval::rows
